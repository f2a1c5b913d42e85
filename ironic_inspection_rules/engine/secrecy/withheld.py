# SPDX-License-Identifier: Apache-2.0

"""What stands in answers and records in place of a sensitive rule."""

import typing

from ironic_inspection_rules.engine import trace

KEY = 'withheld'
"""The key by which readers know that the rest is not shown."""

Entry = dict[str, typing.Any]


def entry(uuid: str, matched: bool) -> Entry:
    """Return all that is told of what a sensitive rule did."""
    return {'uuid': uuid, 'matched': matched, KEY: True}


class Trace(trace.RuleTrace):
    """The trace of a sensitive rule: whether it matched."""

    __slots__ = ()

    def as_dict(self) -> Entry:
        return entry(self.rule.uuid, self.matched)

    def as_audit(self) -> Entry:
        return self.as_dict()

    def described(self, describe: trace.Describe) -> Entry:
        return self.as_dict()

    def summary(self) -> Entry:
        return {'uuid': self.rule.uuid, KEY: True}

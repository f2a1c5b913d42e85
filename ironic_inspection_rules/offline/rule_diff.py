# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""What changes from one set of rules in files to another, rule by rule."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import machine_test
from ironic_inspection_rules.offline import rulefile
from ironic_inspection_rules.ruleset import replacement
from ironic_inspection_rules.ruleset import rule_change

ADDED = 'added'
REMOVED = 'removed'
CHANGED = 'changed'
MOVED = 'moved'

_CHANGES = {replacement.CREATED: ADDED, replacement.DELETED: REMOVED,
            replacement.UPDATED: CHANGED, replacement.MOVED: MOVED}


@dataclasses.dataclass(frozen=True)
class RuleSet:
    """The rules of some files.

    ``named`` are the UUIDs that their author gave them; other rules have
    some that are made of what they are.
    """

    paths: Sequence[str]
    rules: Sequence[model.Rule]
    named: frozenset[str]

    @classmethod
    def load(cls, paths: Iterable[str], ops: registry.Registry) -> 'RuleSet':
        """Read the rules of files and directories.

        :raises: :class:`.exceptions.InvalidDocument` at the first problem.
        """
        files = machine_test.find_files(
            paths, _('there are no files of rules in this directory'))
        rules = machine_test.load_rules(files, ops)
        written = [each for path in files for each in rulefile.load(path)]
        return cls(files, rules, frozenset(
            rule.uuid for rule, each in zip(rules, written, strict=True)
            if each.entry.get('uuid')))


@dataclasses.dataclass(frozen=True)
class RuleChange:
    """What becomes of one rule.

    :param change: one of the names above.
    :param lines: the hunks of a unified diff.
    """

    title: str
    change: str
    lines: tuple[str, ...]

    def as_dict(self) -> dict[str, typing.Any]:
        """Return plain JSON data."""
        return {'title': self.title, 'change': self.change,
                'lines': list(self.lines)}


def compare(old: RuleSet, new: RuleSet
            ) -> tuple[list[RuleChange], list[model.Rule]]:
    """Tell what changes, in the order of the new rules.

    A rule is the same one by its UUID; without one, by its description where
    that is unique in both.

    :returns: the changes, and the new rules with the UUIDs of the old ones
        that they are.
    """
    present = [{**rule.to_mapping(), 'position': float(number)}
               for number, rule in enumerate(old.rules, 1)]
    matched = replacement.match([_identity(rule, old, new)
                                 for rule in new.rules], present)
    rules = [rule if pair is None else dataclasses.replace(
        rule, uuid=pair[0]['uuid'])
        for rule, pair in zip(new.rules, matched, strict=True)]
    steps = replacement.decide([rule.to_mapping() for rule in rules],
                               matched, present)
    named = old.named | new.named
    return [_change(step, named) for step in steps
            if step.outcome in _CHANGES], rules


def _identity(rule: model.Rule, old: RuleSet, new: RuleSet
              ) -> dict[str, typing.Any]:
    """Return what tells which old rule a rule is.

    A rule that is given a UUID for the first time is known by its
    description.
    """
    known = rule.uuid in {each.uuid for each in old.rules}
    unnamed = {each.description for each in old.rules
               if each.uuid not in old.named}
    by_description = rule.description and (
        rule.uuid not in new.named
        or not known and rule.description in unnamed)
    return {'uuid': None if by_description else rule.uuid,
            'description': rule.description}


def _change(step: replacement.Step, named: frozenset[str]) -> RuleChange:
    both = {'before': _written(step.before, named),
            'after': _written(step.after, named), 'fields': step.fields}
    rule = step.after or step.before or {}
    lines = () if step.outcome == replacement.MOVED else tuple(
        rule_change.lines(both))
    return RuleChange(rule['description'] or rule['uuid'],
                      _CHANGES[step.outcome], lines)


def _written(rule: replacement.Fields | None, named: frozenset[str]
             ) -> dict[str, typing.Any] | None:
    """Return a rule without a UUID that nobody has given it."""
    if rule is None:
        return None
    return {**rule, 'uuid': rule['uuid'] if rule['uuid'] in named else None}

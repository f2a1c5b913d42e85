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

"""The rules in force in a process: ordered, compiled, kept.

Built-in rules are there from the start. Stored ones are compiled when they
are first needed and again when one of them changed, in whatever process;
to know that takes one small query.
"""

import dataclasses
import threading
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _


class Store(typing.Protocol):
    """Where stored rules come from."""

    def revision(self, context: typing.Any) -> int:
        """Return a number that is another one after each change."""

    def rules(self, context: typing.Any
              ) -> typing.Iterable[typing.Mapping[str, typing.Any]]:
        """Return all stored rules in creation order."""


def order(rules: typing.Iterable[model.Rule]) -> list[model.Rule]:
    """Put rules into the order they run in.

    The highest priority comes first; among equals built-in rules, then the
    order given (spec 003 "Priorities").
    """
    return sorted(rules, key=lambda rule: (-rule.priority,
                                           not rule.built_in))


class Repository:
    """All rules in force, compiled.

    :param ops: the conditions and actions there are.
    :param built_in: the built-in rules.
    :param store: gives the stored rules.
    :param default_scope: scope of stored rules that set none.
    :param mask_secrets: ``always``, ``never`` or ``sensitive``.
    """

    def __init__(self, ops: registry.Registry,
                 built_in: typing.Sequence[model.Rule], store: Store,
                 default_scope: str | None = None,
                 mask_secrets: str = 'always') -> None:
        self.ops = ops
        self.built_in = tuple(built_in)
        self._store = store
        self._default_scope = default_scope or None
        self._mask_secrets = mask_secrets
        self._lock = threading.Lock()
        self._revision: int | None = None
        self._plans: dict[str, tuple[compiler.CompiledRule, ...]] = {}

    def refresh(self, context: typing.Any) -> None:
        """Take up changes of stored rules since the last time.

        :raises: :class:`.exceptions.InvalidRule` where a stored rule cannot
            be compiled, such as after its plugin was removed.
        """
        revision = self._store.revision(context)
        with self._lock:
            if revision != self._revision:
                stored = [self._read(fields)
                          for fields in self._store.rules(context)]
                self._plans = self.compile([*self.built_in, *stored])
                self._revision = revision

    @property
    def revision(self) -> int | None:
        """The revision of the stored rules as of the last refresh."""
        return self._revision

    def plans(self, phase: str) -> tuple[compiler.CompiledRule, ...]:
        """Return the rules of a phase in the order they run in.

        They are as of the last :meth:`refresh`.
        """
        return self._plans.get(phase, ())

    def compile(self, rules: typing.Iterable[model.Rule]
                ) -> dict[str, tuple[compiler.CompiledRule, ...]]:
        """Compile the rules that run, and return them by phase, in order."""
        plans: dict[str, list[compiler.CompiledRule]] = {
            phase: [] for phase in model.PHASES}
        for rule in order(rules):
            if rule.mode != model.OFF:
                plans[rule.phase].append(self._compile(rule))
        return {phase: tuple(each) for phase, each in plans.items()}

    def _compile(self, rule: model.Rule) -> compiler.CompiledRule:
        try:
            return compiler.compile_rule(rule, self.ops, self._mask_secrets)
        except KeyError as exc:
            raise exceptions.InvalidRule(
                [exceptions.Problem(
                    '', _('op "%s" is no longer installed') % exc.args[0])],
                rule.uuid) from exc

    def _read(self, fields: typing.Mapping[str, typing.Any]) -> model.Rule:
        rule = model.Rule.from_mapping(fields)
        if rule.scope or rule.phase == model.EARLY:
            return rule
        return dataclasses.replace(rule, scope=self._default_scope)

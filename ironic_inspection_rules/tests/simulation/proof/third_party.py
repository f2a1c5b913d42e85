# SPDX-License-Identifier: Apache-2.0

"""Ops of another package, of which proofs know what they declare."""

import typing

import fixtures

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import working_copy


class ThirdCondition(plugin.Condition):
    """Holds for what has an ``a`` in its text; null or an x is an error."""

    def __call__(self, value: typing.Any) -> bool:
        if value is None or 'x' in str(value):
            raise exceptions.OperationError('null or x')
        return 'a' in str(value)


class ThirdTyped(plugin.Condition):
    """Holds up to a limit of a type, and sees null for what is missing."""

    ACCEPTS_MISSING = True

    def __call__(
        self, value: typing.Any, limit: int = 4, name: str = 'a'
    ) -> bool:
        return limit <= 4 and name in ('a', 'None') and value != 'b'


class ThirdAction(plugin.Action):
    """Writes somewhere, and does not declare where; it fails for null."""

    def __call__(
        self, target: working_copy.WorkingCopy, value: typing.Any
    ) -> None:
        if value is None:
            raise exceptions.OperationError('null')
        if 'a' in str(value):
            target.set('node', ('extra', 'tag'), 'third')


class ThirdTrait(plugin.Action):
    """Adds a trait, and declares it."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        yield plugin.Write('trait', 'CUSTOM_A', True)

    def __call__(
        self, target: working_copy.WorkingCopy, value: typing.Any
    ) -> None:
        if value:
            target.set_traits([*target.traits, 'CUSTOM_A'])


class Installed(fixtures.Fixture):
    """Has these ops among the installed ones."""

    def _setUp(self) -> None:
        load = registry._load

        def with_third(group: str) -> dict[str, typing.Any]:
            found = load(group)
            if group == registry.CONDITIONS:
                found['third-party'] = ThirdCondition
                found['third-typed'] = ThirdTyped
            elif group == registry.ACTIONS:
                found['third-party'] = ThirdAction
                found['third-trait'] = ThirdTrait
            return found

        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.engine.language.registry._load',
                with_third,
            )
        )
        registry.installed.cache_clear()
        self.addCleanup(registry.installed.cache_clear)

# SPDX-License-Identifier: Apache-2.0

"""Implements the groups of conditions any-of, all-of and none-of."""

from collections.abc import Iterable

from ironic_inspection_rules.engine.language import plugin


class AnyOf(plugin.ConditionGroup):
    """``any-of``: at least one of the conditions holds."""

    HOLDS = 'any'

    def __call__(self, results: Iterable[bool]) -> bool:
        return any(results)


class AllOf(plugin.ConditionGroup):
    """``all-of``: all of the conditions hold."""

    HOLDS = 'all'

    def __call__(self, results: Iterable[bool]) -> bool:
        return all(results)


class NoneOf(plugin.ConditionGroup):
    """``none-of``: none of the conditions holds."""

    HOLDS = 'none'

    def __call__(self, results: Iterable[bool]) -> bool:
        return not any(results)

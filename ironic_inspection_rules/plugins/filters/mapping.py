# SPDX-License-Identifier: Apache-2.0

"""Implements the filters on mappings, and the filter default."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _

Mapping = dict[str, typing.Any]

_MAPPING = frozenset(('mapping',))


def require_mapping(value: typing.Any) -> Mapping:
    """Return the value if it is a mapping.

    :raises: :class:`.exceptions.OperationError` if it is not a mapping.
    """
    if not isinstance(value, dict):
        raise exceptions.OperationError(
            _('takes a mapping, not %s') % suggestion.kind_of(value)
        )
    return value


class Keys(plugin.Filter):
    """``keys``: the keys of a mapping, in its order."""

    TAKES = _MAPPING
    GIVES = 'list'
    REARRANGES = True

    def __call__(self, value: typing.Any) -> list[str]:
        return list(require_mapping(value))


class Values(plugin.Filter):
    """``values``: the values of a mapping, in its order."""

    TAKES = _MAPPING
    GIVES = 'list'
    REARRANGES = True

    def __call__(self, value: typing.Any) -> list[typing.Any]:
        return list(require_mapping(value).values())


class Items(plugin.Filter):
    """``dict2items``: a list of mappings, one per key and value."""

    TAKES = _MAPPING
    GIVES = 'list'
    PAYS = True
    REARRANGES = True

    def __call__(
        self,
        allowance: budget.Budget,
        value: typing.Any,
        key_name: str = 'key',
        value_name: str = 'value',
    ) -> list[Mapping]:
        """Return a mapping for every entry of the value.

        ``{'a': 1}`` gives ``[{'key': 'a', 'value': 1}]``.

        :param key_name: the name to use for the keys.
        :param value_name: the name to use for the values.
        """
        mapping = require_mapping(value)
        # Charge the budget because every entry becomes a mapping, which takes
        # far more memory.
        allowance.spend(len(mapping))
        return [
            {key_name: key, value_name: entry}
            for key, entry in mapping.items()
        ]


class Get(plugin.Filter):
    """``get``: the value at a path in the value.

    If there is no such value, the result is ``default``, or missing.
    """

    REARRANGES = True

    def __call__(
        self,
        value: typing.Any,
        path: data_path.Path,
        default: typing.Any = data_path.ABSENT,
    ) -> typing.Any:
        """Return the value at a path in the value.

        For example, the path ``a.1`` in ``{'a': [1, 2]}`` has the value 2.

        :param default: the result if there is no such value.
        """
        inner = data_path.get(value, path)
        if inner is data_path.ABSENT:
            return default
        return inner


class Default(plugin.Filter):
    """``default``: another value if the field does not exist.

    If ``boolean`` is set, a false, zero, null or empty value is also replaced.
    """

    ACCEPTS_MISSING = True
    REARRANGES = True

    def __call__(
        self,
        value: typing.Any,
        default: typing.Any = '',
        boolean: bool = False,
    ) -> typing.Any:
        """Return the value, or the default instead of it.

        :param default: the result if the value is missing.
        :param boolean: whether the default also replaces false, zero, null and
            empty values.
        """
        if value is data_path.ABSENT:
            return default
        if boolean and not value:
            return default
        return value


class Lookup(plugin.Filter):
    """``lookup``: the value's entry in a mapping, or its row of a table."""

    TAKES = frozenset(('boolean', 'number', 'text'))
    REARRANGES = True

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield a problem if a literal mapping is something else."""
        if not isinstance(arguments.get('mapping', {}), dict):
            yield 'mapping', _('must be a mapping')

    def __call__(
        self,
        value: typing.Any,
        mapping: typing.Any,
        default: typing.Any = data_path.ABSENT,
    ) -> typing.Any:
        """Return the entry of a mapping, or the row of a table, for a value.

        For example, ``r1`` in the mapping ``{'r1': 'Berlin'}`` gives
        ``Berlin``.

        :param value: the name of the entry or the key of the row. The number 5
            finds the name ``'5'``, and true the name ``'true'``.
        :param mapping: a mapping or a table.
        :param default: the result if there is no such entry or row. Without a
            default, the result is missing.
        :raises: :class:`.exceptions.OperationError` if the value is a list or
            a mapping, or if ``mapping`` is not a mapping or table.
        """
        if isinstance(mapping, table.Table):
            return table.find_row_by_key(mapping, value, default)
        if not isinstance(mapping, dict) or isinstance(value, dict | list):
            raise exceptions.OperationError(
                _('takes a plain value and a mapping')
            )
        # The names in a mapping are texts. Null, true and false may be written
        # as in Python ("None", "True"), which older rules use, or as in JSON
        # ("null", "true"). The JSON spelling takes precedence.
        name_in_python = str(value)
        entry = mapping.get(name_in_python, default)
        if value is None:
            return mapping.get('null', entry)
        if isinstance(value, bool):
            name_in_json = name_in_python.lower()
            return mapping.get(name_in_json, entry)
        return entry

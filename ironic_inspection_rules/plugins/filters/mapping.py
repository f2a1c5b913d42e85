# SPDX-License-Identifier: Apache-2.0

"""Implements the filters on mappings, and the filter default.

A filter computes a new value from a value of a machine. A rule writes its
arguments in parentheses: ``{plugin_data.disks | get('0.size', 0)}``. ABSENT
stands for a missing value. A default of ABSENT means that the rule gives no
default, so the result is missing.
"""

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
            _('takes a mapping, not %s') % suggestion.describe_type(value)
        )
    return value


class Keys(plugin.Filter):
    """``keys``: the keys of a mapping, in its order."""

    TAKES = _MAPPING
    GIVES = 'list'
    REARRANGES = True
    RETURNS_PARTS = True

    def __call__(self, value: typing.Any) -> list[str]:
        return list(require_mapping(value))


class Values(plugin.Filter):
    """``values``: the values of a mapping, in its order."""

    TAKES = _MAPPING
    GIVES = 'list'
    REARRANGES = True
    RETURNS_PARTS = True

    def __call__(self, value: typing.Any) -> list[typing.Any]:
        return list(require_mapping(value).values())


class Items(plugin.Filter):
    """``dict2items``: a list of mappings, one per key and value."""

    TAKES = _MAPPING
    GIVES = 'list'
    PAYS = True
    REARRANGES = True
    RETURNS_PARTS = True

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
    RETURNS_PARTS = True

    def __call__(
        self,
        value: typing.Any,
        path: data_path.Path,
        default: typing.Any = data_path.ABSENT,
    ) -> typing.Any:
        """Return the value at a path in the value.

        For example, the path ``a.1`` in ``{'a': [1, 2]}`` has the value 2.

        :param value: any value, e.g. a mapping or a list.
        :param default: the result if there is no value at the path.
        """
        inner_value = data_path.get(value, path)
        if inner_value is data_path.ABSENT:
            return default
        return inner_value


class Default(plugin.Filter):
    """``default``: another value if the field does not exist.

    If ``boolean`` is set, a false, zero, null or empty value is also replaced.
    """

    ACCEPTS_MISSING = True
    REARRANGES = True
    RETURNS_PARTS = True

    def __call__(
        self,
        value: typing.Any,
        default: typing.Any = '',
        boolean: bool = False,
    ) -> typing.Any:
        """Return the value, or the default if the value is missing.

        :param value: the value; ABSENT if it is missing.
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
        """Yield a problem if ``mapping`` is a literal, but not a mapping.

        :param arguments: the literal arguments by name.
        """
        # An argument with a field is left out, and is checked by __call__.
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

        Keys of a mapping are texts, so other values are looked up as text:

        * The number 5 finds the key ``'5'``.
        * True finds the key ``'true'``, or else the key ``'True'``.
        * Null finds the key ``'null'``, or else the key ``'None'``.

        :param value: the key of the entry or of the row.
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
        # Older rules spell true, false and null as in Python: "True", "False",
        # "None".
        key_in_python = str(value)
        entry = mapping.get(key_in_python, default)
        # The spelling of JSON takes precedence.
        if value is None:
            return mapping.get('null', entry)
        if isinstance(value, bool):
            key_in_json = key_in_python.lower()
            return mapping.get(key_in_json, entry)
        # Numbers and texts have only one spelling.
        return entry

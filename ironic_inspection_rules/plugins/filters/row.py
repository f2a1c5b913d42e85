# SPDX-License-Identifier: Apache-2.0

"""Implements the filter ``row``, which returns a row of a table.

A table of a rule set has rows by key, e.g. by serial number. ``{tables.racks |
row}`` is the row of the inspected machine, and ``{tables.racks | row('b7')}``
is the row with the key ``b7``.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _


class Row(plugin.Filter):
    """``row``: the row of a table for this machine, or for a key."""

    GIVES = 'mapping'
    NEEDS_VIEW = True
    REARRANGES = True

    def __call__(
        self,
        view: budget.View,
        value: typing.Any,
        key: typing.Any = data_path.ABSENT,
    ) -> typing.Any:
        """Return a row of a table, or ABSENT if no row has the key.

        :param view: the data of the machine by root name.
        :param value: the table; it is any other value if the rule is wrong.
        :param key: the key of the row. Without it, the key is taken from the
            data of the machine, as the member ``of`` of the table specifies.
        :raises: :class:`.exceptions.OperationError` if the value is not a
            table.
        """
        if not isinstance(value, table.Table):
            raise exceptions.OperationError(
                _('takes a table: {tables.NAME | row}')
            )
        if key is data_path.ABSENT:
            # The rule gives no key, so return the row of this machine.
            key = value.key_of_machine(view)
        return table.find_row_by_key(value, key, default=data_path.ABSENT)

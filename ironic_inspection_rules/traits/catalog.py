# SPDX-License-Identifier: Apache-2.0

"""The traits there are: the standard ones, and those that nodes have.

Asked for in placement's words (spec 004 "REST API impact": "following the
patterns from … existing placement APIs").
"""

import dataclasses

from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.traits import names


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which names are asked for; both are None when all are."""

    prefix: str | None = None
    listed: frozenset[str] | None = None

    def has(self, name: str) -> bool:
        """Check if a name is asked for."""
        if self.prefix is not None:
            return name.startswith(self.prefix)
        return self.listed is None or name in self.listed

    def conditions(self, column: sa.ColumnElement[str]
                   ) -> list[sa.ColumnElement[bool]]:
        """Build the conditions of a query.

        Some databases ignore case, so :meth:`has` must check what is found.
        """
        if self.prefix:
            return [column.startswith(self.prefix, autoescape=True)]
        if self.listed is not None:
            return [column.in_(sorted(self.listed))]
        return []


def parse(value: str | None) -> Selection:
    """Read the parameter ``name`` of a request for traits.

    :param value: ``startswith:PREFIX``, ``in:NAME,NAME`` or None.
    :raises: Invalid when it is none of these, or has too many names.
    """
    if value is None:
        return Selection()
    operator, _colon, operand = value.partition(':')
    if operator == 'startswith':
        return Selection(prefix=operand)
    names.validate_asked(1 + operand.count(','))
    listed = frozenset(filter(None, map(str.strip, operand.split(','))))
    if operator == 'in' and listed:
        return Selection(listed=listed)
    raise exceptions.Invalid(
        _("Badly formed name '%s'. Expected startswith:PREFIX or "
          'in:NAME,NAME') % value)


def count_nodes(selection: Selection, project: str | None,
                associated: bool | None) -> dict[str, int]:
    """Count the nodes that have each of the selected traits.

    :param project: whose nodes to count, as owner or lessee; None for all.
    :param associated: True for the traits that some node has, False for
        those that no node has, None for both.
    :returns: number of nodes by trait, in the order of their names.
    """
    trait = models.NodeTrait.trait
    query = sa.select(trait, sa.func.count().label('nodes')).where(
        *selection.conditions(trait)).group_by(trait)
    if project:
        query = query.join(models.Node,
                           models.Node.id == models.NodeTrait.node_id).where(
            sa.or_(models.Node.owner == project,
                   models.Node.lessee == project))
    nodes = {row['trait']: row['nodes']
             for row in transaction.read_rows(query)}
    counts = {name: nodes.get(name, 0)
              for name in sorted(names.STANDARD | nodes.keys())
              if selection.has(name)}
    return {name: count for name, count in counts.items()
            if associated in (None, count > 0)}

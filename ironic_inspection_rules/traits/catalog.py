# SPDX-License-Identifier: Apache-2.0

"""Lists traits with the numbers of nodes that have them.

A request for them takes the same parameters as placement (spec 004 "REST API
impact": "following the patterns from … existing placement APIs").
"""

import dataclasses

from ironic.db.sqlalchemy import models
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _


@dataclasses.dataclass(frozen=True)
class Selection:
    """The traits that a request selects; by default all traits.

    :param prefix: selects the traits whose names begin with it.
    :param names: selects the traits with these names, if there is no prefix.
    """

    prefix: str | None = None
    names: frozenset[str] | None = None

    def includes(self, name: str) -> bool:
        """Return whether a trait is selected.

        The standard traits are not in the database, so only this selects them.
        The names that a query has found are checked again, because some
        databases ignore case: here, ``HW_GPU`` is not ``hw_gpu``.
        """
        if self.prefix is not None:
            return name.startswith(self.prefix)
        if self.names is not None:
            return name in self.names
        return True

    def conditions(
        self, column: sa.ColumnElement[str]
    ) -> list[sa.ColumnElement[bool]]:
        """Build the conditions of a query for the selected traits.

        Some databases ignore case, so a caller must check the names that the
        query finds with :meth:`includes`.

        :param column: the column with the names of traits.
        :returns: the conditions, which must all hold; none if all traits are
            selected.
        """
        if self.prefix:
            # Escape "_", which most names contain: it is a wildcard in SQL.
            return [column.startswith(self.prefix, autoescape=True)]
        if self.names is not None:
            return [column.in_(sorted(self.names))]
        return []


def parse(value: str | None) -> Selection:
    """Parse the parameter ``name`` of a request for traits.

    ``startswith:CUSTOM_`` selects all custom traits, ``in:HW_GPU,CUSTOM_A``
    selects these two. Spaces around names and empty names are ignored, but at
    least one name is needed after ``in:``.

    :param value: the parameter; None if the request does not have it.
    :raises: Invalid if it has another form, or too many names.
    """
    if value is None:
        return Selection()
    operator, _colon, operand = value.partition(':')
    if operator == 'startswith':
        return Selection(prefix=operand)
    if operator == 'in':
        # Count the names before splitting them, because there may be many.
        count = operand.count(',') + 1
        trait_names.validate_count_in_request(count)
        texts = [text.strip() for text in operand.split(',')]
        names = frozenset(text for text in texts if text)
        # "in:" and "in:," would select no trait, which is hardly intended.
        if names:
            return Selection(names=names)
    raise exceptions.Invalid(
        _("Badly formed name '%s'. Expected startswith:PREFIX or in:NAME,NAME")
        % value
    )


def count_nodes(
    selection: Selection, project: str | None, associated: bool | None
) -> dict[str, int]:
    """Count the nodes that have the selected traits.

    :param project: count only nodes with this owner or lessee; None counts
        all nodes.
    :param associated: True for the traits that at least one of these nodes
        has, False for those that none has, None for both.
    :returns: the number of nodes by trait, ordered by name:
        ``{'CUSTOM_A': 2, 'HW_GPU': 0}``.
    """
    node_counts = _query_node_counts(selection, project)
    counts = {}
    # Use all standard traits, and the custom traits that nodes have.
    for name in sorted(trait_names.STANDARD | node_counts.keys()):
        if not selection.includes(name):
            continue
        count = node_counts.get(name, 0)
        is_associated = count > 0
        if associated is None or associated == is_associated:
            counts[name] = count
    return counts


def _query_node_counts(
    selection: Selection, project: str | None
) -> dict[str, int]:
    """Return the number of nodes that have a selected trait, by trait.

    Traits without nodes are not included. A database that ignores case may add
    traits that differ only in case.

    :param project: owner or lessee of the nodes to count; None for all nodes.
    """
    trait = models.NodeTrait.trait
    query = sa.select(trait, sa.func.count().label('nodes'))
    query = query.where(*selection.conditions(trait)).group_by(trait)
    if project:
        query = query.join(
            models.Node, models.Node.id == models.NodeTrait.node_id
        )
        query = query.where(
            sa.or_(models.Node.owner == project, models.Node.lessee == project)
        )
    node_counts = {}
    for row in transaction.read_rows(query):
        node_counts[row['trait']] = row['nodes']
    return node_counts

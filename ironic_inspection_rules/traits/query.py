# SPDX-License-Identifier: Apache-2.0

"""Reads Ironic's table of node traits."""

import threading

from ironic.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules.traits import catalog
from ironic_inspection_rules.traits import filter as trait_filter

_COLUMNS = trait_filter.Columns(
    models.Node.id, models.NodeTrait.node_id, models.NodeTrait.trait)

_CONTEXT = threading.local()


def conditions(terms: tuple[trait_filter.Term, ...]
               ) -> list[trait_filter.Condition]:
    """Build the conditions on Ironic's tables of nodes that are kept."""
    return trait_filter.conditions(terms, _COLUMNS, _rare(terms))


def count_nodes(selection: catalog.Selection,
                project: str | None = None) -> dict[str, int]:
    """Count the nodes that have each trait.

    :param selection: the traits to count.
    :param project: whose nodes to count, as owner or lessee; None for all.
    :returns: number of nodes by trait; traits without nodes are missing.
    """
    query = sa.select(models.NodeTrait.trait, sa.func.count()).where(
        *selection.conditions(models.NodeTrait.trait)).group_by(
            models.NodeTrait.trait)
    if project:
        query = query.join(models.Node,
                           models.Node.id == models.NodeTrait.node_id).where(
            sa.or_(models.Node.owner == project,
                   models.Node.lessee == project))
    with enginefacade.reader.using(_CONTEXT) as session:
        return {name: count for name, count in session.execute(query)
                if selection.has(name)}


def _rare(terms: tuple[trait_filter.Term, ...]) -> frozenset[str]:
    """The traits that few nodes have, where the database has to be told.

    All but SQLite see for themselves, and plan a query by it.
    """
    query = trait_filter.which_are_rare(terms, _COLUMNS)
    if query is None or (
            enginefacade.reader.get_engine().dialect.name != 'sqlite'):
        return frozenset()
    with enginefacade.reader.using(_CONTEXT) as session:
        return frozenset(session.execute(query).scalars())

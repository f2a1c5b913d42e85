# SPDX-License-Identifier: Apache-2.0

"""Builds filters of nodes by trait, as conditions of a query.

The conditions use Ironic's tables, so that they can become part of any query
of nodes (spec 004 "REST API impact").
"""

from collections.abc import Collection, Mapping
import typing

from ironic.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _

PARAMETERS = ('traits', 'traits-any', 'not-traits', 'not-traits-any')

Condition = sa.ColumnElement[bool]

_TRAIT = models.NodeTrait

_ONE_BY_ONE = 4
"""Number of traits of a filter that a query looks up one by one.

Databases are fast at a few such lookups, but slow at dozens. All other traits
are therefore counted in one lookup.
"""

_MOST_NODES_OF_RARE = 1000
"""Maximum number of nodes that have a rare trait."""


class Term(typing.NamedTuple):
    """One filter of a request: ``Term('traits-any', ('HW_A', 'HW_B'))``.

    :ivar parameter: one of PARAMETERS.
    :ivar names: the names of its traits, at least one.
    """

    parameter: str
    names: tuple[str, ...]


def parse(parameters: Mapping[str, object]) -> tuple[Term, ...]:
    """Parse the filters of a request.

    ``{'traits': 'CUSTOM_A,CUSTOM_B', 'not-traits': 'CUSTOM_C'}`` has two
    filters: the node has both A and B, and the node does not have C.

    :param parameters: values by the names in PARAMETERS. A value is a string
        of names separated by commas, or a list of strings if the parameter was
        given several times. Every string is a separate filter.
    :returns: the filters, which must all hold.
    :raises: Invalid if a string has no name, if a name is not a trait, or if
        there are too many names in total.
    """
    unread_filters = []
    for parameter, value in parameters.items():
        texts: list[object] = [value]
        if isinstance(value, list):
            texts = value
        for text in texts:
            unread_filters.append((parameter, str(text)))
    # Count the names before splitting a text, because it may be very long.
    count = sum(1 + text.count(',') for _parameter, text in unread_filters)
    trait_names.validate_count_in_request(count)
    terms = []
    for parameter, text in unread_filters:
        names = _split_names(text)
        if not names:
            raise exceptions.Invalid(
                _('%s needs at least one trait') % parameter
            )
        trait_names.validate(names)
        terms.append(Term(parameter, names))
    return tuple(terms)


def _split_names(text: str) -> tuple[str, ...]:
    """Return the names between the commas of a text, without duplicates.

    ``HW_A, HW_B,,HW_A`` has the names ``('HW_A', 'HW_B')``.
    """
    names = [name.strip() for name in text.split(',')]
    # dict.fromkeys() removes duplicates and keeps the order.
    unique_names = dict.fromkeys(names)
    return tuple(name for name in unique_names if name)


def build_node_conditions(terms: tuple[Term, ...]) -> list[Condition]:
    """Build the conditions on nodes, for the database in use.

    A query is fast if it begins with the few nodes that have a rare trait.
    Other databases know from their statistics which traits are rare. SQLite
    has none, so rare traits are looked up first.
    """
    rare_query = select_rare(terms)
    if rare_query is None:
        return conditions(terms)
    engine = enginefacade.reader.get_engine()
    if engine.dialect.name != 'sqlite':
        return conditions(terms)
    rare_traits = transaction.read(rare_query)
    return conditions(terms, rare_traits)


def conditions(
    terms: tuple[Term, ...], rare: Collection[str] = ()
) -> list[Condition]:
    """Build the conditions for the nodes that match the filters.

    :param rare: traits that few nodes have. The query may start with those
        nodes instead of checking all nodes.
    """
    clauses = []
    for term in terms:
        build_condition = _CONDITIONS[term.parameter]
        clauses.append(build_condition(term.names, rare))
    return clauses


def select_rare(
    terms: tuple[Term, ...],
) -> sa.CompoundSelect[tuple[str]] | None:
    """Build the query for the names of required traits that few nodes have.

    "Few" means at most 1000. It is used for SQLite, which has no statistics
    about traits, see :func:`build_node_conditions`. Only the first four names
    of a filter are looked up: :func:`_has_all` counts the others.

    :returns: a query whose cost does not grow with the fleet, or None if no
        trait is required.
    """
    required: set[str] = set()
    for term in terms:
        if not term.parameter.startswith('not-'):
            required.update(term.names[:_ONE_BY_ONE])
    queries = []
    for name in sorted(required):
        # The limit ends the count as soon as it is known that the trait is not
        # rare.
        sample = (
            sa.select(_TRAIT.trait)
            .where(_TRAIT.trait == name)
            .limit(_MOST_NODES_OF_RARE + 1)
            .subquery()
        )
        count = sa.select(sa.func.count()).select_from(sample)
        queries.append(
            sa.select(sa.literal(name)).where(
                count.scalar_subquery() <= _MOST_NODES_OF_RARE
            )
        )
    if not queries:
        return None
    return sa.union_all(*queries)


def _has_all(wanted: tuple[str, ...], rare: Collection[str]) -> Condition:
    """Build the condition that a node has all of these traits.

    Databases are slow at dozens of lookups in one query. Therefore only the
    first four traits are looked up one by one. For the rest, the query counts
    how many of them the node has.

    :param rare: traits that few nodes have; the query may start with those
        nodes. Always empty except for SQLite.
    """
    clauses = [_has_any((name,), rare) for name in wanted[:_ONE_BY_ONE]]
    rest = wanted[_ONE_BY_ONE:]
    if rest:
        count = sa.select(sa.func.count()).where(
            _TRAIT.node_id == models.Node.id, _TRAIT.trait.in_(rest)
        )
        # If the counts are equal, the node has all of them, because its traits
        # and these names are unique.
        clauses.append(count.scalar_subquery() == len(rest))
    return sa.and_(*clauses)


def _has_any(wanted: tuple[str, ...], rare: Collection[str]) -> Condition:
    """Build the condition that a node has at least one of these traits.

    :param wanted: at least one name, because :func:`parse` rejects a filter
        without names.
    :param rare: traits that few nodes have. If all of ``wanted`` are rare, the
        query starts with those nodes. Always empty except for SQLite, because
        other databases choose the table to start with.
    """
    if all(name in rare for name in wanted):
        # Read the few nodes with these traits first, instead of looking for a
        # trait of every node.
        nodes = sa.select(_TRAIT.node_id).where(_TRAIT.trait.in_(wanted))
        return models.Node.id.in_(nodes)
    return sa.exists().where(
        _TRAIT.node_id == models.Node.id, _TRAIT.trait.in_(wanted)
    )


def _lacks_one(unwanted: tuple[str, ...], rare: Collection[str]) -> Condition:
    """Build the condition that a node lacks at least one of these traits."""
    return ~_has_all(unwanted, rare)


def _has_none(unwanted: tuple[str, ...], rare: Collection[str]) -> Condition:
    """Build the condition that a node has none of these traits."""
    return ~_has_any(unwanted, rare)


_CONDITIONS = {
    'traits': _has_all,
    'traits-any': _has_any,
    'not-traits': _lacks_one,
    'not-traits-any': _has_none,
}

# SPDX-License-Identifier: Apache-2.0

"""Filters of nodes by trait.

They are conditions on Ironic's tables, so that they can become part of any
query of nodes (spec 004 "REST API impact").
"""

from collections.abc import Collection, Mapping
import typing

from ironic.db.sqlalchemy import models
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.traits import names

PARAMETERS = ('traits', 'traits-any', 'not-traits', 'not-traits-any')

Condition = sa.ColumnElement[bool]

_TRAIT = models.NodeTrait

# How many traits are looked for one by one. Databases plan such lookups well,
# and badly when there are dozens; the traits beyond are counted in one go.
_ONE_BY_ONE = 4

# How many nodes may have a trait that is called rare.
_FEW = 1000


class Term(typing.NamedTuple):
    """One filter of a request: a parameter of PARAMETERS and its names."""

    parameter: str
    names: tuple[str, ...]


def parse(parameters: Mapping[str, object]) -> tuple[Term, ...]:
    """Read the filters of a request.

    :param parameters: by the names in PARAMETERS, each a string of names
        separated by commas, or a list of such strings when the parameter was
        given several times: then each is a filter of its own.
    :returns: the filters, which all must hold.
    :raises: Invalid when a list has no name, or one that is no trait, and
        when there are too many of them in all.
    """
    given = [(parameter, str(value))
             for parameter, values in parameters.items()
             for value in (values if isinstance(values, list) else [values])]
    names.validate_asked(sum(
        1 + text.count(',') for _parameter, text in given))
    terms = []
    for parameter, text in given:
        found = tuple(dict.fromkeys(filter(None, map(
            str.strip, text.split(',')))))
        if not found:
            raise exceptions.Invalid(
                _('%s needs at least one trait') % parameter)
        names.validate(found)
        terms.append(Term(parameter, found))
    return tuple(terms)


def on_nodes(terms: tuple[Term, ...]) -> list[Condition]:
    """Build the conditions on nodes.

    Only SQLite has to be told which traits are rare; other databases know,
    and plan the query accordingly.
    """
    query = which_are_rare(terms)
    if query is None or (
            enginefacade.reader.get_engine().dialect.name != 'sqlite'):
        return conditions(terms)
    return conditions(terms, transaction.read(query))


def conditions(terms: tuple[Term, ...],
               rare: Collection[str] = ()) -> list[Condition]:
    """Build the conditions of the nodes that the filters keep.

    :param rare: traits that few nodes have; the query may start from those
        nodes then, instead of looking at one node after the other.
    """
    return [_CONDITIONS[term.parameter](term.names, rare) for term in terms]


def which_are_rare(terms: tuple[Term, ...]
                   ) -> sa.CompoundSelect[tuple[str]] | None:
    """Build the query for those of the required traits that are rare.

    :returns: a query for names whose cost does not grow with the fleet, or
        None when no trait is required.
    """
    wanted = {name for term in terms if not term.parameter.startswith('not-')
              for name in term.names[:_ONE_BY_ONE]}
    queries = []
    for name in sorted(wanted):
        some = sa.select(_TRAIT.trait).where(
            _TRAIT.trait == name).limit(_FEW + 1).subquery()
        count = sa.select(sa.func.count()).select_from(some)
        queries.append(sa.select(sa.literal(name)).where(
            count.scalar_subquery() <= _FEW))
    return sa.union_all(*queries) if queries else None


def _has_all(wanted: tuple[str, ...], rare: Collection[str]) -> Condition:
    first, others = wanted[:_ONE_BY_ONE], wanted[_ONE_BY_ONE:]
    found = [_has_any((name,), rare) for name in first]
    if others:
        count = sa.select(sa.func.count()).where(
            _TRAIT.node_id == models.Node.id, _TRAIT.trait.in_(others))
        found.append(count.scalar_subquery() == len(others))
    return sa.and_(*found)


def _has_any(wanted: tuple[str, ...], rare: Collection[str]) -> Condition:
    if all(name in rare for name in wanted):
        return models.Node.id.in_(sa.select(_TRAIT.node_id).where(
            _TRAIT.trait.in_(wanted)))
    return sa.exists().where(_TRAIT.node_id == models.Node.id,
                             _TRAIT.trait.in_(wanted))


_CONDITIONS = {
    'traits': _has_all,
    'traits-any': _has_any,
    'not-traits': lambda *args: ~_has_all(*args),
    'not-traits-any': lambda *args: ~_has_any(*args),
}

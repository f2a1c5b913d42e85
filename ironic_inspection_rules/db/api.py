# SPDX-License-Identifier: Apache-2.0

"""Reading and writing the stored rules."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.db import transaction


@transaction.retried
def create_rule(values: Mapping[str, Any],
                origin: rule_set.Origin = rule_set.UNKNOWN) -> models.Rule:
    """Store a new rule.

    :param values: column values; ``uuid``, ``conditions`` and ``actions``
        are required.
    :param origin: what the revision says of it.
    :returns: the stored row.
    :raises: RuleAlreadyExists if the UUID is taken.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        change.create([values])
        return _get(change.session, values['uuid'])


@transaction.retried
def update_rule(uuid: str, values: Mapping[str, Any], revision: int,
                origin: rule_set.Origin = rule_set.UNKNOWN) -> models.Rule:
    """Change a rule, unless somebody else has changed it meanwhile.

    :param uuid: UUID of the rule.
    :param values: the column values to change.
    :param revision: the row's revision that the change was decided on.
    :param origin: what the revision says of it.
    :returns: the changed row.
    :raises: RuleNotFound if there is no such rule.
    :raises: RuleChanged if the row has another revision by now.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        rule = _get(change.session, uuid)
        if rule.revision != revision:
            raise exceptions.RuleChanged(uuid)
        change.update({uuid: values})
        # MySQL drops the fractions of seconds.
        change.session.refresh(rule)
        return rule


@transaction.retried
def destroy_rule(uuid: str,
                 origin: rule_set.Origin = rule_set.UNKNOWN) -> None:
    """Remove one rule.

    :param origin: what the revision says of it.
    :raises: RuleNotFound if there is no such rule.
    """
    with rule_set.change(origin) as change:
        _get(change.session, uuid)
        change.delete([uuid])


@transaction.retried
def destroy_all_rules(origin: rule_set.Origin = rule_set.UNKNOWN) -> None:
    """Remove all rules.

    :param origin: what the revision says of it.
    """
    with rule_set.change(origin) as change:
        change.delete(list(change.session.execute(
            sa.select(models.Rule.uuid)).scalars()))


@transaction.retried
def change_rules(base: int, created: Sequence[Mapping[str, Any]],
                 updated: Mapping[str, Mapping[str, Any]],
                 deleted: Sequence[str], origin: rule_set.Origin) -> int:
    """Change many rules, all or none.

    :param base: the revision of the rule set that this was decided on.
    :param created: column values of new rules.
    :param updated: column values to change, by UUID of the rule.
    :param deleted: UUIDs of the rules to remove.
    :param origin: what the revision says of it.
    :returns: the revision of the rule set, the same as before where nothing
        has changed.
    :raises: RuleSetChanged if the rule set has another revision by now.
    :raises: RuleAlreadyExists if the UUID of a new rule is taken.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        if change.revision != base + 1:
            raise exceptions.RuleSetChanged(base, change.revision - 1)
        change.delete(deleted)
        change.update(updated)
        change.create(created)
    return base + bool(change.outcomes)


@transaction.retried
def get_rule_by_uuid(uuid: str) -> models.Rule:
    """Read one rule.

    :raises: RuleNotFound if there is no such rule.
    """
    with transaction.reader() as session:
        return _get(session, uuid)


@transaction.retried
def list_rules(filters: Mapping[str, Any] | None = None) -> list[models.Rule]:
    """Read rules in their order.

    :param filters: column to the value it must have, or to a list of such
        values.
    """
    query = _filtered(sa.select(models.Rule), filters)
    with transaction.reader() as session:
        return list(session.execute(query).scalars())


@transaction.retried
def list_values(column: str, filters: Mapping[str, Any] | None = None
                ) -> list[tuple[str, Any]]:
    """Read one column of many rules, in their order.

    What sorting and paging needs to know of the rules that are not on the
    page.

    :param column: name of the column.
    :param filters: as for :func:`list_rules`.
    :returns: pairs of UUID and value.
    """
    query = _filtered(
        sa.select(models.Rule.uuid, getattr(models.Rule, column)), filters)
    with transaction.reader() as session:
        return [(uuid, value) for uuid, value in session.execute(query)]


@transaction.retried
def read_rule_set() -> tuple[int, list[Mapping[str, Any]]]:
    """Read all rules in their order.

    :returns: the revision and the rows. They may be newer than it; a change
        on this revision is refused then.
    """
    query = rule_set.in_order(sa.select(models.Rule.__table__))
    with transaction.reader() as session:
        revision = rule_set.read_revision(session)
        return revision, [dict(row) for row
                          in session.execute(query).mappings()]


@transaction.retried
def get_revision() -> int:
    """Return the revision of the rule set."""
    with transaction.reader() as session:
        return rule_set.read_revision(session)


def _get(session: orm.Session, uuid: str) -> models.Rule:
    rule = session.execute(
        sa.select(models.Rule).where(models.Rule.uuid == uuid)
    ).scalar_one_or_none()
    if rule is None:
        raise exceptions.RuleNotFound(uuid)
    return rule


def _filtered(query: sa.Select, filters: Mapping[str, Any] | None
              ) -> sa.Select:
    for name, wanted in (filters or {}).items():
        column = getattr(models.Rule, name)
        query = query.where(column.in_(wanted) if isinstance(wanted, list)
                            else column == wanted)
    return rule_set.in_order(query)

# SPDX-License-Identifier: Apache-2.0

"""Stored rules and revisions: how they are read and changed."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _


@transaction.retried_on_lock_conflict
def create_rule(
    values: Mapping[str, Any],
    origin: rule_set.ChangeOrigin = rule_set.UNKNOWN,
    base: int | None = None,
) -> models.RuleRow:
    """Store a new rule.

    If the previous change has removed this very rule, it is put back, and
    neither change leaves a revision; see
    :meth:`.rule_set.RuleSetChange.put_back`.

    :param values: column values; ``uuid``, ``conditions`` and ``actions``
        are required.
    :param origin: who makes the change and why, for the revision.
    :param base: the revision of the rule set that the caller has read; None
        for any.
    :raises: RuleSetChanged if the rule set has changed to another revision.
    :raises: RuleAlreadyExists if the UUID is taken.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        _check_base(change, base)
        was_put_back = change.put_back(values)
        if not was_put_back:
            change.create([values])
        return _get_rule(change.session, values['uuid'])


@transaction.retried_on_lock_conflict
def update_rule(
    uuid: str,
    values: Mapping[str, Any],
    revision: int,
    origin: rule_set.ChangeOrigin = rule_set.UNKNOWN,
    base: int | None = None,
) -> models.RuleRow:
    """Change a rule, unless another request has changed it meanwhile.

    :param values: the column values to change.
    :param revision: the revision that the row must have.
    :param origin: who makes the change and why, for the revision.
    :param base: the revision that the rule set must have; None for any.
    :raises: RuleSetChanged if the rule set has changed to another revision.
    :raises: RuleNotFound if there is no such rule.
    :raises: Conflict if the row has changed to another revision.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        _check_base(change, base)
        rule = _get_rule(change.session, uuid)
        if rule.revision != revision:
            raise exceptions.Conflict(
                _('Inspection rule %s was changed meanwhile.') % uuid
            )
        change.update({uuid: values})
        # Read the rule again, because update() bypasses this object, and MySQL
        # drops the fractions of seconds.
        change.session.refresh(rule)
        return rule


@transaction.retried_on_lock_conflict
def destroy_rule(
    uuid: str, origin: rule_set.ChangeOrigin = rule_set.UNKNOWN
) -> None:
    """Remove one rule.

    :raises: RuleNotFound if there is no such rule.
    """
    with rule_set.change(origin) as change:
        _get_rule(change.session, uuid)
        change.delete([uuid])


@transaction.retried_on_lock_conflict
def destroy_all_rules(
    origin: rule_set.ChangeOrigin = rule_set.UNKNOWN,
) -> None:
    """Remove all rules, in one revision."""
    with rule_set.change(origin) as change:
        all_uuids = change.session.execute(sa.select(models.RuleRow.uuid))
        change.delete(list(all_uuids.scalars()))


@transaction.retried_on_lock_conflict
def change_rules(
    base: int,
    created: Sequence[Mapping[str, Any]],
    updated: Mapping[str, Mapping[str, Any]],
    deleted: Sequence[str],
    origin: rule_set.ChangeOrigin,
    tables: Sequence[Mapping[str, Any]] = (),
) -> int:
    """Change many rules and tables in one transaction.

    :param base: the revision that the rule set must have.
    :param created: column values of the new rules.
    :param updated: column values to change, by UUID of the rule.
    :param deleted: the UUIDs of rules to remove.
    :param origin: who makes the change and why, for the revision.
    :param tables: a mapping for every table that changes, with its ``name``,
        its ``definition`` (None to remove it) and ``rows``, the numbers of
        ``new``, ``changed`` and ``gone`` rows. Unless the table is removed,
        the mapping also has its ``size``, which is the number of its rows, and
        all of its ``chunks``, see :meth:`.rule_set.RuleSetChange.put_table`.
    :returns: the new revision of the rule set: the next number, or ``base`` if
        nothing has changed.
    :raises: RuleSetChanged if the rule set has changed to another revision.
    :raises: RuleAlreadyExists if the UUID of a new rule is taken.
    :raises: Invalid if the database cannot store a value.
    """
    with rule_set.change(origin) as change:
        _check_base(change, base)
        change.delete(deleted)
        change.update(updated)
        change.create(created)
        for table in tables:
            if table['definition'] is None:
                change.delete_table(table['name'], table['rows'])
            else:
                change.put_table(
                    table['name'],
                    definition=table['definition'],
                    size=table['size'],
                    chunks=table['chunks'],
                    rows=table['rows'],
                )
    if change.outcomes:
        return base + 1
    return base


def _check_base(change: rule_set.RuleSetChange, base: int | None) -> None:
    """Check that a change applies to the revision that it was decided for.

    Nobody else can change the rule set after this, because this transaction
    has already incremented the number of the revision, whose row it locks.

    :param base: the revision that the change was decided for; None for any.
    :raises: RuleSetChanged if the rule set has another revision.
    """
    revision_before = change.revision - 1
    if base is not None and base != revision_before:
        raise exceptions.RuleSetChanged(base, revision_before)


@transaction.retried_on_lock_conflict
def get_rule_by_uuid(uuid: str) -> models.RuleRow:
    """Read one rule.

    :raises: RuleNotFound if there is no such rule.
    """
    with transaction.reader() as session:
        return _get_rule(session, uuid)


def list_rules(
    filters: Mapping[str, Any] | None = None,
) -> list[models.RuleRow]:
    """Read rules in their order.

    :param filters: values by column, e.g. ``{'phase': 'main'}``; a list
        accepts any of its values. None for all rules.
    """
    return transaction.read(_add_filters(sa.select(models.RuleRow), filters))


def list_values(
    column: str, filters: Mapping[str, Any] | None = None
) -> list[tuple[str, Any]]:
    """Read one column of many rules, in their order.

    Sorting and paging need the column of rules that are not on the page.

    :param filters: values by column, see :func:`list_rules`.
    :returns: pairs of UUID and value.
    """
    # Use a name of its own, because the column may be the UUID itself.
    value = getattr(models.RuleRow, column).label('value')
    query = sa.select(models.RuleRow.uuid, value)
    rows = transaction.read_rows(_add_filters(query, filters))
    return [(row['uuid'], row['value']) for row in rows]


@transaction.retried_on_lock_conflict
def read_rule_set() -> tuple[int, list[Mapping[str, Any]]]:
    """Read all rules in their order.

    :returns: the revision and the rows. If the rows are newer than the
        revision, a change based on it is refused.
    """
    query = rule_set.in_order(sa.select(models.RuleRow.__table__))
    with transaction.reader() as session:
        # Read the revision first. If it were read last, it could be newer than
        # the rows, and a change based on it would undo changes in between.
        revision = rule_set.read_revision(session)
        rows = session.execute(query).mappings()
        return revision, [dict(row) for row in rows]


def list_revisions(
    limit: int, before: int | None = None
) -> list[models.RevisionRow]:
    """Read revisions, the newest first.

    :param limit: maximum number of revisions.
    :param before: the number of a revision; only older revisions are read.
    """
    newest_first = models.RevisionRow.revision.desc()
    query = sa.select(models.RevisionRow).order_by(newest_first).limit(limit)
    if before is not None:
        query = query.where(models.RevisionRow.revision < before)
    return transaction.read(query)


@transaction.retried_on_lock_conflict
def get_rules_of_revision(
    revision: int,
) -> tuple[models.RevisionRow, list[models.RuleVersionRow]]:
    """Read the rule set as it was at a revision.

    A number has no row if its change was undone immediately, see
    :meth:`.rule_set.RuleSetChange.put_back`. Then it stands for the previous
    revision. Revision 0, before the first change, has no rules.

    :returns: the row of the revision, and the versions of rules that were in
        force then, in the order in which they ran.
    :raises: NotFound if there is no such revision, or it is no longer kept.
    """
    version = models.RuleVersionRow
    columns = version.__table__.c
    if revision == 0:
        # The database has no row for this revision.
        return models.RevisionRow(revision=0, changes=[]), []
    has_begun = columns.first_revision <= revision
    has_not_ended = sa.or_(
        columns.end_revision.is_(None), columns.end_revision > revision
    )
    # The row of the last change up to this number.
    last_change = sa.select(models.RevisionRow)
    last_change = last_change.where(
        models.RevisionRow.__table__.c.revision <= revision
    )
    last_change = last_change.order_by(models.RevisionRow.revision.desc())
    in_force = sa.select(version).where(has_begun, has_not_ended)
    in_force = in_force.order_by(columns.position, columns.id)
    with transaction.reader() as session:
        row: Any = session.execute(last_change.limit(1)).scalar_one_or_none()
        # If there is no row, changes of this age are no longer kept. A number
        # above the newest revision is not in use yet.
        if row is None or revision > rule_set.read_revision(session):
            raise exceptions.NotFound(
                _(
                    'There is no revision %s of the rule set, or it is not '
                    'kept any more.'
                )
                % revision
            )
        return row, list(session.execute(in_force).scalars())


def find_ever_sensitive() -> set[str]:
    """Return the UUIDs of rules that are sensitive in any kept revision.

    Nobody may read their content in any revision, because it may have been
    the same before they became sensitive.
    """
    query = sa.select(models.RuleVersionRow.uuid).distinct()
    query = query.where(models.RuleVersionRow.sensitive.is_(True))
    return set(transaction.read(query))


def find_never_sensitive() -> set[str]:
    """Return the UUIDs of rules that are sensitive in no kept revision.

    A rule without any kept revision is left out, because it may have been
    sensitive, and then its effects must not be shown.
    """
    query = sa.select(
        models.RuleVersionRow.uuid, models.RuleVersionRow.sensitive
    )
    rows = transaction.read_rows(query.distinct())
    # A rule that was sensitive only in some revisions has two rows.
    uuids = {row['uuid'] for row in rows}
    ever_sensitive = {row['uuid'] for row in rows if row['sensitive']}
    return uuids - ever_sensitive


def describe_revision(row: models.RevisionRow) -> dict[str, Any]:
    """Return a revision as plain data, with its time as ISO 8601 text.

    The time is None for revision 0.
    """
    created_at = None
    if row.created_at:
        created_at = row.created_at.isoformat() + '+00:00'
    return {
        'revision': row.revision,
        'created_at': created_at,
        'user_id': row.user_id,
        'project_id': row.project_id,
        'message': row.message,
        'changes': row.changes,
    }


def _get_rule(session: orm.Session, uuid: str) -> models.RuleRow:
    """Read the row of a rule.

    :raises: RuleNotFound if there is no such rule.
    """
    query = sa.select(models.RuleRow).where(models.RuleRow.uuid == uuid)
    rule = session.execute(query).scalar_one_or_none()
    if rule is None:
        raise exceptions.RuleNotFound(uuid)
    return rule


def _add_filters(
    query: sa.Select, filters: Mapping[str, Any] | None
) -> sa.Select:
    """Add filters to a query of rules, and sort it as the rules run.

    :param filters: a value, or a list of accepted values, by column.
    """
    for name, value in (filters or {}).items():
        column = getattr(models.RuleRow, name)
        if isinstance(value, list):
            query = query.where(column.in_(value))
        else:
            query = query.where(column == value)
    return rule_set.in_order(query)

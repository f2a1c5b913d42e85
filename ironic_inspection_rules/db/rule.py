# SPDX-License-Identifier: Apache-2.0

"""Reads and changes the stored rules, and reads the revisions of the rule set.

The rule set is all stored rules and tables. It has a number, its *revision*.
Every change goes through :func:`.rule_set.change`, which makes the next
revision and records who made the change and what was changed.

A caller decides on a change by the rules that it has read. It passes the
revision of these rules as ``base``, and the change is refused if somebody has
changed the rule set since.
"""

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
    """Store a new rule, and return its row.

    If the previous change has removed a rule with the same fields, that rule
    is put back, and the list of revisions shows neither of the two changes,
    see :meth:`.rule_set.RuleSetChange.put_back`.

    :param values: column values; ``uuid``, ``conditions`` and ``actions``
        are required.
    :param origin: who makes the change and why, for the revision.
    :param base: the revision that the rule set must have; None for any.
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

    :param uuid: the UUID of the rule.
    :param values: the column values to change.
    :param revision: the ``revision`` of the rule that the caller has read.
    :param origin: who makes the change and why, for the revision.
    :param base: the revision that the rule set must have; None for any.
    :returns: the row of the rule after the change.
    :raises: RuleSetChanged if the rule set has changed to another revision.
    :raises: RuleNotFound if there is no such rule.
    :raises: Conflict if the rule has changed to another revision.
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
        # Read the row again, because update() writes to the database without
        # changing this object, and because MySQL drops fractions of seconds.
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
    :param tables: a mapping for every table that changes. It has the ``name``
        of the table, its ``definition``, and ``rows`` for the revision:
        ``{'new': 2, 'changed': 0, 'gone': 1}``. The definition is None to
        remove the table. Otherwise the mapping also has the ``size`` of the
        table, which is the number of its rows, and all of its ``chunks``, see
        :meth:`.rule_set.RuleSetChange.put_table`.
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
    """Check that the rule set has not changed since the caller has read it.

    :param change: the change in progress.
    :param base: the revision that the caller has read; None for any.
    :raises: RuleSetChanged if the rule set has another revision.
    """
    # Opening the change has incremented the revision, and has locked its row.
    # Nobody else can therefore change the rule set after this check.
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
    """Read stored rules, in the order in which they run at equal priority.

    :param filters: the values that columns must have, e.g. ``{'phase':
        'main'}``; a list accepts any of its values. None for all rules.
    """
    return transaction.read(_add_filters(sa.select(models.RuleRow), filters))


def list_values(
    column: str, filters: Mapping[str, Any] | None = None
) -> list[tuple[str, Any]]:
    """Read one column of many rules, in the order of :func:`list_rules`.

    To sort rules by a column and return a page, the API needs this column of
    all rules, but the other columns only of the rules on the page.

    :param column: the name of the column.
    :param filters: the values that columns must have, see :func:`list_rules`.
    :returns: the UUID of every rule, with its value in the column.
    """
    # The label makes the names of both columns differ if "column" is the UUID.
    value = getattr(models.RuleRow, column).label('value')
    query = sa.select(models.RuleRow.uuid, value)
    rows = transaction.read_rows(_add_filters(query, filters))
    return [(row['uuid'], row['value']) for row in rows]


@transaction.retried_on_lock_conflict
def read_rule_set() -> tuple[int, list[Mapping[str, Any]]]:
    """Read the revision of the rule set, and all stored rules.

    :returns: the revision, and the columns of every rule in the order of
        :func:`list_rules`. The rules may be newer than the revision. A change
        with this revision as its base is then refused.
    """
    query = rule_set.order_by_position(sa.select(models.RuleRow.__table__))
    with transaction.reader() as session:
        # Read the revision first. If it were read last, it could be newer than
        # the rules. A change with it as its base would then be accepted, and
        # would undo the changes in between.
        revision = rule_set.read_revision(session)
        rows = session.execute(query).mappings()
        return revision, [dict(row) for row in rows]


def list_revisions(
    limit: int, before: int | None = None
) -> list[models.RevisionRow]:
    """Read revisions of the rule set, newest first.

    :param limit: maximum number of revisions.
    :param before: if given, read only revisions with a lower number.
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
    """Read a revision of the rule set, and the rules as they were then.

    - Revision 0 is the rule set before the first change. It has no rules.
    - Some numbers have no row, because their change was undone, see
      :meth:`.rule_set.RuleSetChange.put_back`. They have the rules of the last
      revision before them that has a row, and this row is returned.

    :returns: the row of the revision, and the versions of rules that were in
        force then, in the order in which they ran.
    :raises: NotFound if there is no such revision, or it is no longer kept.
    """
    version = models.RuleVersionRow
    columns = version.__table__.c
    if revision == 0:
        # The database has no row for this revision.
        return models.RevisionRow(revision=0, changes=[]), []
    # The query for the last row up to this number.
    last_row = sa.select(models.RevisionRow)
    last_row = last_row.where(
        models.RevisionRow.__table__.c.revision <= revision
    )
    last_row = last_row.order_by(models.RevisionRow.revision.desc()).limit(1)
    # The query for the versions that were in force.
    has_begun = columns.first_revision <= revision
    has_not_ended = sa.or_(
        columns.end_revision.is_(None), columns.end_revision > revision
    )
    versions = sa.select(version).where(has_begun, has_not_ended)
    versions = versions.order_by(columns.position, columns.id)
    with transaction.reader() as session:
        row: Any = session.execute(last_row).scalar_one_or_none()
        # If there is no row, revisions of this age are no longer kept. A
        # number above the newest revision is not in use yet.
        if row is None or revision > rule_set.read_revision(session):
            raise exceptions.NotFound(
                _(
                    'There is no revision %s of the rule set, or it is not '
                    'kept any more.'
                )
                % revision
            )
        return row, list(session.execute(versions).scalars())


def find_ever_sensitive() -> set[str]:
    """Return the UUIDs of rules that are sensitive in any kept revision.

    Nobody may read these rules in any revision, because their content may have
    been the same before they became sensitive.
    """
    query = sa.select(models.RuleVersionRow.uuid).distinct()
    query = query.where(models.RuleVersionRow.sensitive.is_(True))
    return set(transaction.read(query))


def find_never_sensitive() -> set[str]:
    """Return the UUIDs of rules that are sensitive in no kept revision.

    The effects of these rules may be shown. A rule that no kept revision has
    is left out, because it may have been sensitive.
    """
    query = sa.select(
        models.RuleVersionRow.uuid, models.RuleVersionRow.sensitive
    )
    rows = transaction.read_rows(query.distinct())
    # A rule that was sensitive only in some revisions has two rows.
    all_uuids = {row['uuid'] for row in rows}
    ever_sensitive = {row['uuid'] for row in rows if row['sensitive']}
    return all_uuids - ever_sensitive


def describe_revision(row: models.RevisionRow) -> dict[str, Any]:
    """Return a revision as plain data, with its time as ISO 8601 text.

    :returns: ``{'revision': 3, 'created_at': '2026-01-01T12:00:00+00:00', …}``
        with the columns of :class:`.models.RevisionRow`. The time of revision
        0 is None.
    """
    created_at = None
    if row.created_at:
        # The database has the time in UTC, without a time zone.
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
    """Return a query of rules with filters, and sorted as the rules run.

    :param filters: by column, the value that a rule must have, or a list of
        values of which it must have one. None for no filters.
    """
    for column_name, wanted in (filters or {}).items():
        column = getattr(models.RuleRow, column_name)
        if isinstance(wanted, list):
            query = query.where(column.in_(wanted))
        else:
            query = query.where(column == wanted)
    return rule_set.order_by_position(query)

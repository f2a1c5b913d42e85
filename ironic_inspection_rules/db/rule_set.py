# SPDX-License-Identifier: Apache-2.0

"""A change of the stored rule set, which makes one revision.

The rule set is all stored rules and tables. Its *revision* is a number that
every change increments. The row of a revision has the *outcome* for every rule
that was changed: ``{'uuid': '…', 'outcome': 'moved', 'description': '…'}``.

A *version* is a rule as it was from one revision to another. Versions make it
possible to read the rules of an earlier revision. Rules themselves are stored
only as they are now.
"""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import dataclasses
import json
from typing import Any

from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import rule_statistics
from ironic_inspection_rules.db import table
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _

CREATED = 'created'
UPDATED = 'updated'
MOVED = 'moved'
DELETED = 'deleted'
"""Outcomes for a rule; a moved rule has only another position."""

_RULES = models.RuleRow.__table__

_MOST_UUIDS = 500
"""Maximum number of UUIDs in a statement, because databases limit values."""


@dataclasses.dataclass(frozen=True)
class ChangeOrigin:
    """Who makes a change, and why: the ``message``.

    ``keep_revisions`` is the number of revisions to keep after the change.
    """

    user_id: str | None = None
    project_id: str | None = None
    message: str | None = None
    keep_revisions: int = 100


UNKNOWN = ChangeOrigin()


class RuleSetChange:
    """A change of the stored rules and tables, in an open transaction.

    The methods write rules and tables to the database, and note the outcomes.
    At the end, :meth:`record` writes the row of the revision and the versions
    of rules.

    :param revision: the revision that the change makes.
    :ivar outcomes: the outcomes for rules and tables, which become the column
        ``changes`` of :class:`.models.RevisionRow`.
    """

    def __init__(self, session: orm.Session, revision: int) -> None:
        self.session = session
        self.revision = revision
        self.outcomes: list[dict[str, Any]] = []
        # Whether put_back() has undone the previous change. Then neither of
        # the two changes has a row in the list of revisions.
        self._has_put_back = False
        # Creating a rule begins a version of it, removing it ends its version,
        # and changing or moving it does both.
        self._uuids_of_ended_versions: list[str] = []
        self._rows_of_new_versions: list[Mapping[str, Any]] = []

    def create(self, values: Sequence[Mapping[str, Any]]) -> None:
        """Store new rules; a rule without a position is put at the end.

        :param values: column values of every rule; ``uuid``, ``conditions``
            and ``actions`` are required.
        :raises: RuleAlreadyExists if a UUID is taken.
        """
        if not values:
            return
        last_position = self.session.execute(
            sa.select(sa.func.max(_RULES.c.position))
        ).scalar()
        if last_position is None:
            # There are no rules yet.
            last_position = 0
        rows: list[dict[str, Any]] = []
        for number, rule in enumerate(values, start=1):
            rows.append(
                {
                    **_build_column_defaults(),
                    # A position in the values of the rule overrides this one.
                    'position': last_position + number,
                    **rule,
                    'revision': self.revision,
                }
            )
        new_uuids = [row['uuid'] for row in rows]
        stored_rows = _read_rows(self.session, new_uuids)
        taken_uuids = {row['uuid'] for row in stored_rows}
        for uuid in new_uuids:
            if uuid in taken_uuids:
                raise exceptions.RuleAlreadyExists(uuid)
            # This also finds two new rules with the same UUID.
            taken_uuids.add(uuid)
        self.session.execute(sa.insert(_RULES), rows)
        for row in rows:
            self._note_rule(CREATED, row)

    def put_back(self, values: Mapping[str, Any]) -> bool:
        """Undo the previous change, if it has only removed this very rule.

        Some tools remove a rule and create it again on every run, which would
        fill the list of revisions. Therefore neither the removal nor this
        change has a row in the list. The number of the rule set still grows,
        because processes may have read the number in between.

        The rule is put back if the previous change has removed it and changed
        nothing else, and if it had the same fields. Otherwise nothing changes,
        and the caller has to create the rule.

        :param values: column values of the rule to create.
        :returns: whether the rule was put back.
        """
        uuid = values['uuid']
        # None if the list of revisions does not show the previous change.
        previous: Any = self.session.get(models.RevisionRow, self.revision - 1)
        if previous is None:
            return False
        outcomes = [change['outcome'] for change in previous.changes]
        if outcomes != [DELETED]:
            return False
        # If it has removed another rule or a table, no version of this rule
        # ended with it.
        version: Any = self.session.execute(
            sa.select(models.RuleVersionRow).where(
                models.RuleVersionRow.uuid == uuid,
                models.RuleVersionRow.end_revision == previous.revision,
            )
        ).scalar_one_or_none()
        row = {**_build_column_defaults(), **values}
        if version is None or not _has_same_fields(row, version):
            return False
        row['revision'] = version.rule_revision
        row['position'] = version.position
        row['created_at'] = version.rule_created_at
        self.session.execute(sa.insert(_RULES), [row])
        # The version continues as if it had never ended.
        version.end_revision = None
        self.session.delete(previous)
        self._has_put_back = True
        return True

    def update(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Change stored rules.

        - A rule whose values stay the same is not changed.
        - A rule that only moves to another position keeps its revision and its
          time of update.
        - Any other rule gets the new revision and the present time.
        - Unknown UUIDs are ignored.

        :param values: the column values to change, by UUID of the rule.
        """
        changed_rows = []
        for stored in _read_rows(self.session, list(values)):
            new_values = values[stored['uuid']]
            changed_columns = {
                name
                for name, value in new_values.items()
                if not model.is_same_value(name, stored[name], value)
            }
            # This column is the version of the code that saves the rule, and
            # not a part of the rule.
            changed_columns.discard('version')
            if not changed_columns:
                continue
            row = {**stored, **new_values}
            if changed_columns == {'position'}:
                self._note_rule(MOVED, row)
            else:
                row['revision'] = self.revision
                row['updated_at'] = timeutils.utcnow()
                self._note_rule(UPDATED, row)
            changed_rows.append(row)
        if changed_rows:
            # Remove the rows and insert them again, because an UPDATE for
            # every row would take many times as long: one statement removes up
            # to _MOST_UUIDS rows, and one call inserts all of them. The rows
            # keep their ids, which sort rules at the same position.
            self._remove([row['uuid'] for row in changed_rows])
            self.session.execute(sa.insert(_RULES), changed_rows)

    def delete(self, uuids: Sequence[str]) -> None:
        """Remove stored rules and their statistics; ignore unknown UUIDs."""
        for row in _read_rows(self.session, uuids):
            self._note_rule(DELETED, row)
        self._remove(uuids)
        rule_statistics.forget(self.session, uuids)

    def put_table(
        self,
        name: str,
        definition: Mapping[str, Any],
        size: int,
        chunks: Sequence[table.Stored],
        rows: Mapping[str, int],
    ) -> None:
        """Store a table, and record the change if it differs.

        :param definition: the table without its rows.
        :param size: the number of its rows.
        :param chunks: all of its chunks, in order.
        :param rows: the numbers of ``new``, ``changed`` and ``gone`` rows, to
            be shown with the revision.
        """
        outcome = table.put(
            self.session,
            self.revision,
            name,
            definition=definition,
            size=size,
            chunks=chunks,
        )
        if outcome is not None:
            self._note_table(name, outcome, rows)

    def delete_table(self, name: str, rows: Mapping[str, int]) -> None:
        """Remove a table, if there is one with this name.

        :param rows: the numbers of ``new``, ``changed`` and ``gone`` rows, to
            be shown with the revision.
        """
        was_removed = table.remove(self.session, self.revision, name)
        if was_removed:
            self._note_table(name, DELETED, rows)

    def _note_table(
        self, name: str, outcome: str, rows: Mapping[str, int]
    ) -> None:
        self.outcomes.append(
            {'table': name, 'outcome': outcome, 'rows': dict(rows)}
        )

    def record(self, origin: ChangeOrigin) -> None:
        """Finish the change: store its revision, and remove old revisions.

        - If :meth:`put_back` has undone the previous change, no revision is
          stored, but the number of the rule set stays incremented.
        - If nothing has changed, no revision is stored, and the number of the
          rule set becomes what it was before.
        - Otherwise the revision is stored.

        :param origin: who made the change and why, and how many revisions to
            keep.
        """
        if self._has_put_back:
            # Processes may have read the number of the previous change, and
            # must see that the rule set has changed since.
            return
        if not self.outcomes:
            # Nobody else can have read the incremented number, because this
            # transaction is not committed yet.
            self.session.execute(
                sa.update(models.RulesRevisionRow).values(
                    revision=models.RulesRevisionRow.revision - 1
                )
            )
            return
        self._write_revision(origin)
        self._forget_old(origin.keep_revisions)

    def _write_revision(self, origin: ChangeOrigin) -> None:
        """Store the row of the revision, and the versions of changed rules.

        The versions of changed and removed rules end with this revision, and
        the new versions of changed and created rules begin with it.

        :param origin: who made the change and why.
        """
        # End the old versions before inserting the new ones, because the new
        # ones would match the same condition.
        for some_uuids in transaction.chunks(
            self._uuids_of_ended_versions, _MOST_UUIDS
        ):
            self.session.execute(
                sa.update(models.RuleVersionRow)
                .where(
                    models.RuleVersionRow.uuid.in_(some_uuids),
                    models.RuleVersionRow.end_revision.is_(None),
                )
                .values(end_revision=self.revision),
                execution_options={'synchronize_session': False},
            )
        new_versions = []
        for row in self._rows_of_new_versions:
            new_versions.append(
                {
                    'uuid': row['uuid'],
                    'first_revision': self.revision,
                    'rule_revision': row['revision'],
                    'rule_created_at': row['created_at'],
                    'sensitive': row['sensitive'],
                    'position': row['position'],
                    'fields': {name: row[name] for name in model.WRITABLE},
                }
            )
        if new_versions:
            self.session.execute(
                sa.insert(models.RuleVersionRow.__table__), new_versions
            )
        self.session.execute(
            sa.insert(models.RevisionRow).values(
                revision=self.revision,
                created_at=timeutils.utcnow(),
                user_id=origin.user_id,
                project_id=origin.project_id,
                message=origin.message,
                changes=self.outcomes,
            )
        )

    def _forget_old(self, keep_revisions: int) -> None:
        """Remove old revisions, and the rules and tables that only they have.

        :param keep_revisions: the number of newest revisions to keep.
        """
        # The oldest revision to keep is looked up instead of computed, because
        # some numbers have no row, see put_back().
        oldest_kept = self.session.execute(
            sa.select(models.RevisionRow.revision)
            .order_by(models.RevisionRow.revision.desc())
            .offset(keep_revisions - 1)
            .limit(1)
        ).scalar()
        if oldest_kept is None:
            # There are fewer revisions than should be kept.
            return
        self.session.execute(
            sa.delete(models.RevisionRow).where(
                models.RevisionRow.__table__.c.revision < oldest_kept
            )
        )
        # The end of a version is the first revision that does not have it.
        self.session.execute(
            sa.delete(models.RuleVersionRow).where(
                models.RuleVersionRow.__table__.c.end_revision <= oldest_kept
            )
        )
        table.forget(self.session, oldest_kept)

    def _note_rule(self, outcome: str, row: Mapping[str, Any]) -> None:
        """Note the outcome for a rule, and which versions of it end and begin.

        :meth:`record` stores them.

        :param outcome: CREATED, UPDATED, MOVED or DELETED.
        :param row: all columns of the rule, as it is after the change, or as
            it was before if it is deleted.
        """
        self.outcomes.append(
            {
                'uuid': row['uuid'],
                'outcome': outcome,
                'description': row['description'],
            }
        )
        if outcome != CREATED:
            self._uuids_of_ended_versions.append(row['uuid'])
        if outcome != DELETED:
            self._rows_of_new_versions.append(row)

    def _remove(self, uuids: Sequence[str]) -> None:
        for part in transaction.chunks(uuids, _MOST_UUIDS):
            self.session.execute(
                sa.delete(_RULES).where(_RULES.c.uuid.in_(part))
            )


def _has_same_fields(row: Mapping[str, Any], version: Any) -> bool:
    """Return whether a rule has the same fields as a version of it.

    :param row: column values of the rule.
    :param version: a :class:`.models.RuleVersionRow`.
    """
    # Convert the fields to JSON and back, because lists of versioned objects
    # never equal the plain lists of the version.
    fields_as_json = json.dumps({name: row[name] for name in model.WRITABLE})
    fields = json.loads(fields_as_json)
    return all(
        model.is_same_value(name, version.fields.get(name), value)
        for name, value in fields.items()
    )


def _build_column_defaults() -> dict[str, Any]:
    """Return a value for every column of a rule except ``id``.

    A column without a default gets None. The values are needed because many
    rows are inserted with a single statement, which requires the same columns
    in all rows.
    """
    values: dict[str, Any] = {}
    for column in _RULES.c:
        if column.name == 'id':
            # The database chooses the ids.
            continue
        default: Any = column.default
        if default is None:
            values[column.name] = None
        elif default.is_callable:
            # The default is a function, e.g. for the present time, which
            # SQLAlchemy calls with the context of a statement.
            values[column.name] = default.arg(None)
        else:
            values[column.name] = default.arg
    return values


@contextlib.contextmanager
def change(origin: ChangeOrigin) -> Iterator[RuleSetChange]:
    """Open a transaction that changes the rule set and makes one revision.

    The ``with`` block makes the changes. After the block, the revision is
    stored in the same transaction, unless nothing has changed, see
    :meth:`RuleSetChange.record`.

    :param origin: who made the change and why, for the revision.
    :raises: Invalid if the database cannot store a value.
    """
    try:
        with transaction.writer() as session:
            # Increment the number of the rule set first. Its row then stays
            # locked until the commit, so that writers wait for each other
            # before they lock anything else, and cannot deadlock.
            session.execute(
                sa.update(models.RulesRevisionRow).values(
                    revision=models.RulesRevisionRow.revision + 1
                )
            )
            new_revision = read_revision(session)
            change_in_progress = RuleSetChange(session, new_revision)
            yield change_in_progress
            change_in_progress.record(origin)
    except db_exc.DBError as exc:
        # A DataError is an error of a value. For example, MySQL raises it for
        # an emoji if [database]connection lacks charset=utf8mb4.
        if isinstance(exc.inner_exception, sa.exc.DataError):
            raise exceptions.Invalid(
                _('The database cannot store this inspection rule: %s')
                % exc.inner_exception.orig
            ) from exc
        raise


def read_revision(session: orm.Session) -> int:
    """Return the current revision of the rule set."""
    return session.execute(
        sa.select(models.RulesRevisionRow.revision)
    ).scalar_one()


def order_by_position(query: sa.Select) -> sa.Select:
    """Sort stored rules in the order in which they run at equal priority."""
    return query.order_by(models.RuleRow.position, models.RuleRow.id)


def _read_rows(
    session: orm.Session, uuids: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    """Read the stored rules with the given UUIDs, in no order.

    Unknown UUIDs are ignored.
    """
    for part in transaction.chunks(uuids, _MOST_UUIDS):
        rows = session.execute(
            sa.select(_RULES).where(_RULES.c.uuid.in_(part))
        ).mappings()
        # Read all rows of a part at once, because the caller executes other
        # statements of the session between the rows.
        yield from [dict(row) for row in rows]

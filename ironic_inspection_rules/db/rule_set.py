# SPDX-License-Identifier: Apache-2.0

"""A change of the stored rule set, which makes one revision."""

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

_RULES = models.RuleRow.__table__

_MOST_UUIDS = 500
"""Maximum number of UUIDs in a statement, because databases limit values."""


@dataclasses.dataclass(frozen=True)
class ChangeOrigin:
    """Where a change comes from.

    ``keep_revisions`` is the number of revisions to keep after the change.
    """

    user_id: str | None = None
    project_id: str | None = None
    message: str | None = None
    keep_revisions: int = 100


UNKNOWN = ChangeOrigin()


class RuleSetChange:
    """A change of the stored rules and tables, in an open transaction.

    :param revision: the revision that the change makes.
    :ivar outcomes: the outcomes for rules and tables, as the revision shows
        them: the ``changes`` of :class:`.models.RevisionRow`.
    """

    def __init__(self, session: orm.Session, revision: int) -> None:
        self.session = session
        self.revision = revision
        self.outcomes: list[dict[str, Any]] = []
        # Whether put_back() has undone the previous change, which removed a
        # rule. In this case neither change leaves a revision.
        self._has_put_back = False
        # A version is a rule as it was from one revision to another. Creating
        # a rule begins a version, removing it ends one, and changing or moving
        # it does both.
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
        last_position = (
            self.session.execute(
                sa.select(sa.func.max(_RULES.c.position))
            ).scalar()
            or 0
        )
        rows: list[dict[str, Any]] = []
        for number, rule in enumerate(values, start=1):
            rows.append(
                {
                    **_column_defaults(),
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
        """Store a rule as it was, if the previous change has removed it.

        Neither change leaves a revision. Some tools remove a rule and create
        it again on every run, which would fill the list of revisions. The
        number of the rule set still grows, because processes may have read the
        number in between.

        :param values: column values of the rule to create.
        :returns: whether the rule was put back. It is put back only if the
            previous change has removed this rule and changed nothing else, and
            if the fields of the rule are the same.
        """
        removal: Any = self.session.get(models.RevisionRow, self.revision - 1)
        if removal is None or not _has_removed_only(removal, values['uuid']):
            return False
        version: Any = self.session.execute(
            sa.select(models.RuleVersionRow).where(
                models.RuleVersionRow.uuid == values['uuid'],
                models.RuleVersionRow.end_revision == removal.revision,
            )
        ).scalar_one_or_none()
        row = {**_column_defaults(), **values}
        if version is None or not _is_same_as_version(row, version):
            return False
        row['revision'] = version.rule_revision
        row['position'] = version.position
        row['created_at'] = version.rule_created_at
        self.session.execute(sa.insert(_RULES), [row])
        # The version continues as if it had never ended.
        version.end_revision = None
        self.session.delete(removal)
        self._has_put_back = True
        return True

    def update(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Change stored rules.

        A rule whose values stay the same is not changed. A rule that only
        moves to another position keeps its revision and time of update.
        Unknown UUIDs are ignored.

        :param values: the column values to change, by UUID of the rule.
        """
        rows = []
        for before in _read_rows(self.session, list(values)):
            new_values = values[before['uuid']]
            changed_columns = {
                name
                for name, value in new_values.items()
                if not model.is_same_value(name, before[name], value)
            }
            # This column is the version of the code that saves the rule, and
            # not a part of the rule.
            changed_columns.discard('version')
            if not changed_columns:
                continue
            row = {**before, **new_values}
            if changed_columns == {'position'}:
                self._note_rule(MOVED, row)
            else:
                row['revision'] = self.revision
                row['updated_at'] = timeutils.utcnow()
                self._note_rule(UPDATED, row)
            rows.append(row)
        if rows:
            # Remove the rows and insert them again, with one statement each,
            # because an UPDATE for every row would take many times as long.
            # The rows keep their ids, which sort rules at the same position.
            self._remove([row['uuid'] for row in rows])
            self.session.execute(sa.insert(_RULES), rows)

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
        """Store the row of the revision, and remove old revisions.

        No row is stored if nothing has changed, or if :meth:`put_back` has
        undone the previous change.

        :param origin: who made the change and why, and how many revisions to
            keep.
        """
        if self._has_put_back:
            # The number of the rule set is not reset, because processes may
            # have read the number that the previous removal has made.
            return
        if not self.outcomes:
            # This transaction has incremented the number of the rule set, and
            # resets it before anybody else can read it.
            self.session.execute(
                sa.update(models.RulesRevisionRow).values(
                    revision=models.RulesRevisionRow.revision - 1
                )
            )
            return
        self._write_revision(origin)
        self._forget_old(origin.keep_revisions)

    def _write_revision(self, origin: ChangeOrigin) -> None:
        """Store the row of the revision, and the versions of its rules.

        The versions of rules that the change replaces or removes end with this
        revision, and new versions begin.

        :param origin: who made the change and why.
        """
        # End the old versions before inserting new ones, because the new ones
        # would match the same condition.
        for part in transaction.chunks(
            self._uuids_of_ended_versions, _MOST_UUIDS
        ):
            self.session.execute(
                sa.update(models.RuleVersionRow)
                .where(
                    models.RuleVersionRow.uuid.in_(part),
                    models.RuleVersionRow.end_revision.is_(None),
                )
                .values(end_revision=self.revision),
                execution_options={'synchronize_session': False},
            )
        versions = []
        for row in self._rows_of_new_versions:
            versions.append(
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
        if versions:
            self.session.execute(
                sa.insert(models.RuleVersionRow.__table__), versions
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
        """Remove old revisions, and versions of rules and tables with them.

        A version that a kept revision still has stays.

        :param keep_revisions: the number of newest revisions to keep.
        """
        # The oldest revision is looked up instead of computed, because some
        # numbers have no row, see put_back().
        oldest_kept = self.session.execute(
            sa.select(models.RevisionRow.revision)
            .order_by(models.RevisionRow.revision.desc())
            .offset(keep_revisions - 1)
            .limit(1)
        ).scalar()
        if oldest_kept is None:
            # There are fewer revisions than that.
            return
        self.session.execute(
            sa.delete(models.RevisionRow).where(
                models.RevisionRow.__table__.c.revision < oldest_kept
            )
        )
        # A version that ends with the oldest kept revision is not part of it.
        self.session.execute(
            sa.delete(models.RuleVersionRow).where(
                models.RuleVersionRow.__table__.c.end_revision <= oldest_kept
            )
        )
        table.forget(self.session, oldest_kept)

    def _note_rule(self, outcome: str, row: Mapping[str, Any]) -> None:
        """Record the outcome for a rule; :meth:`record` stores it.

        The outcome becomes an entry of the revision, and also ends or begins
        versions of the rule.

        :param outcome: CREATED, UPDATED, MOVED or DELETED.
        :param row: all columns of the rule; for DELETED, their old values.
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


def _has_removed_only(removal: Any, uuid: str) -> bool:
    """Return whether a revision has removed a rule and changed nothing else.

    :param removal: a :class:`.models.RevisionRow`.
    :param uuid: the UUID of the rule.
    """
    if len(removal.changes) != 1:
        return False
    only_change = removal.changes[0]
    return (
        only_change.get('uuid') == uuid and only_change['outcome'] == DELETED
    )


def _is_same_as_version(row: Mapping[str, Any], version: Any) -> bool:
    """Return whether a rule has the same fields as a version of it.

    :param row: column values of the rule.
    :param version: a :class:`.models.RuleVersionRow`.
    """
    # Convert to JSON and back, because lists of versioned objects never equal
    # the plain lists of the version.
    fields = json.loads(
        json.dumps({name: row[name] for name in model.WRITABLE})
    )
    return all(
        model.is_same_value(name, version.fields.get(name), value)
        for name, value in fields.items()
    )


def _column_defaults() -> dict[str, Any]:
    """Return the defaults of all columns of a rule except ``id``.

    They are needed because many rows are inserted with a single statement,
    which requires the same columns in all rows.
    """
    defaults: dict[str, Any] = {}
    for column in _RULES.c:
        if column.name == 'id':
            continue
        default: Any = column.default
        if default is None:
            defaults[column.name] = None
        elif default.is_callable:
            # SQLAlchemy calls it with the context of a statement.
            defaults[column.name] = default.arg(None)
        else:
            defaults[column.name] = default.arg
    return defaults


@contextlib.contextmanager
def change(origin: ChangeOrigin) -> Iterator[RuleSetChange]:
    """Open a transaction that changes the rule set and makes one revision.

    Its first statement increments the number of the rule set, whose row stays
    locked until the commit. Writers therefore wait for each other before they
    lock anything else, and cannot deadlock. After the ``with`` block, the new
    revision is stored in the same transaction, see
    :meth:`RuleSetChange.record`.

    :param origin: who made the change and why, for the revision.
    :raises: Invalid if the database cannot store a value.
    """
    try:
        with transaction.writer() as session:
            session.execute(
                sa.update(models.RulesRevisionRow).values(
                    revision=models.RulesRevisionRow.revision + 1
                )
            )
            opened = RuleSetChange(session, read_revision(session))
            yield opened
            opened.record(origin)
    except db_exc.DBError as exc:
        # For example, MySQL raises this for an emoji if [database]connection
        # lacks charset=utf8mb4.
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


def in_order(query: sa.Select) -> sa.Select:
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

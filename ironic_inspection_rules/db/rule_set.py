# SPDX-License-Identifier: Apache-2.0

"""Changing the stored rules: the one way, which makes one revision."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _

CREATED = 'created'
UPDATED = 'updated'
MOVED = 'moved'
DELETED = 'deleted'

_RULES = models.Rule.__table__

# As many values as every database takes in one statement.
_CHUNK = 500


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a change comes from.

    ``keep_revisions`` is the number of revisions that are kept after it.
    """

    user_id: str | None = None
    project_id: str | None = None
    message: str | None = None
    keep_revisions: int = 100


UNKNOWN = Origin()


class Change:
    """A change of the rule set in an open transaction.

    :param revision: the revision that the change makes.
    """

    def __init__(self, session: orm.Session, revision: int) -> None:
        self.session = session
        self.revision = revision
        self.outcomes: list[dict[str, Any]] = []
        self._has_put_back = False
        self._ended: list[str] = []
        self._begun: list[Mapping[str, Any]] = []

    def create(self, values: Sequence[Mapping[str, Any]]) -> None:
        """Store new rules, after the others where they have no position.

        :param values: column values of each; ``uuid``, ``conditions`` and
            ``actions`` are required.
        :raises: RuleAlreadyExists if a UUID is taken.
        """
        if not values:
            return
        last = self.session.execute(
            sa.select(sa.func.max(_RULES.c.position))).scalar() or 0
        rows: list[dict[str, Any]] = [
            {**_defaults(), 'position': last + 1 + index, **each,
             'revision': self.revision}
            for index, each in enumerate(values)]
        uuids = [row['uuid'] for row in rows]
        taken = {row['uuid'] for row in _read(self.session, uuids)}
        for uuid in uuids:
            if uuid in taken:
                raise exceptions.RuleAlreadyExists(uuid)
            taken.add(uuid)
        self.session.execute(sa.insert(_RULES), rows)
        for row in rows:
            self._note(CREATED, row)

    def put_back(self, values: Mapping[str, Any]) -> bool:
        """Store a rule as it was, if the change before has removed it.

        Both changes leave no revision: there are tools that remove and make
        again all of their rules, whenever they run. The number of the rule
        set still grows, as processes may have read the one in between.

        :param values: column values of the rule to create.
        :returns: whether this was the rule that the change before, and
            nothing else, has removed.
        """
        removal: Any = self.session.get(models.Revision, self.revision - 1)
        if removal is None or [
                (each['uuid'], each['outcome']) for each in removal.changes
        ] != [(values['uuid'], DELETED)]:
            return False
        version: Any = self.session.execute(
            sa.select(models.RuleVersion).where(
                models.RuleVersion.uuid == values['uuid'],
                models.RuleVersion.end_revision == removal.revision)
        ).scalar_one_or_none()
        row = {**_defaults(), **values}
        # Plain data: objects have lists of their own kind.
        fields = json.loads(json.dumps(
            {name: row[name] for name in model.WRITABLE}))
        if version is None or not all(
                model.same(name, version.fields.get(name), value)
                for name, value in fields.items()):
            return False
        row.update(revision=version.rule_revision, position=version.position,
                   created_at=version.rule_created_at)
        self.session.execute(sa.insert(_RULES), [row])
        version.end_revision = None
        self.session.delete(removal)
        self._has_put_back = True
        return True

    def update(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Change stored rules; one that is so already keeps its revision.

        :param values: the column values to change, by UUID of the rule.
        """
        rows = []
        for before in _read(self.session, list(values)):
            wanted = values[before['uuid']]
            changed = {name for name, value in wanted.items()
                       if not model.same(name, before[name], value)
                       } - {'version'}
            if not changed:
                continue
            row = {**before, **wanted}
            if changed == {'position'}:
                self._note(MOVED, row)
            else:
                row.update(revision=self.revision,
                           updated_at=timeutils.utcnow())
                self._note(UPDATED, row)
            rows.append(row)
        if rows:
            # A statement for each row would take many times as long.
            self._remove([row['uuid'] for row in rows])
            self.session.execute(sa.insert(_RULES), rows)

    def delete(self, uuids: Sequence[str]) -> None:
        """Remove stored rules."""
        for row in _read(self.session, uuids):
            self._note(DELETED, row)
        self._remove(uuids)
        rule_statistics.forget(self.session, uuids)

    def record(self, origin: Origin) -> None:
        """Store the revision, or take it back where nothing has changed."""
        if self._has_put_back:
            return
        if not self.outcomes:
            self.session.execute(sa.update(models.RulesRevision).values(
                revision=models.RulesRevision.revision - 1))
            return
        _write_revision(self.session, self.revision, origin, self._ended,
                        self._begun, self.outcomes)
        # Numbers may be left out.
        oldest = self.session.execute(
            sa.select(models.Revision.revision)
            .order_by(models.Revision.revision.desc())
            .offset(origin.keep_revisions - 1).limit(1)).scalar()
        if oldest is None:
            return
        self.session.execute(sa.delete(models.Revision).where(
            models.Revision.__table__.c.revision < oldest))
        self.session.execute(sa.delete(models.RuleVersion).where(
            models.RuleVersion.__table__.c.end_revision <= oldest))

    def _note(self, outcome: str, row: Mapping[str, Any]) -> None:
        self.outcomes.append({'uuid': row['uuid'], 'outcome': outcome,
                              'description': row['description']})
        if outcome != CREATED:
            self._ended.append(row['uuid'])
        if outcome != DELETED:
            self._begun.append(row)

    def _remove(self, uuids: Sequence[str]) -> None:
        for part in transaction.chunks(uuids, _CHUNK):
            self.session.execute(
                sa.delete(_RULES).where(_RULES.c.uuid.in_(part)))


def _defaults() -> dict[str, Any]:
    """Return the defaults of all columns of a rule but ``id``."""
    defaults: dict[str, Any] = {}
    for column in _RULES.c:
        default: Any = column.default
        if default is not None:
            default = (default.arg(None) if default.is_callable
                       else default.arg)
        defaults[column.name] = default
    del defaults['id']
    return defaults


@contextlib.contextmanager
def change(origin: Origin) -> Iterator[Change]:
    """Open a transaction that changes the rule set.

    It begins with the next revision, which makes all writers queue up before
    they hold anything that another one could wait for: no deadlock.

    :raises: Invalid if the database cannot store a value.
    """
    try:
        with transaction.writer() as session:
            session.execute(sa.update(models.RulesRevision).values(
                revision=models.RulesRevision.revision + 1))
            revision = read_revision(session)
            opened = Change(session, revision)
            yield opened
            opened.record(origin)
    except db_exc.DBError as exc:
        # Such as an emoji, when [database]connection lacks charset=utf8mb4.
        if isinstance(exc.inner_exception, sa.exc.DataError):
            raise exceptions.Invalid(
                _('The database cannot store this inspection rule: %s')
                % exc.inner_exception.orig) from exc
        raise


def read_revision(session: orm.Session) -> int:
    """Return the present revision of the rule set."""
    return session.execute(
        sa.select(models.RulesRevision.revision)).scalar_one()


def in_order(query: sa.Select) -> sa.Select:
    """Sort stored rules as they run at equal priority."""
    return query.order_by(models.Rule.position, models.Rule.id)


def _read(session: orm.Session, uuids: Sequence[str]
          ) -> Iterator[Mapping[str, Any]]:
    for part in transaction.chunks(uuids, _CHUNK):
        yield from [dict(row) for row in session.execute(
            sa.select(_RULES).where(_RULES.c.uuid.in_(part))).mappings()]


def _write_revision(session: orm.Session, revision: int, origin: Origin,
                    ended: Sequence[str], begun: Iterable[Mapping[str, Any]],
                    changes: list[dict[str, Any]]) -> None:
    """Store a revision, and the versions of rules that it ends and begins.

    :param ended: UUIDs of rules that are gone, or other than before.
    :param begun: rows of the rules that are new, or other than before.
    """
    for part in transaction.chunks(ended, _CHUNK):
        session.execute(
            sa.update(models.RuleVersion)
            .where(models.RuleVersion.uuid.in_(part),
                   models.RuleVersion.end_revision.is_(None))
            .values(end_revision=revision),
            execution_options={'synchronize_session': False})
    versions = [{
        'uuid': row['uuid'], 'first_revision': revision,
        'rule_revision': row['revision'],
        'rule_created_at': row['created_at'], 'sensitive': row['sensitive'],
        'position': row['position'],
        'fields': {name: row[name] for name in model.WRITABLE},
    } for row in begun]
    if versions:
        session.execute(sa.insert(models.RuleVersion.__table__), versions)
    session.execute(sa.insert(models.Revision).values(
        revision=revision, created_at=timeutils.utcnow(),
        user_id=origin.user_id, project_id=origin.project_id,
        message=origin.message, changes=changes))

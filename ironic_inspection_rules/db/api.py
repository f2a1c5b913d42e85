# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Reading and writing the stored rules."""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
from typing import Any

from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.i18n import _


@contextlib.contextmanager
def change() -> Iterator[tuple[orm.Session, int]]:
    """Open a transaction that changes rules.

    It starts with the next revision, for which all writers wait: who waits
    there holds nothing yet that another one could wait for.

    :returns: the session and the revision that the change makes.
    :raises: Invalid if the database cannot store a value.
    """
    try:
        with transaction.writer() as session:
            session.execute(sa.update(models.RulesRevision).values(
                revision=models.RulesRevision.revision + 1))
            yield session, _read_revision(session)
    except db_exc.DBError as exc:
        # Such as an emoji, when [database]connection lacks charset=utf8mb4.
        if isinstance(exc.inner_exception, sa.exc.DataError):
            raise exceptions.Invalid(
                _('The database cannot store this inspection rule: %s')
                % exc.inner_exception.orig) from exc
        raise


@transaction.retried
def create_rule(values: Mapping[str, Any]) -> models.Rule:
    """Store a new rule.

    :param values: column values; ``uuid``, ``conditions`` and ``actions``
        are required.
    :returns: the stored row.
    :raises: RuleAlreadyExists if the UUID is taken.
    :raises: Invalid if the database cannot store a value.
    """
    try:
        with change() as (session, revision):
            rule = models.Rule(**values, revision=revision)
            session.add(rule)
            return _stored(session, rule)
    except db_exc.DBDuplicateEntry as exc:
        raise exceptions.RuleAlreadyExists(values['uuid']) from exc


@transaction.retried
def update_rule(uuid: str, values: Mapping[str, Any],
                revision: int) -> models.Rule:
    """Change a rule, unless somebody else has changed it meanwhile.

    :param uuid: UUID of the rule.
    :param values: the column values to change.
    :param revision: the row's revision that the change was decided on.
    :returns: the changed row.
    :raises: RuleNotFound if there is no such rule.
    :raises: RuleChanged if the row has another revision by now.
    :raises: Invalid if the database cannot store a value.
    """
    with change() as (session, new_revision):
        rule = _get(session, uuid)
        if rule.revision != revision:
            raise exceptions.RuleChanged(uuid)
        rule.update({**values, 'revision': new_revision})
        return _stored(session, rule)


@transaction.retried
def destroy_rule(uuid: str) -> None:
    """Remove one rule.

    :raises: RuleNotFound if there is no such rule.
    """
    with change() as (session, _revision):
        session.delete(_get(session, uuid))


@transaction.retried
def destroy_all_rules() -> None:
    """Remove all rules."""
    with change() as (session, _revision):
        session.execute(sa.delete(models.Rule))


@transaction.retried
def get_rule_by_uuid(uuid: str) -> models.Rule:
    """Read one rule.

    :raises: RuleNotFound if there is no such rule.
    """
    with transaction.reader() as session:
        return _get(session, uuid)


@transaction.retried
def list_rules(filters: Mapping[str, Any] | None = None) -> list[models.Rule]:
    """Read rules in creation order.

    :param filters: column to the value it must have, or to a list of such
        values.
    """
    query = _filtered(sa.select(models.Rule), filters)
    with transaction.reader() as session:
        return list(session.execute(query).scalars())


@transaction.retried
def list_values(column: str, filters: Mapping[str, Any] | None = None
                ) -> list[tuple[str, Any]]:
    """Read one column of many rules, in creation order.

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
def get_revision() -> int:
    """Tell how many times the stored rules have changed."""
    with transaction.reader() as session:
        return _read_revision(session)


def _stored(session: orm.Session, rule: models.Rule) -> models.Rule:
    """Read back what was written: MySQL drops the fractions of seconds."""
    session.flush()
    session.refresh(rule)
    return rule


def _read_revision(session: orm.Session) -> int:
    return session.execute(
        sa.select(models.RulesRevision.revision)).scalar_one()


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
    return query.order_by(models.Rule.id)

# SPDX-License-Identifier: Apache-2.0

"""Counters of every rule, added up over all processes.

A process counts what its rules do in memory, and adds these counts to the
stored counters from time to time. A rule has one row, for example::

    {'rule_uuid': '…', 'since': 2026-01-01, 'runs': 200, 'matched': 12,
     'failed': 0, 'audited': 0, 'seconds': 0.3,
     'last_matched_at': 2026-03-01, 'last_matched_node': '…'}
"""

from collections.abc import Iterable, Mapping, Sequence
import operator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction

SUMMED = ('runs', 'matched', 'failed', 'audited', 'seconds')
"""Columns of numbers, to which the new numbers are added."""

REPLACED = ('last_matched_at', 'last_matched_node')
"""Columns that take the new value, and keep the old one if it is null."""

_TABLE: Any = models.RuleStatisticsRow.__table__

_CHUNK = 2000
"""Maximum number of rows per statement.

SQLite accepts 32,766 values in a statement, and a row has nine.
"""


@transaction.retried_on_lock_conflict
def add_statistics(rows: Iterable[Mapping[str, Any]]) -> None:
    """Add new counts to the stored counters, in one transaction.

    A rule without stored counters gets a new row. Only then ``since`` of the
    new counts is stored.

    :param rows: the new counts of every rule, as values of all columns.
    """
    # All processes lock rows in this order, to avoid deadlocks.
    ordered = sorted(rows, key=operator.itemgetter('rule_uuid'))
    with transaction.writer_without_session() as connection:
        for chunk in transaction.chunks(ordered, _CHUNK):
            transaction.upsert(connection, _TABLE, chunk, update=_build_update)


def _build_update(new: Any) -> dict[str, Any]:
    """Return the SET clause that adds new counts to a stored row.

    Numbers are added up: ``matched`` becomes ``matched + new.matched``.
    ``last_matched_at`` and ``last_matched_node`` take the new value. If the
    rule has not matched again, the new value is null, and the stored value
    stays.

    :param new: the columns of the row with the new counts.
    :returns: SQL expressions by the name of the column.
    """
    stored = _TABLE.c
    expressions: dict[str, Any] = {}
    for name in SUMMED:
        expressions[name] = stored[name] + new[name]
    for name in REPLACED:
        expressions[name] = sa.func.coalesce(new[name], stored[name])
    return expressions


def list_statistics() -> list[models.RuleStatisticsRow]:
    """Read the counters of every rule."""
    return transaction.read(sa.select(models.RuleStatisticsRow))


def forget(session: orm.Session, rule_uuids: Sequence[str]) -> None:
    """Remove the counters of rules that are removed."""
    for chunk in transaction.chunks(rule_uuids, _CHUNK):
        session.execute(sa.delete(_TABLE).where(_TABLE.c.rule_uuid.in_(chunk)))

# SPDX-License-Identifier: Apache-2.0

"""Counters of every rule, added up over all processes."""

from collections.abc import Iterable, Mapping, Sequence
import operator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction

SUMMED = ('runs', 'matched', 'failed', 'audited', 'seconds')
"""Columns to which new numbers are added."""

REPLACED = ('last_matched_at', 'last_matched_node')
"""Columns that take the new value, and keep the old one if it is null."""

_TABLE: Any = models.RuleStatisticsRow.__table__

_CHUNK = 2000
"""How many rules one statement counts: SQLite takes 32,766 values."""


@transaction.retried_on_lock_conflict
def add_statistics(rows: Iterable[Mapping[str, Any]]) -> None:
    """Add the counters of one process to the stored ones, all or none.

    :param rows: values of all columns. ``since`` is stored only for rules
        without stored counters.
    """
    # All processes lock rows in this order, to avoid deadlocks.
    ordered = sorted(rows, key=operator.itemgetter('rule_uuid'))
    with transaction.writer_without_session() as connection:
        for chunk in transaction.chunks(ordered, _CHUNK):
            transaction.upsert(connection, _TABLE, chunk, _add_to_stored)


def _add_to_stored(new: Any) -> dict[str, Any]:
    """Return the values of a stored row after new counts are added to it.

    Numbers such as ``matched`` are added up. ``last_matched_at`` and its node
    are replaced, unless they are null in the new row because the rule has not
    matched since.

    :param new: the columns of the row with the new counts.
    :returns: SQL expressions by the name of the column.
    """
    stored = _TABLE.c
    values: dict[str, Any] = {}
    for name in SUMMED:
        values[name] = stored[name] + new[name]
    for name in REPLACED:
        values[name] = sa.func.coalesce(new[name], stored[name])
    return values


def list_statistics() -> list[models.RuleStatisticsRow]:
    """Read the counters of every rule."""
    return transaction.read(sa.select(models.RuleStatisticsRow))


def forget(session: orm.Session, rule_uuids: Sequence[str]) -> None:
    """Remove the counters of rules that are removed."""
    for chunk in transaction.chunks(rule_uuids, _CHUNK):
        session.execute(sa.delete(_TABLE).where(_TABLE.c.rule_uuid.in_(chunk)))

# SPDX-License-Identifier: Apache-2.0

"""Counters of each rule, over all processes."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction

SUMMED = ('runs', 'matched', 'failed', 'audited', 'seconds')
"""Columns to which new numbers are added."""

REPLACED = ('last_matched_at', 'last_matched_node')
"""Columns that take the last value there is."""

_CHUNK = 2000
"""How many rules one statement counts: SQLite takes 32,766 values."""


@transaction.retried
def add_statistics(rows: Iterable[Mapping[str, Any]]) -> None:
    """Add numbers to those that are stored: all of them, or none.

    :param rows: values of all columns; ``since`` counts for a rule of which
        nothing was stored.
    """
    # In one order, so that no two processes wait for each other.
    remaining = sorted(rows, key=lambda row: row['rule_uuid'])
    table: Any = models.RuleStatistics
    with transaction.writer() as session:
        family = session.get_bind().dialect.name
        while remaining:
            chunk, remaining = remaining[:_CHUNK], remaining[_CHUNK:]
            statement: Any
            if family == 'mysql':
                statement = mysql.insert(table).values(chunk)
                statement = statement.on_duplicate_key_update(
                    _sums(table, statement.inserted))
            else:
                kind = postgresql if family == 'postgresql' else sqlite
                statement = kind.insert(table).values(chunk)
                statement = statement.on_conflict_do_update(
                    index_elements=[table.rule_uuid],
                    set_=_sums(table, statement.excluded))
            session.execute(statement)


def _sums(table: Any, new: Any) -> dict[str, Any]:
    return {**{name: getattr(table, name) + getattr(new, name)
               for name in SUMMED},
            **{name: sa.func.coalesce(getattr(new, name),
                                      getattr(table, name))
               for name in REPLACED}}


def list_statistics() -> list[models.RuleStatistics]:
    """Read what was counted of every rule."""
    return transaction.read(sa.select(models.RuleStatistics))


def forget(session: orm.Session, rule_uuids: Sequence[str]) -> None:
    """Remove what was counted of rules that are removed."""
    for start in range(0, len(rule_uuids), _CHUNK):
        session.execute(
            sa.delete(models.RuleStatistics)
            .where(models.RuleStatistics.rule_uuid.in_(
                rule_uuids[start:start + _CHUNK]))
            .execution_options(synchronize_session=False))

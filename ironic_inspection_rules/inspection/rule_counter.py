# SPDX-License-Identifier: Apache-2.0

"""Counts what the rules of this process did.

The counts of a rule are a row, e.g. ``{'rule_uuid': UUID, 'runs': 12,
'matched': 3, 'failed': 0, …}``. They are collected in memory and written to
the database from time to time.
"""

import functools

from ironic.common import context as ironic_context
from ironic.conf import CONF

from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.runs import metrics
from ironic_inspection_rules.runs import statistics


@functools.cache
def get_counter() -> statistics.RuleCounter:
    """Return the counter of this process.

    The first call creates it. When the process stops, the counter writes its
    remaining counts.
    """
    new_counter = statistics.RuleCounter(
        _write, CONF.inspection_rules.statistics_period
    )
    conductor.after_work(new_counter.flush)
    return new_counter


def _write(rows: list[statistics.Row]) -> None:
    """Add counts to the counts in the database, and send them as metrics.

    :param rows: the counts, one row per rule.
    """
    rows_to_store = []
    for row in rows:
        # The database has no columns for the fields that only metrics need.
        columns = {
            name: value
            for name, value in row.items()
            if name not in statistics.FOR_METRICS
        }
        rows_to_store.append(columns)
    rule_statistics.RuleStatistics.add(
        ironic_context.get_admin_context(), rows_to_store
    )
    metrics.send_rules(rows)

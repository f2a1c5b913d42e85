# SPDX-License-Identifier: Apache-2.0

"""The versioned object of the counters of a rule.

Every process counts in memory what its rules do, and adds its counts to the
stored counters from time to time.
"""

from ironic.objects import base
from oslo_utils import timeutils
from oslo_versionedobjects import base as object_base

from ironic_inspection_rules.db import rule_statistics as db_statistics
from ironic_inspection_rules.objects import remotable

_TIMES = ('since', 'last_matched_at')


@base.IronicObjectRegistry.register
class RuleStatistics(base.IronicObject, object_base.VersionedObjectDictCompat):
    """Counters of the rules, summed over all processes.

    Rows are plain mappings, e.g. ``{'rule_uuid': UUID, 'runs': 12, 'matched':
    3, …, 'since': '2026-05-17T10:00:00+00:00'}``. Times are ISO 8601 text,
    because JSON-RPC cannot transfer time objects.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    @remotable.class_method
    def add(cls, context, rows):
        """Add the counts of a process to the stored counters.

        :param rows: the counts, one row per rule, with times as text.
        """
        rows_with_times = []
        for row in rows:
            row_with_times = dict(row)
            for name in _TIMES:
                row_with_times[name] = _read_time(row[name])
            rows_with_times.append(row_with_times)
        db_statistics.add_statistics(rows_with_times)

    @remotable.class_method
    def list(cls, context):
        """Read the stored counters of every rule, with times as text."""
        rows = []
        for stored in db_statistics.list_statistics():
            row = dict(stored)
            for name in _TIMES:
                row[name] = _write_time(row[name])
            rows.append(row)
        return rows


def _read_time(text):
    """Convert ISO 8601 text to a time in UTC without a time zone.

    :returns: the time; None if the text is empty or None.
    """
    if not text:
        return None
    return timeutils.normalize_time(timeutils.parse_isotime(text))


def _write_time(time):
    """Convert a time of the database to ISO 8601 text; None stays None."""
    if time is None:
        return None
    return f'{time.isoformat()}+00:00'

# SPDX-License-Identifier: Apache-2.0

"""Counts how often every rule ran and matched.

An inspection makes no query for this. The counts are added up in memory, and
are written together a few seconds later, or when the process stops. Every rule
has one row of counts::

    {'rule_uuid': UUID, 'label': 'UUID (Set the rack)', 'since': TIME,
     'runs': 12, 'matched': 3, 'failed': 0, 'audited': 0, 'would_fail': 0,
     'seconds': 0.02, 'last_matched_at': TIME, 'last_matched_node': UUID}

A rule in mode ``audit`` changes nothing. Its matches count as ``matched`` and
as ``audited``, its failures as ``failed`` and as ``would_fail``.
"""

import collections.abc
import threading
import typing

from oslo_db import exception as db_exc
from oslo_log import log
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import runner

LOG = log.getLogger(__name__)

Row = dict[str, typing.Any]

FOR_METRICS = frozenset(('label', 'would_fail'))
"""Fields of a row that are only for metrics. The label names the rule; it is
only the UUID until the rule matches or fails."""

_SUMMED = ('runs', 'matched', 'failed', 'audited', 'would_fail', 'seconds')
"""Fields of a row to which numbers are added."""

Write = collections.abc.Callable[[list[Row]], None]


class RuleCounter:
    """Counts what rules do, and writes the counts from time to time.

    Several threads may inspect nodes at the same time, and a timer writes the
    counts in another thread, so all access to the rows is locked.

    :param write: writes the counts. It is called with a list of rows, one per
        rule.
    :param period: seconds from the first count until the counts are written.
    """

    def __init__(self, write: Write, period: float) -> None:
        self._write = write
        self._period = period
        # The counts, by the UUID of the rule.
        self._rows: dict[str, Row] = {}
        # The timer that will write the counts; None if it does not run.
        self._timer: threading.Timer | None = None
        # Guards the rows and the timer. It is not held while counts are
        # written, because a slow database must not block inspections.
        self._lock = threading.Lock()
        # Held while counts are written, so that the flush at the end of a
        # process waits for the timer's flush, and then writes the counts that
        # the timer could not write.
        self._writing = threading.Lock()

    def count(
        self,
        outcome: runner.PhaseOutcome,
        node_uuid: str | None,
        error: Exception | None = None,
    ) -> None:
        """Count what the rules of one phase did, and plan to write the counts.

        :param outcome: the outcome of the phase, with the time that every rule
            took. A rule without a time was not reached, and is not counted.
        :param node_uuid: the UUID of the node; None if it is unknown.
        :param error: the error that ended the phase. A RuleError counts as a
            failure of its rule.
        """
        now = timeutils.utcnow().isoformat()
        with self._lock:
            # Count one run of every rule, even if it did not match.
            for uuid, seconds in outcome.timings.items():
                if uuid not in self._rows:
                    self._rows[uuid] = {
                        'rule_uuid': uuid,
                        'label': uuid,
                        'since': now,
                        **dict.fromkeys(_SUMMED, 0),
                        'last_matched_at': None,
                        'last_matched_node': None,
                    }
                row = self._rows[uuid]
                row['runs'] += 1
                row['seconds'] += seconds
            # Count what rules in mode "audit" would have done.
            for rule_trace in outcome.audited:
                row = self._rows[rule_trace.rule.uuid]
                if rule_trace.matched:
                    row['audited'] += 1
                if rule_trace.error:
                    row['label'] = disclosure.rule_label(rule_trace.rule)
                    row['failed'] += 1
                    row['would_fail'] += 1
            # Count the matches of rules in any mode.
            for rule_trace in (*outcome.traces, *outcome.audited):
                if rule_trace.matched:
                    row = self._rows[rule_trace.rule.uuid]
                    row['label'] = disclosure.rule_label(rule_trace.rule)
                    row['matched'] += 1
                    row['last_matched_at'] = now
                    row['last_matched_node'] = node_uuid
            # Count the failure of the rule that ended the phase.
            if isinstance(error, exceptions.RuleError):
                row_of_failed_rule = self._rows.get(error.rule_uuid)
                if row_of_failed_rule is not None:
                    row_of_failed_rule['failed'] += 1
                    row_of_failed_rule['label'] = error.rule
            self._plan_to_write()

    def flush(self) -> None:
        """Write the counts, and keep them in memory if writing fails."""
        with self._writing:
            # Take the rows out, so that inspections can count in new rows
            # while these rows are written.
            with self._lock:
                rows = self._rows
                self._rows = {}
                timer = self._timer
                self._timer = None
            if timer is not None:
                # The timer itself may have called this method. Cancelling it
                # is then harmless.
                timer.cancel()
            if not rows:
                return
            try:
                self._write(list(rows.values()))
            # Catch everything, so that no counts are lost.
            except Exception as exc:
                LOG.warning(
                    'Statistics of %(count)d inspection rules are '
                    'not written yet: %(error)s',
                    {'count': len(rows), 'error': exc},
                    exc_info=not isinstance(exc, db_exc.DBError),
                )
                self._put_back(rows)

    def _put_back(self, rows: dict[str, Row]) -> None:
        """Put rows back that were not written, and plan to write them again.

        The counts of inspections that ended meanwhile are added to these rows.

        :param rows: the rows by the UUID of the rule; changed in place.
        """
        with self._lock:
            for uuid, newer_row in self._rows.items():
                if uuid not in rows:
                    rows[uuid] = newer_row
                    continue
                row = rows[uuid]
                for name in _SUMMED:
                    row[name] += newer_row[name]
                # Otherwise the newer label is only the UUID.
                if newer_row['matched'] or newer_row['failed']:
                    row['label'] = newer_row['label']
                if newer_row['last_matched_at']:
                    row['last_matched_at'] = newer_row['last_matched_at']
                    row['last_matched_node'] = newer_row['last_matched_node']
            self._rows = rows
            self._plan_to_write()

    def _plan_to_write(self) -> None:
        """Start the timer that writes the counts, unless it is running.

        The caller must hold the lock.
        """
        if not self._rows or self._timer is not None:
            return
        timer = threading.Timer(self._period, self.flush)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError as exc:
            # The process cannot create more threads. This must not fail an
            # inspection, and the next count tries again.
            LOG.warning(
                'Statistics of inspection rules are not written yet: '
                '%(error)s',
                {'error': exc},
            )
            return
        self._timer = timer

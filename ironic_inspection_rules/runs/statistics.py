# SPDX-License-Identifier: Apache-2.0

"""Counts how often every rule ran and matched.

An inspection makes no query for this: the counts are added up in memory, and
written together a few seconds later, or when the process stops.
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
"""Fields of a row that are only for metrics: the label of the rule, which is
its UUID while it did nothing, and the number of failures in mode ``audit``."""

_SUMMED = ('runs', 'matched', 'failed', 'audited', 'would_fail', 'seconds')
"""Fields of a row to which numbers are added."""

Write = collections.abc.Callable[[list[Row]], None]


class RuleCounter:
    """Counts what rules do, until the counts are written.

    :param write: called with one row per rule, as
        ``objects.rule_statistics`` describes them, with :data:`FOR_METRICS`.
    :param period: seconds from the first count until the counts are written.
    """

    def __init__(self, write: Write, period: float) -> None:
        self._write = write
        self._period = period
        # The counts, by the UUID of the rule.
        self._rows: dict[str, Row] = {}
        # The timer that will write the counts; None if there are none.
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
        """Count what the rules of one phase did.

        :param outcome: the outcome of a run with ``keep``: only rules with a
            timing are counted.
        :param node_uuid: the UUID of the node; None if it is unknown.
        :param error: the error that ended the phase. A RuleError counts as a
            failure of its rule.
        """
        now = timeutils.utcnow().isoformat()
        with self._lock:
            # This counts all rules that were tried, even if they did not
            # match.
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
            # These are the rules of mode "audit", which change nothing.
            for rule_trace in outcome.audited:
                row = self._rows[rule_trace.rule.uuid]
                if rule_trace.matched:
                    row['audited'] += 1
                if rule_trace.error:
                    row['label'] = disclosure.label(rule_trace.rule)
                    row['failed'] += 1
                    row['would_fail'] += 1
            for rule_trace in (*outcome.traces, *outcome.audited):
                if rule_trace.matched:
                    row = self._rows[rule_trace.rule.uuid]
                    row['label'] = disclosure.label(rule_trace.rule)
                    row['matched'] += 1
                    row['last_matched_at'] = now
                    row['last_matched_node'] = node_uuid
            if isinstance(error, exceptions.RuleError):
                failed = self._rows.get(error.rule_uuid)
                if failed is not None:
                    failed['failed'] += 1
                    failed['label'] = error.rule
            self._plan_to_write()

    def flush(self) -> None:
        """Write the counts to the database, or keep them if that fails."""
        with self._writing:
            # Inspections count in new rows while these rows are written.
            with self._lock:
                rows = self._rows
                self._rows = {}
                timer = self._timer
                self._timer = None
            if timer is not None:
                # It is harmless if the timer itself has called this method.
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

        Counts that were added meanwhile are added to these rows.
        """
        with self._lock:
            for uuid, later in self._rows.items():
                if uuid not in rows:
                    rows[uuid] = later
                    continue
                row = rows[uuid]
                for name in _SUMMED:
                    row[name] += later[name]
                # The label of a rule that did nothing is only its UUID.
                if later['matched'] or later['failed']:
                    row['label'] = later['label']
                if later['last_matched_at']:
                    row['last_matched_at'] = later['last_matched_at']
                    row['last_matched_node'] = later['last_matched_node']
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

# SPDX-License-Identifier: Apache-2.0

"""Storing runs, statistics and metrics of rules."""

from collections.abc import Iterator
import contextlib
import functools
import typing

from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.inspection import inspection as node_inspection
from ironic_inspection_rules.inspection import switches
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import metrics
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.runs import statistics

LOG = log.getLogger(__name__)


@functools.cache
def counter() -> statistics.RuleCounter:
    """Return the counter of this process, written when the process stops."""
    def write(rows: list[statistics.Row]) -> None:
        context = ironic_context.get_admin_context()
        rule_statistics.RuleStatistics.add(context, [
            {name: value for name, value in row.items()
             if name not in statistics.FOR_METRICS} for row in rows])
        metrics.send_rules(rows)

    made = statistics.RuleCounter(write,
                                  CONF.inspection_rules.statistics_period)
    conductor.before_stop(made.flush)
    return made


def phase_ended(phase: str, outcome: runner.Outcome, seconds: float,
                node_uuid: str | None, error: Exception | None = None) -> None:
    """Add a phase to statistics and metrics.

    :param seconds: how long its rules ran.
    :param node_uuid: None in the early phase.
    """
    counter().count(outcome, node_uuid, error)
    metrics.send_phase(phase, error is None, seconds)


def install() -> None:
    """Store a run of each inspection in this process."""
    inspection.around_inspection(run_of)
    inspection.after_removal(lambda uuid: recorder.forget([uuid]))


@contextlib.contextmanager
def run_of(task: typing.Any, inventory: dict[str, typing.Any] | None = None,
           plugin_data: dict[str, typing.Any] | None = None,
           is_inspection: bool = True) -> Iterator[node_inspection.Inspection]:
    """Store what the rules do to a node in this context as one run.

    Within another run it does nothing; that one includes the rules.

    :param task: a TaskManager instance with an exclusive lock.
    :param inventory: what the machine sent, None if it is not known yet.
    :param is_inspection: whether ``last_error`` of the node is the error of
        the run if it fails.
    """
    current = node_inspection.of(task)
    if current is not None:
        yield current
        return
    run = recorder.Run(recorder.INSPECTION)
    if inventory is not None:
        run.begin(inventory, plugin_data or {})
    current = node_inspection.Inspection(run)
    with node_inspection.handed_over(current, task):
        try:
            yield current
        except ironic_exception.UnsupportedDriverExtension:
            raise
        # The run is kept, whatever the inspection failed for.
        except Exception as exc:
            _store(prepare(run, task, str(exc), is_inspection), task.node)
            raise
        _store(prepare(run, task, None), task.node)


def _store(prepared: recorder.Store | None, node: typing.Any) -> None:
    if prepared is not None:
        try:
            prepared()
        except db_exc.DBError as exc:
            # The inspection must not fail for that.
            recorder.warn_of_loss(node, exc)
        clean()


_CLEANER = history.Cleaner()


def clean() -> None:
    """Remove some of the history that is too old."""
    try:
        _CLEANER.clean(CONF.inspection_rules.keep_history)
    except db_exc.DBError as exc:
        LOG.warning('Old inspections are not removed from the history: %s',
                    exc)


def prepare(run: recorder.Run, task: typing.Any, error: str | None,
            is_inspection: bool = True) -> recorder.Store | None:
    """Prepare to store a run that has ended.

    :param error: why it failed, None if it did not.
    :param is_inspection: see :func:`run_of`.
    :returns: a function that stores it, None if it is not to be stored.
    """
    if not switches.is_supported(task.node.inspect_interface):
        return None
    if error is not None and is_inspection:
        error = task.node.last_error or error
    options = CONF.inspection_rules
    return recorder.prepare(run, task.node, error, options.keep_runs,
                            mask=disclosure.is_kept_masked(
                                options.mask_secrets),
                            days=options.keep_history)

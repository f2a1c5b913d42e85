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

"""What is kept of the rules' work: runs, statistics, metrics."""

from collections.abc import Iterator
import contextlib
import functools
import typing

from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from ironic.conf import CONF

from ironic_inspection_rules.engine import runner
from ironic_inspection_rules.inspection import applicability
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.patches import inspection
from ironic_inspection_rules.patches import node_removal
from ironic_inspection_rules.patches import stopping
from ironic_inspection_rules.runs import metrics
from ironic_inspection_rules.runs import recorder
from ironic_inspection_rules.runs import statistics


@functools.cache
def counter() -> statistics.RuleCounter:
    """Return what counts in this process; written when the process stops."""
    made = statistics.RuleCounter(_write,
                                  CONF.inspection_rules.statistics_period)
    stopping.before_stop(made.flush)
    return made


def _write(rows: list[statistics.Row]) -> None:
    rule_statistics.RuleStatistics.add(ironic_context.get_admin_context(),
                                       rows)
    metrics.send_rules(rows)


def phase_ended(phase: str, outcome: runner.Outcome, seconds: float,
                node_uuid: str | None,
                error: Exception | None = None) -> None:
    """Count and measure a phase of rules that has ended.

    :param seconds: how long it took.
    :param node_uuid: None before the machine is known.
    :param error: what it failed with.
    """
    counter().count(outcome, node_uuid, error)
    metrics.send_phase(phase, error is None, seconds)


def install() -> None:
    """Keep what rules do in each inspection of this process."""
    inspection.around_inspection(run_of)
    node_removal.after_removal(lambda uuid: recorder.forget([uuid]))


@contextlib.contextmanager
def run_of(task: typing.Any, inventory: dict[str, typing.Any] | None = None,
           plugin_data: dict[str, typing.Any] | None = None
           ) -> Iterator[None]:
    """Keep what the rules do to a node in this context as one run.

    Within a run this changes nothing: that one is kept by whoever began it.

    :param task: a TaskManager instance with an exclusive lock.
    :param inventory: what the machine sent, None where it is not known yet.
    :param plugin_data: likewise.
    """
    if recorder.current() is not None:
        yield
        return
    run = recorder.Run(recorder.INSPECTION)
    if inventory is not None:
        run.begin(inventory, plugin_data or {})
    with recorder.in_run(run):
        try:
            yield
        except ironic_exception.UnsupportedDriverExtension:
            raise
        except Exception as exc:
            store(run, task, str(exc))
            raise
        store(run, task, None)


def store(run: recorder.Run, task: typing.Any, error: str | None) -> None:
    """Store a run that has ended, however that goes.

    :param error: why it failed, None if it did not.
    """
    prepared = prepare(run, task, error)
    if prepared is not None:
        recorder.store(prepared, task.node)


def prepare(run: recorder.Run, task: typing.Any, error: str | None
            ) -> recorder.Store | None:
    """Prepare to store a run that has ended.

    :param error: why it failed, None if it did not.
    :returns: what stores it, None if it is not to be kept.
    """
    if not applicability.is_supported(task.node):
        return None
    options = CONF.inspection_rules
    if error is not None:
        error = task.node.last_error or error
    return recorder.prepare(run, task.node, error, options.keep_runs,
                            mask=options.mask_secrets != 'never')

# SPDX-License-Identifier: Apache-2.0

"""Running a phase of rules on the node of a task."""

from collections.abc import Iterator
import contextlib
import time

from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import effects
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import inspection
from ironic_inspection_rules.inspection import keeping
from ironic_inspection_rules.inspection import limits
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.inspection import switches
from ironic_inspection_rules.objects import tables
from ironic_inspection_rules.patches import redfish
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)


class PhaseRunner:
    """Runs phases of rules on nodes."""

    def __init__(self, rules: repository.Repository) -> None:
        self._rules = rules

    def preprocess(self, task, inventory: dict, plugin_data: dict) -> None:
        """Run the rules of the preprocess phase.

        A node enrolled by auto-discovery gets its scope first.

        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure if a rule fails.
        """
        with keeping.run_of(task, inventory, plugin_data) as current, (
                current.guard()):
            if facts.is_auto_discovered(task.node, plugin_data):
                scope = CONF.auto_discovery.inspection_scope
                properties = task.node.properties
                if scope and model.SCOPE_PROPERTY not in properties:
                    task.node.properties = {
                        **properties, model.SCOPE_PROPERTY: scope}
                    task.node.save()
            self._run(current, task, inventory, plugin_data, model.PREPROCESS)

    def finish_discovery(self, task, inventory: dict,
                         plugin_data: dict) -> None:
        """Run the main phase for a node that auto-discovery has enrolled.

        Ironic powers the machine off next. It can do so only with the driver,
        the address and the credentials that these rules set (spec 003 "Use
        Cases"). For all other nodes this does nothing.

        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure if a rule fails.
        """
        if not facts.is_auto_discovered(task.node, plugin_data):
            return
        with keeping.run_of(task, inventory, plugin_data) as current, (
                current.guard()):
            self._run(current, task, inventory, plugin_data, model.MAIN)
            current.run.main_is_over = True
            # The task has loaded the driver that the node was enrolled with.
            task.driver = None
            task.load_driver()

    def apply(self, task, inventory: dict, plugin_data: dict,
              phase: str) -> None:
        """Run rules instead of Ironic's own.

        Outside of an inspection, for instance in a step (approved
        specification "inspection-steps"), they have a run of their own.

        :param plugin_data: is changed in place; the caller stores it.
        :param phase: ``preprocess`` or ``main``.
        :raises: HardwareInspectionFailure if a rule fails, or the phase is
            another one.
        """
        if phase not in (model.PREPROCESS, model.MAIN):
            raise ironic_exception.HardwareInspectionFailure(
                error=_('Inspection rules of the phase %s cannot be applied '
                        'to a node') % suggestion.not_one_of(
                            phase, (model.PREPROCESS, model.MAIN)))
        before = dict(plugin_data)
        with keeping.run_of(task, inventory, plugin_data,
                            is_inspection=False) as current, (
                                current.guard()):
            if phase == model.MAIN and current.run.main_is_over:
                return
            self._run(current, task, inventory, plugin_data, phase)
            if plugin_data != before:
                redfish.store_again(task, inventory, plugin_data)

    def _run(self, current: inspection.Inspection, task, inventory: dict,
             plugin_data: dict, phase: str) -> None:
        run = current.run
        if run.rules is None:
            with _without_tables():
                run.rules = self._rules.refresh(task.context)
        rules = run.rules
        plans = rules.plans(phase)
        saved = current.checkpoint_of(phase)
        run.begin(inventory, plugin_data)
        _read_previous(run, rules, phase, task)
        supported = switches.is_supported(task.node.inspect_interface)
        if supported:
            run.run_rules(rules.revision, self._rules.options)
        if saved is None and not (supported and (
                plans or CONF.inspection_rules.keep_history)):
            return
        # Hooks create ports; the task must read them again.
        task.ports = task.portgroups = None
        redfish.reconcile_properties(task)
        machine = facts.of_node(task.node, task.ports, task.portgroups,
                                inventory, plugin_data, run.previous)
        target = working_copy.WorkingCopy(machine, effects.ServiceEffects())
        if CONF.inspection_rules.keep_history and saved is None:
            run.note_facts(phase, machine)
        before = dict(plugin_data)
        try:
            if saved is None:
                _apply(current, plans, phase, task, target, plugin_data)
            else:
                _repeat(current, saved, phase, task, target, plugin_data)
        finally:
            run.set_aside(before, plugin_data)
            redfish.reconcile_properties(task)


@contextlib.contextmanager
def _without_tables() -> Iterator[None]:
    """Say which command makes the plugin's tables where they are missing.

    :raises: HardwareInspectionFailure for an error of the database if they
        are missing or too old. Another error of the database stays what it
        is: durable inspection waits until it is over.
    """
    try:
        yield
    except db_exc.DBError as exc:
        try:
            tables.check()
        except exceptions.DatabaseNotReady as problem:
            if isinstance(problem.__cause__, db_exc.DBError):
                raise exc from problem
            raise ironic_exception.HardwareInspectionFailure(
                error=str(problem)) from exc
        raise


def _read_previous(run: recorder.Run, rules: repository.Snapshot, phase: str,
                   task) -> None:
    """Read what was stored before, if a rule of this inspection reads it.

    In the first phase, as Redfish stores its data before the main one.
    """
    if run.reads_previous is not None or (
            phase == model.MAIN and redfish.goes_on(task)):
        return
    run.reads_previous = any(
        plan.reads_previous for each in (model.PREPROCESS, model.MAIN)
        for plan in rules.plans(each))
    if run.reads_previous:
        run.previous = (CONF.inspection_rules.keep_history
                        and history.last_stored(task.node.uuid)
                        or facts.stored_before(task.node, task.context))


def _apply(current: inspection.Inspection, plans, phase: str, task,
           target: working_copy.WorkingCopy, plugin_data: dict) -> None:
    run = current.run
    started = time.perf_counter()
    outcome = runner.run(
        plans, target, task.node.properties.get(model.SCOPE_PROPERTY),
        keep=True, limits=limits.of(phase))
    seconds = time.perf_counter() - started
    LOG.debug('%(count)d inspection rules of phase %(phase)s matched '
              'node %(node)s', {'count': len(outcome.traces),
                                'phase': phase, 'node': task.node.uuid})
    run.add(phase, outcome, seconds)
    error = outcome.error
    if error:
        run.note_error(phase, error, saving=False)
    try:
        if outcome.keeps_changes:
            before, more = dict(plugin_data), {}
            if isinstance(error, exceptions.RuleFailed) and error.maintenance:
                more = {'maintenance': True,
                        'maintenance_reason': error.reason or str(error)}
            saving.update_plugin_data(target, plugin_data)
            outcome.record(plugin_data, phase)
            together = None
            if current.is_repeatable and outcome.traces:
                together = current.saver_of(phase, checkpoint.of_phase(
                    target, checkpoint.difference(before, plugin_data), more,
                    error, run.checkpoint(phase)))
            saving.save(task, target, more, together)
    except exceptions.RuleError as exc:
        error = exc
        run.note_error(phase, error, saving=True)
        run.add(phase, outcome, seconds, saved=False)
    keeping.phase_ended(phase, outcome, seconds, task.node.uuid, error)
    if error:
        raise ironic_exception.HardwareInspectionFailure(
            error=str(error)) from error


def _repeat(current: inspection.Inspection, saved: checkpoint.Checkpoint,
            phase: str, task, target: working_copy.WorkingCopy,
            plugin_data: dict) -> None:
    """Repeat what the rules of a phase did in an earlier attempt.

    :param plugin_data: is changed in place.
    :raises: HardwareInspectionFailure if a rule has failed inspection.
    """
    current.run.take_up(phase, saved.get('run'))
    checkpoint.repeat(saved, target)
    saving.save(task, target, saved['more'], current.saver_of(phase, saved))
    checkpoint.apply(saved['plugin_data'], plugin_data)
    if saved['error']:
        raise ironic_exception.HardwareInspectionFailure(error=saved['error'])

# SPDX-License-Identifier: Apache-2.0

"""The inspection of a node, from its first phase to its stored run."""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import functools
import time
from typing import Any

from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules.inspector.hooks import base
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import early_phase
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import rule_counter
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.inspection import side_effects
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import early_phase as early_phase_object
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.patches import redfish
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import metrics
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

ATTRIBUTE = 'inspection_rules_inspection'
"""Attribute of a task that holds its inspection, None after its end.

An inspection begins before Ironic's own code and goes on in a hook that Ironic
calls. Ironic passes the task on to the hook, but no argument of ours. At the
end the attribute is None: task and inspection refer to each other, and the
data of the machine, which may be large, would stay in memory until the
collector of cycles runs.
"""

_NO_FACTS = (history.LOGS, trace.KEY)
"""Plugin data that are no facts of the machine."""


class Inspection:
    """The inspection of a node, from its first phase to its stored run.

    It runs the phases of rules, saves what they change and, in the end,
    stores what they did as one run. All phases run the rules that were in
    force in the first one. An inspection that may be made again, after a
    crash, is :class:`.attempt.Attempt`.

    :param task: a TaskManager instance with an exclusive lock.
    :param run: the run, which has just begun.
    :param is_of_ironic: whether Ironic inspects the node, and leaves the
        error in its ``last_error`` if that fails.
    :ivar is_repeatable: whether a later attempt may repeat the phases.
    :ivar is_preprocessed: whether the work before the hooks is done: Ironic
        calls a hook as often as its list names it.
    :ivar is_main_over: whether the main phase has run early, as it does
        before the power-off of a node that was just discovered.
    :ivar checkpoints: what earlier attempts saved of phases, by phase.
    :ivar of_redfish: the redfish inspection that this one is, None for one
        of another interface.
    """

    is_repeatable = False

    def __init__(
        self, task: Any, run: recorder.RunRecorder, is_of_ironic: bool = True
    ) -> None:
        self.task = task
        self.run = run
        self.checkpoints: Mapping[str, checkpoint.Checkpoint] = {}
        self.of_redfish: redfish.RedfishInspection | None = None
        self.is_preprocessed = False
        self.is_main_over = False
        self._is_of_ironic = is_of_ironic
        # None before the machine has posted anything.
        self._inventory: dict[str, Any] | None = None
        # Hooks and rules change them in place.
        self._plugin_data: dict[str, Any] = {}
        # Plugin data before and after the rules of each phase, as shallow
        # copies.
        self._around_rules: list[tuple[dict, dict]] = []
        # The rules in force when the first phase began, None before that.
        self._rules: repository.Snapshot | None = None
        # Built-in rules and settings, for the history: a replay needs them.
        self._options: str | None = None
        # Whether a phase has begun, on a node on which rules run.
        self._has_run_rules = False
        # Whether a rule reads what the inspection before has stored. If so,
        # its inventory and plugin data; None if nothing is kept of it.
        self._reads_previous = False
        self._previous: dict[str, Any] | None = None
        # For the history: the facts at the beginning of a phase, as JSON
        # texts, by phase.
        self._facts: dict[str, dict[str, str]] = {}

    def begin(
        self,
        inventory: dict,
        plugin_data: dict,
        early: early_phase.Kept | None = None,
    ) -> None:
        """Take the data that the machine sent, and what early rules did.

        :param plugin_data: as the early rules left them, or as posted if only
            a run is to be stored. Hooks and rules change them in place later.
        :param early: what is kept of the early phase, which ran before the
            node was known: the ``record`` of what rules did, the ``places``
            that sensitive rules set, and as ``found`` how plugin data differed
            before it. None if nothing is kept.
        """
        self._inventory = inventory
        self._plugin_data = plugin_data
        if early is None:
            return
        self.run.phases[model.EARLY] = early['record']
        if early['places']:
            self.run.places[model.EARLY] = early['places']
        # The history is to have the data as they were before early rules. None
        # if the API has kept no history.
        if early['found'] is not None:
            self._facts[model.EARLY] = early_phase.facts_before(
                early['found'], inventory, plugin_data
            )

    def prepare_run(self, error: str | None) -> recorder.Store | None:
        """Return a function that stores the run of an ended inspection.

        The data of the machine, which may be large, are stored now. So the
        transaction in which the function is called, and which may also unlock
        the node, is short.

        :param error: why the inspection failed, None if it did not.
        :returns: the function. None if there is nothing to keep: rules do not
            run on this node; or none ran, and the inspection passed or failed
            before the machine sent its data.
        """
        node = self.task.node
        if not facts.is_supported(node.inspect_interface):
            return None
        # The data of a machine that failed are kept even if no rule ran.
        has_failed_with_data = (
            error is not None and self._inventory is not None
        )
        if not self._has_run_rules and not has_failed_with_data:
            return None
        # Ironic leaves the error in last_error, with more words. But if a step
        # of an operator runs rules, last_error may be of something earlier.
        if error is not None and self._is_of_ironic:
            error = node.last_error or error
        options = CONF.inspection_rules
        findings = None
        # Ironic itself stores the data of an inspection that passes.
        if error is not None or options.keep_history:
            findings = self._collect_findings()
        return recorder.prepare_run(
            self.run,
            findings,
            node,
            error,
            keep=options.keep_runs,
            mask=disclosure.is_kept_masked(options.mask_secrets),
            days=options.keep_history,
        )

    def _collect_findings(self) -> history.Findings | None:
        """Return what the machine and the rules have found, for the history.

        The history keeps plugin data as the machine and hooks made them: what
        rules have changed is undone here, in a copy.

        :returns: None if the machine has sent no data.
        """
        if self._inventory is None:
            return None
        before_rules = dict(self._plugin_data)
        # The last phase is undone first, so that the oldest values remain.
        for before, after in reversed(self._around_rules):
            for name in before.keys() | after.keys():
                value = before.get(name, data_path.ABSENT)
                # "is": rules never change a value in place, but put another
                # object there.
                if after.get(name, data_path.ABSENT) is not value:
                    before_rules[name] = value
        plugin_data = {}
        for name, value in before_rules.items():
            if value is not data_path.ABSENT and name not in _NO_FACTS:
                plugin_data[name] = value
        return history.Findings(
            inventory=self._inventory,
            plugin_data=plugin_data,
            left=self._plugin_data,
            facts=self._facts,
            options=self._options,
            reads_previous=self._reads_previous,
            previous=self._previous,
        )

    def store(self, error: str | None) -> None:
        """Store the run of an inspection that has ended.

        :param error: why the inspection failed, None if it did not.
        """
        store_run = self.prepare_run(error)
        if store_run is None:
            return
        try:
            transaction.write(store_run)
        except db_exc.DBError as exc:
            # The inspection must not fail for that.
            recorder.warn_of_loss(self.task.node, exc)
        # No periodic task removes old history: every inspection removes some.
        recorder.cleaner.clean(CONF.inspection_rules.keep_history)

    def save_checkpoint(
        self, phase: str, saved: checkpoint.Checkpoint, session: Any
    ) -> None:
        """Save a checkpoint in the transaction that saves its phase.

        Called only if the inspection is repeatable.

        :param session: of the transaction.
        """
        raise NotImplementedError

    def run_phase(
        self, phase: str, inventory: dict, plugin_data: dict
    ) -> None:
        """Run the rules of a phase, or repeat what an earlier attempt did.

        On a node whose inspect interface does not match the option
        ``supported_interfaces``, no rule runs.

        :param phase: ``preprocess`` or ``main``.
        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure if a rule fails, or the plugin's
            tables are missing or too old; RuleError if Ironic refuses what is
            repeated; errors of the database.
        """
        task = self.task
        # begin() may have got others: Ironic replaces an empty mapping of
        # plugin data by another one. For a redfish inspection the data are
        # known only now. They come first: should the rules not be readable,
        # the failed run is kept with its data.
        self._inventory = inventory
        self._plugin_data = plugin_data
        rules = self._rules_in_force(phase)
        plans = rules.plans[phase]
        keeps_history = bool(CONF.inspection_rules.keep_history)
        saved = self.checkpoints.get(phase)
        is_supported = facts.is_supported(task.node.inspect_interface)
        if is_supported:
            self._has_run_rules = True
            self.run.revision = rules.revision
        # The history keeps what rules would have found, even if there are
        # none: other rules can be tried on it later.
        has_work = is_supported and bool(plans or keeps_history)
        if saved is None and not has_work:
            return
        # Hooks create ports; the task must read them again.
        task.ports = task.portgroups = None
        if self.of_redfish is not None:
            # A redfish inspection holds the properties of the node apart, and
            # saves them in the end: without this, rules would not see them.
            self.of_redfish.reconcile_properties(task.node)
        machine = facts.of_node(
            task.node,
            task.ports,
            task.portgroups,
            inventory=inventory,
            plugin_data=plugin_data,
            previous=self._previous,
        )
        target = working_copy.WorkingCopy(
            machine, side_effects.ServiceEffects()
        )
        if saved is None and keeps_history:
            self._facts[phase] = history.facts_of(machine)
        before = dict(plugin_data)
        try:
            if saved is None:
                self._run_rules(phase, plans, target, plugin_data)
            else:
                self._repeat(phase, saved, target, plugin_data)
        finally:
            self._around_rules.append((before, dict(plugin_data)))
            if self.of_redfish is not None:
                # Or it would overwrite the properties that rules have set.
                self.of_redfish.reconcile_properties(task.node)

    def _run_rules(
        self,
        phase: str,
        plans: Sequence[compiler.CompiledRule],
        target: working_copy.WorkingCopy,
        plugin_data: dict,
    ) -> None:
        """Run the rules of a phase, and save what they changed.

        After the action "fail" the changes are saved as well, after another
        error none.

        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure if a rule fails.
        """
        node = self.task.node
        started = time.perf_counter()
        outcome = runner.run(
            plans,
            target,
            node.properties.get(model.SCOPE_PROPERTY),
            keep=True,
            limits=start.rules().limits[phase],
        )
        seconds = time.perf_counter() - started
        LOG.debug(
            '%(count)d inspection rules of phase %(phase)s matched '
            'node %(node)s',
            {'count': len(outcome.traces), 'phase': phase, 'node': node.uuid},
        )
        self.run.add(phase, outcome, seconds)
        error = outcome.error
        if error:
            self.run.note_error(phase, error, saving=False)
        try:
            # After the action "fail", too.
            if outcome.keeps_changes:
                self._save(phase, outcome, target, plugin_data)
        except exceptions.RuleError as exc:
            error = exc
            self.run.note_error(phase, error, saving=True)
        rule_counter.counter().count(outcome, node.uuid, error)
        metrics.send_phase(phase, error is None, seconds)
        if error:
            raise ironic_exception.HardwareInspectionFailure(
                error=str(error)
            ) from error

    def _save(
        self,
        phase: str,
        outcome: runner.PhaseOutcome,
        target: working_copy.WorkingCopy,
        plugin_data: dict,
    ) -> None:
        """Save what the rules of a phase changed, with a checkpoint.

        Plugin data change first, also where Ironic then refuses a change.

        :raises: :class:`.exceptions.RuleError` if Ironic refuses a change.
        """
        before = dict(plugin_data)
        maintenance = {}
        error = outcome.error
        if isinstance(error, exceptions.RuleFailed) and error.maintenance:
            # The action "fail" asks for it. That is no change of the node by a
            # rule, so the target does not have it.
            maintenance = {
                'maintenance': True,
                'maintenance_reason': error.reason or str(error),
            }
        saving.update_plugin_data(target, plugin_data)
        outcome.record(plugin_data, phase)
        save_checkpoint = None
        # If no rule matched, a later attempt needs no checkpoint: it may run
        # the rules again.
        if self.is_repeatable and outcome.traces:
            saved = checkpoint.of_phase(
                target,
                plugin_data=checkpoint.difference(before, plugin_data),
                more=maintenance,
                error=error,
                run=self.run.checkpoint(phase),
            )
            save_checkpoint = functools.partial(
                self.save_checkpoint, phase, saved
            )
        saving.save(
            self.task,
            target,
            more=maintenance,
            in_transaction=save_checkpoint,
        )

    def _repeat(
        self,
        phase: str,
        saved: checkpoint.Checkpoint,
        target: working_copy.WorkingCopy,
        plugin_data: dict,
    ) -> None:
        """Repeat what the rules of a phase did in an earlier attempt.

        The rules do not run: their changes are made once more, as hooks of
        this attempt may have overwritten them.

        :param saved: the checkpoint of the earlier attempt.
        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure if a rule failed the inspection
            then; RuleError if Ironic refuses a change now.
        """
        self.run.take_up(phase, saved.get('run'))
        checkpoint.repeat(saved, target)
        # To save the same checkpoint again checks that this delivery is still
        # the last one, and renews its lease.
        saving.save(
            self.task,
            target,
            more=saved['more'],
            in_transaction=functools.partial(
                self.save_checkpoint, phase, saved
            ),
        )
        checkpoint.apply(saved['plugin_data'], plugin_data)
        if saved['error']:
            raise ironic_exception.HardwareInspectionFailure(
                error=saved['error']
            )

    def _rules_in_force(self, phase: str) -> repository.Snapshot:
        """Return the rules of this inspection, read in its first phase.

        With the rules, what the inspection before has stored is read, if one
        of them reads that.

        :param phase: the phase that begins.
        :raises: HardwareInspectionFailure if the plugin's tables are missing
            or too old. Other errors of the database are raised as they are:
            durable inspection waits until they are over.
        """
        if self._rules is not None:
            return self._rules
        rules = start.rules()
        try:
            in_force = rules.refresh(self.task.context)
        except db_exc.DBError as exc:
            _refuse_without_tables(exc)
            raise
        self._options = rules.options
        # A redfish inspection stores its data before the main phase. If that
        # is its first phase, what is stored now is of this very inspection.
        is_too_late = phase == model.MAIN and self.of_redfish is not None
        if in_force.reads_previous and not is_too_late:
            self._reads_previous = True
            if CONF.inspection_rules.keep_history:
                self._previous = history.last_stored(self.task.node.uuid)
            if self._previous is None:
                # The history has nothing, but Ironic stores the data of the
                # last inspection as well.
                self._previous = facts.stored_before(
                    self.task.node, self.task.context
                )
        self._rules = in_force
        return in_force


@contextlib.contextmanager
def of_task(
    task: Any,
    inventory: dict | None = None,
    plugin_data: dict | None = None,
    is_of_ironic: bool = True,
) -> Iterator[Inspection]:
    """Enter the inspection of a task, or begin one that ends here.

    A task that has an inspection goes on with it: then the arguments have no
    effect, and nothing ends here. Otherwise the inspection ends with this
    context, and its run is stored, unless the interface cannot inspect.

    :param inventory: what the machine sent, None if it is not known yet.
    :param is_of_ironic: whether Ironic inspects the node, and leaves the
        error in its ``last_error`` if that fails.
    """
    current = getattr(task, ATTRIBUTE, None)
    if current is not None:
        yield current
        return
    current = Inspection(
        task, recorder.RunRecorder(recorder.INSPECTION), is_of_ironic
    )
    setattr(task, ATTRIBUTE, current)
    try:
        if inventory is not None:
            early = None
            try:
                early = early_phase_object.EarlyPhase.take(
                    task.context, task.node.uuid
                )
            except db_exc.DBError as exc:
                # It must not fail the inspection: Ironic's code that would
                # bring the node into a final state has not begun yet.
                recorder.warn_of_loss(task.node, exc)
            current.begin(inventory, plugin_data or {}, early)
        yield current
    # The interface cannot inspect. Ironic leaves the node as it is, too.
    except ironic_exception.UnsupportedDriverExtension:
        raise
    # The run is kept, whatever the inspection failed for.
    except Exception as exc:
        current.store(str(exc))
        raise
    else:
        current.store(None)
    finally:
        setattr(task, ATTRIBUTE, None)


class PhaseHook(base.InspectionHook):
    """Runs the rules of the preprocess phase; the last hook in the list.

    So they run after the preprocess of all hooks (spec 003 "Phases"). Rules
    of the main phase run where Ironic applies its own, after it has powered
    the machine off. A node that was just discovered gets its credentials from
    these rules, so for such a node they run here, after all other hooks.
    """

    def preprocess(
        self, task: Any, inventory: dict, plugin_data: dict
    ) -> None:
        """Run the rules of the preprocess phase, the first time only.

        A node enrolled by auto-discovery gets its scope first, unless it has
        one.

        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure as :meth:`Inspection.run_phase`.
        """
        node = task.node
        with of_task(task, inventory, plugin_data) as current:
            if current.is_preprocessed:
                return
            current.is_preprocessed = True
            if facts.is_auto_discovered(node.provision_state, plugin_data):
                # Rules of a scope run only on nodes that have the scope.
                scope = CONF.auto_discovery.inspection_scope
                if scope and model.SCOPE_PROPERTY not in node.properties:
                    node.properties = {
                        **node.properties,
                        model.SCOPE_PROPERTY: scope,
                    }
                    node.save()
            current.run_phase(model.PREPROCESS, inventory, plugin_data)

    def __call__(self, task: Any, inventory: dict, plugin_data: dict) -> None:
        """Run the main phase for a node that auto-discovery has enrolled.

        Ironic powers the machine off next. It can do so only with the driver,
        the address and the credentials that these rules set (spec 003 "Use
        Cases"). For all other nodes this does nothing.

        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure as :meth:`Inspection.run_phase`.
        """
        present_state = task.node.provision_state
        if not facts.is_auto_discovered(present_state, plugin_data):
            return
        with of_task(task, inventory, plugin_data) as current:
            if current.is_main_over:
                return
            current.run_phase(model.MAIN, inventory, plugin_data)
            current.is_main_over = True
            # The rules may have set another driver than that with which the
            # node was enrolled, and which the task has loaded.
            task.driver = None
            task.load_driver()


def note_redfish(task: Any, of_redfish: redfish.RedfishInspection) -> None:
    """Note that the inspection of a task is a redfish inspection."""
    with of_task(task) as current:
        current.of_redfish = of_redfish


def apply_rules(
    task: Any, inventory: dict, plugin_data: dict, inspection_phase: str
) -> None:
    """Run the rules of a phase, in the place of Ironic's own function.

    Ironic calls this in an inspection, and also outside of one, for instance
    in a step (approved specification "inspection-steps"). Then the rules have
    a run of their own.

    :param plugin_data: is changed in place; the caller stores it.
    :param inspection_phase: ``preprocess`` or ``main``.
    :raises: HardwareInspectionFailure as :meth:`Inspection.run_phase`, or if
        the phase is another one.
    """
    phases = (model.PREPROCESS, model.MAIN)
    if inspection_phase not in phases:
        raise ironic_exception.HardwareInspectionFailure(
            error=_(
                'Inspection rules of the phase %s cannot be applied to a node'
            )
            % suggestion.not_one_of(inspection_phase, phases)
        )
    with of_task(task, inventory, plugin_data, is_of_ironic=False) as current:
        if inspection_phase == model.MAIN and current.is_main_over:
            # The hook has run it for a node that was just discovered.
            return
        before = dict(plugin_data)
        current.run_phase(inspection_phase, inventory, plugin_data)
        if current.of_redfish is not None and plugin_data != before:
            # This interface has stored its data before it applied rules.
            redfish.store_again(task, inventory, plugin_data)


def _refuse_without_tables(error: db_exc.DBError) -> None:
    """Fail the inspection if the plugin's tables are not ready.

    They may be missing, or of another release. The message names the command
    that makes them.

    :param error: an error of a query of these tables.
    :raises: HardwareInspectionFailure if the tables are the cause of the
        error; the error itself if the check of the tables fails like the
        query. If the tables are ready, nothing is raised.
    """
    try:
        storage.check()
    except exceptions.DatabaseNotReady as problem:
        if isinstance(problem.__cause__, db_exc.DBError):
            # The check failed like the query: the tables may well be there.
            raise error from problem
        raise ironic_exception.HardwareInspectionFailure(
            error=str(problem)
        ) from error

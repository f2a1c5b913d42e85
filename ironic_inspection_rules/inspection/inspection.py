# SPDX-License-Identifier: Apache-2.0

"""The inspection of a node, from its first phase to its stored run.

Ironic inspects a node: it calls hooks with the data that the machine posted,
and powers the machine off. This module runs rules at the right moments. There
are three phases of rules. ``early`` has already run in the API, see
:mod:`.early_phase`. ``preprocess`` runs in :class:`PhaseHook`, and ``main``
in :func:`apply_rules` or, for a node that was just discovered, in the hook.

The *run* is the record of what the rules of all phases did. It is stored at
the end. With durable inspection, an inspection may take several *attempts*: a
later attempt does not run the rules of a phase again, but repeats their
changes from the *checkpoint* of the phase.
"""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import functools
import time
from typing import Any, NamedTuple

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
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_rule
from ironic_inspection_rules.runs import recorder

LOG = log.getLogger(__name__)

ATTRIBUTE = 'inspection_rules_inspection'
"""Attribute of a task that holds its inspection; None after the inspection.

An inspection begins before Ironic's own code runs, and continues in a hook
that Ironic calls. Ironic passes the task to the hook, but no argument of this
project. The attribute is set to None at the end, because task and inspection
refer to each other: otherwise the data of the machine, which may be large,
would stay in memory until the garbage collector runs.
"""

_NO_FACTS = (history.LOGS, trace.KEY)
"""Names of plugin data that do not describe the machine: the logs of the
ramdisk, and what the rules did."""


class _PluginDataOfPhase(NamedTuple):
    """Shallow copies of the plugin data before and after rules of a phase."""

    before: dict[str, Any]
    after: dict[str, Any]


class Inspection:
    """The inspection of a node, from its first phase to its stored run.

    It runs the phases of rules, saves their changes and, at the end, stores
    what they did as one run. All phases use the rules that were in force when
    the first phase began. The subclass :class:`.attempt.Attempt` can be
    repeated after a crash.

    :param task: a TaskManager instance with an exclusive lock.
    :param run: the run, which has just begun.
    :param is_of_ironic: whether Ironic inspects the node, and leaves the
        error in its ``last_error`` if the inspection fails.
    :ivar is_repeatable: whether a later attempt may repeat the phases.
    :ivar is_preprocessed: whether the work before the hooks is done. Ironic
        calls a hook once for every time that its list names the hook.
    :ivar is_main_over: whether the main phase has run early. It does so for a
        node that was just discovered, before the machine is powered off.
    :ivar checkpoints: the checkpoints that earlier attempts saved, by phase.
    :ivar of_redfish: the redfish inspection of the node; None if the node has
        another inspect interface.
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
        # None until the machine has posted its data.
        self._inventory: dict[str, Any] | None = None
        # Hooks and rules change the plugin data in place.
        self._plugin_data: dict[str, Any] = {}
        # The phases so far, in their order.
        self._plugin_data_of_phases: list[_PluginDataOfPhase] = []
        # The rules in force when the first phase began, None before that.
        self._rules: repository.Snapshot | None = None
        # Built-in rules and settings, as JSON text. The history keeps them, so
        # that the inspection can be replayed.
        self._options: str | None = None
        # Whether rules run on this node, and a phase has begun.
        self._has_run_rules = False
        # Whether a rule reads the data of the previous inspection.
        self._reads_previous = False
        # The inventory and the plugin data that the previous inspection
        # stored; None if they are not read or not kept.
        self._previous: dict[str, Any] | None = None
        # The facts at the beginning of every phase, by phase, as JSON texts.
        # The history keeps them, too.
        self._facts: dict[str, dict[str, str]] = {}

    def begin(
        self,
        inventory: dict,
        plugin_data: dict,
        early: early_phase.Kept | None = None,
    ) -> None:
        """Take the data of the machine, and add the early phase to the run.

        :param plugin_data: the plugin data after the early rules, or the
            posted data if only a run is to be stored. Hooks and rules change
            them in place later.
        :param early: what the early rules did in the API, see
            :mod:`.early_phase`; None if nothing is kept.
        """
        self._inventory = inventory
        self._plugin_data = plugin_data
        if early is None:
            return
        # What the rules did, and where sensitive rules have set values.
        self.run.phases[model.EARLY] = early['record']
        if early['places']:
            self.run.places[model.EARLY] = early['places']
        # The history needs the plugin data before the early rules. "found" is
        # the difference; None if the API does not keep a history.
        if early['found'] is not None:
            self._facts[model.EARLY] = early_phase.rebuild_facts_before(
                early['found'], inventory, plugin_data
            )

    def prepare_run(self, error: str | None) -> recorder.Store | None:
        """Return a function that stores the run of an ended inspection.

        This method itself stores the data of the machine, which may be large.
        The returned function stores the rest. It is called in a transaction
        that may also unlock the node, and that is therefore kept short.

        A run is kept if rules have run on the node. It is also kept if the
        inspection failed after the machine sent its data, because an operator
        may need these data.

        :param error: why the inspection failed; None if it passed.
        :returns: the function; None if no run is kept.
        """
        node = self.task.node
        if not facts.is_supported(node.inspect_interface):
            # Rules do not run on this node at all.
            return None
        has_failed_with_data = (
            error is not None and self._inventory is not None
        )
        if not self._has_run_rules and not has_failed_with_data:
            return None
        if error is not None and self._is_of_ironic:
            # Ironic stores the error in last_error, with more details. If
            # somebody else runs rules, e.g. a step of an operator, last_error
            # may be an older error.
            error = node.last_error or error
        options = CONF.inspection_rules
        findings = None
        # Without a history, the data are only needed after a failure, because
        # Ironic itself stores the data of an inspection that passes.
        if error is not None or options.keep_history:
            findings = self._collect_findings()
        return recorder.prepare_run(
            self.run,
            findings,
            node,
            error,
            keep_runs=options.keep_runs,
            mask=disclosure.is_kept_masked(options.mask_secrets),
            keep_history=options.keep_history,
        )

    def _collect_findings(self) -> history.Findings | None:
        """Return the data of the machine and the rules, for the history.

        The history keeps the plugin data with the changes of hooks, but
        without the changes of rules. Therefore this undoes, in a copy, what
        the rules of the phases preprocess and main changed. Changes of early
        rules are not undone, because they were made before the data came here.

        :returns: the data; None if the machine has not sent any.
        """
        if self._inventory is None:
            return None
        # The values that rules have changed, as they were before.
        old_values: dict[str, Any] = {}
        for before, after in self._plugin_data_of_phases:
            for name in before.keys() | after.keys():
                old_value = before.get(name, data_path.ABSENT)
                new_value = after.get(name, data_path.ABSENT)
                # Compare with "is", because rules never change a value in
                # place, but replace it with another object.
                if new_value is not old_value:
                    # If both phases have changed a value, keep the value
                    # before the first one.
                    old_values.setdefault(name, old_value)
        # Drop the names that were absent, and names that are not facts.
        plugin_data = {}
        for name, value in {**self._plugin_data, **old_values}.items():
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
        """Store the run of an inspection that has ended, unless none is kept.

        :param error: why the inspection failed; None if it passed.
        """
        store_run = self.prepare_run(error)
        if store_run is None:
            return
        try:
            transaction.write(store_run)
        except db_exc.DBError as exc:
            # A lost run must not fail the inspection.
            recorder.warn_of_loss(self.task.node, exc)
        # There is no periodic task for old history: every inspection removes
        # some of it.
        recorder.cleaner.clean(CONF.inspection_rules.keep_history)

    def save_checkpoint(
        self, phase: str, saved: checkpoint.Checkpoint, session: Any
    ) -> None:
        """Save a checkpoint in the transaction that saves its phase.

        This is called only if the inspection is repeatable.

        :param session: the session of the transaction.
        """
        raise NotImplementedError

    def run_phase(
        self, phase: str, inventory: dict, plugin_data: dict
    ) -> None:
        """Run the rules of a phase, or repeat its changes from a checkpoint.

        - If an earlier attempt has saved a checkpoint of the phase, its
          changes are made again.
        - If rules do not run on nodes with this inspect interface, or if there
          are neither rules nor a history, no rules run, and nothing is
          recorded.
        - Otherwise the rules of the phase run.

        :param phase: ``preprocess`` or ``main``.
        :param plugin_data: changed in place.
        :raises: HardwareInspectionFailure if a rule fails, or if the plugin's
            tables are missing or too old; RuleError if Ironic refuses a
            repeated change; errors of the database.
        """
        task = self.task
        # Set the data again. A redfish inspection has none before this, and
        # Ironic may have replaced the mapping that begin() got. Do it first:
        # if the rules cannot be read, the failed run is kept with its data.
        self._inventory = inventory
        self._plugin_data = plugin_data
        rules = self._get_rules(phase)
        plans = rules.plans[phase]
        keeps_history = bool(CONF.inspection_rules.keep_history)
        # The checkpoint of an earlier attempt.
        saved = self.checkpoints.get(phase)
        is_supported = facts.is_supported(task.node.inspect_interface)
        if is_supported:
            self._has_run_rules = True
            self.run.revision = rules.revision
        # With a history, go on even if there are no rules: the history keeps
        # the facts of the phase, so that other rules can be tried on them.
        has_work = is_supported and bool(plans or keeps_history)
        if saved is None and not has_work:
            # Hooks may have changed properties since an earlier phase.
            if self.of_redfish is not None and self.of_redfish.is_separate:
                self._reconcile_properties()
            return
        # Hooks may have created ports. None makes the task read them again.
        task.ports = task.portgroups = None
        self._reconcile_properties()
        machine = facts.build_for_node(
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
        plugin_data_before = dict(plugin_data)
        try:
            if saved is None:
                self._run_rules(phase, plans, target, plugin_data)
            else:
                self._repeat(phase, saved, target, plugin_data)
        finally:
            self._plugin_data_of_phases.append(
                _PluginDataOfPhase(
                    before=plugin_data_before, after=dict(plugin_data)
                )
            )
            self._reconcile_properties()

    def _reconcile_properties(self) -> None:
        """Make the properties of the node those of its redfish inspection.

        A redfish inspection keeps its own copy of the properties and saves it
        at the end. Rules must see this copy, and it must get what they set.
        For any other inspection nothing happens.
        """
        if self.of_redfish is not None:
            self.of_redfish.reconcile_properties(self.task.node)

    def _run_rules(
        self,
        phase: str,
        plans: Sequence[compiler.CompiledRule],
        target: working_copy.WorkingCopy,
        plugin_data: dict,
    ) -> None:
        """Run the rules of a phase, save their changes, and record both.

        If the action "fail" ends the phase, the earlier changes are saved
        before the inspection fails. After any other error nothing is saved.

        :param plans: the rules of the phase.
        :param target: the working copy of the data, which the rules change.
        :param plugin_data: changed in place.
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
        # Record what the rules did.
        self.run.phases[phase] = phase_record.build(outcome, seconds)
        # The record does not show where sensitive rules have set values, so
        # these places are kept apart.
        places = recorded_rule.places_of(outcome)
        if places:
            self.run.places[phase] = places
        error = outcome.error
        if error:
            self.run.note_error(phase, error, raised_by_saving=False)
        # Save the changes. This is also done after the action "fail".
        try:
            if outcome.keeps_changes:
                self._save(phase, outcome, target, plugin_data)
        except exceptions.RuleError as exc:
            error = exc
            self.run.note_error(phase, error, raised_by_saving=True)
        # Count the result, now that it is known.
        rule_counter.get_counter().count(outcome, node.uuid, error)
        metrics.send_phase(phase, error is None, seconds)
        if error:
            # Ironic stores this text in last_error. If the database refused
            # it, e.g. because of an emoji that the machine sent, the node
            # would stay in "inspecting" forever.
            raise ironic_exception.HardwareInspectionFailure(
                error=exceptions.make_storable(str(error))
            ) from error

    def _save(
        self,
        phase: str,
        outcome: runner.PhaseOutcome,
        target: working_copy.WorkingCopy,
        plugin_data: dict,
    ) -> None:
        """Save the changes of a phase and its checkpoint in one transaction.

        The plugin data are changed before the node is saved, and keep these
        changes even if Ironic then refuses a change of the node.

        :param target: the data with the changes of the phase.
        :param plugin_data: changed in place; Ironic stores them at the end of
            the inspection.
        :raises: :class:`.exceptions.RuleError` if Ironic refuses a change.
        """
        plugin_data_before = dict(plugin_data)
        maintenance = {}
        error = outcome.error
        if isinstance(error, exceptions.RuleFailed) and error.maintenance:
            # The action "fail" asks for maintenance. The target does not have
            # this change, because "fail" does not change the node itself.
            maintenance = {
                'maintenance': True,
                'maintenance_reason': exceptions.make_storable(
                    error.reason or str(error)
                ),
            }
        saving.update_plugin_data(target, plugin_data)
        # Add to the plugin data which rules matched.
        outcome.record(plugin_data, phase)
        # If no rule matched, no checkpoint is needed, because a later attempt
        # may run the rules again.
        save_checkpoint = None
        if self.is_repeatable and outcome.traces:
            saved = checkpoint.build_for_phase(
                target,
                plugin_data=checkpoint.difference(
                    plugin_data_before, plugin_data
                ),
                more=maintenance,
                error=error,
                run=self.run.checkpoint(phase),
            )
            # save() calls this with the session of its transaction.
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
        """Repeat the changes of a phase from the checkpoint of an old attempt.

        The rules do not run. Their changes are made again, because the hooks
        of this attempt may have overwritten them.

        :param saved: the checkpoint of the earlier attempt.
        :param target: the data of this attempt.
        :param plugin_data: changed in place.
        :raises: HardwareInspectionFailure if a rule failed the earlier
            attempt; RuleError if Ironic refuses a change now.
        """
        # Add the record of the phase to the run of this attempt.
        self.run.restore(phase, saved.get('run'))
        # Make the changes of the node and its ports.
        checkpoint.repeat(saved, target)
        # Save the same checkpoint again. This raises an error if another
        # worker has taken over the request, and renews the lease if not.
        saving.save(
            self.task,
            target,
            more=saved['more'],
            in_transaction=functools.partial(
                self.save_checkpoint, phase, saved
            ),
        )
        checkpoint.apply(saved['plugin_data'], plugin_data)
        # The action "fail" has ended the phase in the earlier attempt.
        if saved['error']:
            raise ironic_exception.HardwareInspectionFailure(
                error=saved['error']
            )

    def _get_rules(self, phase: str) -> repository.Snapshot:
        """Return the rules of this inspection, which its first phase reads.

        The first call also reads the data of the previous inspection, if a
        rule needs them. Later calls return the same rules.

        :param phase: the phase that begins.
        :raises: HardwareInspectionFailure if the plugin's tables are missing
            or too old. Other errors of the database are raised unchanged:
            durable inspection waits until they are over.
        """
        if self._rules is not None:
            return self._rules
        rules = start.rules()
        try:
            in_force = rules.refresh(self.task.context)
        except db_exc.DBError as exc:
            _refuse_without_tables(exc)
            # The tables are ready, so the error has another cause.
            raise
        self._options = rules.options
        # A redfish inspection stores its own data before the main phase. If
        # this is the first phase, they have replaced the previous data.
        is_too_late = phase == model.MAIN and self.of_redfish is not None
        if in_force.reads_previous and not is_too_late:
            self._reads_previous = True
            if CONF.inspection_rules.keep_history:
                self._previous = history.last_stored(self.task.node.uuid)
            if self._previous is None:
                # The history has no data, but Ironic itself also stores the
                # data of the last successful inspection.
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
    """Provide the inspection of a task for a ``with`` block.

    - If the task already has an inspection, the block gets this one. The other
      arguments have no effect.
    - Otherwise a new inspection begins, and ends with the block. Its run is
      then stored, unless the inspect interface turns out not to support
      inspection.

    :param inventory: the inventory that the machine sent; None if it is not
        known yet.
    :param plugin_data: the plugin data that came with the inventory.
    :param is_of_ironic: whether Ironic inspects the node, and leaves the
        error in its ``last_error`` if the inspection fails.
    :raises: the error of the block, after the run of a new inspection has been
        stored.
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
                # This must not fail the inspection, because Ironic's code that
                # would bring the node into a final state has not begun yet.
                recorder.warn_of_loss(task.node, exc)
            current.begin(inventory, plugin_data or {}, early)
        yield current
    # The interface does not support inspection, so there was none to store.
    except ironic_exception.UnsupportedDriverExtension:
        raise
    # Any other error has failed the inspection, and its run is stored.
    except Exception as exc:
        current.store(str(exc))
        raise
    else:
        current.store(None)
    finally:
        setattr(task, ATTRIBUTE, None)


class PhaseHook(base.InspectionHook):
    """Runs rules as an inspection hook of Ironic, the last hook in the list.

    Ironic first calls the method ``preprocess`` of all hooks, and then calls
    all hooks themselves. The rules of the phase ``preprocess`` run in this
    method, after all other hooks (spec 003 "Phases"). The rules of the phase
    ``main`` run later, where Ironic applies its own rules, after the machine
    was powered off. A node that was just discovered is an exception: the main
    rules set the credentials to power it off, so they run in this hook.
    """

    def preprocess(
        self, task: Any, inventory: dict, plugin_data: dict
    ) -> None:
        """Run the rules of the phase ``preprocess``.

        Ironic calls this once for every time that its list names the hook, and
        only the first call runs the rules. A node that auto-discovery has just
        enrolled first gets the scope in the option ``inspection_scope``,
        because rules with a scope run only on nodes that have it.

        :param plugin_data: changed in place.
        :raises: HardwareInspectionFailure, see :meth:`Inspection.run_phase`.
        """
        node = task.node
        with of_task(task, inventory, plugin_data) as current:
            if current.is_preprocessed:
                return
            current.is_preprocessed = True
            if facts.is_auto_discovered(node.provision_state, plugin_data):
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

        Ironic powers the machine off next, for which it needs the driver, the
        address and the credentials that these rules set (spec 003 "Use
        Cases"). For any other node nothing happens here.

        :param plugin_data: changed in place.
        :raises: HardwareInspectionFailure, see :meth:`Inspection.run_phase`.
        """
        present_state = task.node.provision_state
        if not facts.is_auto_discovered(present_state, plugin_data):
            return
        with of_task(task, inventory, plugin_data) as current:
            if current.is_main_over:
                return
            current.run_phase(model.MAIN, inventory, plugin_data)
            current.is_main_over = True
            # Load the driver again, because the rules may have changed the
            # driver with which the node was enrolled.
            task.driver = None
            task.load_driver()


def note_redfish(task: Any, of_redfish: redfish.RedfishInspection) -> None:
    """Record that the inspection of a task is a redfish inspection."""
    with of_task(task) as current:
        current.of_redfish = of_redfish


def apply_rules(
    task: Any, inventory: dict, plugin_data: dict, inspection_phase: str
) -> None:
    """Run the rules of a phase; this replaces Ironic's function of this name.

    Ironic calls it in an inspection, and also outside of one, e.g. in a step
    (approved specification "inspection-steps"). Outside of an inspection, a
    run is stored for this call alone.

    :param plugin_data: changed in place; the caller stores it.
    :param inspection_phase: ``preprocess`` or ``main``.
    :raises: HardwareInspectionFailure, see :meth:`Inspection.run_phase`; also
        if the phase is not one of these two.
    """
    phases = (model.PREPROCESS, model.MAIN)
    if inspection_phase not in phases:
        raise ironic_exception.HardwareInspectionFailure(
            error=_(
                'Inspection rules of the phase %s cannot be applied to a node'
            )
            % suggestion.choice_message(inspection_phase, phases)
        )
    with of_task(task, inventory, plugin_data, is_of_ironic=False) as current:
        if inspection_phase == model.MAIN and current.is_main_over:
            # The hook has already run it, because the node was just
            # discovered.
            return
        plugin_data_before = dict(plugin_data)
        current.run_phase(inspection_phase, inventory, plugin_data)
        has_changed = plugin_data != plugin_data_before
        if current.of_redfish is not None and has_changed:
            # The redfish interface stored its data before it applied rules.
            redfish.store_again(task, inventory, plugin_data)


def _refuse_without_tables(error: db_exc.DBError) -> None:
    """Fail the inspection if a query failed because tables are not ready.

    - If the plugin's tables are missing or belong to another release, the
      inspection fails, with a message that names the command to create them.
    - If the tables cannot be checked either, the database is probably down,
      and the error is raised unchanged.
    - If the tables are ready, nothing is raised.

    :param error: the error of a query of these tables.
    :raises: HardwareInspectionFailure or the error.
    """
    try:
        storage.check()
    except exceptions.DatabaseNotReady as problem:
        is_check_impossible = isinstance(problem.__cause__, db_exc.DBError)
        if is_check_impossible:
            raise error from problem
        raise ironic_exception.HardwareInspectionFailure(
            error=str(problem)
        ) from error

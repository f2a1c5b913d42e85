# SPDX-License-Identifier: Apache-2.0

"""A run of rules, from the begin of an inspection to its end.

It notes what the rules of each phase do, and is stored once, when the
inspection has ended, well or not.
"""

from collections.abc import Callable, Collection
import datetime
import typing

from oslo_db import exception as db_exc
from oslo_log import log
from oslo_utils import timeutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import trace
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import record
from ironic_inspection_rules.runs import recorded_rule

LOG = log.getLogger(__name__)

INSPECTION = 'inspection'
REAPPLY = 'reapply'

Data = dict[str, typing.Any]

Store = Callable[..., None]
"""Stores a run as part of the transaction it is given, or of its own."""


class Run:
    """One run, as far as it has come.

    :param event: :data:`INSPECTION` or :data:`REAPPLY`.
    :param uuid: of the request that is being processed, so that its attempts
        make one run; None for an inspection without.
    """

    def __init__(self, event: str, uuid: str | None = None) -> None:
        self.event = event
        self.uuid = uuid or uuidutils.generate_uuid()
        self.started_at: datetime.datetime = timeutils.utcnow()
        # The rules in force when it began: those of all its phases.
        self.rules: typing.Any = None
        self.revision: int | None = None
        self.options: str | None = None
        self.phases: dict[str, record.Record] = {}
        # What sensitive rules set, by phase; no part of what is shown.
        self.places: dict[str, recorded_rule.Places] = {}
        self.has_run = False
        # Rules of a node that was just discovered run before the power-off.
        self.main_is_over = False
        self.facts: dict[str, dict[str, str]] = {}
        self.errors: dict[str, Data] = {}
        # What the inspection before has stored, once a rule asks for it.
        self.previous: Data | None = None
        self.reads_previous: bool | None = None
        self._inventory: Data | None = None
        self._plugin_data: Data | None = None
        self._before_rules: Data = {}

    def begin(self, inventory: Data, plugin_data: Data) -> None:
        """Note the data that the machine sent.

        :param plugin_data: may go on changing. What early rules did is taken
            out of them the first time; later a rule may have written it.
        """
        begun = self.has_data
        self._inventory, self._plugin_data = inventory, plugin_data
        if begun:
            return
        early = plugin_data.pop(record.EARLY_KEY, None)
        if isinstance(early, dict):
            self.places.update(early.pop(recorded_rule.EARLY_PLACES, {}))
            for phase, kept in early.items():
                found = kept.pop(record.EARLY_FOUND, None)
                if found is not None:
                    before = {name: value for name, value
                              in plugin_data.items()
                              if name not in found['unset']}
                    self.facts[phase] = history.facts_of(
                        working_copy.Facts(inventory,
                                           {**before, **found['set']}),
                        revision=found['revision'])
            self.phases.update(early)

    @property
    def has_data(self) -> bool:
        """True once the machine has sent data."""
        return self._inventory is not None

    def run_rules(self, revision: int | None,
                  options: str | None = None) -> None:
        """Note that rules run now.

        :param options: see :attr:`.repository.Repository.options`.
        """
        self.has_run, self.revision, self.options = True, revision, options

    def add(self, phase: str, outcome: runner.Outcome, seconds: float,
            saved: bool = True) -> None:
        """Note what the rules of a phase did."""
        self.phases[phase] = record.of_phase(outcome, seconds, saved)
        places = recorded_rule.places_of(outcome)
        if places:
            self.places[phase] = places

    def note_facts(self, phase: str, machine: working_copy.Facts) -> None:
        """Note the machine as the rules of a phase find it."""
        self.facts[phase] = history.facts_of(machine)

    def note_error(self, phase: str, error: exceptions.RuleError,
                   saving: bool) -> None:
        """Note the error that the rules of a phase ended with.

        :param saving: whether it came when their changes were saved.
        """
        self.errors[phase] = {
            'text': str(error), 'op': error.op, 'saving': saving,
            'limit': isinstance(error.__cause__, exceptions.BudgetExceeded)}

    def checkpoint(self, phase: str) -> record.Record:
        """Return what a later attempt needs to know of a phase."""
        return {'revision': self.revision, 'record': self.phases.get(phase),
                'places': self.places, 'earlier': {
                    name: kept for name, kept in self.phases.items()
                    if name != phase}}

    def take_up(self, phase: str, saved: record.Record | None) -> None:
        """Note a phase that an earlier attempt has done.

        :param saved: its :meth:`checkpoint`, None if there is none.
        """
        if saved and saved['record']:
            self.run_rules(saved['revision'])
            self.phases.update(saved['earlier'])
            self.phases[phase] = saved['record']
            self.places.update(saved['places'])

    def set_aside(self, before: Data, after: Data) -> None:
        """Note which plugin data rules have changed.

        Of a run that failed the data are kept as rules found them.

        :param after: as rules left them; a changed value is another object.
        """
        for name in before.keys() | after.keys():
            found = before.get(name, _ABSENT)
            if after.get(name, _ABSENT) is not found:
                self._before_rules.setdefault(name, found)

    @property
    def plugin_data(self) -> Data:
        """Plugin data as they are."""
        return self._plugin_data or {}

    def data(self, mask: bool) -> dict[str, Data | None]:
        """Return what the machine sent, without the logs of its ramdisk."""
        if self._inventory is None:
            return {'inventory': None, 'plugin_data': None}
        plugin_data = {
            name: value for name, value
            in {**self.plugin_data, **self._before_rules}.items()
            if value is not _ABSENT and name not in _NOT_KEPT}
        found = {'inventory': self._inventory, 'plugin_data': plugin_data}
        return {name: disclosure.data(value) if mask else value
                for name, value in found.items()}


_ABSENT = object()

_NOT_KEPT = (history.LOGS, trace.KEY)
"""Plugin data that are no facts of the machine."""


def prepare(run: Run, node: typing.Any, error: str | None, keep: int,
            mask: bool, days: int = 0) -> Store | None:
    """Prepare to store a run that has ended.

    The data of the machine are stored at once, and are swept away later if
    the run is not.

    :param mask: whether to hide secrets of the machine's data.
    :param days: how long to keep what the inspection found; 0 for not at all.
    :returns: what stores it; None if no rules ran and it did not fail.
    """
    if not run.has_run and (error is None or not run.has_data):
        return None
    values = {
        'uuid': run.uuid, 'node_uuid': node.uuid, 'event': run.event,
        'inspect_interface': node.inspect_interface,
        'result': history.OK if error is None else history.FAILED,
        'error': error,
        'revision': run.revision, 'started_at': run.started_at,
        'phases': run.phases, 'places': run.places or None}
    kept = None
    try:
        if run.has_data and error is not None and keep:
            values['content'] = content.store(run.data(mask))
        if run.has_data and days:
            kept = history.prepare(run.uuid, node, history.document(
                run, values, mask))
    except db_exc.DBError as exc:
        warn_of_loss(node, exc)

    def insert(connection: typing.Any) -> None:
        # One transaction is sooner over than two.
        db_run.record_run(connection, values, keep)
        if kept is not None:
            db_history.record(connection, **kept)

    return lambda session=None: transaction.within(session, insert)


def warn_of_loss(node: typing.Any, exc: Exception) -> None:
    """Log that a run cannot be stored."""
    LOG.warning('What the rules did to node %(node)s is not kept: %(error)s',
                {'node': node.uuid, 'error': exc})


def is_stored(run: Run, node_uuid: str) -> bool:
    """Return whether an earlier attempt has stored the run."""
    try:
        db_run.get_run(node_uuid, run.uuid)
    except exceptions.NotFound:
        return False
    return True


def forget(node_uuids: Collection[str]) -> None:
    """Remove the runs and the history of nodes that are gone."""
    db_run.destroy_runs(node_uuids)
    db_history.destroy(node_uuids)

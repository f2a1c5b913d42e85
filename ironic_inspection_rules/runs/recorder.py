# SPDX-License-Identifier: Apache-2.0

"""Records a run while it lasts, and removes old data.

A run records what the rules of every phase did in one inspection. It is stored
once, after the inspection has ended with or without an error. With durable
inspection, an inspection may take several attempts, which share one run.
"""

from collections.abc import Callable, Collection
import dataclasses
import datetime
import functools
import time
import typing

from oslo_db import exception as db_exc
from oslo_log import log
from oslo_utils import timeutils
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.runs import deleted_node
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_rule

LOG = log.getLogger(__name__)

INSPECTION = 'inspection'
REAPPLY = 'reapply'

_CLEANING_PERIOD = 600.0
"""Seconds between two removals of old data by a process."""

Data = dict[str, typing.Any]

Store = Callable[[typing.Any], None]
"""Stores a run in a transaction; called with its SQLAlchemy connection."""


@dataclasses.dataclass
class RunRecorder:
    """Records one run while it goes on.

    ``event`` is :data:`INSPECTION` or :data:`REAPPLY`. With durable
    inspection, ``uuid`` is the UUID of the request, so that all attempts share
    one run. ``revision`` is the revision of the rules in force.

    Three fields have an entry per phase. ``phases`` has the records of what
    the rules did. ``places`` has the places that sensitive rules set, which
    are shown to nobody. ``errors`` has the errors with which the rules ended.
    """

    event: str
    uuid: str = dataclasses.field(default_factory=uuidutils.generate_uuid)
    started_at: datetime.datetime = dataclasses.field(
        default_factory=timeutils.utcnow
    )
    revision: int | None = None
    phases: dict[str, phase_record.Record] = dataclasses.field(
        default_factory=dict
    )
    places: dict[str, recorded_rule.Places] = dataclasses.field(
        default_factory=dict
    )
    errors: dict[str, Data] = dataclasses.field(default_factory=dict)

    def note_error(
        self, phase: str, error: exceptions.RuleError, raised_by_saving: bool
    ) -> None:
        """Record the error with which the rules of a phase ended.

        :param phase: a phase whose record is in ``phases``.
        :param raised_by_saving: whether the error was raised when the changes
            of the rules were to be saved. Then they are not saved.
        """
        if raised_by_saving:
            self.phases[phase]['saved'] = False
        # A replay of the inspection needs these details, because an error of
        # saving, of a time limit or of an "api-call" may not occur again.
        self.errors[phase] = {
            'text': str(error),
            'op': error.op,
            'saving': raised_by_saving,
            'limit': isinstance(error.__cause__, exceptions.BudgetExceeded),
        }

    def checkpoint(self, phase: str) -> phase_record.Record:
        """Return the data of this run that a later attempt needs.

        They are saved in the checkpoint of a phase. The records of the earlier
        phases are included, because a phase in which no rule matched has no
        checkpoint of its own.

        :param phase: the phase that has just ended.
        :returns: ``{'revision': 3, 'record': {…}, 'places': {…}, 'earlier':
            {'preprocess': {…}}}``.
        """
        earlier_records = dict(self.phases)
        record = earlier_records.pop(phase, None)
        return {
            'revision': self.revision,
            'record': record,
            'places': self.places,
            'earlier': earlier_records,
        }

    def restore(self, phase: str, saved: phase_record.Record | None) -> None:
        """Add a phase of an earlier attempt, and the phases before it.

        :param saved: the result of :meth:`checkpoint` in the earlier attempt;
            None if it saved none.
        """
        if saved and saved['record']:
            self.revision = saved['revision']
            self.phases.update(saved['earlier'])
            self.phases[phase] = saved['record']
            self.places.update(saved['places'])


def prepare_run(
    run: RunRecorder,
    findings: history.Findings | None,
    node: typing.Any,
    error: str | None,
    keep_runs: int,
    mask: bool,
    keep_history: int = 0,
) -> Store:
    """Store the data of a machine, and return a function that stores its run.

    The data are stored immediately and separately: if this fails, a run
    without them can still be stored. If the run is not stored later, the
    cleaner removes the data.

    - The run of a failed inspection keeps the data of the machine. If the
      inspection passed, Ironic itself stores the data.
    - The history, if it is enabled, keeps the data of every inspection.

    :param findings: the data of the machine; None if there are none to keep.
    :param error: why the inspection failed; None if it passed.
    :param keep_runs: how many runs of a node are kept of every event.
    :param mask: whether to mask secrets in the data.
    :param keep_history: for how many days the history keeps the data; 0 if
        there is no history.
    """
    result = history.OK
    if error is not None:
        result = history.FAILED
    values = {
        'uuid': run.uuid,
        'node_uuid': node.uuid,
        'event': run.event,
        'inspect_interface': node.inspect_interface,
        'result': result,
        'error': error,
        'revision': run.revision,
        'started_at': run.started_at,
        'phases': run.phases,
        'places': run.places or None,
    }
    kept_inspection = None
    try:
        if findings is not None and error is not None and keep_runs:
            # The digest by which the stored data are found.
            values['content'] = content.store(findings.data(mask))
        if findings is not None and keep_history:
            document = history.document(findings, values, run.errors, mask)
            kept_inspection = history.prepare(run.uuid, node, document)
    except db_exc.DBError as exc:
        warn_of_loss(node, exc)

    store_run = functools.partial(
        db_run.record_run, values=values, keep_runs=keep_runs
    )
    if kept_inspection is None:
        return store_run
    store_in_history = functools.partial(
        db_history.record,
        values=kept_inspection.values,
        new_stays=kept_inspection.new_stays,
        end_times=kept_inspection.end_times,
    )

    def store_both(connection: typing.Any) -> None:
        # Use the same transaction, because one is faster than two.
        store_run(connection)
        store_in_history(connection)

    return store_both


def warn_of_loss(node: typing.Any, exc: Exception) -> None:
    """Log that a run, or the data of its machine, cannot be stored.

    :param exc: the error of the database.
    """
    LOG.warning(
        'What the rules did to node %(node)s is not kept: %(error)s',
        {'node': node.uuid, 'error': exc},
    )


def is_stored(run: RunRecorder, node_uuid: str) -> bool:
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


class Cleaner:
    """Removes old data, a little at the end of every inspection."""

    def __init__(self) -> None:
        # Time of the monotonic clock before which nothing is removed.
        self._next_removal = 0.0
        self._runs = deleted_node.Records('runs', db_run.list_nodes, forget)

    def clean(self, days: int) -> None:
        """Remove old inspections from the history, and data that nobody needs.

        Nobody needs the runs of deleted nodes and documents without a row.

        One call removes a limited number of rows, so that no inspection takes
        long. If there was nothing to remove, the calls of the next ten minutes
        do nothing. An error of the database is only logged.

        :param days: for how many days history is kept; 0 to keep nothing.
        """
        if time.monotonic() < self._next_removal:
            return
        oldest_to_keep = timeutils.utcnow() - datetime.timedelta(days=days)
        try:
            removed_rows = db_history.expire(oldest_to_keep)
            # Without durable inspection, there is no leader that does this.
            self._runs.remove()
            # Remove documents to which no row refers.
            removed_documents = content.sweep()
        except db_exc.DBError as exc:
            # The inspection has already ended, and the next one tries again.
            LOG.warning(
                'Old inspections are not removed from the history: %s', exc
            )
            return
        # If something was removed, there may be more, and the next inspection
        # continues.
        if not removed_rows and not removed_documents:
            self._next_removal = time.monotonic() + _CLEANING_PERIOD


cleaner = Cleaner()
"""The cleaner of this process."""

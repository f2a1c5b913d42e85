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

"""What the inspection hook knows of the request that it works for.

A worker delivers a request at least once, and what the rules of a phase do
is to happen once. So their outcome is noted with the request, in the very
transaction that saves it, and further deliveries go by the note instead of
running the rules again.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import contextvars
from typing import Any

from ironic.common import exception as ironic_exception
from oslo_db import exception as db_exc

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.adapters import target as adapters_target
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.ha import journal

Difference = Mapping[str, Any]
"""What makes one plugin data of another: ``set`` and ``unset`` names."""


class Abandoned(BaseException):
    """The delivery ends here, and Ironic is told nothing.

    Not an ``Exception``: Ironic takes those as an inspection that failed.
    """


class NoDelivery:
    """Inspection without a request, which happens once or not at all."""

    def has_note(self, phase: str) -> bool:
        """Whether an earlier delivery noted the outcome of a phase."""
        return False

    def replay(self, phase: str, task, target: engine_target.Target,
               plugin_data: dict) -> None:
        """Go by the note of a phase."""

    def note(self, phase: str, target: engine_target.Target,
             difference: Difference, more: Mapping[str, Any],
             error: Exception | None) -> adapters_target.Note | None:
        """Prepare the note of a phase."""
        return None

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Leave what goes wrong with the database to Ironic."""
        yield


class Delivery(NoDelivery):
    """One delivery of a request.

    :param notes: the journal of the request.
    """

    def __init__(self, notes: journal.Journal) -> None:
        self._notes = notes

    def has_note(self, phase: str) -> bool:
        """Whether an earlier delivery noted the outcome of a phase."""
        return self._notes.read(phase) is not None

    def replay(self, phase: str, task, target: engine_target.Target,
               plugin_data: dict) -> None:
        """Go by the note of a phase.

        What the phase changed is set again where something else has set it
        since: other hooks run once more in each delivery.

        :param target: over the facts of now.
        :param plugin_data: is changed in place.
        :raises: HardwareInspectionFailure where a rule had inspection fail.
        """
        noted = self._notes.read(phase)
        for root, path, *value in noted['changes']:
            _repeat(target, root, tuple(path), value)
        adapters_target.save(task, target, (), noted['more'],
                             self._note(phase, noted))
        apply(noted['plugin_data'], plugin_data)
        if noted['error']:
            raise ironic_exception.HardwareInspectionFailure(
                error=noted['error'])

    def note(self, phase: str, target: engine_target.Target,
             difference: Difference, more: Mapping[str, Any],
             error: Exception | None) -> adapters_target.Note | None:
        """Prepare the note of a phase.

        :param target: holds the changes.
        :param difference: what the phase did to plugin data.
        :param more: further attributes of the node that were changed.
        :param error: what a rule had inspection fail with.
        :returns: takes the note; raises Abandoned if the request is another
            worker's by now.
        """
        return self._note(phase, {
            'changes': _final_values(target),
            'plugin_data': difference,
            'more': more,
            'error': str(error) if error else None})

    def _note(self, phase: str, outcome: Mapping[str, Any]
              ) -> adapters_target.Note:
        def take(transaction: Any) -> None:
            try:
                self._notes.note(phase, outcome, transaction)
            except exceptions.LeaseLost as exc:
                raise Abandoned() from exc
        return take

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Abandon the delivery when the database goes away."""
        try:
            yield
        except db_exc.DBConnectionError as exc:
            raise Abandoned() from exc


_NO_DELIVERY = NoDelivery()
_CURRENT: contextvars.ContextVar[NoDelivery] = contextvars.ContextVar(
    'delivery', default=_NO_DELIVERY)


def current() -> NoDelivery:
    """Tell what this thread delivers."""
    return _CURRENT.get()


@contextlib.contextmanager
def of(notes: journal.Journal) -> Iterator[None]:
    """Deliver a request in this thread while the context lasts.

    :raises: LeaseLost or TemporaryFailure where the delivery is abandoned.
    """
    token = _CURRENT.set(Delivery(notes))
    try:
        yield
    except Abandoned as exc:
        if isinstance(exc.__cause__, exceptions.LeaseLost):
            raise exc.__cause__ from exc
        raise exceptions.TemporaryFailure(str(exc.__cause__)) from exc
    finally:
        _CURRENT.reset(token)


def difference(before: Mapping[str, Any],
               after: Mapping[str, Any]) -> Difference:
    """Tell what makes one plugin data of another, name by name."""
    return {'set': {name: value for name, value in after.items()
                    if name not in before or before[name] != value},
            'unset': [name for name in before if name not in after]}


def apply(changes: Difference, plugin_data: dict) -> None:
    """Change plugin data, in place."""
    plugin_data.update(changes['set'])
    for name in changes['unset']:
        plugin_data.pop(name, None)


def _final_values(target: engine_target.Target) -> list[list[Any]]:
    """List what became of the node and its ports, ports by their UUID."""
    found: list[list[Any]] = []
    for root, path, value in target.final_values():
        if root == engine_target.PLUGIN_DATA:
            continue
        if root == engine_target.PORTS:
            port = target.get(root, path[:1])
            path = (port['uuid'], *path[1:])
        found.append([root, path] if value is data_path.ABSENT
                     else [root, path, value])
    return found


def _repeat(target: engine_target.Target, root: str, path: data_path.Path,
            value: list[Any]) -> None:
    if root == engine_target.PORTS:
        try:
            path = (*target.port(path[0]), *path[1:])
        except exceptions.OperationError:
            # Removed meanwhile.
            return
    if value:
        target.set(root, path, *value)
    else:
        target.unset(root, path)

# SPDX-License-Identifier: Apache-2.0

"""The inspection of a node, from its begin until it is stored."""

from collections.abc import Iterator
import contextlib
from typing import Any

from ironic_inspection_rules.inspection import checkpoint
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.runs import recorder

_ATTRIBUTE = 'inspection_rules_inspection'
"""Attribute of a task that holds its inspection.

Ironic's calls lie between the begin of an inspection and the hook that runs
rules. All of them pass the task on.
"""


class Inspection:
    """An inspection that is made once.

    One that may be made again, after a crash, is :class:`.attempt.Attempt`.

    :ivar is_repeatable: whether a later attempt may repeat the phases.
    """

    is_repeatable = False

    def __init__(self, run: recorder.Run) -> None:
        self.run = run

    def checkpoint_of(self, phase: str) -> checkpoint.Checkpoint | None:
        """Return what an earlier attempt saved of a phase, None if nothing."""
        return None

    def saver_of(self, phase: str, saved: checkpoint.Checkpoint
                 ) -> saving.Together | None:
        """Return what saves a checkpoint together with a phase.

        Called only if the inspection is repeatable.
        """
        return None

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Leave errors in this context to Ironic, which fails the node."""
        yield


def of(task: Any) -> Inspection | None:
    """Return the inspection of a task, None if it has none."""
    return getattr(task, _ATTRIBUTE, None)


@contextlib.contextmanager
def handed_over(inspection: Inspection, task: Any) -> Iterator[None]:
    """Attach an inspection to a task while the context lasts."""
    setattr(task, _ATTRIBUTE, inspection)
    try:
        yield
    finally:
        setattr(task, _ATTRIBUTE, None)

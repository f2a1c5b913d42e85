# SPDX-License-Identifier: Apache-2.0

"""What the inspection queue tells Ironic's metrics."""

from ironic_inspection_rules.db import backlog
from ironic_inspection_rules.queue import delivery
from ironic_inspection_rules.runs import metrics


def count(outcome: delivery.Outcome) -> None:
    """Count a delivery by how it ended."""
    metrics.Group('InspectionWorker').count(outcome.value)


def report_backlog() -> None:
    """Send how much waits, and for how long; a task of the leader."""
    group = metrics.Group('InspectionQueue')
    for name, value in backlog.read()._asdict().items():
        group.tell(name, value)

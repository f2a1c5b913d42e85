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

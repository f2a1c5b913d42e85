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

"""What rules do, in Ironic's metrics: statsd or the Prometheus exporter."""

import collections.abc
import typing

from ironic.common import metrics_utils

PREFIX = 'InspectionRules'


def send_phase(phase: str, ok: bool, seconds: float) -> None:
    """Count a phase by its result, and tell how long it took.

    ``InspectionRules.<phase>.ok`` or ``….failed``, and the timer
    ``InspectionRules.<phase>.time`` in milliseconds, as statsd has them.
    """
    logger = metrics_utils.get_metrics_logger(PREFIX)
    result = 'ok' if ok else 'failed'
    logger.send_counter(logger.get_metric_name(f'{phase}.{result}'), 1)
    logger.send_timer(logger.get_metric_name(f'{phase}.time'),
                      seconds * 1000)


def send_rules(rows: collections.abc.Iterable[
        collections.abc.Mapping[str, typing.Any]]) -> None:
    """Count matches and failures of rules.

    ``InspectionRules.rule.<uuid>.matched`` and ``….failed``.

    :param rows: what was counted of each rule.
    """
    logger = metrics_utils.get_metrics_logger(PREFIX)
    for row in rows:
        for name in ('matched', 'failed'):
            if row[name]:
                logger.send_counter(logger.get_metric_name(
                    f'rule.{row["rule_uuid"]}.{name}'), row[name])

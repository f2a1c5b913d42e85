# SPDX-License-Identifier: Apache-2.0

"""Sends metrics of rules to statsd or Prometheus.

Ironic's metrics have *backends*: ``statsd``, ``collector`` for the Prometheus
exporter, and ``noop``, the default, which discards all metrics.
"""

import collections.abc
import re
import typing

from ironic.common import metrics_utils
from ironic.conf import CONF

PREFIX = 'InspectionRules'

_FOR_EXPORTER = 'ironic.conductor.manager.'
"""Prefix of the names that the Prometheus exporter accepts."""

_LONGEST = 80
"""Maximum length of a description in the name of a metric."""


class MetricsGroup:
    """Metrics whose names begin with the same word.

    The Prometheus exporter accepts only metrics whose names look like metrics
    of Ironic's conductor. Therefore ``InspectionRules.main.ok`` is sent to the
    exporter as ``ironic.conductor.manager.InspectionRules.main.ok``, and
    hyphens are replaced with underscores.

    :param word: the word, e.g. ``InspectionRules``.
    """

    def __init__(self, word: str) -> None:
        # The Prometheus exporter uses the backend "collector".
        self._is_exported = CONF.metrics.backend == 'collector'
        prefix = word
        if self._is_exported:
            prefix = f'{_FOR_EXPORTER}{word}'
        self._logger = metrics_utils.get_metrics_logger(prefix)

    def count(self, name: str, number: int = 1) -> None:
        """Add a number to a counter.

        :param name: the name without the first word, e.g. ``main.ok``.
        """
        full_name = self._make_full_name(name)
        if not self._is_exported:
            self._logger.send_counter(full_name, number)
            return
        # Ironic's collector ignores the number and always adds one, so call it
        # as many times.
        for _time in range(number):
            self._logger.send_counter(full_name, 1)

    def time(self, name: str, seconds: float) -> None:
        """Send a duration, which the backend gets in milliseconds."""
        self._logger.send_timer(self._make_full_name(name), seconds * 1000)

    def send(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._logger.send_gauge(self._make_full_name(name), value)

    def _make_full_name(self, name: str) -> str:
        """Return the name of a metric in the form that the backend needs."""
        if self._is_exported:
            name = name.replace('-', '_')
        # Only the decorators of Ironic's logger add its prefix. Its methods
        # do not.
        return str(self._logger.get_metric_name(name))


def send_phase(phase: str, ok: bool, seconds: float) -> None:
    """Count a phase by its result, and record how long it took.

    The counter is ``InspectionRules.<phase>.ok`` or ``….failed``, the timer
    ``InspectionRules.<phase>.time``, in milliseconds.
    """
    if CONF.metrics.backend == 'noop':
        # All metrics are discarded.
        return
    result = 'failed'
    if ok:
        result = 'ok'
    metrics = MetricsGroup(PREFIX)
    metrics.count(f'{phase}.{result}')
    metrics.time(f'{phase}.time', seconds)


def send_rules(
    rows: collections.abc.Iterable[collections.abc.Mapping[str, typing.Any]],
) -> None:
    """Send how often rules matched and failed, as metrics.

    The names of the counters are
    ``InspectionRules.rule.<description>.<uuid>.matched``, ``….failed`` and,
    for failures in mode ``audit``, which ``failed`` leaves out,
    ``….would_fail``. A number of 0 is not sent.

    :param rows: the counts, one row per rule, see
        :class:`.statistics.RuleCounter`.
    """
    metrics = MetricsGroup(PREFIX)
    for row in rows:
        name = _name_of_rule(row)
        numbers = {
            'matched': row['matched'],
            # "failed" also counts the failures in mode "audit".
            'failed': row['failed'] - row['would_fail'],
            'would_fail': row['would_fail'],
        }
        for result, number in numbers.items():
            if number:
                metrics.count(f'rule.{name}.{result}', number)


def _name_of_rule(row: collections.abc.Mapping[str, typing.Any]) -> str:
    """Return the part of a metric's name that identifies the rule.

    For "Set the RAID level", it is ``set_the_raid_level.<uuid>``. For a
    sensitive rule, and a rule without a description, it is only the UUID.

    :param row: the counts of the rule. Its ``label`` is ``UUID (description)``
        or, if there is no description that may be shown, the UUID.
    """
    uuid: str = row['rule_uuid']
    description = row['label'].removeprefix(uuid).lower()
    words = re.findall('[a-z0-9]+', description)
    text = '_'.join(words)[:_LONGEST]
    if not text:
        return uuid
    return f'{text}.{uuid}'

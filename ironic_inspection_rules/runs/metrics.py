# SPDX-License-Identifier: Apache-2.0

"""Metrics of rules, for statsd or Ironic's Prometheus exporter."""

import collections.abc
import re
import typing

from ironic.common import metrics_utils
from ironic.conf import CONF

PREFIX = 'InspectionRules'

_FOR_EXPORTER = 'ironic.conductor.manager.'
"""How names begin that the Prometheus exporter takes."""

_LONGEST = 80
"""Characters of a description in the name of a metric."""


class Group:
    """Metrics whose names begin with the same word.

    :param word: the word. For the Prometheus exporter it is put into the
        one form that it passes on, and names lose their hyphens.
    """

    def __init__(self, word: str) -> None:
        self._is_exported = CONF.metrics.backend == 'collector'
        self._logger = metrics_utils.get_metrics_logger(
            f'{_FOR_EXPORTER}{word}' if self._is_exported else word)

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        if self._is_exported:
            # Ironic's collector adds one, whatever the number.
            for _each in range(number):
                self._logger.send_counter(self._full(name), 1)
        else:
            self._logger.send_counter(self._full(name), number)

    def time(self, name: str, seconds: float) -> None:
        """Record how long something took."""
        self._logger.send_timer(self._full(name), seconds * 1000)

    def tell(self, name: str, value: float) -> None:
        """Record how much there is now."""
        self._logger.send_gauge(self._full(name), value)

    def _full(self, name: str) -> str:
        # Only the decorators of Ironic's logger add its prefix themselves.
        return str(self._logger.get_metric_name(
            name.replace('-', '_') if self._is_exported else name))


def send_phase(phase: str, ok: bool, seconds: float) -> None:
    """Count a phase by its result, and record how long it took.

    ``InspectionRules.<phase>.ok`` or ``….failed``, and the timer
    ``InspectionRules.<phase>.time`` in milliseconds, as statsd has them.
    """
    metrics = Group(PREFIX)
    metrics.count(f'{phase}.{"ok" if ok else "failed"}')
    metrics.time(f'{phase}.time', seconds)


def send_rules(rows: collections.abc.Iterable[
        collections.abc.Mapping[str, typing.Any]]) -> None:
    """Count matches and failures of rules.

    ``InspectionRules.rule.<description>.<uuid>.matched``, ``….failed``, and
    ``….would_fail`` in mode ``audit``. Rules that are sensitive or have no
    description are named by their UUID only.

    :param rows: what was counted of each rule, as for
        :class:`.statistics.RuleCounter`.
    """
    metrics = Group(PREFIX)
    for row in rows:
        uuid = row['rule_uuid']
        words = '_'.join(re.findall('[a-z0-9]+', row['label'].removeprefix(
            uuid).lower()))[:_LONGEST]
        rule = f'{words}.{uuid}' if words else uuid
        for name, number in (
                ('matched', row['matched']),
                ('failed', row['failed'] - row['would_fail']),
                ('would_fail', row['would_fail'])):
            if number:
                metrics.count(f'rule.{rule}.{name}', number)

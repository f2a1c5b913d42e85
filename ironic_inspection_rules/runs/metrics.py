# SPDX-License-Identifier: Apache-2.0

"""What rules do, in Ironic's metrics: statsd or the Prometheus exporter."""

import collections.abc
import typing

from ironic.common import metrics_utils
from ironic.conf import CONF

PREFIX = 'InspectionRules'

_FOR_EXPORTER = 'ironic.conductor.manager.'
"""What the Prometheus exporter wants the names of metrics to begin with."""


class Group:
    """Metrics whose names begin with the same word.

    :param word: the word; the Prometheus exporter is given it, and names
        without hyphens, in the only form that it passes on.
    """

    def __init__(self, word: str) -> None:
        self._is_exported = CONF.metrics.backend == 'collector'
        self._logger = metrics_utils.get_metrics_logger(
            f'{_FOR_EXPORTER}{word}' if self._is_exported else word)

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        self._logger.send_counter(self._full(name), number)

    def time(self, name: str, seconds: float) -> None:
        """Tell how long something took."""
        self._logger.send_timer(self._full(name), seconds * 1000)

    def tell(self, name: str, value: float) -> None:
        """Tell how much there is now."""
        self._logger.send_gauge(self._full(name), value)

    def _full(self, name: str) -> str:
        # Only the decorators of Ironic's logger add its prefix themselves.
        return str(self._logger.get_metric_name(
            name.replace('-', '_') if self._is_exported else name))


def send_phase(phase: str, ok: bool, seconds: float) -> None:
    """Count a phase by its result, and tell how long it took.

    ``InspectionRules.<phase>.ok`` or ``….failed``, and the timer
    ``InspectionRules.<phase>.time`` in milliseconds, as statsd has them.
    """
    metrics = Group(PREFIX)
    metrics.count(f'{phase}.{"ok" if ok else "failed"}')
    metrics.time(f'{phase}.time', seconds)


def send_rules(rows: collections.abc.Iterable[
        collections.abc.Mapping[str, typing.Any]]) -> None:
    """Count matches and failures of rules.

    ``InspectionRules.rule.<uuid>.matched`` and ``….failed``.

    :param rows: what was counted of each rule.
    """
    metrics = Group(PREFIX)
    for row in rows:
        for name in ('matched', 'failed'):
            if row[name]:
                metrics.count(f'rule.{row["rule_uuid"]}.{name}', row[name])

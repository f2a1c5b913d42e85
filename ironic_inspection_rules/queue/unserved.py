# SPDX-License-Identifier: Apache-2.0

"""Requests that no worker takes, since none can reach their nodes."""

import typing

from oslo_log import log

from ironic_inspection_rules.db import backlog

LOG = log.getLogger(__name__)


class UnservedRequests:
    """Warns of what waits for a worker of another kind than this one.

    :param served: see :class:`.DatabaseQueue`.
    :param patience: seconds; what waits longer is noticed.
    """

    def __init__(self, served: typing.Any, patience: float) -> None:
        self._served = served
        self._patience = patience
        self._known: set[tuple[str, str]] = set()

    def check(self) -> None:
        """Look at what waits longest; log each kind of node once."""
        found = {(kind.driver, kind.conductor_group): kind for kind in
                 backlog.read_unserved(self._served, self._patience)}
        for key, kind in found.items():
            if key not in self._known:
                LOG.warning(
                    'Inspection requests of nodes with the driver %(driver)s '
                    'and the conductor group "%(conductor_group)s" wait for '
                    '%(delay).0f seconds, the first is that of node %(node)s '
                    ': is there an ironic-inspection-worker with this driver '
                    'in [DEFAULT]enabled_hardware_types and this group in '
                    '[inspection_queue]conductor_groups?', kind._asdict())
        self._known = set(found)

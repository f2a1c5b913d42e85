# SPDX-License-Identifier: Apache-2.0

"""Sends the PXE filters the changes that Ironic notifies about.

A notification driver of oslo.messaging, so it needs no change of Ironic: the
operator names it in ``[oslo_messaging_notifications]driver`` of the API and
the conductors, beside any others.
"""

from collections.abc import Iterator
from typing import Any

from ironic.common import states
from oslo_config import cfg
import oslo_messaging
from oslo_messaging.notify import notifier

from ironic_inspection_rules.coordination import outage
from ironic_inspection_rules.pxe_filter import messages

_INSPECTION = (states.INSPECTING, states.INSPECTWAIT)

_PORT_EVENTS = {
    f'baremetal.{kind}.{event}.end': action
    for kind in ('port', 'portgroup')
    for event, action in (('create', messages.ADD),
                          ('update', messages.ADD),
                          ('delete', messages.REMOVE))}


class PxeFilterDriver(notifier.Driver):
    """Sends ports that come and go, inspections that begin and end.

    :param sender: how; made when it is needed first, for drivers are loaded
        while the configuration is still being read.
    """

    def __init__(self, conf: cfg.ConfigOpts, topics: list[str],
                 transport: Any,
                 sender: messages.Sender | None = None) -> None:
        super().__init__(conf, topics, transport)
        self._sender = sender
        self._outage = outage.Outage(
            'The message broker by which PXE filters learn of changes', 10)

    def notify(self, ctxt: dict[str, Any], msg: dict[str, Any],
               priority: str, retry: int) -> None:
        """Take one notification of Ironic."""
        for change in _changes(msg['event_type'], msg['payload']):
            try:
                self._send(change)
            except oslo_messaging.MessagingException as exc:
                self._outage.failed(exc)
            else:
                self._outage.over()

    def _send(self, change: messages.Change) -> None:
        if self._sender is None:
            self._sender = messages.Sender(self.conf)
        self._sender.send(change)


def _changes(event: str, payload: dict[str, Any]
             ) -> Iterator[messages.Change]:
    """Convert a notification to changes for a filter.

    :param event: such as ``baremetal.port.create.end``.
    :param payload: a versioned object as plain data.
    """
    if event in _PORT_EVENTS:
        port = payload['ironic_object.data']
        if port['address'] is not None:
            yield messages.Change(
                messages.DENYLIST, _PORT_EVENTS[event], port['uuid'],
                port['address'])
    elif event.startswith('baremetal.node.provision_set.'):
        node = payload['ironic_object.data']
        if node['provision_state'] in _INSPECTION:
            yield messages.Change(
                messages.ALLOWLIST, messages.ADD, None, None)
        elif node['previous_provision_state'] in _INSPECTION:
            yield messages.Change(
                messages.ALLOWLIST, messages.REMOVE, None, None)

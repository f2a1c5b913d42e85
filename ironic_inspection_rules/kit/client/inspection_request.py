# SPDX-License-Identifier: Apache-2.0

"""Requests for inspection requests and reapplying that openstacksdk lacks.

Ironic stores the data that a machine has posted as an inspection request,
which a worker processes later.
"""

from collections.abc import Iterator
from typing import Any

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import http

UUID_UNKNOWN = _(
    "The request is accepted, but Ironic's answer has no UUID of it; see "
    '"openstack baremetal inspection request list"'
)
"""The warning after a request whose answer lacks ``uuid``."""

_MEMBERS_OF_REQUEST = ('node_uuid', 'event', 'state')
"""Members of an answer to a new request. If the answer has one of them, it
comes from Ironic, which has accepted the request. An error about a missing
``uuid`` would be wrong then."""

_REQUESTS = '/inspection_requests'


def inspection_requests(baremetal, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield inspection requests, oldest first, page by page.

    :param query: ``node``, ``state``, ``limit``, ``marker``; None means not
        given.
    """
    return http.list_items(
        baremetal,
        _REQUESTS,
        name='inspection_requests',
        query=query,
        required_in_items=('uuid', 'state'),
    )


def get_inspection_request(baremetal, uuid: str) -> dict[str, Any]:
    """Return an inspection request."""
    return http.call(
        baremetal, 'GET', f'{_REQUESTS}/{uuid}', required_member='uuid'
    )


def abort_inspection_request(baremetal, uuid: str) -> None:
    """Abort an inspection request that has not been processed yet."""
    http.delete(baremetal, f'{_REQUESTS}/{uuid}')


def reapply_inspection(baremetal, node: str, **data: Any) -> dict[str, Any]:
    """Run hooks and rules again on the data that the ramdisk of a node sent.

    :param data: ``inventory`` and ``plugin_data`` to use instead.
    :returns: the inspection request, which a worker processes later. It may
        lack ``uuid`` if the answer is incomplete; Ironic has accepted the
        request nevertheless.
    """
    return http.call(
        baremetal,
        'POST',
        f'/nodes/{node}/inventory/reapply',
        required_member='uuid',
        sufficient_members=_MEMBERS_OF_REQUEST,
        json=data,
    )

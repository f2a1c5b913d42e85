# SPDX-License-Identifier: Apache-2.0

"""The state of a node's inspection, in ironic-inspector's words."""

from typing import Any

from ironic import api
from ironic.api.controllers import link
from ironic.common import states

_WORDS = {states.INSPECTING: 'processing', states.INSPECTWAIT: 'waiting',
          states.INSPECTFAIL: 'error'}


def represent(node: Any) -> dict[str, Any] | None:
    """Tell how far the inspection of a node is, or how it ended.

    :returns: what ``GET /v1/introspection/<node>`` of ironic-inspector
        answers, None for a node that was never inspected.
    """
    state = _WORDS.get(node.provision_state, 'finished')
    finished_at = node.inspection_finished_at
    if state == 'error':
        finished_at = finished_at or node.provision_updated_at
    elif state == 'finished' and finished_at is None:
        return None
    started_at = node.inspection_started_at
    return {
        'uuid': node.uuid,
        'state': state,
        'finished': state in ('finished', 'error'),
        'error': node.last_error if state == 'error' else None,
        'started_at': started_at and started_at.isoformat(),
        'finished_at': (finished_at and finished_at.isoformat()
                        if state in ('finished', 'error') else None),
        'links': [link.make_link('self', api.request.public_url,
                                 'introspection', node.uuid)],
    }

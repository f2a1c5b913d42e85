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

# SPDX-License-Identifier: Apache-2.0

"""A real Placement in this process, over SQLite."""

import functools
import pathlib
import tempfile
import uuid

from oslo_config import cfg
import webob

try:
    from placement import conf as placement_conf
    from placement import db_api
    from placement import deploy
except ImportError:
    deploy = None

MISSING = None if deploy else 'openstack-placement is not installed'

_HEADERS = {'OpenStack-API-Version': 'placement 1.36', 'X-Auth-Token': 'admin'}


@functools.cache
def application():
    """Return Placement; its database cannot change within a process."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix='placement'))
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override(
        'connection',
        f'sqlite:///{directory}/placement.db',
        'placement_database',
    )
    conf.set_override('sync_on_startup', True, 'placement_database')
    conf.set_override('sqlite_synchronous', False, 'placement_database')
    conf.set_override('auth_strategy', 'noauth2', 'api')
    conf(
        [],
        project='placement',
        default_config_files=[],
        default_config_dirs=[],
    )
    # Else it takes the database of whoever has set oslo.db's default: Ironic.
    db_api.configure(conf)
    return deploy.loadapp(conf)


class Placement:
    """Resource providers as the Ironic driver of Nova reports nodes.

    What was reported before is not reported again.
    """

    def __init__(self):
        self._generations = {}
        self._reported = {}
        self._traits = {}

    def call(self, method, path, body=None, expected=(200, 201, 204)):
        request = webob.Request.blank(path, method=method, headers=_HEADERS)
        if body is not None:
            request.content_type = 'application/json'
            request.json_body = body
        answer = request.get_response(application())
        if answer.status_int not in expected:
            raise AssertionError(f'{method} {path}: {answer.text}')
        return answer.json if answer.body else None

    def report(self, node, resource_class, reserved, used, traits):
        """Report what a node offers, and whether somebody has it.

        :param node: its UUID.
        :param resource_class: normalized, None for none.
        """
        if node not in self._reported:
            self._generations[node] = self.call(
                'POST', '/resource_providers', {'uuid': node, 'name': node}
            )['generation']
            self._reported[node] = (None, False, False)
            self._traits[node] = set()
        wanted = (resource_class, reserved, used)
        if self._reported[node] != wanted:
            self._offer(node, *wanted)
        if self._traits[node] != set(traits):
            self._put(node, 'traits', {'traits': sorted(traits)})
            self._traits[node] = set(traits)

    def candidates(self, query):
        """Return the nodes that can take what is asked for.

        :param query: of ``GET /allocation_candidates``; where Placement
            refuses it, Nova finds no host.
        """
        answer = self.call(
            'GET', f'/allocation_candidates?{query}', expected=(200, 400)
        )
        return {
            node
            for request in answer.get('allocation_requests', ())
            for node in request['allocations']
        }

    def _offer(self, node, resource_class, reserved, used):
        consumer = f'/allocations/{node}'
        if self._reported[node][2]:
            self.call('DELETE', consumer)
            self._generations[node] = self.call(
                'GET', f'/resource_providers/{node}'
            )['generation']
        self._put(
            node,
            'inventories',
            {
                'inventories': {
                    resource_class: {
                        'total': 1,
                        'reserved': int(reserved),
                        'min_unit': 1,
                        'max_unit': 1,
                        'step_size': 1,
                        'allocation_ratio': 1.0,
                    }
                }
                if resource_class
                else {}
            },
        )
        used = bool(used and resource_class)
        if used:
            self.call(
                'PUT',
                consumer,
                {
                    'allocations': {node: {'resources': {resource_class: 1}}},
                    'project_id': str(uuid.UUID(int=1)),
                    'user_id': str(uuid.UUID(int=2)),
                    'consumer_generation': None,
                },
            )
            self._generations[node] += 1
        self._reported[node] = (resource_class, reserved, used)

    def _put(self, node, what, body):
        name = 'resource_provider_generation'
        self._generations[node] = self.call(
            'PUT',
            f'/resource_providers/{node}/{what}',
            {name: self._generations[node], **body},
        )[name]

# SPDX-License-Identifier: Apache-2.0

"""Flavors of a compute service, over HTTP."""

from http import server
import json
import threading
import types
from urllib import parse

import openstack
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.kit.osc import capacity
from ironic_inspection_rules.tests.unit import base

FLAVORS = [
    {
        'id': '1',
        'name': 'bm',
        'vcpus': 4,
        'ram': 1,
        'disk': 1,
        'swap': '',
        'OS-FLV-EXT-DATA:ephemeral': 0,
        'extra_specs': {
            'resources:CUSTOM_BM': '1',
            'resources:VCPU': '0',
            'resources:MEMORY_MB': '0',
            'resources:DISK_GB': '0',
        },
    },
    {
        'id': '2',
        'name': 'vm',
        'vcpus': 4,
        'ram': 1,
        'disk': 1,
        'extra_specs': {},
    },
    {
        'id': '3',
        'name': 'swapping',
        'vcpus': 0,
        'ram': 0,
        'disk': 0,
        'swap': 1,
        'extra_specs': {'resources:CUSTOM_BM': '1'},
    },
]


class Nova(server.BaseHTTPRequestHandler):
    """Nova's list of flavors, one on a page."""

    def do_GET(self):
        url = parse.urlsplit(self.path)
        here = f'http://{self.headers["Host"]}'
        answer = {
            'version': {
                'id': 'v2.1',
                'status': 'CURRENT',
                'version': '2.96',
                'min_version': '2.1',
                'links': [{'rel': 'self', 'href': here}],
            }
        }
        if url.path == '/flavors/detail':
            query = dict(parse.parse_qsl(url.query))
            start = int(query.get('marker', 0))
            answer = {'flavors': FLAVORS[start : start + 1]}
            if start + 1 < len(FLAVORS):
                answer['flavors_links'] = [
                    {
                        'rel': 'next',
                        'href': (f'{here}/flavors/detail?marker={start + 1}'),
                    }
                ]
            self.server.asked.append(
                (query, self.headers['OpenStack-API-Version'])
            )
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        """Print nothing."""


class Nobody(server.BaseHTTPRequestHandler):
    """A service that is not Nova."""

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_args):
        """Print nothing."""


class FlavorsOfNovaTestCase(base.TestCase):
    def serve(self, handler):
        """Serve an API, and return the server and a command for it."""
        nova = server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        nova.asked = []
        self.addCleanup(nova.server_close)
        threading.Thread(target=nova.serve_forever, daemon=True).start()
        self.addCleanup(nova.shutdown)
        cloud = openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='none',
            endpoint=f'http://127.0.0.1:{nova.server_port}',
            # What the openstack command asks for by default.
            compute_api_version='2.1',
        )
        self.addCleanup(cloud.close)
        return nova, types.SimpleNamespace(
            app=types.SimpleNamespace(
                client_manager=types.SimpleNamespace(sdk_connection=cloud)
            )
        )

    def test_a_cloud_without_nova_is_told_to_be_that(self):
        _server, command = self.serve(Nobody)
        error = self.assertRaises(
            osc_exceptions.CommandError, capacity.load_flavors, command, 'nova'
        )
        self.assertIn(
            'flavors of the compute service cannot be read', str(error)
        )
        self.assertIn('give a file', str(error))

    def test_all_pages_are_read_with_extra_specs(self):
        nova, command = self.serve(Nova)
        bm, swapping = capacity.load_flavors(command, 'nova')
        self.assertEqual(
            ('bm', 'CUSTOM_BM', None), (bm.name, bm.resource_class, bm.problem)
        )
        self.assertIn('DISK_GB=1', swapping.problem)
        self.assertEqual(len(FLAVORS), len(nova.asked))
        self.assertEqual('None', nova.asked[0][0]['is_public'])
        self.assertEqual(
            {'compute 2.61'}, {version for _query, version in nova.asked}
        )

# SPDX-License-Identifier: Apache-2.0

"""The API under uWSGI and Apache httpd, by the samples of ``etc``."""

import os
import pathlib
import shutil
import subprocess

import fixtures
import ironic
from oslotest import base
from testtools import content

from ironic_inspection_rules.tests.integration import base as integration
from ironic_inspection_rules.tests.integration import fixtures as ironics
from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service
from ironic_inspection_rules.tests.live import web_server

RULES = '/v1/inspection_rules'

_MACHINES = 120
_LONG = 20000
"""Characters that are told of each machine: a page has more than a megabyte.
"""

_USER, _GROUP = 'nobody', 'nogroup'

_CAPABILITIES = '+dac_override,+dac_read_search'

_AS_USER = (
    'setpriv',
    f'--reuid={_USER}',
    f'--regid={_GROUP}',
    '--clear-groups',
    f'--inh-caps={_CAPABILITIES}',
    f'--ambient-caps={_CAPABILITIES}',
)
"""Apache serves nothing as root; yet it is to read this environment."""

_HTTPD_MODULES = pathlib.Path('/usr/lib/apache2/modules')
_MODULES = ('mpm_event', 'authz_core')


class WsgiTestCase(base.BaseTestCase):
    """A conductor of its own, and the API in a web server."""

    def setUp(self) -> None:
        super().setUp()
        if missing := web_server.why_no_environment():
            self.skipTest(missing)
        directory = pathlib.Path(
            self.useFixture(fixtures.TempDir(ironics.TEMP)).path
        )
        self.directory = directory
        self.environment = web_server.make_environment(directory)
        self.ironic = launcher.Ironic(
            directory,
            options.merged(
                options.split(),
                {'inspection_queue': {'enabled': True, 'get_timeout': 0.5}},
            ),
            services=(),
        )
        self.addCleanup(self.ironic.stop)
        self.addOnException(
            lambda exc_info: self.addDetail(
                'logs', content.text_content(self.ironic.logs())
            )
        )
        self.port = self.ironic.options['api']['port']

    def serve(self, *commands: list[str]) -> None:
        """Start the conductor, a worker and web servers."""
        self.ironic.create_database()
        # A web server runs as another user.
        for path in (self.directory, self.ironic.database_file):
            path.chmod(0o777)
        for command in commands:
            with (self.directory / 'web.log').open('ab') as log:
                server = subprocess.Popen(
                    command,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    preexec_fn=service.end_with_parent,
                )
            self.addCleanup(server.wait)
            self.addCleanup(server.terminate)
        for name in ('ironic-conductor', 'ironic-inspection-worker'):
            self.ironic.spawn(name)
        self.ironic.start()

    def check(self) -> None:
        """Inspect a machine by a rule, through the queue."""
        with self.ironic.client() as client:
            client.call(
                'POST',
                RULES,
                {
                    'actions': [
                        integration.action(
                            'set-attribute',
                            path='/extra/a',
                            value='{inventory[cpu][count]}',
                        )
                    ]
                },
            )
            mac = integration.new_mac()
            node = client.inspect(
                client.enroll([mac]), integration.ramdisk_data(mac)
            )
            self.assertEqual(
                (None, {'a': 4}), (node['last_error'], node['extra'])
            )
            [request] = client.call('GET', '/v1/inspection_requests')[
                'inspection_requests'
            ]
            self.assertEqual('finished', request['state'])

    def check_fleet(self) -> None:
        """Try a rule on many nodes, by answers that are sent in parts."""
        nodes = fleet.Fleet(self.ironic)
        self.addCleanup(nodes.close)
        machines = nodes.make(
            [f'node-{number}' for number in range(_MACHINES)], 'manageable'
        )
        nodes.store(
            machines,
            [
                {
                    **machine.data()['inventory'],
                    'cpu': {'architecture': 'x86_64', 'count': number},
                }
                for number, machine in enumerate(machines)
            ],
        )
        rule = integration.action(
            'set-attribute',
            path='/extra/b',
            value='{inventory[cpu][count]} ' + 'x' * _LONG,
        )
        body = {
            'rules': [{'actions': [rule]}],
            'limit': _MACHINES // 2,
            'nodes': {'provision_state': 'manageable'},
        }
        found = {}
        marker = None
        with self.ironic.client() as client:
            while True:
                answer = client.post(
                    f'{RULES}/evaluate', json={**body, 'marker': marker}
                )
                # Nobody knows the length before the last node.
                self.assertEqual(
                    (200, None),
                    (answer.status_code, answer.headers.get('Content-Length')),
                )
                found.update(
                    {entry['name']: entry for entry in answer.json()['nodes']}
                )
                marker = answer.json()['next']
                if marker is None:
                    break
        for number, machine in enumerate(machines):
            [change] = found[machine.name]['changes']
            self.assertEqual(f'{number} ' + 'x' * _LONG, change['value'])

    def test_uwsgi(self) -> None:
        if not shutil.which('uwsgi'):
            self.skipTest('no uwsgi')
        self.serve(web_server.uwsgi(self.ironic, self.environment))
        self.check()
        self.check_fleet()

    def test_httpd(self) -> None:
        self.skip_without_httpd('wsgi')
        # Not imported: that makes an application of this process.
        scripts = pathlib.Path(ironic.__file__).parent / 'wsgi'
        config = web_server.sample(
            self.directory,
            'httpd/ironic-api.conf',
            (r'Listen .*', f'Listen 127.0.0.1:{self.port}'),
            (r'\*:6385', f'*:{self.port}'),
            (
                r'user=ironic group=ironic processes=4',
                f'user={_USER} group={_GROUP} processes=1 '
                f'python-home={self.environment}',
            ),
            (r'/usr/lib/python3/dist-packages/ironic/wsgi', str(scripts)),
            (r'/var/log/httpd', str(self.directory)),
            (r'combined', '"%r"'),
        )
        with fixtures.EnvironmentVariable(
            'IRONIC_CONFIG_FILE', str(self.ironic.config)
        ):
            self.serve(
                self.httpd(
                    ['wsgi'],
                    f'WSGISocketPrefix {self.directory}/wsgi',
                    f'Include {config}',
                )
            )
        self.check()
        self.check_fleet()

    def test_uwsgi_behind_httpd(self) -> None:
        if not shutil.which('uwsgi'):
            self.skipTest('no uwsgi')
        self.skip_without_httpd('proxy', 'proxy_uwsgi')
        behind = options.free_port()
        self.serve(
            web_server.uwsgi(self.ironic, self.environment, proxied=behind),
            self.httpd(
                ['proxy', 'proxy_uwsgi'],
                f'Listen 127.0.0.1:{self.port}',
                f'ProxyPass / uwsgi://127.0.0.1:{behind}/',
            ),
        )
        self.check_fleet()

    def skip_without_httpd(self, *modules: str) -> None:
        if os.geteuid():
            self.skipTest('only root can run apache2 as another user')
        missing = [
            name
            for name in (*_MODULES, *modules)
            if not (_HTTPD_MODULES / f'mod_{name}.so').exists()
        ]
        if not shutil.which('apache2') or missing:
            self.skipTest(f'no apache2, or no modules {missing}')

    def httpd(self, modules: list[str], *lines: str) -> list[str]:
        """Return the command that runs Apache httpd.

        :param modules: to load beside those that are always needed.
        :param lines: of its configuration.
        """
        main = self.directory / 'httpd.conf'
        main.write_text(
            '\n'.join(
                [
                    f'ServerRoot {self.directory}',
                    'ServerName localhost',
                    f'User {_USER}',
                    f'Group {_GROUP}',
                    f'PidFile {self.directory}/httpd.pid',
                    f'ErrorLog {self.directory}/httpd.log',
                    f'Mutex file:{self.directory}',
                    *(
                        f'LoadModule {name}_module '
                        f'{_HTTPD_MODULES}/mod_{name}.so'
                        for name in (*_MODULES, *modules)
                    ),
                    *lines,
                    '',
                ]
            )
        )
        return [*_AS_USER, 'apache2', '-DFOREGROUND', '-f', str(main)]

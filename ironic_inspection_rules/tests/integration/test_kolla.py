# SPDX-License-Identifier: Apache-2.0

"""The play of ``deploy/kolla`` that runs workers, on directories."""

import json
import os
import pathlib

import fixtures

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import playbook

PLAY = guide.ROOT / 'deploy' / 'kolla' / 'worker.yml'

# Keeps which image a container has, and writes down what it is asked to run.
# Where a container has the files that it copies.
_COPIED = '/var/lib/kolla/config_files'

_ENGINE = """\
#!/bin/bash
cd "$(dirname "$0")"
case $1 in
    inspect) cat "$4" ;;
    rm) rm -f "$3" ;;
    run) printf '%s\\n' "$@" > asked
         echo -n "${@: -1}" > ironic_inspection_worker ;;
esac
"""


class WorkerTestCase(base.IntegrationTestCase):
    def setUp(self) -> None:
        super().setUp()
        if not PLAY.exists():
            self.skipTest('not a checkout: no play')
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        conductor = self.directory / 'ironic-conductor'
        conductor.mkdir()
        conductor.joinpath('ironic.conf').write_text(
            '[DEFAULT]\nlog_file = /var/log/kolla/ironic/ironic-conductor.log'
            '\n[database]\nconnection = mysql://secret\n'
        )
        # As roles/ironic/templates/ironic-conductor.json.j2 has it.
        conductor.joinpath('config.json').write_text(
            json.dumps(
                {
                    'command': 'ironic-conductor',
                    'config_files': [
                        {
                            'source': f'{_COPIED}/policy.yaml',
                            'dest': '/etc/ironic/policy.yaml',
                            'owner': 'ironic',
                            'perm': '0600',
                        },
                        {
                            'source': f'{_COPIED}/ca-certificates',
                            'dest': '/var/lib/kolla/share/ca-certificates',
                            'owner': 'root',
                            'perm': '0644',
                        },
                    ],
                }
            )
        )
        self.directory.joinpath('engine').write_text(_ENGINE)
        self.directory.joinpath('engine').chmod(0o755)
        self.run_image('ironic-conductor:1')

    def run_image(self, image: str) -> None:
        self.directory.joinpath('ironic_conductor').write_text(image)

    def play(self) -> str:
        """Run the play, which shows no secrets, and return its output."""
        done = playbook.run(
            str(self.directory),
            'ansible-playbook',
            '-i',
            'localhost,',
            '-e',
            json.dumps(
                {
                    'ansible_connection': 'local',
                    'ansible_become': False,
                    'node_config': str(self.directory),
                    'kolla_container_engine': str(self.directory / 'engine'),
                }
            ),
            str(self.play_for_this_host()),
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertNotIn('secret', done.stdout)
        return done.stdout

    def play_for_this_host(self) -> pathlib.Path:
        path = self.directory / 'worker.yml'
        path.write_text(
            PLAY.read_text().replace(
                'hosts: ironic-conductor', 'hosts: localhost'
            )
        )
        return path

    def test_a_worker_runs_as_the_conductor_does(self) -> None:
        self.play()
        conductor = self.directory / 'ironic-conductor'
        written = self.directory / 'ironic-inspection-worker'
        container = json.loads(written.joinpath('config.json').read_text())
        self.assertEqual(
            'ironic-inspection-worker --log-file '
            '/var/log/kolla/ironic/ironic-inspection-worker.log',
            container['command'],
        )
        # Policies and certificates are those of the conductor.
        self.assertEqual(
            json.loads(conductor.joinpath('config.json').read_text())[
                'config_files'
            ],
            container['config_files'],
        )
        asked = self.directory / 'asked'
        self.assertIn(
            f'--volume={conductor}/:/var/lib/kolla/config_files/:ro',
            asked.read_text(),
        )
        self.assertIn(
            f'--volume={written}/config.json:'
            '/var/lib/kolla/config_files/config.json:ro',
            asked.read_text(),
        )
        self.assertEqual(
            'ironic-conductor:1', asked.read_text().splitlines()[-1]
        )

        os.remove(asked)
        self.assertRegex(self.play(), r'changed=0 ')
        self.assertFalse(asked.exists())

        conductor.joinpath('policy.yaml').write_text('{}')
        self.play()
        self.assertTrue(asked.exists())
        os.remove(asked)

        self.run_image('ironic-conductor:2')
        self.play()
        self.assertEqual(
            'ironic-conductor:2', asked.read_text().splitlines()[-1]
        )

# SPDX-License-Identifier: Apache-2.0

"""The documents, done as they are written, on a real Ironic."""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import fixtures
import requests
import yaml

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.integration import base
from ironic_inspection_rules.tests.integration import fixtures as ironics
from ironic_inspection_rules.tests.live import client as live_client
from ironic_inspection_rules.tests.live import ramdisk

_TIME_LIMIT = 900
_CONFIG = '/etc/ironic/ironic.conf'
_MARK = '@@@ end of step'

OVERRIDES: dict[str, dict[str, Any]] = {
    'doc/source/admin/alerts.rst': {'inspection_queue': {'enabled': True}},
    'doc/source/admin/durable-inspection.rst': {
        'inspection_queue': {'enabled': True}
    },
    'doc/source/user/change-a-running-cloud.rst': {
        'inspection_queue': {'enabled': True}
    },
}
"""What a page has switched on in ironic.conf before it begins."""


class DocumentsTestCase(base.IntegrationTestCase):
    """One test for each page that has commands or rules."""

    def check(self, path: str) -> None:
        self.page = guide.Page(path)
        shared = ironics.AllInOne.shared(OVERRIDES.get(path))
        self.ironic = shared.ironic
        self.client = self.ironic.client()
        self.addCleanup(self.client.close)
        self.addCleanup(self.client.call, 'DELETE', '/v1/inspection_rules')
        self._check_rules()
        if self.page.steps:
            self._carry_out()

    def _check_rules(self) -> None:
        """Have Ironic take each rule that the page shows."""
        for block in self.page.blocks:
            if block.language not in ('yaml', 'json') or block.reason:
                continue
            rules = _rules(yaml.safe_load(block.text))
            if rules and 'op' in str(rules[0]['actions'][0]):
                answer = self.client.post(
                    '/v1/inspection_rules/evaluate',
                    json={'inventory': {}, 'rules': rules},
                )
                self.assertEqual(
                    200,
                    answer.status_code,
                    (f'line {block.line}: {answer.text}'),
                )

    def _carry_out(self) -> None:
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in self.page.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        before = {node['uuid'] for node in self._nodes()}
        self.addCleanup(self._remove_nodes, before)
        for kind in ('node', 'inspected node'):
            for name in self.page.nodes(kind):
                self._enroll(name, kind == 'inspected node')
        with _ramdisks(self.client):
            printed = self._run(directory)
        self.assertEqual(len(self.page.steps), len(printed), printed[-1:])
        for step, (text, status) in zip(self.page.steps, printed, strict=True):
            self.assertEqual(step.status, status, f'{step.command}\n{text}')
            if step.output:
                self.assertTrue(
                    guide.matches(step.output, text),
                    f'{step.command}\nshould print\n{step.output}\nprints\n'
                    f'{text}',
                )

    def _enroll(self, name: str, inspected: bool) -> None:
        mac = base.new_mac()
        node = self.client.enroll([mac], name=name)
        if inspected:
            self.client.inspect(node, base.ramdisk_data(mac))

    def _run(self, directory: pathlib.Path) -> list[tuple[str, int]]:
        """Run all steps in one shell.

        :returns: what each printed, and how it ended.
        """
        script = directory / 'steps.sh'
        script.write_text(
            '\n'.join(
                f"{step.command}\nprintf '\\n{_MARK} %d\\n' $?"
                for step in self.page.steps
            ).replace(_CONFIG, str(self.ironic.config))
        )
        done = subprocess.run(
            ['bash', str(script)],
            cwd=directory,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=_TIME_LIMIT,
            check=False,
            env={
                **os.environ,
                'IRONIC': self.ironic.url,
                'OS_AUTH_TYPE': 'none',
                'OS_ENDPOINT': self.ironic.url,
                'COLUMNS': '200',
                'PATH': os.pathsep.join(
                    (
                        str(pathlib.Path(sys.executable).parent),
                        os.environ['PATH'],
                    )
                ),
            },
        )
        steps = []
        text = ''
        for line in done.stdout.splitlines():
            if line.startswith(_MARK):
                steps.append((text, int(line.split()[-1])))
                text = ''
            else:
                text += f'{line}\n'
        return steps

    def _nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.call('GET', '/v1/nodes')[
            'nodes'
        ]
        return found

    def _remove_nodes(self, kept: set[str]) -> None:
        for node in self._nodes():
            if node['uuid'] not in kept:
                self.client.wait_for(node['uuid'], lambda shown: True)
                self.client.delete(f'/v1/nodes/{node["uuid"]}')


def _rules(value: Any) -> list[dict[str, Any]]:
    """Return the rules of a block; parts of one are made whole."""
    if isinstance(value, dict) and 'conditions' in value:
        value = {'actions': [{'op': 'log', 'args': {'msg': 'x'}}], **value}
    found = value if isinstance(value, list) else [value]
    return [
        rule for rule in found if isinstance(rule, dict) and 'actions' in rule
    ]


@contextlib.contextmanager
def _ramdisks(client: live_client.Client) -> Iterator[None]:
    """Have every machine that is told to boot for inspection do so."""
    stop = threading.Event()

    def boot() -> None:
        with live_client.Client(client.url, client.auth) as session:
            while not stop.wait(0.2):
                with contextlib.suppress(requests.RequestException):
                    ramdisk.answer(session, base.ramdisk_data)

    machines = threading.Thread(target=boot, daemon=True)
    machines.start()
    try:
        yield
    finally:
        stop.set()
        machines.join()


def _add_tests() -> None:
    for path in guide.pages():
        blocks = guide.Page(path).blocks
        if not any(
            block.language in ('console', 'yaml', 'json')
            and block.reason is None
            for block in blocks
        ):
            continue

        def test(self: DocumentsTestCase, path: str = path) -> None:
            self.check(path)

        name = path.replace('/', '_').replace('-', '_').rpartition('.')[0]
        setattr(DocumentsTestCase, f'test_{name}', test)


_add_tests()

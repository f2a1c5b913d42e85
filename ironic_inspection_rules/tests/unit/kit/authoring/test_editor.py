# SPDX-License-Identifier: Apache-2.0

"""The YAML language server checks and completes rules by the schema."""

import json
import os
import shutil
import subprocess
import threading

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.authoring import schema
from ironic_inspection_rules.tests.unit.rule_file import files

SERVER = 'yaml-language-server'
SECONDS = 300


def command():
    """Return the server's command, None where it is not here."""
    named = os.environ.get('IR_YAML_LANGUAGE_SERVER')
    return named or shutil.which(SERVER)


class Server:
    """A language server that talks over pipes."""

    def __init__(self, path):
        self._process = subprocess.Popen(
            [path, '--stdio'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._watchdog = threading.Timer(SECONDS, self._process.kill)
        self._watchdog.start()
        self._number = 0

    def stop(self):
        self._watchdog.cancel()
        self._process.kill()
        self._process.communicate()

    def notify(self, method, **params):
        self._send({'method': method, 'params': params})

    def request(self, method, **params):
        """Return the answer to a request."""
        self._number += 1
        number = self._number
        self._send({'id': number, 'method': method, 'params': params})
        return self.wait(
            lambda said: said.get('id') == number and 'method' not in said
        )['result']

    def wait(self, wanted):
        """Return the first message that is wanted."""
        while True:
            said = self._read()
            if wanted(said):
                return said
            if 'id' in said and 'method' in said:
                self._send(
                    {
                        'id': said['id'],
                        'result': [
                            None for _item in said['params'].get('items', ())
                        ],
                    }
                )

    def _send(self, message):
        body = json.dumps({'jsonrpc': '2.0', **message}).encode()
        self._process.stdin.write(
            b'Content-Length: %d\r\n\r\n' % len(body) + body
        )
        self._process.stdin.flush()

    def _read(self):
        length = 0
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise EOFError('the language server has ended')
            if line == b'\r\n':
                return json.loads(self._process.stdout.read(length))
            name, _colon, value = line.decode().partition(':')
            if name.lower() == 'content-length':
                length = int(value)


class EditorTestCase(files.FilesTestCase):
    def setUp(self):
        super().setUp()
        path = command()
        if path is None:
            self.skipTest(f'no {SERVER} on PATH or in IR_YAML_LANGUAGE_SERVER')
        self.schema = schema.schema(registry.installed())
        self.write('rules.schema.json', self.schema)
        self.server = Server(path)
        self.addCleanup(self.server.stop)
        self.server.request(
            'initialize',
            processId=os.getpid(),
            capabilities={
                'textDocument': {
                    'completion': {
                        'completionItem': {
                            'documentationFormat': ['plaintext']
                        }
                    }
                }
            },
            rootUri=self.directory.as_uri(),
        )
        self.server.notify('initialized')

    def open(self, text):
        """Open a file with the line of the documentation above it."""
        path = self.directory / 'rules.yaml'
        path.write_text(
            f'# yaml-language-server: $schema=rules.schema.json\n{text}'
        )
        self.server.notify(
            'textDocument/didOpen',
            textDocument={
                'uri': path.as_uri(),
                'languageId': 'yaml',
                'version': 1,
                'text': path.read_text(),
            },
        )
        return path.as_uri()

    def problems(self, text):
        """Return the lines and messages of what is wrong with a text."""
        uri = self.open(text)
        said = self.server.wait(
            lambda said: (
                said.get('method') == 'textDocument/publishDiagnostics'
                and said['params']['uri'] == uri
            )
        )
        return [
            (each['range']['start']['line'], each['message'])
            for each in said['params']['diagnostics']
        ]

    def completions(self, text):
        """Return what is offered at the end of a text."""
        uri = self.open(text)
        lines = text.split('\n')
        found = self.server.request(
            'textDocument/completion',
            textDocument={'uri': uri},
            position={'line': len(lines), 'character': len(lines[-1])},
        )
        return {
            each['label']: json.dumps(each.get('documentation'))
            for each in found['items']
        }

    def assert_told(self, text, documentation):
        self.assertIn(json.dumps(text)[1:-1], documentation)

    def test_a_good_file_has_nothing(self):
        self.assertEqual(
            [], self.problems('- actions:\n  - {op: log, args: {msg: x}}\n')
        )

    def test_what_is_wrong_is_shown_in_its_line(self):
        found = self.problems(
            '- priorty: 5\n'
            '  actions:\n'
            '  - op: lgo\n'
            '    args: {msg: x}\n'
            '  - op: log\n'
            '    args: {message: x}\n'
        )
        self.assertEqual({1, 3, 6}, {line for line, _message in found}, found)

    def test_ops_are_offered_with_what_they_are(self):
        offered = self.completions('- actions:\n  - op: ')
        action = self.schema['definitions']['action']
        told = {
            each.get('const'): each.get('description')
            for each in action['properties']['op']['anyOf']
        }
        self.assert_told(told['add-trait'], offered['add-trait'])
        self.assertNotIn('eq', offered)
        self.assertNotIn('inspector-fail', offered)

    def test_arguments_of_the_op_are_offered(self):
        offered = self.completions(
            '- actions:\n  - op: log\n    args:\n      '
        )
        self.assert_told(schema.DESCRIPTIONS['msg'], offered['msg'])
        self.assertIn('level', offered)

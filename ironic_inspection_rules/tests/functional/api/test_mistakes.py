# SPDX-License-Identifier: Apache-2.0

"""What people get wrong, and what they are told wherever they do it."""

import json
import pathlib
from typing import Any

import fixtures
from ironic import objects
from ironic.common import context
from ironic.conf import CONF
import webob
import yaml

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.inspection import config_file
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.unit import base

_CASES = yaml.safe_load(
    pathlib.Path(__file__).with_name('mistakes.yaml').read_text()
)

_GOOD = {'actions': [{'op': 'log', 'args': {'msg': 'x'}}]}


class MistakesTestCase(base.IronicTestCase):
    """One test for each case of ``mistakes.yaml``."""

    def setUp(self) -> None:
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def check_rule(self, case: dict[str, Any]) -> list[str]:
        path = self._write('rules.yaml', yaml.safe_dump([case['rule']]))
        built_in = self.assertRaises(
            exceptions.InvalidDocument,
            file_rule.load_built_in,
            document.load(path),
            registry.installed(),
        )
        api = self.useFixture(application.Application()).app
        posted = self._message(
            api,
            {
                'method': 'POST',
                'path': '/v1/inspection_rules',
                'body': case['rule'],
            },
        )
        imported = file_set.load_all([path]).format_problems(
            self._problems(
                api,
                {
                    'method': 'POST',
                    'path': '/v1/inspection_rules/evaluate',
                    'body': {'inventory': {}, 'rules': [case['rule']]},
                },
            )
        )
        self.assertIn(f'{path}:', imported)
        return [str(built_in), posted, imported, *self._lint(path)]

    def check_file(self, case: dict[str, Any]) -> list[str]:
        return self._lint(self._write('rules.yaml', case['file']))

    def check_request(self, case: dict[str, Any]) -> list[str]:
        api = self.useFixture(application.Application()).app
        objects.Node(
            context.get_admin_context(),
            name='failed-one',
            driver='fake-hardware',
        ).create()
        asked = dict(case['request'])
        if 'RULE' in asked['path']:
            made = self._call(
                api,
                {
                    'method': 'POST',
                    'body': _GOOD,
                    'path': '/v1/inspection_rules',
                },
            )
            asked['path'] = asked['path'].replace('RULE', made.json['uuid'])
        return [self._message(api, asked)]

    def check_option(self, case: dict[str, Any]) -> list[str]:
        self._configure(
            '\n'.join(
                f'[{group}]\n{name} = {value}'
                for group, options in case['option'].items()
                for name, value in options.items()
            )
        )
        return [str(self.assertRaises(exceptions.Invalid, conf.check, CONF))]

    def check_config(self, case: dict[str, Any]) -> list[str]:
        self._configure(case['config'])
        return list(config_file.find_unknown_options())

    def _configure(self, text: str) -> None:
        path = self._write('ironic.conf', text)
        CONF(
            [],
            project='ironic',
            default_config_files=[path],
            default_config_dirs=[],
        )
        self.addCleanup(
            CONF,
            [],
            project='ironic',
            default_config_files=[],
            default_config_dirs=[],
        )

    def _write(self, name: str, text: str) -> str:
        path = self.directory / name
        path.write_text(text)
        return str(path)

    def _lint(self, path: str) -> list[str]:
        """Return what is found, as one text."""
        return [
            '\n'.join(
                f'{each.line}:{each.column} {each.message}'
                for each in lint.lint([path], registry.installed())
            )
        ]

    def _call(self, api: Any, asked: dict[str, Any]) -> webob.Response:
        request = webob.Request.blank(
            asked['path'],
            method=asked.get('method', 'GET'),
            headers={
                'X-OpenStack-Ironic-API-Version': asked.get('version', '1.96')
            },
        )
        if 'body' in asked:
            request.content_type = 'application/json'
            request.body = json.dumps(asked['body']).encode()
        return request.get_response(api)

    def _message(self, api: Any, asked: dict[str, Any]) -> str:
        return self._fault(api, asked)['faultstring']

    def _problems(
        self, api: Any, asked: dict[str, Any]
    ) -> list[exceptions.Problem]:
        fault = self._fault(api, asked)
        return [exceptions.Problem(**problem) for problem in fault['problems']]

    def _fault(self, api: Any, asked: dict[str, Any]) -> dict[str, Any]:
        answer = self._call(api, asked)
        self.assertIn(answer.status_code, range(400, 500), answer.text)
        return json.loads(answer.json['error_message'])


def _add_tests() -> None:
    for case in _CASES:
        (kind,) = {'rule', 'file', 'request', 'option', 'config'} & set(case)

        def test(
            self: MistakesTestCase,
            case: dict[str, Any] = case,
            kind: str = kind,
        ) -> None:
            for message in getattr(self, f'check_{kind}')(case):
                for said in map(str, case['says']):
                    # Files tell places in words, the API by pointers.
                    self.assertTrue(
                        said in message
                        or said.startswith('/')
                        and file_rule.place_name(said) in message,
                        f'{said} is not in {message}',
                    )

        name = case['name'].replace(' ', '_').replace("'", '')
        setattr(MistakesTestCase, f'test_{name}', test)


_add_tests()

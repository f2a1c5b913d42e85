# SPDX-License-Identifier: Apache-2.0

"""A process of its own that serves Ironic's API to hostile requests.

Reads cases from its standard input, one JSON document a line, and tells of
each what became of it. Its threads have the stacks of Ironic's.
"""

import base64
import ctypes
import gc
import json
import logging
import pathlib
import sys
import threading
import time
from typing import Any

import fixtures
from ironic import objects
from ironic.common import context
import psutil
import webob

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import conductor
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures

CANARY = 'c4n4ry'
"""A secret that nothing may tell."""

STACK = 128 * 1024
"""In bytes, as ironic.command has it."""

STOCK = 'stock'
"""Says on the command line that Ironic is to be without the plugin."""

SIZE = 'SIZE'
"""The method of a case that only asks for the memory that is held."""

RULE = '0ca9a127-0000-4000-8000-000000000001'

_SENSITIVE_RULE = {
    'uuid': RULE,
    'sensitive': True,
    'phase': 'early',
    'conditions': [
        {'op': 'eq', 'args': {'values': ['{inventory[call]}', True]}}
    ],
    'actions': [
        {'op': 'log', 'args': {'msg': '{inventory[bmc_password]}'}},
        {
            'op': 'set-plugin-data',
            'args': {'path': '/password', 'value': CANARY},
        },
        {
            'op': 'api-call',
            'args': {
                'url': f'http://user:{CANARY}@127.0.0.1:1/?token={CANARY}',
                'headers': {'X-Auth-Token': CANARY},
                'timeout': 1,
                'retries': 0,
            },
        },
    ],
}


class _Logs(logging.Handler):
    """Keeps what is logged, until it is looked at."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


class Service(fixtures.Fixture):
    """Ironic's API, with a node and a rule that have secrets.

    :param stock: whether it is without the plugin, and then without the rule.
    """

    def __init__(self, stock: bool) -> None:
        self._stock = stock

    def _setUp(self) -> None:
        self.logs = _Logs()
        root = logging.getLogger()
        root.handlers[:] = [self.logs]
        root.setLevel(logging.DEBUG)
        self.app = self.useFixture(
            application.Application(
                {
                    # Without authentication, Ironic itself shows passwords.
                    'DEFAULT': {
                        'auth_strategy': 'keystone',
                        'notification_level': 'debug',
                    },
                    'api': {
                        'middleware': (
                            [] if self._stock else ['inspection-rules']
                        )
                    },
                    'inspection_queue': {'enabled': not self._stock},
                }
            )
        ).app
        self.useFixture(conductor.Conductor())
        nodes = gabbi_fixtures.NodesToInspect()
        nodes.start_fixture()
        self.addCleanup(nodes.stop_fixture)
        node = objects.Node.get_by_name(context.get_admin_context(), 'posted')
        node.driver_info = {'redfish_password': CANARY}
        node.save()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        if not self._stock:
            self._make_rule()

    def _make_rule(self) -> None:
        answer = self.answer(
            {
                'method': 'POST',
                'path': '/v1/inspection_rules',
                'type': 'application/json',
                'body': json.dumps(_SENSITIVE_RULE).encode(),
            }
        )
        if answer[0] != 201:
            raise RuntimeError(answer)

    def answer(self, case: dict[str, Any]) -> tuple[int, str]:
        """Send a request, or load a file of rules.

        :returns: status and text.
        """
        if case['method'] == 'FILE':
            path = self.directory / 'rules'
            path.write_bytes(case['body'])
            try:
                return 200, str(len(document.load(str(path)).entries))
            except exceptions.InvalidDocument as exc:
                return 400, str(exc)
        request = webob.Request.blank(
            case['path'],
            method=case['method'],
            body=case['body'],
            headers={
                'X-OpenStack-Ironic-API-Version': '1.96',
                'X-Auth-Token': 'admin',
            },
        )
        request.environ['CONTENT_TYPE'] = case['type']
        answer = request.get_response(self.app)
        return answer.status_int, answer.text

    def judge(self, case: dict[str, Any]) -> dict[str, Any]:
        """Tell what a case leads to.

        :returns: ``status``, ``text`` of an error of the server, ``seconds``
            of processor time, and what shows of the secret as ``leak``.
        """
        self.logs.lines.clear()
        begin = time.thread_time()
        try:
            status, text = self.answer(case)
        except Exception as exc:
            # cheroot would answer that to whatever comes out of Ironic.
            status, text = 500, repr(exc)
        seconds = time.thread_time() - begin
        shown = [line for line in (text, *self.logs.lines) if CANARY in line]
        return {
            'status': status,
            'text': text if status >= 500 else '',
            'seconds': seconds,
            'leak': shown,
        }


def serve(stock: bool) -> None:
    """Judge cases until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr
    with Service(stock) as service:
        for line in sys.stdin:
            case = json.loads(line)
            if case['method'] == SIZE:
                service.logs.lines.clear()
                print(json.dumps({'size': _size()}), file=answers, flush=True)
                continue
            case['body'] = base64.b64decode(case['body'])
            verdict: dict[str, Any] = {}
            thread = threading.Thread(
                target=_judge, args=(service, case, verdict)
            )
            thread.start()
            thread.join()
            print(json.dumps(verdict), file=answers, flush=True)


def _judge(
    service: Service, case: dict[str, Any], verdict: dict[str, Any]
) -> None:
    """Judge a case in a thread, which cannot return the verdict."""
    verdict.update(service.judge(case))


def _size() -> int:
    """Return what this process holds, in bytes.

    What it has let go of goes back to the kernel first. What it has of files
    does not count: the kernel takes that away where memory is short.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return sum(
        each.anonymous + each.swap for each in psutil.Process().memory_maps()
    )


if __name__ == '__main__':
    threading.stack_size(STACK)
    serve(STOCK in sys.argv[1:])

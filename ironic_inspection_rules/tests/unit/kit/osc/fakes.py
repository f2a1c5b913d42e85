# SPDX-License-Identifier: Apache-2.0

"""The parts of the ``openstack`` command that commands use."""

import io
import json
import threading
import types

import requests


class App:
    """An application that is connected to a cloud.

    :param baremetal: what stands for the cloud's bare metal proxy.
    """

    def __init__(self, baremetal='baremetal'):
        self.cloud = types.SimpleNamespace(
            config=types.SimpleNamespace(config={}), baremetal=baremetal
        )
        self.client_manager = types.SimpleNamespace(sdk_connection=self.cloud)
        self.stdout = io.StringIO()
        self.stderr = io.StringIO()


class Baremetal:
    """A bare metal proxy; gives the answers in order, notes the calls."""

    def __init__(self):
        self.answers = []
        self.calls = []

    def request(
        self, path, method, microversion, retriable_status_codes, **arguments
    ):
        arguments = _with_json(arguments)
        self.calls.append((method, path, arguments))
        return _response(path, *self.answers.pop(0))


class Ironic:
    """A bare metal proxy that several threads may ask, in any order.

    :ivar routes: what answers, by method and path: a status and a body, a
        list of those, of which the last one stays, or a function that
        returns one and is given the arguments of the request.
    """

    def __init__(self):
        self.routes = {}
        self.calls = []
        self._lock = threading.Lock()

    def request(
        self, path, method, microversion, retriable_status_codes, **arguments
    ):
        arguments = _with_json(arguments)
        with self._lock:
            self.calls.append((method, path, arguments))
            answer = self.routes.get(
                (method, path), (404, {'error_message': 'not there'})
            )
            if isinstance(answer, list):
                answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer = answer(**arguments)
        return _response(path, *answer)

    def asked(self, method, path):
        """Return the arguments of all requests to a path."""
        return [
            arguments
            for some_method, some_path, arguments in self.calls
            if (some_method, some_path) == (method, path)
        ]


def _with_json(arguments):
    """Return the arguments of a request with a body of bytes as plain data."""
    if 'data' not in arguments:
        return arguments
    rest = {
        name: value
        for name, value in arguments.items()
        if name not in ('data', 'headers', 'log')
    }
    return {**rest, 'json': json.loads(arguments['data'])}


def _response(path, status, body):
    answer = requests.Response()
    answer.status_code = status
    answer._content = b'' if body is None else json.dumps(body).encode()
    answer.headers['content-type'] = 'application/json'
    answer.url = path
    return answer

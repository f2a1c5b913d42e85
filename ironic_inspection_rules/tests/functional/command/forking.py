# SPDX-License-Identifier: Apache-2.0

"""Commands in processes of their own, without seconds for each of them."""

import atexit
import functools
import json
import subprocess
import sys
import tempfile

# The command is loaded once, with Ironic. Each call is a copy of that process,
# in which no other call has been. A copy does not end as Python ends: that
# looks at all that was loaded, and copies the memory of it.
_SERVE = """
import gc, importlib, json, logging, os, sys
command = importlib.import_module(sys.argv[1])
# Ironic loads it for each command, whatever its transport.
importlib.import_module('oslo_messaging._drivers.impl_rabbit')

def run(call):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(call['stdout'], os.O_WRONLY), 1)
    os.dup2(os.open(call['stderr'], os.O_WRONLY), 2)
    if call['environment'] is not None:
        os.environ.clear()
        os.environ.update(call['environment'])
    sys.argv[1:] = call['arguments']
    try:
        code = command.main()
    except SystemExit as exc:
        code = exc.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)

gc.freeze()
for line in sys.stdin:
    child = os.fork()
    if not child:
        run(json.loads(line))
    status = os.waitpid(child, 0)[1]
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class Command:
    """A command, as often as it is called.

    :param module: whose ``main()`` it is.
    """

    def __init__(self, module: str) -> None:
        self._server = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', _SERVE, module],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(self._end)

    def run(
        self, *arguments: str, environment: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Call it once.

        :param environment: of the process, None for that of the tests.
        :returns: what it ended with, what it wrote to standard output, and to
            standard error.
        """
        with (
            tempfile.NamedTemporaryFile('r') as stdout,
            tempfile.NamedTemporaryFile('r') as stderr,
        ):
            call = {
                'arguments': list(map(str, arguments)),
                'environment': environment,
                'stdout': stdout.name,
                'stderr': stderr.name,
            }
            self._server.stdin.write(json.dumps(call) + '\n')
            self._server.stdin.flush()
            code = int(self._server.stdout.readline())
            return code, stdout.read(), stderr.read()

    def _end(self) -> None:
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()


load = functools.cache(Command)
"""The command of a module, one for all tests of this process."""

# SPDX-License-Identifier: Apache-2.0

"""Runs one Ironic service as a process of the running interpreter."""

from collections.abc import Callable
import contextlib
import ctypes
import importlib.metadata
import os
import pathlib
import signal
import subprocess
import sys

_STOP_TIMEOUT = 20
_PR_SET_PDEATHSIG = 1
_CHILD_FAILED = 'exited with status'


class LaunchError(Exception):
    """A command failed or a service did not start.

    The message usually has the output of the command or the service.
    """


def console_script(name: str) -> list[str]:
    """Return the command line that runs an installed console script.

    The script always runs in the environment of this interpreter, even if the
    environment has no ``bin`` file for it.

    :raises: LaunchError if no installed package has this script.
    """
    found = importlib.metadata.entry_points(group='console_scripts', name=name)
    if not found:
        raise LaunchError(f'{name} is not installed for {sys.executable}')
    module, function = next(iter(found)).value.split(':')
    return [
        sys.executable,
        '-c',
        f'import sys; sys.argv[0] = {name!r}; '
        f'from {module} import {function}; sys.exit({function}())',
    ]


class Service:
    """One running console script that writes its output to a file.

    :param name: the name of the console script.
    :param config: the configuration file of the service.
    :param log: the file to which the output is appended.
    :param outlive: whether the service may outlive this process.
    """

    def __init__(
        self,
        name: str,
        config: pathlib.Path,
        log: pathlib.Path,
        outlive: bool = False,
    ) -> None:
        self.name = name
        self.log = log
        # Remember where the output starts, because the log may also have the
        # output of earlier starts.
        self._log_start = 0
        if log.exists():
            self._log_start = log.stat().st_size
        before_exec: Callable[[], None] | None = end_with_parent
        if outlive:
            before_exec = None
        with log.open('ab') as output:
            self.process = subprocess.Popen(
                [*console_script(name), '--config-file', str(config)],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=before_exec,
            )

    def failure(self) -> str | None:
        """Return why the service failed to start, or None if it did not fail.

        The log must be checked, too, because a service does not end if its
        worker fails. Its master process starts new workers forever.
        """
        if self.process.poll() is not None:
            return f'{self.name} ended with {self.process.returncode}'
        if _CHILD_FAILED in self.output():
            return f'a worker of {self.name} failed'
        return None

    def output(self) -> str:
        """Return what the service has logged and printed since it started."""
        with self.log.open('rb') as log:
            log.seek(self._log_start)
            return log.read().decode(errors='replace')

    def stop(self) -> None:
        """Terminate the service, and kill it if it does not end in time."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the service and its children, as a crash would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def end_with_parent() -> None:
    """Make the kernel terminate the calling process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

# SPDX-License-Identifier: Apache-2.0

"""Runs cases in namespaces of their own, where ``tools/iron`` starts it.

    python -m ironic_inspection_rules.tests.iron DESCRIPTOR LABEL

DESCRIPTOR is a pipe with the numbers of cases, a byte for each, which others
may read as well. LABEL is printed before all lines.

It is the first process in there. All processes, networks and files of these
namespaces end with it, however it ends.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import testtools

from ironic_inspection_rules.tests.iron import progress

_OURS = (
    '/run',
    '/etc/libvirt',
    '/var/lib/libvirt',
    '/var/log/libvirt',
    '/var/cache/libvirt',
)
"""Directories that are of this run alone, and empty at first."""


class Result(testtools.TestResult):
    """Prints how a test ends, and how long it took."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._began = time.monotonic()

    def addSuccess(self, test: Any, details: Any = None) -> None:
        super().addSuccess(test, details)
        self._add('passed', test)

    def addError(self, test: Any, *args: Any, **kwargs: Any) -> None:
        super().addError(test, *args, **kwargs)
        self._add('FAILED', test)
        print(self.errors[-1][1], flush=True)

    def addFailure(self, test: Any, *args: Any, **kwargs: Any) -> None:
        super().addFailure(test, *args, **kwargs)
        self._add('FAILED', test)
        print(self.failures[-1][1], flush=True)

    def _add(self, outcome: str, test: Any) -> None:
        seconds = time.monotonic() - self._began
        line = f'{outcome} {seconds:4.0f} s  {test.id()}'
        self._lines.append(line)
        print(f'{progress.label}{line}', flush=True)

    def summary(self) -> str:
        """Say how all tests ended."""
        failed = len(self.errors) + len(self.failures)
        return '\n'.join(
            [
                '',
                *self._lines,
                f'{self.testsRun - failed} passed, {failed} failed',
            ]
        )


def run(descriptor: int) -> int:
    """Run the cases of a pipe; return 0 when all of them pass."""
    # Else importing Ironic prints warnings.
    from ironic_inspection_rules.command import threading_model  # noqa: F401

    # isort: split
    # These read where temporary files go when they are imported.
    from ironic_inspection_rules.tests.iron import base
    from ironic_inspection_rules.tests.iron import cases

    names = list(cases.CASES)
    result = Result()
    try:
        while number := os.read(descriptor, 1):
            cases.load([names[number[0]]]).run(result)
    finally:
        base.IronTestCase.end_cloud()
    print(result.summary(), flush=True)
    return 0 if result.wasSuccessful() else 1


def isolate() -> None:
    """Hide the directories of the host that programs would write to."""
    for directory in _OURS:
        subprocess.run(
            ['mount', '-t', 'tmpfs', 'tmpfs', directory], check=True
        )
    temporary = pathlib.Path('/run/iron')
    temporary.mkdir()
    os.environ['TMPDIR'] = tempfile.tempdir = str(temporary)
    os.environ['PATH'] += ':/usr/local/sbin:/usr/sbin:/sbin'


def attend(child: int) -> int:
    """Wait for a process, and bury all others that end meanwhile.

    Nobody else does: this is the first process of its namespace, and libvirt
    takes a machine that is not buried for one that runs.

    :returns: what the process ended with.
    """
    # The terminal interrupts the child as well, which then cleans up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def main(descriptor: int, label: str) -> int:
    """Run cases in a child; return what it ended with."""
    isolate()
    progress.label = label
    child = os.fork()
    if child:
        return attend(child)
    try:
        return run(descriptor)
    except KeyboardInterrupt:
        print('Interrupted.', file=sys.stderr)
        return 130


if __name__ == '__main__':
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))

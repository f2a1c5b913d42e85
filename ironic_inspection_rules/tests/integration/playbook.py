# SPDX-License-Identifier: Apache-2.0

"""Ansible's commands, where ansible-core is installed."""

import os
import subprocess
import sys
import unittest

from ironic_inspection_rules.tests.live import service


def run(
    directory: str, name: str, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run one of the commands.

    :param directory: where it runs, and writes what it keeps.
    :param variables: further environment variables.
    :raises: SkipTest where it is not installed.
    """
    try:
        command = service.console_script(name)
    except service.LaunchError as exc:
        raise unittest.SkipTest('no ansible-core') from exc
    return subprocess.run(
        [*command, *arguments],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        env={
            **os.environ,
            'LC_ALL': 'C.UTF-8',
            'ANSIBLE_HOME': directory,
            'ANSIBLE_NOCOLOR': '1',
            'ANSIBLE_LOCALHOST_WARNING': 'false',
            'ANSIBLE_COLLECTIONS_PATH': directory,
            'COLUMNS': '1000',
            'ANSIBLE_PYTHON_INTERPRETER': sys.executable,
            **variables,
        },
    )

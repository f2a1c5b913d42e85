# SPDX-License-Identifier: Apache-2.0

"""Files for tests of what works on files."""

import json
import pathlib
import textwrap
import typing

import fixtures

from ironic_inspection_rules.tests.unit import base

INVENTORY = {
    'interfaces': [{'name': 'eth0', 'mac_address': '52:54:00:00:00:01'}],
    'memory': {'physical_mb': 4096},
    'system_vendor': {'manufacturer': 'Dell Inc.'},
}


class FilesTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, name: str, content: typing.Any) -> str:
        """Write a file into the directory of the test.

        :param content: text, or what is to be JSON.
        :returns: the path of the file.
        """
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            textwrap.dedent(content)
            if isinstance(content, str)
            else json.dumps(content)
        )
        return str(path)

# SPDX-License-Identifier: Apache-2.0

"""Commands that need Ironic say so where there is none."""

import subprocess
import sys

from ironic_inspection_rules.tests.unit import base

_WITHOUT_IRONIC = """
import importlib, sys
sys.modules['ironic'] = None
module, sys.argv[0] = sys.argv[1:3]
importlib.import_module(f'ironic_inspection_rules.command.{module}').main()
"""


class WithoutIronicTestCase(base.TestCase):
    def test_one_line_says_what_is_missing(self):
        for module, name in (
            ('dbsync', 'ironic-inspection-rules-dbsync'),
            ('worker', 'ironic-inspection-worker'),
            ('pxe_filter', 'ironic-inspection-pxe-filter'),
        ):
            result = subprocess.run(
                [
                    sys.executable,
                    '-c',
                    _WITHOUT_IRONIC,
                    module,
                    f'/usr/bin/{name}',
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual((1, ''), (result.returncode, result.stdout))
            (line,) = result.stderr.splitlines()
            self.assertTrue(
                line.startswith(f'{name}: there is no Ironic in this Python'),
                line,
            )
            self.assertIn(
                'pip install "ironic-inspection-rules[ironic]"', line
            )

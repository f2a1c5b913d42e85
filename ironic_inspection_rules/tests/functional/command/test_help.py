# SPDX-License-Identifier: Apache-2.0

"""Every service tells what it is for, in a process of its own."""

import os
import subprocess
import sys

from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.command import test_help

_END = '--- end of one ---'

# Ironic takes seconds to load. So it is loaded once, and each service is
# called in a copy of that process, in which no other one has been.
_CALL_EACH = f"""
import importlib, os, sys
places = [place.split(':') for place in sys.argv[1:]]
services = [getattr(importlib.import_module(module), name)
            for module, name in places]
sys.argv[1:] = ['--help']
for service in services:
    if not os.fork():
        sys.exit(service())
    if os.wait()[1]:
        sys.exit('failed: ' + service.__module__)
    print('{_END}', flush=True)
"""


class ServicesTestCase(base.TestCase):
    def test_every_service_has_help(self):
        places = list(test_help.entry_points('console_scripts').values())
        done = subprocess.run(
            [sys.executable, '-c', _CALL_EACH, *places],
            env={**os.environ, 'COLUMNS': '80'},
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        *texts, rest = done.stdout.split(_END)
        self.assertEqual((len(places), ''), (len(texts), rest.strip()))
        for place, text in zip(places, texts, strict=True):
            self.assertIn('--help', text, place)

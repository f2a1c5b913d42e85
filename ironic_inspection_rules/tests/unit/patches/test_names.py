# SPDX-License-Identifier: Apache-2.0

"""Each name of Ironic that is used here, on the Ironic that is installed.

Run on another one by "tox -e patches -- --ironic 40.0.0".
"""

import importlib
import pkgutil

from ironic_inspection_rules import patches
from ironic_inspection_rules.patches import name
from ironic_inspection_rules.patches import names
from ironic_inspection_rules.patches import stock_engine
from ironic_inspection_rules.tests.unit import base

ALL = {*names.OF_API, *names.OF_CONDUCTOR, *stock_engine.NAMES}


class NamesTestCase(base.IronicTestCase):

    def test_this_ironic_has_every_name_as_needed(self):
        problems = [f'{problem}: {each.without}' for each in ALL
                    if (problem := each.problem())]
        self.assertEqual([], sorted(problems), name.release())

    def test_every_patch_says_what_it_needs(self):
        for module in pkgutil.iter_modules(patches.__path__):
            if module.name in ('name', 'names'):
                continue
            declared = importlib.import_module(
                f'{patches.__name__}.{module.name}').NAMES
            self.assertIsInstance(declared, tuple, module.name)
            self.assertLessEqual(set(declared), ALL, module.name)

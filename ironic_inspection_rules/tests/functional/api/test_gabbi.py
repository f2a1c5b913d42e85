# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""HTTP tests that are written in YAML, in ``gabbits``."""

import pathlib
import unittest

from gabbi import driver

from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures


def load_tests(loader: unittest.TestLoader, _tests: unittest.TestSuite,
               _pattern: str | None) -> unittest.TestSuite:
    """Make tests of the YAML files; part of unittest's protocol."""
    return driver.build_tests(
        str(pathlib.Path(__file__).parent / 'gabbits'), loader,
        intercept=lambda: application.current,
        test_loader_name=__name__, fixture_module=gabbi_fixtures)

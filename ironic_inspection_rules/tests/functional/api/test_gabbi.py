# SPDX-License-Identifier: Apache-2.0

"""HTTP tests that are written in YAML, in ``gabbits``."""

import pathlib
import unittest

from gabbi import driver

from ironic_inspection_rules.tests.functional.api import application
from ironic_inspection_rules.tests.functional.api import gabbi_fixtures


def load_tests(
    loader: unittest.TestLoader,
    _tests: unittest.TestSuite,
    _pattern: str | None,
) -> unittest.TestSuite:
    """Make tests of the YAML files; part of unittest's protocol."""
    return driver.build_tests(
        str(pathlib.Path(__file__).parent / 'gabbits'),
        loader,
        intercept=lambda: application.current,
        test_loader_name=__name__,
        fixture_module=gabbi_fixtures,
    )

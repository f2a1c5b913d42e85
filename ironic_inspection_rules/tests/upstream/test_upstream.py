# SPDX-License-Identifier: Apache-2.0

"""Ironic's own unit tests, with the plugin loaded.

They must pass as they do without it, but for those that ``differences.yaml``
names, which must fail.
"""

from collections.abc import Iterator
import importlib
import os
import pkgutil
import unittest

from ironic_inspection_rules.tests.upstream import differences
from ironic_inspection_rules.tests.upstream import plugin

SUITES = (
    'ironic.tests.unit.api',
    'ironic.tests.unit.common.test_inspection_rule',
    'ironic.tests.unit.conductor.test_inspection',
    'ironic.tests.unit.conductor.test_manager',
    'ironic.tests.unit.conductor.test_rpcapi',
    'ironic.tests.unit.db.test_node_traits',
    'ironic.tests.unit.db.test_nodes',
    'ironic.tests.unit.drivers.modules.inspector',
    'ironic.tests.unit.drivers.modules.redfish.test_inspect',
    'ironic.tests.unit.drivers.modules.test_inspect_utils',
)
"""Modules and packages: what the plugin stands in, or beside."""


def load_tests(
    loader: unittest.TestLoader,
    _tests: unittest.TestSuite,
    _pattern: str | None,
) -> unittest.TestSuite:
    """Load Ironic's tests instead of those of this module."""
    stock = 'IR_UPSTREAM_STOCK' in os.environ
    if not stock:
        plugin.switch_on()
    suite = unittest.TestSuite(
        tests for name in SUITES for tests in _load(loader, name)
    )
    if not stock:
        differences.expect(suite, differences.load())
    return suite


def _load(
    loader: unittest.TestLoader, name: str
) -> Iterator[unittest.TestSuite]:
    """Load the tests of a module, or of all modules of a package."""
    module = importlib.import_module(name)
    yield loader.loadTestsFromModule(module)
    for found in pkgutil.walk_packages(
        getattr(module, '__path__', ()), f'{name}.'
    ):
        yield loader.loadTestsFromModule(importlib.import_module(found.name))

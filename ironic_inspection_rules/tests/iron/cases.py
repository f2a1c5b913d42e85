# SPDX-License-Identifier: Apache-2.0

"""The cases, in the order in which they run.

After the first two, most of those that take long begin early: then runs that
share the cases end at about the same time.
"""

from collections.abc import Iterable
import unittest

CASES = {
    'discovery': 'an unknown machine gets its BMC from a table',
    'refusal': 'an unknown machine is refused by an early rule',
    'throttle': 'four machines are powered on one after another',
    'deployment': 'a missing trait is in the way of a real deployment',
    'database': 'the database is away for a minute during two inspections',
    'swap': 'two boots with a disk swapped between them',
    'managed': 'rules see a machine; then it is left alone',
    'leader': 'the leading PXE filter is killed while a machine boots',
    'twins': 'two machines with one serial number',
    'unmanaged': 'a machine that Ironic knows but does not boot',
    'uefi': 'a machine that boots by UEFI',
    'redfish': 'one inspection by Redfish, then one by a ramdisk',
    'abortion': 'an inspection is aborted while a machine boots',
    'worker': 'a worker is killed between two phases',
    'failure': 'a rule of the main phase fails the inspection',
    'conductor': 'the conductor is killed while a machine boots',
}
"""What happens in the module ``test_<name>``, by name."""


def load(names: Iterable[str]) -> unittest.TestSuite:
    """Return the tests of cases.

    :param names: keys of CASES.
    :raises: KeyError for another name.
    """
    package = __name__.rpartition('.')[0]
    modules = []
    for name in names:
        if name not in CASES:
            raise KeyError(name)
        modules.append(f'{package}.test_{name}')
    return unittest.defaultTestLoader.loadTestsFromNames(modules)

# SPDX-License-Identifier: Apache-2.0

"""The policies, as the commands of oslo.policy load them."""

import configparser
import pathlib
import unittest
from unittest import mock

from ironic.conf import CONF
from oslo_policy import policy as oslo_policy
from oslo_utils import importutils

from ironic_inspection_rules import policies

_SETUP = pathlib.Path(__file__).parents[3] / 'setup.cfg'


def _entry_point(group: str) -> str:
    """Return what ``setup.cfg`` names for this package in a group."""
    setup = configparser.ConfigParser()
    setup.read(_SETUP)
    line = setup['entry_points'][group].strip()
    name, _equals, place = line.partition(' = ')
    assert name == 'ironic_inspection_rules'
    return place.replace(':', '.')


class EnforcerTestCase(unittest.TestCase):
    """The enforcer that ``oslopolicy-validator`` and the like ask."""

    def test_knows_our_policies_beside_those_of_ironic(self):
        get_enforcer = importutils.import_class(
            _entry_point('oslo.policy.enforcer')
        )
        of_ironic = oslo_policy.Enforcer(CONF)
        of_ironic.register_default(oslo_policy.RuleDefault('of_ironic', '@'))

        # Ironic's function reads the arguments of the command.
        with mock.patch(
            'ironic.common.policy.get_oslo_policy_enforcer',
            autospec=True,
            return_value=of_ironic,
        ):
            enforcer = get_enforcer()

        names = {rule.name for rule in policies.list_rules()}
        self.assertEqual(names | {'of_ironic'}, set(enforcer.registered_rules))

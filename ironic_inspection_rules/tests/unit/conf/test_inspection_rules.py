# SPDX-License-Identifier: Apache-2.0

"""The options, alone and beside Ironic's."""

from ironic.conf import CONF
from oslo_config import cfg

from ironic_inspection_rules import conf
from ironic_inspection_rules.tests.unit import base


class OptionsTestCase(base.IronicTestCase):

    def test_options_join_those_of_ironic_and_may_be_registered_twice(self):
        conf.register_opts(CONF)
        conf.register_opts(CONF)

        group = CONF.inspection_rules
        self.assertIsNone(group.built_in)
        self.assertIsNone(group.default_scope)
        self.assertEqual('^(agent|inspector|redfish|idrac-redfish)$',
                         group.supported_interfaces)
        self.assertEqual('always', group.mask_secrets)

    def test_supported_interfaces_must_be_a_regular_expression(self):
        conf.register_opts(CONF)

        exc = self.assertRaises(
            ValueError, self.config, group='inspection_rules',
            supported_interfaces='(agent')
        self.assertIn('(agent', str(exc))

    def test_sample_lists_every_option(self):
        fresh = cfg.ConfigOpts()
        conf.register_opts(fresh)

        listed = {(group, opt.dest) for group, opts in conf.list_opts()
                  for opt in opts}
        self.assertEqual({(group, name) for group, _opts in conf.list_opts()
                          for name in fresh[group]}, listed)

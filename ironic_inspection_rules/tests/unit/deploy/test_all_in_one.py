# SPDX-License-Identifier: Apache-2.0

"""The smallest configuration, as the page about all-in-one has it."""

import json
import re
import shlex

import fixtures
from ironic.conf import default as ironic_options
from ironic.conf import inspector as inspector_options
from ironic.drivers.modules import fake
from oslo_config import cfg

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

PAGE = 'doc/source/install/all-in-one.rst'


class ConfigurationTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        if PAGE not in guide.pages():
            self.skipTest('not a checkout: no documentation')

    def options(self):
        """Return Ironic's options as the page has them."""
        path = self.useFixture(fixtures.TempDir()).join('ironic.conf')
        (block,) = (
            block
            for block in guide.Page(PAGE).blocks
            if block.language == 'ini'
        )
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(block.text)
        conf = cfg.ConfigOpts()
        ironic_options.register_opts(conf)
        inspector_options.register_opts(conf)
        conf(['--config-file', path])
        return conf

    def test_no_interface_needs_another_program(self):
        conf = self.options()
        enabled = {
            name: conf[name]
            for name in conf
            if re.fullmatch('enabled_[a-z]+_interfaces', name)
        }
        self.assertEqual(['no-vendor'], enabled['enabled_vendor_interfaces'])
        # A conductor with an interface of ipmitool does not start where
        # there is no such program.
        for name, interfaces in enabled.items():
            for interface in interfaces or ():
                self.assertNotIn('ipmi', interface, name)

    def test_pretended_machines_can_be_inspected(self):
        conf = self.options()
        self.assertEqual(['fake'], conf.enabled_boot_interfaces)
        # Ironic cannot boot them: it refuses to inspect such nodes by
        # default.
        self.assertNotIn('validate_inspection', vars(fake.FakeBoot))
        self.assertFalse(conf.inspector.require_managed_boot)

    def test_the_node_is_looked_up_by_the_address_of_its_port(self):
        (block,) = (
            block
            for block in guide.Page(PAGE).blocks
            if 'continue_inspection' in block.text
        )
        words = shlex.split(block.text)
        (path,) = (word[1:] for word in words if word.startswith('@'))
        inventory = json.loads(guide.ROOT.joinpath(path).read_text())[
            'inventory'
        ]
        (interface,) = inventory['interfaces']
        self.assertIn(interface['mac_address'], words)

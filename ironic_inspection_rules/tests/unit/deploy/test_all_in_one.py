# SPDX-License-Identifier: Apache-2.0

"""The smallest configuration, as the page about all-in-one has it."""

import re

import fixtures
from ironic.conf import default as ironic_options
from oslo_config import cfg

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.unit import base

PAGE = 'doc/source/install/all-in-one.rst'


class ConfigurationTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        if PAGE not in guide.pages():
            self.skipTest('not a checkout: no documentation')

    def test_no_interface_needs_another_program(self):
        path = self.useFixture(fixtures.TempDir()).join('ironic.conf')
        (block,) = (block for block in guide.Page(PAGE).blocks
                    if block.language == 'ini')
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(block.text)
        conf = cfg.ConfigOpts()
        ironic_options.register_opts(conf)
        conf(['--config-file', path])
        enabled = {name: conf[name] for name in conf
                   if re.fullmatch('enabled_[a-z]+_interfaces', name)}
        self.assertEqual(['no-vendor'], enabled['enabled_vendor_interfaces'])
        # A conductor with an interface of ipmitool does not start where
        # there is no such program.
        for name, interfaces in enabled.items():
            for interface in interfaces or ():
                self.assertNotIn('ipmi', interface, name)

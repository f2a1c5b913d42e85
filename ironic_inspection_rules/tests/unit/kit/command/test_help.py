# SPDX-License-Identifier: Apache-2.0

"""Every command tells what it is for."""

import argparse
import configparser
import importlib
import pathlib
import types

import ironic_inspection_rules
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.osc import fakes

_SETUP = pathlib.Path(ironic_inspection_rules.__file__).parents[1].joinpath(
    'setup.cfg')


def entry_points(group):
    """The commands of a group, as module and attribute by name."""
    if not _SETUP.exists():
        return {}
    setup = configparser.ConfigParser()
    setup.read(_SETUP)
    pairs = (line.split('=') for line
             in setup['entry_points'][group].strip().splitlines())
    return {name.strip(): place.strip() for name, place in pairs}


class OpenStackHelpTestCase(base.TestCase):

    def test_every_command_of_the_openstack_client_has_help(self):
        found = {**entry_points('openstack.baremetal.v1')}
        if not found:
            self.skipTest('not a checkout: no setup.cfg')
        app = fakes.App()
        app.command_manager = types.SimpleNamespace()
        for name, place in found.items():
            module, _colon, attribute = place.partition(':')
            command = getattr(importlib.import_module(module), attribute)
            parser = command(app, None).get_parser(name)
            self.assertIsInstance(parser, argparse.ArgumentParser)
            self.assertIn('--help', parser.format_help(), name)


class HelpTestCase(test_shell.CallTestCase):

    def test_every_command_on_files_has_help(self):
        names = entry_points('ironic_inspection_rules.commands')
        if not names:
            self.skipTest('not a checkout: no setup.cfg')
        for name in names:
            code, output = self.call(name, '--help')
            self.assertEqual(0, code, output)
            self.assertIn('--help', output)

# SPDX-License-Identifier: Apache-2.0

"""Every command tells what it is for."""

import argparse
import configparser
import importlib
import pathlib
import re
import shlex
import types

import ironic_inspection_rules
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.kit.command import test_shell
from ironic_inspection_rules.tests.unit.kit.osc import fakes

_SETUP = (
    pathlib.Path(ironic_inspection_rules.__file__)
    .parents[1]
    .joinpath('setup.cfg')
)


def entry_points(group):
    """The commands of a group, as module and attribute by name."""
    if not _SETUP.exists():
        return {}
    setup = configparser.ConfigParser()
    setup.read(_SETUP)
    pairs = (
        line.split('=')
        for line in setup['entry_points'][group].strip().splitlines()
    )
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
            self.assertIn('\nexample:\n', parser.format_help(), name)
            # The words of the example are words of the command.
            parser.parse_args(shlex.split(command.example))


class HelpTestCase(test_shell.CallTestCase):
    def test_every_command_on_files_has_help(self):
        names = entry_points('ironic_inspection_rules.commands')
        if not names:
            self.skipTest('not a checkout: no setup.cfg')
        for name in names:
            code, output = self.call(name, '--help')
            self.assertEqual(0, code, output)
            self.assertIn('--help', output)
            self.assertIn('\nexample:\n', output)


class CheatSheetTestCase(test_shell.CallTestCase):
    """Every line of the cheat sheet is a command, or two."""

    def lines(self):
        path = _SETUP.parent / 'doc' / 'source' / 'user' / 'cheat-sheet.rst'
        if not path.exists():
            self.skipTest('not a checkout: no documentation')
        rows = path.read_text().split('   * - ')[1:]
        self.assertLessEqual(len(rows), 40)
        for row in rows:
            _task, commands = row.split('     - ')
            for command in re.findall('``(.+?)``', commands, re.DOTALL):
                yield ' '.join(command.split())

    def test_every_command_is_one(self):
        of_files = entry_points('ironic_inspection_rules.commands')
        of_client = entry_points('openstack.baremetal.v1')
        # Commands of python-ironicclient.
        shipped = {'rule_list', 'rule_delete', 'node_inspect'}
        for line in self.lines():
            words = shlex.split(line.partition(' > ')[0])
            if words[0].startswith('ironic-inspection-rules-'):
                # A program of its own.
                continue
            if words[0] in of_files:
                self.check(of_files[words[0]], words[:1], words[1:])
                continue
            # A name has several words, as many as there are of a command.
            names = [words[:count] for count in range(len(words), 0, -1)]
            if any('_'.join(name) in shipped for name in names):
                continue
            prefix = ['baremetal']
            if words[0] == 'rule':
                prefix.append('inspection')
            for name in names:
                entry_point = '_'.join((*prefix, *name))
                if entry_point in of_client:
                    self.check(
                        of_client[entry_point], name, words[len(name) :]
                    )
                    break
            else:
                self.fail(line)

    def check(self, place, name, words):
        """Check that a command takes words.

        :param place: its module and class.
        :param name: its words.
        """
        module, _colon, attribute = place.partition(':')
        command = getattr(importlib.import_module(module), attribute)
        app = fakes.App()
        app.command_manager = types.SimpleNamespace()
        parser = command(app, None).get_parser(' '.join(name))
        parser.parse_args(arguments.arrange_words(parser._actions, words))

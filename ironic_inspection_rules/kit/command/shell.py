# SPDX-License-Identifier: Apache-2.0

"""The program ironic-inspection-rules, which works on files without Ironic.

The program is an application of the library cliff. Its commands, e.g.
``lint``, are entry points of this and other installed packages.
"""

import argparse
import importlib.metadata
import os
import sys
import typing
import warnings

from cliff import app
from cliff import commandmanager
import stevedore

from ironic_inspection_rules import escapes
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments

NAME = 'ironic-inspection-rules'
COMMANDS = 'ironic_inspection_rules.commands'

_INTERRUPTED = 130


class _Commands(commandmanager.CommandManager):
    """The installed commands. A command is imported only when it is called."""

    def load_commands(self, namespace: str) -> None:
        """Register the entry points of all commands without importing them.

        This overrides the method of cliff, which imports every command and
        would make each call slow.

        :param namespace: the group of the entry points, see :data:`COMMANDS`.
        """
        self.group_list.append(namespace)
        # stevedore imports the entry points with these names, but lists all.
        names_to_import: list[str] = []
        manager: stevedore.NamedExtensionManager[typing.Any] = (
            stevedore.NamedExtensionManager(namespace, names=names_to_import)
        )
        for entry_point in manager.list_entry_points():
            # cliff imports the command when it looks up its name.
            self.commands[entry_point.name] = entry_point


class Shell(app.App):
    """Commands that need neither Ironic nor a database nor a network."""

    NAME = NAME

    def __init__(self) -> None:
        super().__init__(
            description=_('Check, try and convert inspection rules.'),
            version=importlib.metadata.version(NAME),
            command_manager=_Commands(COMMANDS),
            deferred_help=True,
        )

    def build_option_parser(
        self,
        description: str | None,
        version: str | None,
        argparse_kwargs: dict[str, typing.Any] | None = None,
    ) -> argparse.ArgumentParser:
        """Build the parser of global options, with the name of the program.

        By default, argparse shows the name of the script that was started,
        e.g. ``__main__.py``.
        """
        return super().build_option_parser(
            description, version, {'prog': NAME, **(argparse_kwargs or {})}
        )

    def run_subcommand(self, argv: list[str]) -> int:
        """Run a command, after moving its files before its options.

        ``test --inventory machines rules.yaml`` becomes ``test rules.yaml
        --inventory machines``. Otherwise argparse would treat ``rules.yaml``
        as a second value of ``--inventory``.

        :param argv: the name of the command and its arguments.
        """
        try:
            command, name, words = self.command_manager.find_command(argv)
        except ValueError:
            # There is no such command. cliff reports this, with a list of
            # commands.
            return super().run_subcommand(argv)
        # The parser knows the options of the command, and so which words are
        # files.
        parser = command(self, self.options).get_parser(name)
        words_of_name = argv[: len(argv) - len(words)]
        # argparse has no public list of the arguments of a parser.
        arranged = arguments.arrange_words(parser._actions, words)
        return super().run_subcommand([*words_of_name, *arranged])


@escapes.escape_output()
def main(argv: typing.Sequence[str] | None = None) -> int:
    """Run a command of ``ironic-inspection-rules``.

    :param argv: the words after the name of the program; None to take them
        from the command line. Without any words, the help is printed.
    :returns: the exit status of the command; 1 on an error, 64 on wrong usage,
        130 if interrupted.
    """
    if argv is None:
        argv = sys.argv[1:]
    # Some libraries still import Eventlet if it is installed, e.g. oslo.log
    # with Ironic up to 37.
    warnings.filterwarnings('ignore', r'\s*Eventlet is deprecated')
    try:
        return Shell().run(list(argv) or ['--help'])
    except SystemExit as exc:
        # argparse exits with status 2 on wrong usage. Our commands use 2 for
        # other results, e.g. that inspection would fail.
        if exc.code == 2:
            return os.EX_USAGE
        return int(exc.code or 0)
    except KeyboardInterrupt:
        # cliff handles an interrupt itself, but only after it has been loaded,
        # which takes some time.
        return _INTERRUPTED

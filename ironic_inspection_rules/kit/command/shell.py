# SPDX-License-Identifier: Apache-2.0

"""The program ironic-inspection-rules, which works on files without Ironic."""

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
    """The installed commands, each of which is loaded when it is called."""

    def load_commands(self, namespace: str) -> None:
        """Register the commands without importing them.

        The method of cliff, which this overrides, imports all of them.
        """
        self.group_list.append(namespace)
        # stevedore lists all entry points, but only imports these.
        no_imports: list[str] = []
        manager: stevedore.NamedExtensionManager[typing.Any] = (
            stevedore.NamedExtensionManager(namespace, names=no_imports)
        )
        for entry_point in manager.list_entry_points():
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

        argparse would treat a file after an option with several values as a
        value of the option, e.g. ``rules.yaml`` in ``test --inventory machines
        rules.yaml``.
        """
        # Which words are files depends on the options of the command.
        try:
            command, name, words = self.command_manager.find_command(argv)
        except ValueError:
            # There is no such command, which cliff reports with a list of
            # commands.
            return super().run_subcommand(argv)
        parser = command(self, self.options).get_parser(name)
        words_of_name = argv[: len(argv) - len(words)]
        # argparse has no public list of the arguments of a parser.
        arranged = arguments.arrange_words(parser._actions, words)
        return super().run_subcommand([*words_of_name, *arranged])


@escapes.guarded()
def main(argv: typing.Sequence[str] | None = None) -> int:
    """Run a command of ``ironic-inspection-rules``.

    :returns: the status of the command, 1 on an error, 64 on wrong usage,
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
        # argparse uses status 2 for errors, which has another meaning here.
        if exc.code == 2:
            return os.EX_USAGE
        return int(exc.code or 0)
    except KeyboardInterrupt:
        # cliff handles the interrupt once it runs, but takes some time to
        # load.
        return _INTERRUPTED

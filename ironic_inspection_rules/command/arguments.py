# SPDX-License-Identifier: Apache-2.0

"""Words of a command line, in whatever order they are written."""

import argparse
from collections.abc import Iterable, Sequence
import dataclasses
import os
import typing

from cliff import command

from ironic_inspection_rules.i18n import _

_END = '--'


@dataclasses.dataclass(frozen=True)
class _Option:
    """An option as written, the words behind it, and files before it."""

    words: list[str]
    action: argparse.Action | None
    place: int

    def takes(self, word: str) -> bool:
        """Return whether a word that follows is of this option."""
        if self.action is None or '=' in self.words[0] or (
                self.action.nargs not in (None, '+')):
            return False
        if word.startswith('-'):
            return (word == '-' and len(self.words) == 1
                    and self.action.nargs == '+')
        if len(self.words) == 1:
            return True
        try:
            if callable(self.action.type):
                self.action.type(word)
        except (argparse.ArgumentTypeError, TypeError, ValueError):
            return False
        return self.action.nargs == '+'


def arranged(actions: Iterable[argparse.Action],
             words: Sequence[str]) -> list[str]:
    """Return the words with the files first and the options after them.

    An option of several words would have all that follow it, those of files
    too. It has those that its type takes, and the last of them are files
    where files are missing. What nobody can know stays for the parser to
    complain of.
    """
    known = list(actions)
    options: list[_Option] = []
    files: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == _END:
            files += left
            break
        if not word.startswith('-') or word == '-':
            files.append(word)
            continue
        option = _Option([word], _find(known, word), len(files))
        while left and option.takes(left[0]):
            option.words.append(left.pop(0))
        options.append(option)
    missing = sum(not action.option_strings and action.nargs in (None, '+')
                  for action in known) - len(files)
    for option in reversed(options):
        # An option keeps the first of its words.
        given = max(0, min(missing, len(option.words) - 2))
        kept = len(option.words) - given
        files[option.place:option.place] = option.words[kept:]
        del option.words[kept:]
        missing -= given
    written = [word for option in options for word in option.words]
    if any(word.startswith('-') and word != '-' for word in files):
        return [*written, _END, *files]
    return [*files, *written]


class Command(command.Command):
    """A command on files."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser of what the command takes."""
        parser = super().get_parser(prog_name)
        self.add_arguments(parser)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add what the command takes."""


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the files of rules."""
    parser.add_argument(
        'files', metavar='<file>', nargs='+',
        help=_('YAML or JSON file with rules, of this language or that of '
               'ironic-inspector; a folder with such files, or - for what '
               'is piped in'))


def add_inventories(parser: argparse.ArgumentParser, text: str,
                    required: bool = False) -> None:
    """Add the machines that rules are tried on."""
    parser.add_argument('--inventory', metavar='<path>', nargs='+',
                        action='extend', default=[], required=required,
                        help=text)


def add_node(parser: argparse.ArgumentParser) -> None:
    """Add the node that machines are taken for."""
    parser.add_argument(
        '--node', metavar='<path>',
        help=_('File with the node that the machines are taken for, as '
               "Ironic's API gives it; or a directory with one for each, "
               'called as its inventory is; a new node if not given'))


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the file that takes the place of standard output."""
    parser.add_argument(
        '-o', '--output', metavar='<file>', type=new_file,
        help=_('File to write; standard output if not given'))


def write(path: str | None, text: str, output: typing.TextIO) -> None:
    """Write a text to a file, or where there is none to an output."""
    if path is None:
        output.write(text)
        return
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(text)


def new_file(path: str) -> str:
    """Read the name of a file to write, before there is anything to write.

    :raises: ArgumentTypeError where there is no directory for it.
    """
    if os.path.isdir(path) or not os.path.isdir(
            os.path.dirname(path) or os.curdir):
        raise argparse.ArgumentTypeError(
            _('no file can be written there: %s') % path)
    return path


def _find(known: Iterable[argparse.Action],
          word: str) -> argparse.Action | None:
    """Return the option that a word is, or whose long name it begins."""
    name = word.partition('=')[0]
    found = {id(action): action for action in known
             for option in action.option_strings
             if option == name or (name.startswith(_END)
                                   and option.startswith(name))}
    exact = [action for action in found.values()
             if name in action.option_strings]
    if exact:
        return exact[0]
    return next(iter(found.values())) if len(found) == 1 else None

# SPDX-License-Identifier: Apache-2.0

"""Arguments that commands on files share, e.g. --node and --inventory."""

import argparse
import collections
from collections.abc import Iterable, Sequence
import dataclasses
import io
import os
import re
import typing

from cliff import command

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _

STANDARD_OUTPUT = '-'

_END = '--'


@dataclasses.dataclass(frozen=True)
class _Option:
    """An option on a command line.

    :ivar words: the option and its values, e.g. ``['--by', 'a', 'b']``.
    :ivar action: the declaration of the option in the parser; None if the
        command has no such option.
    :ivar place: the number of files before the option.
    """

    words: list[str]
    action: argparse.Action | None
    place: int

    def takes(self, word: str) -> bool:
        """Return whether the next word is a value of this option.

        An option with one or several values takes any first word except
        another option. An option with several values takes more words as long
        as its type accepts them. An option such as ``--format=json`` takes
        none.
        """
        # In argparse, None means one value, and "+" means one or several
        # values.
        if self.action is None or self.action.nargs not in (None, '+'):
            return False
        if '=' in self.words[0]:
            # The option already has its value: --format=json.
            return False
        has_value = len(self.words) > 1
        if not has_value:
            return not _is_option(word)
        takes_several = self.action.nargs == '+'
        if not takes_several or word.startswith('-'):
            return False
        # The type of --by refuses files, so "--by a b rules.yaml" leaves the
        # file for the command.
        try:
            if callable(self.action.type):
                self.action.type(word)
        except (argparse.ArgumentTypeError, TypeError, ValueError):
            return False
        return True


def arrange_words(
    actions: Iterable[argparse.Action], words: Sequence[str]
) -> list[str]:
    """Move the files of a command line before the options, for argparse.

    argparse would give all following words to an option with several values,
    including files. Here the option only gets the words that its type accepts.
    If files are then missing, its last values become files: ``--inventory A B
    RULES`` becomes ``RULES --inventory A B``. Unknown options are left to the
    parser, which reports them.

    :param actions: the arguments of the command, files and options.
    :param words: the words as a user typed them.
    """
    declared = list(actions)
    options, files = _split_words(declared, words)
    # Each required positional argument needs at least one file.
    needed_files = 0
    for action in declared:
        is_option = bool(action.option_strings)
        if not is_option and action.nargs in (None, '+'):
            needed_files += 1
    _give_values_to_files(options, files, missing=needed_files - len(files))
    option_words: list[str] = []
    for option in options:
        option_words += option.words
    # Files whose name looks like an option must come after "--".
    if any(_is_option(word) for word in files):
        return [*option_words, _END, *files]
    return [*files, *option_words]


def _split_words(
    declared: Sequence[argparse.Action], words: Sequence[str]
) -> tuple[list[_Option], list[str]]:
    """Divide the words of a command line into options and files.

    A file is a word that no option takes, or any word after ``--``. For
    example, ``rules.yaml -f json`` has the file ``rules.yaml`` and the option
    ``-f`` with its value.

    :param declared: the arguments of the command, files and options.
    """
    options: list[_Option] = []
    files: list[str] = []
    words_left = collections.deque(words)
    while words_left:
        word = words_left.popleft()
        if word == _END:
            files += words_left
            break
        if not _is_option(word):
            files.append(word)
            continue
        option = _Option(
            words=[word],
            action=_find_option(declared, word),
            place=len(files),
        )
        while words_left and option.takes(words_left[0]):
            option.words.append(words_left.popleft())
        options.append(option)
    return options, files


def _give_values_to_files(
    options: Sequence[_Option], files: list[str], missing: int
) -> None:
    """Turn the last values of options into the files that are missing.

    For example, in ``--inventory A B RULES`` the option has taken three words,
    the last of which is the file that the command needs. Both the options and
    ``files`` are modified. Files keep their order on the command line.

    :param missing: how many files are missing; nothing is moved if this is 0
        or less.
    """
    still_missing = missing
    # Start with the last option, so that the places of earlier options stay
    # valid.
    for option in reversed(options):
        # Every option keeps its name and one value.
        spare = len(option.words) - 2
        moved = max(0, min(still_missing, spare))
        start = len(option.words) - moved
        # Insert them between the files before and after the option.
        files[option.place : option.place] = option.words[start:]
        del option.words[start:]
        still_missing -= moved


def _is_option(word: str) -> bool:
    """Return whether a word is an option; "-" is standard input."""
    return word.startswith('-') and word != STANDARD_OUTPUT


class FileCommand(command.Command):
    """A command that works on files."""

    example = ''
    """The words of a call, which its help shows."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser with the arguments of the command."""
        parser = super().get_parser(prog_name)
        show_example(parser, self.example)
        self.add_arguments(parser)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""


def show_example(parser: argparse.ArgumentParser, words: str) -> None:
    """Show an example of the command at the end of its help."""
    if not words:
        return
    # An epilog would be joined with the epilog of cliff.
    parser.add_argument_group(_('example'), f'{parser.prog} {words}')


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the argument for rule files."""
    parser.add_argument(
        'files',
        metavar='<file>',
        nargs='+',
        help=_(
            'YAML or JSON file with rules, of this language or that of '
            'ironic-inspector; a folder with such files, or - for what '
            'is piped in'
        ),
    )


def add_inventories(
    parser: argparse.ArgumentParser, help_text: str, required: bool = False
) -> None:
    """Add the option for inventories."""
    parser.add_argument(
        '--inventory',
        metavar='<path>',
        nargs='+',
        action='extend',
        default=[],
        required=required,
        help=help_text,
    )


def add_node(parser: argparse.ArgumentParser) -> None:
    """Add the option for the node on which rules are tried."""
    parser.add_argument(
        '--node',
        metavar='<path>',
        help=_(
            'File with the node that the machines are taken for, as '
            "Ironic's API gives it; or a directory with one for each, "
            'called as its inventory is; a new node if not given'
        ),
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option for a file to write instead of standard output."""
    parser.add_argument(
        '-o',
        '--output',
        metavar='<file>',
        type=check_new_file,
        default=STANDARD_OUTPUT,
        help=_('File to write; standard output if not given'),
    )


def write(path: str, text: str, output: typing.TextIO) -> None:
    """Write a text to a file, or to ``output`` if the path is "-".

    :raises: OSError with the name of the file.
    """
    if path == STANDARD_OUTPUT:
        output.write(text)
        return
    with exceptions.naming(path), open(path, 'w', encoding='utf-8') as stream:
        stream.write(text)


class _Nowhere(io.StringIO):
    """A stream that discards everything that is written to it."""

    def write(self, text: str) -> int:
        return len(text)


def choose_output(page: str | None, output: typing.TextIO) -> typing.TextIO:
    """Choose the stream for a result that is also written as a page.

    :param page: the path of the page; None if there is no page.
    :returns: ``output``; or a stream that discards all text if the page is
        written to standard output, because a table before or after the page
        would make it invalid.
    """
    if page == STANDARD_OUTPUT:
        return _Nowhere()
    return output


def check_new_file(path: str) -> str:
    """Check the path of an output file before any work is done.

    :raises: ArgumentTypeError if its directory does not exist, or if the path
        is a directory.
    """
    # "rules.html" is in the directory "".
    directory = os.path.dirname(path) or os.curdir
    if os.path.isdir(path) or not os.path.isdir(directory):
        raise argparse.ArgumentTypeError(
            _('no file can be written there: %s') % path
        )
    return path


def parse_percent(text: str) -> float:
    """Parse a number from 0 to 100, e.g. ``80``, ``99.5`` or ``.5``."""
    # float() would also accept "1e1", "nan" and "1_0".
    if re.fullmatch(r'[0-9]*\.?[0-9]+', text) and float(text) <= 100:
        return float(text)
    raise argparse.ArgumentTypeError(
        _('"%s" is no number from 0 to 100') % text
    )


def parse_positive(text: str) -> int:
    """Parse a whole number of at least 1."""
    # int() would also accept "1_0" and " 5".
    if not re.fullmatch('0{0,9}[1-9][0-9]{0,8}', text):
        raise argparse.ArgumentTypeError(
            _('a number of at least 1 is expected')
        )
    return int(text)


def parse_revision(text: str) -> int:
    """Parse the number of a revision; 0 is the set before the first change."""
    if not re.fullmatch('[0-9]{1,9}', text):
        raise argparse.ArgumentTypeError(
            _(
                'the number of a revision is expected, 0 for the set before '
                'the first change'
            )
        )
    return int(text)


def _find_option(
    declared: Iterable[argparse.Action], word: str
) -> argparse.Action | None:
    """Find the option that a word names, e.g. ``--inventory`` for ``--inv``.

    :param word: an option, which may be followed by ``=`` and a value. A long
        option may be abbreviated if the abbreviation is unique.
    :returns: None if no option or several options match. None also for a short
        option with its value in the same word, e.g. ``-ofile``, because it
        takes no further word.
    """
    name = word.partition('=')[0]
    # argparse only allows abbreviations of long options.
    may_be_shortened = name.startswith('--')
    candidates = []
    for action in declared:
        if name in action.option_strings:
            # An exact match wins, even if another option begins with it.
            return action
        is_beginning = any(
            option.startswith(name) for option in action.option_strings
        )
        if may_be_shortened and is_beginning:
            candidates.append(action)
    if len(candidates) != 1:
        return None
    return candidates[0]

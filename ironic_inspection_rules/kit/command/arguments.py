# SPDX-License-Identifier: Apache-2.0

"""Arguments that commands on files share, e.g. --node and --inventory.

The words of a command line are options with their values, and files. In
``test -f json --inventory a b rules.yaml``, the words ``a`` and ``b`` are
values of ``--inventory``, and ``rules.yaml`` is a file. argparse would take it
for a value too, so :func:`arrange_words` moves the files to the front.
"""

import argparse
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

_END_OF_OPTIONS = '--'
"""A word after which all words are files, even if they begin with a dash."""


class _Word(typing.NamedTuple):
    """A word of a command line. Words are sorted by their position."""

    position: int
    text: str


@dataclasses.dataclass(frozen=True)
class _Option:
    """An option on a command line.

    :ivar text: the option as it was typed, e.g. ``--by`` or ``--format=json``.
    :ivar action: the declaration of the option in the parser; None if the
        command has no such option.
    :ivar values: the words that it has taken so far.
    """

    text: str
    action: argparse.Action | None
    values: list[_Word] = dataclasses.field(default_factory=list)

    def takes(self, word: str) -> bool:
        """Return whether the next word is a value of this option.

        An unknown option, an option without values such as ``--coverage``, and
        an option that contains its value such as ``--format=json`` take no
        word. Any other option takes one word unless this is an option itself.
        An option with several values such as ``--by`` also takes the words
        after the first, as long as its type accepts them.
        """
        # In argparse, None means one value, and "+" means one or several
        # values.
        if self.action is None or self.action.nargs not in (None, '+'):
            return False
        if '=' in self.text:
            # The option already has its value: --format=json.
            return False
        if not self.values:
            return not _is_option(word)
        takes_several = self.action.nargs == '+'
        if not takes_several or word.startswith('-'):
            return False
        # The option has a value, and may take more. The type of --by refuses
        # files, so "--by a b rules.yaml" leaves the file for the command.
        try:
            if callable(self.action.type):
                self.action.type(word)
        except (argparse.ArgumentTypeError, TypeError, ValueError):
            return False
        return True


def arrange_words(
    actions: Iterable[argparse.Action], words: Sequence[str]
) -> list[str]:
    """Separate the files of a command line from the options, for argparse.

    argparse would give all following words to an option with several values,
    including files. ``--inventory`` takes any word, so the file after it is
    recognized because the command lacks one: the last values of options become
    the missing files, and ``--inventory A B RULES`` becomes ``RULES
    --inventory A B``. An option with a type, e.g. ``--by``, gets the word
    after it, and further words only if the type accepts them.

    The files come before the options, or after ``--`` if the name of one
    begins with a dash. Unknown options are left to the parser, which reports
    them.

    :param actions: the arguments that the parser of the command declares:
        files and options.
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
    missing_files = max(0, needed_files - len(files))
    files += _take_last_values(options, missing_files)
    option_words: list[str] = []
    for option in options:
        option_words.append(option.text)
        option_words += [value.text for value in option.values]
    # The files keep their order on the command line.
    file_words = [file.text for file in sorted(files)]
    # A file whose name begins with a dash must come after "--".
    if any(_is_option(word) for word in file_words):
        return [*option_words, _END_OF_OPTIONS, *file_words]
    return [*file_words, *option_words]


def _split_words(
    declared: Sequence[argparse.Action], words: Sequence[str]
) -> tuple[list[_Option], list[_Word]]:
    """Divide the words of a command line into options and files.

    A file is a word that no option takes, or any word after ``--``.

    :param declared: the arguments that the parser of the command declares.
    :returns: the options with their values, and the files. For example,
        ``rules.yaml -f json`` has the option ``-f`` with the value ``json``,
        and the file ``rules.yaml``.
    """
    options: list[_Option] = []
    files: list[_Word] = []
    # The option that takes the next words, as long as it accepts them.
    option: _Option | None = None
    are_options_over = False
    for position, text in enumerate(words):
        word = _Word(position, text)
        if are_options_over:
            files.append(word)
        elif option is not None and option.takes(text):
            option.values.append(word)
        elif text == _END_OF_OPTIONS:
            are_options_over = True
        elif _is_option(text):
            option = _Option(text, _find_option(declared, text))
            options.append(option)
        else:
            files.append(word)
            # Values follow their option directly.
            option = None
    return options, files


def _take_last_values(options: Sequence[_Option], count: int) -> list[_Word]:
    """Remove the last values of options, and return them.

    For example, in ``--inventory A B RULES`` the option has taken three words,
    the last of which is the file that the command needs.

    :param count: the number of values to take. There may be fewer, because
        every option keeps its first value.
    """
    taken: list[_Word] = []
    # Start with the last value of the last option.
    for option in reversed(options):
        while len(taken) < count and len(option.values) > 1:
            taken.append(option.values.pop())
    return taken


def _is_option(word: str) -> bool:
    """Return whether a word is an option, unlike "-", the standard input."""
    return word.startswith('-') and word != STANDARD_OUTPUT


class FileCommand(command.Command):
    """A command that works on files."""

    example = ''
    """Arguments of the command, which its help shows as an example."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser with the arguments of the command.

        :param prog_name: the words before the arguments, e.g.
            ``ironic-inspection-rules lint``.
        """
        parser = super().get_parser(prog_name)
        show_example(parser, self.example)
        self.add_arguments(parser)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""


def show_example(parser: argparse.ArgumentParser, words: str) -> None:
    """Show an example of the command at the end of its help.

    :param words: the arguments of the example; without any, nothing is shown.
    """
    if not words:
        return
    # Use a group of arguments with this text and no arguments, because the
    # epilog of the parser would be joined with the epilog of cliff.
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
        type=check_path,
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

    :param output: the standard output of the command.
    :raises: OSError with the name of the file.
    """
    if path == STANDARD_OUTPUT:
        output.write(text)
        return
    with (
        exceptions.name_file_in_errors(path),
        open(path, 'w', encoding='utf-8') as stream,
    ):
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


def check_path(path: str) -> str:
    """Refuse an empty path, e.g. of a variable that is not set in a shell.

    The command would take it for an option that is not given.

    :raises: ArgumentTypeError if the path is empty.
    """
    if not path:
        raise argparse.ArgumentTypeError(_('the name of a file is empty'))
    return path


def check_new_file(path: str) -> str:
    """Check the path of an output file before any work is done.

    :raises: ArgumentTypeError if the path is empty or a directory, or if its
        directory does not exist.
    """
    check_path(path)
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
    """Find the declaration of an option that a user typed.

    Like argparse, this accepts an abbreviation of a long option if only one
    option begins with it, e.g. ``--inv`` for ``--inventory``.

    :param declared: the arguments that the parser of the command declares.
    :param word: the option, which ``=`` and a value may follow.
    :returns: None if no option or several options match. None also for a short
        option with its value in the same word, e.g. ``-ofile``. Such an option
        takes no further word, so its declaration is not needed.
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

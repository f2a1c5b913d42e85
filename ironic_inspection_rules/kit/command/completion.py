# SPDX-License-Identifier: Apache-2.0

"""Implement ``completion``, which prints scripts that complete commands.

When a user types part of a command and presses the tab key, the shell calls
the script, which offers the words that may come next. For example, after
``ironic-inspection-rules`` these are ``lint``, ``test`` and so on; after
``ironic-inspection-rules lint -f``, the choices ``json``, ``sarif`` and
``table``.

The words are read from the parsers of the commands, and the scripts of bash,
fish and zsh are made from the same :class:`CommandWords`.
"""

import argparse
from collections.abc import Iterable, Iterator
import contextlib
import dataclasses
import importlib.metadata
import io
import operator
import types
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments

PROGRAM = 'ironic-inspection-rules'
CLIENT = 'openstack'
_GROUPS = {
    PROGRAM: 'ironic_inspection_rules.commands',
    CLIENT: 'openstack.baremetal.v1',
}


@dataclasses.dataclass(frozen=True)
class CommandWords:
    """The words of a command, its options and their values.

    :ivar program: ``ironic-inspection-rules`` or ``openstack``.
    :ivar words: the words of the command, e.g. ``('lint',)``.
    :ivar help: the first line of its help.
    :ivar options: the choices of each option, e.g. ``{'--format': ('json',
        'table'), '--fix': ()}``. An option that takes any value, or no value,
        has no choices.
    :ivar choices: the choices of its positional arguments, e.g. ``('bash',
        'fish', 'zsh')`` for the command ``completion``.
    :ivar valued: the options that need a value.
    """

    program: str
    words: tuple[str, ...]
    help: str
    options: dict[str, tuple[str, ...]]
    choices: tuple[str, ...]
    valued: frozenset[str]


def load_commands() -> list[CommandWords]:
    """Return the words of all commands of this package, sorted.

    Commands that cannot be imported are skipped: without
    python-openstackclient, these are the commands of ``openstack``.
    """
    all_commands = []
    for program, group in _GROUPS.items():
        for point in importlib.metadata.entry_points(group=group):
            # Other packages also provide commands of "openstack".
            if not point.value.startswith('ironic_inspection_rules.'):
                continue
            with contextlib.suppress(ImportError):
                all_commands.append(_load_command(program, point))
    return sorted(all_commands, key=operator.attrgetter('program', 'words'))


def _load_command(
    program: str, point: importlib.metadata.EntryPoint
) -> CommandWords:
    """Import a command, and return its words, which its parser declares.

    :param program: the program to which the command belongs.
    :param point: the entry point of the command.
    """
    # The name has the words of the command, with underscores between them:
    # "baremetal_inspection_rule_apply".
    words = tuple(point.name.split('_'))
    # A parser only needs these attributes of the application.
    application = types.SimpleNamespace(
        command_manager=None, stdout=io.StringIO(), stderr=io.StringIO()
    )
    command = point.load()(application, None)
    parser = command.get_parser(' '.join((program, *words)))
    # argparse has no public list of the arguments of a parser.
    options = {}
    choices: list[str] = []
    valued: list[str] = []
    for action in parser._actions:
        values = tuple(str(choice) for choice in action.choices or ())
        for option in action.option_strings:
            options[option] = values
        # For an option without values, e.g. --yes, nargs is 0.
        needs_value = action.nargs not in (0, '?', '*')
        if needs_value:
            valued += action.option_strings
        is_positional = not action.option_strings
        if is_positional:
            choices += values
    first_line = command.get_description().partition('\n')[0]
    return CommandWords(
        program=program,
        words=words,
        help=first_line,
        options=options,
        choices=tuple(choices),
        valued=frozenset(valued),
    )


def _next_words(
    all_commands: Iterable[CommandWords],
) -> dict[tuple[str, ...], list[str]]:
    """Return the words of commands that may come next, by the words before.

    For example, for the commands ``baremetal inspection list`` and ``baremetal
    node replay`` of ``openstack``, the result has ``('openstack',
    'baremetal'): ['inspection', 'node']``.
    """
    next_words_by_words: dict[tuple[str, ...], list[str]] = {}
    for command in all_commands:
        for number, word in enumerate(command.words):
            words_before = (command.program, *command.words[:number])
            next_words = next_words_by_words.setdefault(words_before, [])
            # Many commands begin with the same words.
            if word not in next_words:
                next_words.append(word)
    return next_words_by_words


def _case_branches(all_commands: list[CommandWords]) -> Iterator[str]:
    """Yield the branches of the ``case`` of a script for bash or zsh.

    Their patterns match the words before the word that is completed. A shell
    uses the first branch that matches, so more specific branches come first::

        "ironic-inspection-rules") offered="lint test" ;;
        "ironic-inspection-rules lint"*" -f") offered="json table" ;;
        "ironic-inspection-rules lint"*) offered="-f --fix" ;;
    """
    # Branches that offer the next word of a command.
    for words_before, next_words in _next_words(all_commands).items():
        yield _case_branch(f'"{" ".join(words_before)}"', next_words)
    for command in all_commands:
        before = ' '.join((command.program, *command.words))
        # Branches that offer the values of an option, after the option.
        for option, choices in command.options.items():
            # An option that takes any value needs a branch too. It offers no
            # words, so the shell completes files.
            if choices or option in command.valued:
                yield _case_branch(f'"{before}"*" {option}"', choices)
        # A branch that offers the options and positional arguments.
        yield _case_branch(
            f'"{before}"*', (*command.choices, *command.options)
        )


def _case_branch(pattern: str, offered: Iterable[str]) -> str:
    """Return a branch of ``case`` that offers words to complete.

    An example is ``"openstack") offered="baremetal" ;;``.

    :param pattern: matches the words before the word that is completed.
    """
    return f'    {pattern}) offered="{" ".join(offered)}" ;;'


# Completion of the whole openstack command, which has these commands too, is
# kept where it is loaded. Global options before "baremetal" are left out of
# the words that are compared.
_BASH = """\
# To be read by ~/.bashrc.
_{name}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} offered='' before=''
    before="${{COMP_WORDS[*]:0:COMP_CWORD}}"
    # bash makes three words of --option=value.
    before=${{before% =}}
    if [[ $current == = ]]; then
        current=''
    fi
    if [[ $before == "openstack "*" baremetal"* ]]; then
        before="openstack baremetal${{before#* baremetal}}"
    fi
    case "$before" in
{cases}
    esac
    # bash completes files only where nothing is offered.
    if [[ $current != -* ]]; then
        offered=" $offered"
        offered=${{offered%% -*}}
    fi
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
}}
for program in {programs}; do
    complete -p "$program" > /dev/null 2>&1 ||
        complete -o default -F _{name} "$program"
done
unset program
"""

_ZSH = """\
# To be read by ~/.zshrc, after compinit.
_{name}() {{
    local current=$words[CURRENT] offered=''
    local before="${{(j: :)words[1,CURRENT-1]}}"
    if [[ $current == --*=* ]]; then
        before+=" ${{current%%=*}}"
        current=${{current#*=}}
        compset -P '*='
    fi
    if [[ $before == "openstack "*" baremetal"* ]]; then
        before="openstack baremetal${{before#* baremetal}}"
    fi
    case "$before" in
{cases}
    esac
    if [[ $current != -* ]]; then
        offered=" $offered"
        offered=${{offered%% -*}}
    fi
    if [[ -n ${{offered// }} ]]; then
        compadd -- ${{=offered}}
    else
        _files
    fi
}}
for program in {programs}; do
    (( $+_comps[$program] )) || compdef _{name} $program
done
unset program
"""

_FISH = """\
# To be read by config.fish.
function __{name}_words
    set -l words (commandline -opc)
    set -l first (contains --index -- baremetal $words)
    if test "$words[1]" = {client}; and test -n "$first"
        set words {client} $words[$first..-1]
    end
    string join -- ' ' $words
end
function __{name}_before
    test (__{name}_words) = "$argv"
end
function __{name}_within
    string match -q -- "$argv*" (__{name}_words)
end
"""


def _programs(all_commands: Iterable[CommandWords]) -> str:
    """Return the names of the programs, separated by spaces."""
    return ' '.join(sorted({command.program for command in all_commands}))


def bash(all_commands: list[CommandWords]) -> str:
    """Return a script that completes commands in bash."""
    return _BASH.format(
        name='ironic_inspection_rules',
        cases='\n'.join(_case_branches(all_commands)),
        programs=_programs(all_commands),
    )


def zsh(all_commands: list[CommandWords]) -> str:
    """Return a script that completes commands in zsh."""
    return _ZSH.format(
        name='ironic_inspection_rules',
        cases='\n'.join(_case_branches(all_commands)),
        programs=_programs(all_commands),
    )


def fish(all_commands: list[CommandWords]) -> str:
    """Return a script that completes commands in fish.

    Fish needs a ``complete`` line for every word, with a condition on the
    words before it::

        complete -c openstack -n "__…_before openstack" -f -a baremetal -d ''
    """
    name = 'ironic_inspection_rules'
    # Define the functions that the conditions call: "__…_before", whether
    # exactly the given words were typed, and "__…_within", whether the typed
    # words begin with them.
    lines = [_FISH.format(name=name, client=CLIENT)]
    help_by_words = {
        (command.program, *command.words): command.help
        for command in all_commands
    }
    # The words of commands. -f: do not offer files; -a: offer this word; -d:
    # show this help beside it.
    for words_before, next_words in _next_words(all_commands).items():
        condition = f'__{name}_before {" ".join(words_before)}'
        for word in next_words:
            # There is help only if the word is the last one of a command.
            help_text = help_by_words.get((*words_before, word), '')
            lines.append(
                f'complete -c {words_before[0]} -n "{condition}" -f '
                f'-a {word} -d {_quote(help_text)}'
            )
    # The positional arguments and the options of commands.
    for command in all_commands:
        before = ' '.join((command.program, *command.words))
        for choice in command.choices:
            lines.append(
                f'complete -c {command.program} -n '
                f'"__{name}_before {before}" -f -a {choice}'
            )
        for option in command.options:
            condition = f'__{name}_within {before}'
            lines.append(_fish_option(command, option, condition))
    return '\n'.join(lines) + '\n'


def _fish_option(command: CommandWords, option: str, condition: str) -> str:
    """Return the line of fish that completes an option of a command.

    For example, for ``--format``::

        complete -c ironic-inspection-rules -n "…" -l format -x -a 'table json'

    :param option: one of the options of the command, e.g. ``--format``.
    :param condition: a call of a function of the script, which returns whether
        the words before begin with the command.
    """
    # -s: a short option, -l: a long option.
    kind = '-s'
    if option.startswith('--'):
        kind = '-l'
    line = (
        f'complete -c {command.program} -n "{condition}" '
        f'{kind} {option.lstrip("-")}'
    )
    choices = command.options[option]
    if choices:
        # -x: the option needs a value that is not a file.
        line += f' -x -a {_quote(" ".join(choices))}'
    elif option in command.valued:
        # -r: the option needs a value, for which fish completes files.
        line += ' -r'
    return line


def _quote(text: str) -> str:
    """Return a text in single quotes for fish."""
    # Only backslashes and single quotes have a special meaning there.
    escaped = text.replace('\\', '\\\\').replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: dict[str, typing.Callable[[list[CommandWords]], str]] = {
    'bash': bash,
    'fish': fish,
    'zsh': zsh,
}


class Completion(arguments.FileCommand):
    """Print a script that completes all commands of this package in a shell.

    Those of the openstack client are among them where it is installed.
    """

    example = 'bash'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'shell',
            choices=sorted(SHELLS),
            help=_('The shell that reads the script'),
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.app.stdout.write(SHELLS[parsed_args.shell](load_commands()))

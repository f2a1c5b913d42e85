# SPDX-License-Identifier: Apache-2.0

"""Implement ``prove``: options, time limit, answers and exit codes.

The command asks a solver questions about all possible machines, e.g. ``dead``:
is there a rule that no machine can match? An answer concerns some rules, and
its verdict is ``yes``, ``no``, or ``unknown`` if the solver reaches its limit.
A witness is a machine that shows the answer, e.g. a machine on which two rules
conflict. It is written as an inventory and a node.
"""

import argparse
import collections
from collections.abc import Iterator
import contextlib
import gc
import importlib.util
import json
import pathlib
import typing

from ironic_inspection_rules.engine.language import (
    arguments as engine_arguments,  # noqa: H301
)
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_set import repository

if typing.TYPE_CHECKING:
    # This module needs z3-solver, which may be missing.
    from ironic_inspection_rules.kit.proof import question

EXIT_ERROR = 1
EXIT_YES = 2

USUAL = 'dead,shadowed,conflict'
"""The questions that are asked if a user asks none."""

_DEFAULT_SECONDS = 60.0


class Prove(arguments.FileCommand):
    """Answer questions about rules for all machines, not for some.

    Needs neither Ironic nor a database, but z3-solver. Returns 0 if no
    answer is yes, and 2 if one is. Returns 1 on an error: z3-solver is
    missing, a question is unknown, a rule is invalid, a file cannot be read,
    or a witness cannot be written.
    """

    example = 'rules.yaml --ask dead,shadowed'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the rule files, the questions about them and output options.

        The questions of ``--ask`` are:

        - ``dead``: which rules can no machine match?
        - ``shadowed``: which rules match but never have an effect?
        - ``conflict``: which two rules of one priority may write different
          values to one place?
        - ``gap:/resource_class``: is there a machine that has no resource
          class after the rules?

        ``--equivalent`` asks whether other rules treat some machine
        differently. It asks nothing else unless ``--ask`` is given.
        """
        arguments.add_files(parser)
        parser.add_argument(
            '--ask',
            metavar='<questions>',
            help=_(
                'What to ask, with commas between: dead, shadowed, '
                'conflict, gap:<path>; if not given: %s, or '
                'nothing beside --equivalent'
            )
            % USUAL,
        )
        parser.add_argument(
            '--equivalent',
            metavar='<file>',
            nargs='+',
            action='extend',
            default=[],
            help=_(
                'Other rules: ask whether they treat some machine differently'
            ),
        )
        parser.add_argument(
            '--time-limit',
            metavar='<seconds>',
            type=_parse_seconds,
            default=_DEFAULT_SECONDS,
            help=_('How long to look for answers, %d if not given')
            % _DEFAULT_SECONDS,
        )
        parser.add_argument(
            '--witness',
            metavar='<directory>',
            type=pathlib.Path,
            help=_('Where to write the machines that show an answer'),
        )
        parser.add_argument(
            '-f',
            '--format',
            choices=('table', 'json'),
            default='table',
            help=_('How to print the answers'),
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the answers to the questions.

        :returns: EXIT_YES if an answer is yes; 0 if every answer is no or
            unknown; EXIT_ERROR if the solver is not installed or a question is
            unknown.
        :raises: :class:`.exceptions.InvalidDocument` if a file cannot be read
            or has an invalid rule; OSError if a witness cannot be written. In
            both cases the shell exits with status 1.
        """
        if importlib.util.find_spec('z3') is None:
            self.app.stderr.write(
                _(
                    'prove needs z3-solver: pip install '
                    '"ironic-inspection-rules[prove]"\n'
                )
            )
            return EXIT_ERROR
        # This is not imported at the top, because it imports z3, which may be
        # missing.
        from ironic_inspection_rules.kit.proof import question

        asked = _choose_questions(parsed_args)
        try:
            questions = question.parse(asked)
        except ValueError as exc:
            self.app.stderr.write(f'{exc}\n')
            return EXIT_ERROR
        if parsed_args.equivalent:
            questions.append(question.DIFFERENT)
        write_warning = self.app.stderr.write
        rule_set = machine_test.load_rule_set(parsed_args.files, write_warning)
        # This set is empty without --equivalent.
        other_set = machine_test.load_rule_set(
            parsed_args.equivalent, write_warning
        )
        with _without_garbage_collector():
            # The proof expects rules in the order in which they run.
            proof = question.Proof(
                repository.order(rule_set.rules),
                parsed_args.time_limit,
                repository.order(other_set.rules),
                rule_set.tables,
                other_set.tables,
            )
            answers = list(proof.answers(questions))
        self._print_answers(answers, parsed_args)
        if any(answer.verdict == question.YES for answer in answers):
            return EXIT_YES
        return 0

    def _print_answers(
        self, answers: list[typing.Any], parsed_args: argparse.Namespace
    ) -> None:
        """Print answers, and write their witnesses to ``--witness``.

        A witness is a machine that shows the answer.

        :param answers: items are :class:`.question.Answer`.
        """
        rows = []
        for number, answer in enumerate(answers, 1):
            # The row has the paths of the files of the witness, so they are
            # written first.
            machine_path, node_path = _write_witness(
                number, answer, parsed_args.witness
            )
            rows.append(
                {
                    'question': answer.question,
                    'rules': [
                        machine_test.title(rule) for rule in answer.rules
                    ],
                    'verdict': answer.verdict,
                    'reason': answer.reason,
                    'witness': machine_path,
                    'node': node_path,
                }
            )
        if parsed_args.format == 'json':
            text = json.dumps({'answers': rows}, indent=2)
            self.app.stdout.write(f'{text}\n')
            return
        self._print_table(rows)
        have_witness = any(answer.witness for answer in answers)
        if have_witness and not parsed_args.witness:
            self.app.stdout.write(
                _(
                    'Name a folder with --witness to see machines that '
                    'show it.\n'
                )
            )

    def _print_table(self, rows: list[dict[str, typing.Any]]) -> None:
        """Print a table of answers, and a line that counts the verdicts.

        Answers with the verdict ``no`` are most frequent, so they are only
        counted.

        :param rows: the answers, e.g. ``{'question': 'dead', 'rules': ['Set
            rack'], 'verdict': 'yes', 'reason': '…', 'witness': None, …}``.
        """
        table_rows = []
        for row in rows:
            if row['verdict'] == 'no':
                continue
            table_rows.append(
                (
                    row['question'],
                    '\n'.join(row['rules']),
                    row['verdict'],
                    row['reason'],
                    row['witness'] or '',
                )
            )
        if table_rows:
            columns = (
                _('question'),
                _('rules'),
                _('answer'),
                _('reason'),
                _('witness'),
            )
            text = table.render(columns, table_rows, self.app.stdout)
            self.app.stdout.write(f'{text}\n')
        numbers = collections.Counter(row['verdict'] for row in rows)
        self.app.stdout.write(
            _('Answers: %(yes)d yes, %(no)d no, %(unknown)d unknown\n')
            % {
                'yes': numbers['yes'],
                'no': numbers['no'],
                'unknown': numbers['unknown'],
            }
        )


def _choose_questions(parsed_args: argparse.Namespace) -> str:
    """Return the questions to ask, e.g. ``dead,gap:/resource_class``.

    - With ``--ask``, these are its questions.
    - With ``--equivalent`` alone, there are none, because the user only wants
      to know whether two rule sets differ.
    - Otherwise, these are the default questions.
    """
    if parsed_args.ask is not None:
        asked: str = parsed_args.ask
        return asked
    if parsed_args.equivalent:
        return ''
    return USUAL


@contextlib.contextmanager
def _without_garbage_collector() -> Iterator[None]:
    """Disable Python's garbage collector, so that answers are reproducible.

    The collector frees formulas at times that depend on everything else in the
    process. The solver gives the number of a freed formula to the next
    formula, and sorts formulas by number. With the collector, the solver would
    take different steps each time, and might reach its limit.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _write_witness(
    number: int, answer: 'question.Answer', directory: pathlib.Path | None
) -> tuple[str | None, str | None]:
    """Write the machine that shows an answer, and return its two files.

    :param number: the number of the answer, starting at 1.
    :param directory: the directory for the files; None to write none.
    :returns: the path of the inventory and the path of the node. Both are None
        if nothing was written. The path of the node is also None if the
        answer holds for a new node, because ``test`` uses one by default.
    """
    if directory is None or answer.witness is None:
        return None, None
    # The files for "gap:/resource_class" are named e.g. 007-gap.
    kind = answer.question.partition(':')[0]
    return answer.witness.write(directory, f'{number:03d}-{kind}')


def _parse_seconds(text: str) -> float:
    """Parse a number of seconds of at least 0, e.g. ``60`` or ``0.5``.

    :raises: ArgumentTypeError if the text is not a number, or is negative.
    """
    with contextlib.suppress(ValueError):
        seconds = engine_arguments.read_number(text, float)
        if seconds >= 0:
            return float(seconds)
    raise argparse.ArgumentTypeError(_('"%s" is no number of seconds') % text)

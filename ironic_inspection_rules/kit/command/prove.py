# SPDX-License-Identifier: Apache-2.0

"""ironic-inspection-rules prove: questions about all possible machines."""

import argparse
import contextlib
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
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.rule_set import repository

EXIT_ERROR = 1
EXIT_YES = 2

USUAL = 'dead,shadowed,conflict'
_SECONDS = 60.0


class Prove(arguments.FileCommand):
    """Answer questions about rules for all machines, not for some.

    Needs neither Ironic nor a database, but z3-solver. Returns 0 if no
    answer is yes, 2 if one is, and 1 if a file cannot be read.
    """

    example = 'rules.yaml --ask dead,shadowed'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_files(parser)
        parser.add_argument(
            '--ask', metavar='<questions>',
            help=_('What to ask, with commas between: dead, shadowed, '
                   'conflict, gap:<path>; if not given: %s, or '
                   'nothing beside --equivalent') % USUAL)
        parser.add_argument(
            '--equivalent', metavar='<file>', nargs='+', action='extend',
            default=[],
            help=_('Other rules: ask whether they treat some machine '
                   'differently'))
        parser.add_argument(
            '--time-limit', metavar='<seconds>', type=_seconds,
            default=_SECONDS,
            help=_('How long to look for answers, %d if not given')
            % _SECONDS)
        parser.add_argument(
            '--witness', metavar='<directory>', type=pathlib.Path,
            help=_('Where to write the machines that show an answer'))
        parser.add_argument(
            '-f', '--format', choices=('table', 'json'), default='table',
            help=_('How to print the answers'))

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if importlib.util.find_spec('z3') is None:
            self.app.stderr.write(_(
                'prove needs z3-solver: pip install '
                '"ironic-inspection-rules[prove]"\n'))
            return EXIT_ERROR
        from ironic_inspection_rules.kit.proof import question

        asked = parsed_args.ask
        if asked is None and parsed_args.equivalent:
            asked = ''
        elif asked is None:
            asked = USUAL
        try:
            questions = question.parse(asked)
        except ValueError as exc:
            self.app.stderr.write(f'{exc}\n')
            return EXIT_ERROR
        # In the order in which they run.
        given, compared = (machine_test.load_rule_set(
            table_file.rule_files(paths), self.app.stderr.write)
            for paths in (parsed_args.files, parsed_args.equivalent))
        proof = question.Proof(
            repository.order(given.rules), parsed_args.time_limit,
            repository.order(compared.rules), given.tables, compared.tables)
        if parsed_args.equivalent:
            questions.append(question.EQUIVALENT)
        answers = list(proof.answers(questions))
        rows = []
        for number, answer in enumerate(answers, 1):
            written, node = None, None
            if parsed_args.witness is not None and answer.witness is not None:
                written, node = answer.witness.write(
                    parsed_args.witness,
                    f'{number:03d}-{answer.question.partition(":")[0]}')
            rows.append({
                'question': answer.question,
                'rules': list(map(machine_test.title, answer.rules)),
                'verdict': answer.verdict, 'reason': answer.reason,
                'witness': written, 'node': node})
        self._print(rows, parsed_args.format)
        if parsed_args.format == 'table' and not parsed_args.witness and any(
                answer.witness for answer in answers):
            self.app.stdout.write(_(
                'Name a folder with --witness to see machines that show '
                'it.\n'))
        if any(answer.verdict == question.YES for answer in answers):
            return EXIT_YES
        return 0

    def _print(self, rows: list[dict[str, typing.Any]], how: str) -> None:
        if how == 'json':
            self.app.stdout.write(json.dumps({'answers': rows}, indent=2)
                                  + '\n')
            return
        shown = [each for each in rows if each['verdict'] != 'no']
        if shown:
            self.app.stdout.write(table.render(
                (_('question'), _('rules'), _('answer'), _('reason'),
                 _('witness')),
                [(each['question'], '\n'.join(each['rules']),
                  each['verdict'], each['reason'], each['witness'] or '')
                 for each in shown], self.app.stdout) + '\n')
        count = {verdict: sum(each['verdict'] == verdict for each in rows)
                 for verdict in ('yes', 'no', 'unknown')}
        self.app.stdout.write(
            _('Answers: %(yes)d yes, %(no)d no, %(unknown)d unknown\n')
            % count)


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        seconds = engine_arguments.read_number(text, float)
        if seconds >= 0:
            return float(seconds)
    raise argparse.ArgumentTypeError(_('"%s" is no number of seconds') % text)

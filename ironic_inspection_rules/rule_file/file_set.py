# SPDX-License-Identifier: Apache-2.0

"""Files of rules as one list, which is posted to Ironic."""

import dataclasses
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule

_POSTED = re.compile(r'/rules/(?P<position>\d+): (?P<problem>.*)', re.DOTALL)
_BETWEEN = re.compile(r'; (?=/)')


@dataclasses.dataclass(frozen=True)
class RuleFiles:
    """Rules of several files as one list."""

    documents: tuple[document.Document, ...]

    @property
    def written(self) -> list[file_rule.WrittenRule]:
        """All rules, in order, each with its file."""
        return [each for source in self.documents
                for each in file_rule.rules(source)]

    @property
    def rules(self) -> list[typing.Any]:
        """All entries, in order."""
        return [each.entry for each in self.written]

    def explain(self, message: str) -> str:
        """Return where the rule is that Ironic refused.

        Ironic names it by its place in what was posted; its author knows it
        by file and line.

        :param message: Ironic's, about ``/rules/<number>``.
        :returns: a line for each problem, or the message itself where it
            names no rule.
        """
        written = self.written
        lines = []
        position = None
        for problem in _BETWEEN.split(message.strip()):
            match = (_POSTED.search if position is None
                     else _POSTED.match)(problem)
            if match:
                position, problem = int(match['position']), match['problem']
            if position is None or position >= len(written):
                return message
            rule = written[position]
            pointer, _colon, reason = problem.partition(': ')
            if not pointer.startswith('/'):
                pointer, reason = '', problem
            line, column = rule.place(pointer)
            found = file_rule.shown(exceptions.Problem(pointer, reason))
            lines.append(
                f'{rule.source.path}:{line}:{column}: {rule.label}: {found}')
        return '\n'.join(lines)


def load_all(paths: typing.Iterable[str]) -> RuleFiles:
    """Read files of rules, folders with such files and what is piped in.

    :raises: :class:`.exceptions.InvalidDocument` where one cannot be read,
        or something else stands where rules do.
    """
    return of_documents(map(document.load, document.files(paths)))


def of_documents(documents: typing.Iterable[document.Document]) -> RuleFiles:
    """Return files that have been read as one list; see :func:`load_all`."""
    files = RuleFiles(tuple(documents))
    for rule in files.written:
        if not isinstance(rule.entry, dict):
            raise exceptions.InvalidDocument(
                rule.source.path,
                f'{rule.label}: ' + _('a rule must be a mapping'),
                rule.place())
    return files

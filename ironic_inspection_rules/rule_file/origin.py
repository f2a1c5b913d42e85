# SPDX-License-Identifier: Apache-2.0

"""Rules of several files as one list, and which file each came from.

Ironic names a bad rule by its place in what was posted; its author knows it
by file and line.
"""

import dataclasses
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.rule_file import builtin
from ironic_inspection_rules.rule_file import document

_POSTED = re.compile(r'/rules/(?P<position>\d+): (?P<problem>.*)', re.DOTALL)
_BETWEEN = re.compile(r'; (?=/)')


@dataclasses.dataclass(frozen=True)
class RuleFiles:
    """Rules of some files.

    """

    documents: tuple[document.Document, ...]

    @property
    def origins(self) -> list[tuple[document.Document, int]]:
        """The file of each rule, and its number in there."""
        return [(source, index) for source in self.documents
                for index in range(len(source.entries))]

    @property
    def rules(self) -> list[typing.Any]:
        """All entries, in order."""
        return [source.entries[index] for source, index in self.origins]

    def explain(self, message: str) -> str:
        """Return where the rule is that Ironic refused.

        :param message: Ironic's, about ``/rules/<number>``.
        :returns: a line for each problem, or the message itself where it
            names no rule.
        """
        origins = self.origins
        lines = []
        position = None
        for problem in _BETWEEN.split(message.strip()):
            match = (_POSTED.search if position is None
                     else _POSTED.match)(problem)
            if match:
                position, problem = int(match['position']), match['problem']
            if position is None or position >= len(origins):
                return message
            source, index = origins[position]
            pointer, _colon, message = problem.partition(': ')
            if not pointer.startswith('/'):
                pointer, message = '', problem
            line, column = source.place(index, pointer)
            label = builtin.label(source.entries[index], index)
            told = builtin.told(exceptions.Problem(pointer, message))
            lines.append(f'{source.path}:{line}:{column}: {label}: {told}')
        return '\n'.join(lines)


def load(paths: typing.Iterable[str]) -> RuleFiles:
    """Read files of rules, folders with such files and what is piped in.

    :raises: :class:`.exceptions.InvalidDocument` where one cannot be read.
    """
    return RuleFiles(tuple(map(document.load, document.files(paths))))

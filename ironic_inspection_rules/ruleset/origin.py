# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Rules of several files as one list, and which file each came from.

Ironic names a bad rule by its place in what was posted; its author knows it
by file and line.
"""

import dataclasses
import re
import typing

from ironic_inspection_rules.ruleset import builtin
from ironic_inspection_rules.ruleset import document

_POSTED = re.compile(r'.*?/rules/(?P<position>\d+): (?P<problems>.*)',
                     re.DOTALL)
_BETWEEN = re.compile(r'; (?=/)')


@dataclasses.dataclass(frozen=True)
class RuleFiles:
    """What some files hold.

    ``origins`` has the file of each rule, and its number in there.
    """

    origins: tuple[tuple[document.Document, int], ...]

    @property
    def rules(self) -> list[typing.Any]:
        """All entries, in order."""
        return [source.entries[index] for source, index in self.origins]

    def explain(self, message: str) -> str:
        """Say where the rule is that Ironic refused.

        :param message: Ironic's, about ``/rules/<number>``.
        :returns: a line for each problem, or the message itself where it
            names no rule.
        """
        match = _POSTED.fullmatch(message.strip())
        if match is None or int(match['position']) >= len(self.origins):
            return message
        source, index = self.origins[int(match['position'])]
        label = builtin.label(source.entries[index], index)
        lines = []
        for problem in _BETWEEN.split(match['problems']):
            pointer = problem.partition(': ')[0]
            line, column = source.place(
                index, pointer if pointer.startswith('/') else '')
            lines.append(f'{source.path}:{line}:{column}: {label}: {problem}')
        return '\n'.join(lines)


def load(paths: typing.Iterable[str]) -> RuleFiles:
    """Read files of rules.

    :raises: :class:`.exceptions.InvalidDocument` where one cannot be read.
    """
    loaded = [document.load(path) for path in paths]
    return RuleFiles(tuple((source, index) for source in loaded
                           for index in range(len(source.entries))))

# SPDX-License-Identifier: Apache-2.0

"""Combines the rules of several files into one list."""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file


@dataclasses.dataclass(frozen=True)
class RuleFiles:
    """Holds the rules of several files, and their tables by name."""

    documents: tuple[document.Document, ...]
    tables: table_file.FileTables = table_file.NO_TABLES

    @property
    def written(self) -> list[file_rule.WrittenRule]:
        """All rules in order, together with their files."""
        written: list[file_rule.WrittenRule] = []
        for source in self.documents:
            written += file_rule.list_rules(source)
        return written

    @property
    def rules(self) -> list[typing.Any]:
        """The entries of all rules, in order."""
        return [rule.entry for rule in self.written]

    def format_problems(
        self, problems: typing.Iterable[exceptions.Problem]
    ) -> str:
        """Return the problems of a request as lines with the rules' files.

        Ironic refers to a rule by its position in the request, but authors
        need its file and line: ``rules.yaml:12:3: #2 (rack): action 1, …``.

        :param problems: the problems for which Ironic refused the request.
        :returns: one line per problem; an empty string if no problem is in a
            rule or a table.
        """
        rules_by_pointer = {
            f'/rules/{index}': rule for index, rule in enumerate(self.written)
        }
        lines = []
        is_any_of_file = False
        for problem in problems:
            line = self._format_problem(problem, rules_by_pointer)
            if line is None:
                # The problem concerns the whole request, e.g. its revision.
                lines.append(str(problem))
            else:
                is_any_of_file = True
                lines.append(line)
        if not is_any_of_file:
            return ''
        return '\n'.join(lines)

    def _format_problem(
        self,
        problem: exceptions.Problem,
        rules_by_pointer: typing.Mapping[str, file_rule.WrittenRule],
    ) -> str | None:
        """Return a problem of a request as a line that names its file.

        For example, ``rules.yaml:12:3: #2 (rack): action 1, path: …``.

        :param rules_by_pointer: the rules by their pointer in the request,
            e.g. ``/rules/3``.
        :returns: None if the problem is in no rule and no table.
        """
        # Split "/rules/3/actions/0" into the pointer to the rule, "/rules/3",
        # and the pointer inside it, "/actions/0".
        tokens = problem.pointer.split('/')
        pointer_of_rule = '/'.join(tokens[:3])
        inside = ''.join(f'/{token}' for token in tokens[3:])
        rule = rules_by_pointer.get(pointer_of_rule)
        if rule is None:
            return self.tables.format_problem(problem)
        # The problem as the author of the rule counts: "action 1".
        problem_in_rule = file_rule.count_from_one(problem.at(inside))
        line, column = rule.place(inside)
        position = f'{rule.source.path}:{line}:{column}'
        return f'{position}: {rule.label}: {problem_in_rule}'


def load_all(paths: typing.Iterable[str]) -> RuleFiles:
    """Read rule files, folders of rule files, and standard input.

    :raises: :class:`.exceptions.InvalidDocument` if a file cannot be read, a
        rule is not a mapping, or a table is invalid.
    """
    return of_documents(table_file.documents(paths))


def of_documents(documents: typing.Iterable[document.Document]) -> RuleFiles:
    """Combine the rules of documents into one list.

    This function also reads and checks the files to which the documents refer
    for the rows of their tables.

    :raises: :class:`.exceptions.InvalidDocument` if a file of rows cannot be
        read, a rule is not a mapping, or a table is invalid.
    """
    read = tuple(documents)
    files = RuleFiles(read, table_file.load(read))
    for rule in files.written:
        if not isinstance(rule.entry, dict):
            raise exceptions.InvalidDocument(
                rule.source.path,
                f'{rule.label}: ' + _('a rule must be a mapping'),
                rule.place(),
            )
    table_file.build(files.tables)
    return files

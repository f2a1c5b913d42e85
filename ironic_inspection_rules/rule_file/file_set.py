# SPDX-License-Identifier: Apache-2.0

"""Combines the rules of several files into one list.

The list is posted to Ironic as the request ``{"rules": [{...}, {...}]}``.
Ironic reports a problem in it at a pointer such as ``/rules/1/actions/0``,
which is translated to the file and the line of the rule.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file


@dataclasses.dataclass(frozen=True)
class RuleFiles:
    """Holds the rules and the tables of several files.

    :param documents: the contents of the files, in the order of the rules.
    :param tables: the tables of all files, by name.
    """

    documents: tuple[document.Document, ...]
    tables: table_file.FileTables = table_file.NO_TABLES

    @property
    def written(self) -> list[file_rule.WrittenRule]:
        """All rules as they are written, each with its file, in order."""
        rules_of_all_files: list[file_rule.WrittenRule] = []
        for source in self.documents:
            rules_of_all_files += file_rule.list_rules(source)
        return rules_of_all_files

    @property
    def rules(self) -> list[typing.Any]:
        """The plain data of all rules, as they are posted to Ironic."""
        return [rule.entry for rule in self.written]

    def format_problems(
        self, problems: typing.Iterable[exceptions.Problem]
    ) -> str:
        """Return the problems of a request as lines for its author.

        A problem in a rule or a table is printed with its file and line:
        ``rules.yaml:12:3: #2 (rack): action 1, …``. Any other problem, e.g.
        with the revision of the request, is printed as Ironic reports it.

        :param problems: the problems for which Ironic refused the request.
        :returns: one line per problem; an empty string if none of them is in a
            rule or a table.
        """
        rules_by_pointer = {
            f'/rules/{index}': rule for index, rule in enumerate(self.written)
        }
        lines = []
        has_line_with_file = False
        for problem in problems:
            line = self._format_problem(problem, rules_by_pointer)
            if line is None:
                # The problem is in no rule and no table.
                lines.append(str(problem))
            else:
                has_line_with_file = True
                lines.append(line)
        if not has_line_with_file:
            return ''
        return '\n'.join(lines)

    def _format_problem(
        self,
        problem: exceptions.Problem,
        rules_by_pointer: typing.Mapping[str, file_rule.WrittenRule],
    ) -> str | None:
        """Return a problem of a request as a line that names its file.

        For example, a problem at ``/rules/3/actions/0/args/path`` may become
        ``rules.yaml:12:3: #2 (rack): action 1, path: …``.

        :param rules_by_pointer: the rules by their pointer in the request,
            e.g. ``/rules/3``.
        :returns: None if the problem is in no rule and no table.
        """
        # Split "/rules/3/actions/0" into the pointer to the rule, "/rules/3",
        # and the pointer inside the rule, "/actions/0".
        tokens = problem.pointer.split('/')
        pointer_to_rule = '/'.join(tokens[:3])
        pointer_inside = ''.join(f'/{token}' for token in tokens[3:])
        rule = rules_by_pointer.get(pointer_to_rule)
        if rule is None:
            return self.tables.format_problem(problem)
        # Pointers count from zero, but authors count from one: "action 1".
        problem_in_rule = problem.at(pointer_inside)
        problem_for_author = file_rule.count_from_one(problem_in_rule)
        line, column = rule.place(pointer_inside)
        position = f'{rule.source.path}:{line}:{column}'
        return f'{position}: {rule.label}: {problem_for_author}'


def load_all(paths: typing.Iterable[str]) -> RuleFiles:
    """Read rule files, folders of rule files, and standard input.

    :raises: :class:`.exceptions.InvalidDocument` if a file cannot be read, a
        rule is not a mapping, or a table is invalid.
    """
    return of_documents(table_file.read_documents(paths))


def of_documents(documents: typing.Iterable[document.Document]) -> RuleFiles:
    """Combine rule files that have been read, and check their tables.

    A table may name another file with its rows, which is read here. Of the
    rules, only their type is checked.

    :raises: :class:`.exceptions.InvalidDocument` if a file of rows cannot be
        read, a rule is not a mapping, or a table is invalid.
    """
    documents = tuple(documents)
    # Read the tables, including the files with their rows.
    tables = table_file.load(documents)
    files = RuleFiles(documents, tables)
    for rule in files.written:
        if not isinstance(rule.entry, dict):
            raise exceptions.InvalidDocument(
                rule.source.path,
                f'{rule.label}: ' + _('a rule must be a mapping'),
                rule.place(),
            )
    # Building the tables checks them.
    table_file.build(tables)
    return files

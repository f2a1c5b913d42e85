# SPDX-License-Identifier: Apache-2.0

"""Files of rules as one list for Ironic, whose errors get file and line."""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file


@dataclasses.dataclass(frozen=True)
class RuleFiles:
    """Rules of several files as one list, and their tables by name."""

    documents: tuple[document.Document, ...]
    tables: table_file.FileTables = table_file.NO_TABLES

    @property
    def written(self) -> list[file_rule.WrittenRule]:
        """All rules, in order, each with its file."""
        written: list[file_rule.WrittenRule] = []
        for source in self.documents:
            written += file_rule.rules(source)
        return written

    @property
    def rules(self) -> list[typing.Any]:
        """All entries, in order."""
        return [rule.entry for rule in self.written]

    def explain(self, problems: typing.Iterable[exceptions.Problem]) -> str:
        """Return where the rules and tables are that Ironic refused.

        Ironic names one by its place in what was posted; its author knows it
        by file and line.

        :param problems: of the request that posted them.
        :returns: a line for each problem, nothing where none is of a rule or
            a table.
        """
        rules_by_pointer = {
            f'/rules/{index}': rule for index, rule in enumerate(self.written)
        }
        lines = []
        is_of_file = False
        for problem in problems:
            # Of "/rules/3/actions/0" these are "/rules/3" and "/actions/0".
            tokens = problem.pointer.split('/')
            pointer_of_rule = '/'.join(tokens[:3])
            inside = ''.join(f'/{token}' for token in tokens[3:])
            rule = rules_by_pointer.get(pointer_of_rule)
            if rule is not None:
                line: str | None = _explain(rule, problem.at(inside))
            else:
                line = self.tables.format_problem(problem)
            if line is not None:
                is_of_file = True
            lines.append(line or str(problem))
        if not is_of_file:
            return ''
        return '\n'.join(lines)


def _explain(rule: file_rule.WrittenRule, problem: exceptions.Problem) -> str:
    """Return a problem of a rule as text that begins with file and line.

    :param problem: at a pointer into the rule.
    """
    line, column = rule.place(problem.pointer)
    return (
        f'{rule.source.path}:{line}:{column}: {rule.label}: '
        f'{file_rule.counted_from_one(problem)}'
    )


def load_all(paths: typing.Iterable[str]) -> RuleFiles:
    """Read files of rules, folders with such files and what is piped in.

    :raises: :class:`.exceptions.InvalidDocument` where one cannot be read,
        something else stands where rules do, or a table is invalid.
    """
    return of_documents(table_file.documents(paths))


def of_documents(documents: typing.Iterable[document.Document]) -> RuleFiles:
    """Return files that have been read as one list; see :func:`load_all`.

    The files with rows of tables are read here, and checked.

    :raises: :class:`.exceptions.InvalidDocument` if one of these cannot be
        read, a rule is no mapping, or a table is not valid.
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

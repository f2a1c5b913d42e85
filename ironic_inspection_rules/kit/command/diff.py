# SPDX-License-Identifier: Apache-2.0

"""Implement ``diff``: options, output formats and exit codes.

The command compares old rules with new rules. It also tries both on machines,
if inventories are given. A machine is treated differently if the results of
the two sets of rules differ, e.g. if its inspection fails only with the new
rules. Machines with the same differences are shown as one group.
"""

import argparse
import json
import os
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.report import diff_text
from ironic_inspection_rules.kit.report.pages import diff as diff_page
from ironic_inspection_rules.kit.terminal import progress
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import machine_diff
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.kit.trial import rule_diff
from ironic_inspection_rules.rule_file import yaml_text

EXIT_ERROR = 1
EXIT_DIFFERENT = 2


class Diff(arguments.FileCommand):
    """Show what a change of rules changes: the rules, and machines.

    Needs neither Ironic nor a database. Returns 0 when nothing changes, 2
    when something does, and 1 where a file cannot be read. Rules that are
    renamed, or written differently with the same meaning, are no change.
    """

    example = 'old-rules.yaml rules.yaml --inventory machines'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the old and the new rules, machines and output options."""
        parser.add_argument(
            'old',
            metavar='<old>',
            help=_(
                'YAML or JSON file with the rules as they were, a folder '
                'with such files, or - for what is piped in'
            ),
        )
        parser.add_argument(
            'new',
            metavar='<new>',
            help=_('File, folder or - with the rules as they are to be'),
        )
        arguments.add_inventories(
            parser,
            _(
                'File with the inventory of a machine that both are '
                'tried on, or a directory with such files'
            ),
        )
        arguments.add_node(parser)
        parser.add_argument(
            '--html',
            metavar='<file>',
            type=arguments.check_new_file,
            help=_('Write a page for a browser'),
        )
        parser.add_argument(
            '-f',
            '--format',
            choices=('table', 'json', 'yaml', 'markdown'),
            default='table',
            help=_(
                'How to print what changes; markdown for '
                'comments on a change of the rules'
            ),
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the changes of rules, tables and machines.

        :returns: EXIT_ERROR if a machine cannot be read; EXIT_DIFFERENT if a
            rule does something different, a table changes, or a machine is
            treated differently; otherwise 0.
        """
        write_warning = self.app.stderr.write
        old = rule_diff.ComparedRules.load([parsed_args.old], write_warning)
        new = rule_diff.ComparedRules.load([parsed_args.new], write_warning)
        # The new rules get the UUIDs of the old rules that they replace.
        changes, new_rules = rule_diff.compare(old, new)
        old_set = machine_test.RuleSet(list(old.rules), old.tables)
        new_set = machine_test.RuleSet(new_rules, new.tables)
        paths = machine_test.find_inventories(parsed_args.inventory)
        differences = _Differences(changes, rule_diff.compare_tables(old, new))
        machines_of_page = []
        with progress.show_machine_bar(len(paths)) as advance:
            comparisons = machine_diff.compare(
                old_set,
                new_set,
                machine_test.Nodes(parsed_args.node),
                paths,
                advance,
            )
            # A machine is tried when it is taken from the iterator.
            for comparison in comparisons:
                differences.add(comparison)
                if parsed_args.html:
                    machines_of_page.append(_describe_machine(comparison))
            if parsed_args.html:
                page = _render_page(old, new, differences, machines_of_page)
                arguments.write(parsed_args.html, page, self.app.stdout)
        # "--html -" writes the page to standard output. The other format is
        # discarded then.
        output = arguments.choose_output(parsed_args.html, self.app.stdout)
        differences.write(parsed_args.format, output)
        for problem in differences.problems:
            self.app.stderr.write(f'{problem}\n')
        return _exit_code(differences)


def _describe_machine(
    comparison: machine_diff.MachineComparison,
) -> dict[str, typing.Any]:
    """Return the data of a machine that the HTML page shows.

    For example, ``{'name': 'machines/a.json', 'differs': True, 'old': 'ok',
    'new': 'failed', 'lines': ('-ok', '+failed')}``.

    :param comparison: how the old and the new rules treat the machine.
    """
    lines = comparison.lines
    if comparison.problem is not None:
        # The machine cannot be read, so the reason replaces the diff.
        lines = (comparison.problem,)
    return {
        'name': os.path.relpath(comparison.path),
        'differs': comparison.differs,
        'old': comparison.old,
        'new': comparison.new,
        'lines': lines,
    }


class _Differences:
    """All differences of rules, tables and machines.

    :ivar changes: the changes of rules.
    :ivar tables: the changes of tables, as :meth:`.table_change.Step.as_dict`
        returns them.
    :ivar count: the number of machines that have been tried.
    :ivar problems: the reasons why files of machines cannot be read.
    :ivar machines: the machines that the old and the new rules treat
        differently. A key has both results and the differences. Its value has
        the paths of all machines to which they apply.
    """

    def __init__(
        self,
        changes: list[rule_diff.RuleChange],
        tables: list[dict[str, typing.Any]],
    ) -> None:
        self.changes = changes
        self.tables = tables
        self.count = 0
        self.problems: list[str] = []
        self.machines: dict[machine_diff.ComparisonResult, list[str]] = {}

    def add(self, comparison: machine_diff.MachineComparison) -> None:
        """Count a machine; if it differs, group it with those that do alike.

        Machines with equal results and differences are reported together.
        """
        self.count += 1
        if comparison.problem is not None:
            self.problems.append(comparison.problem)
        if comparison.differs:
            paths = self.machines.setdefault(comparison.result, [])
            paths.append(comparison.path)

    def write(self, output_format: str, output: typing.TextIO) -> None:
        """Write all differences, after all machines have been added.

        :param output_format: ``table``, ``json``, ``yaml`` or ``markdown``.
        """
        if output_format == 'json':
            output.write(json.dumps(self.as_dict(), indent=2) + '\n')
        elif output_format == 'yaml':
            output.write(yaml_text.dump(self.as_dict()))
        elif output_format == 'markdown':
            output.write(
                diff_text.as_markdown(
                    self.changes,
                    groups=self.machines,
                    count=self.count,
                    tables=self.tables,
                )
            )
        else:
            lines = diff_text.terminal_lines(
                self.changes,
                groups=self.machines,
                count=self.count,
                tables=self.tables,
            )
            table.print_diff(lines, output)

    def as_dict(self) -> dict[str, typing.Any]:
        """Return all differences as plain JSON data.

        For example::

            {
                'rules': [{'title': 'Set rack', 'change': 'changed', …}],
                'machines': [
                    {
                        'inventories': ['machines/a.json', …],
                        'old': 'ok',
                        'new': 'failed',
                        'lines': […],
                    }
                ],
                'inventories': 40,  # machines that were tried
                'tables': […],  # only if a table changes
                'different': 3,  # machines that are treated differently
                'problems': [],
            }
        """
        machines = []
        for (old, new, lines), paths in self.machines.items():
            machines.append(
                {
                    'inventories': paths,
                    'old': old,
                    'new': new,
                    'lines': list(lines),
                }
            )
        plain: dict[str, typing.Any] = {
            'rules': [change.as_dict() for change in self.changes],
            'machines': machines,
            'inventories': self.count,
        }
        if self.tables:
            plain['tables'] = self.tables
        plain['different'] = sum(map(len, self.machines.values()))
        plain['problems'] = self.problems
        return plain


def _exit_code(differences: _Differences) -> int:
    """Return the exit code of the command.

    - EXIT_ERROR if the file of a machine cannot be read;
    - EXIT_DIFFERENT if a rule or a table differs, or if a machine is treated
      differently;
    - otherwise 0.
    """
    if differences.problems:
        return EXIT_ERROR
    # A rule that is only renamed does the same, so it does not differ.
    is_rule_different = any(change.differs for change in differences.changes)
    if is_rule_different or differences.tables or differences.machines:
        return EXIT_DIFFERENT
    return 0


def _render_page(
    old: rule_diff.ComparedRules,
    new: rule_diff.ComparedRules,
    differences: _Differences,
    machines: list[dict[str, typing.Any]],
) -> str:
    """Return all differences as an HTML page.

    :param machines: the machines that the page shows, see
        :func:`_describe_machine`.
    """
    rules = [change.as_dict() for change in differences.changes]
    rules += diff_text.rules_of_tables(differences.tables)
    return diff_page.render(
        {
            'old': old.paths,
            'new': new.paths,
            'rules': rules,
            'machines': machines,
        }
    )

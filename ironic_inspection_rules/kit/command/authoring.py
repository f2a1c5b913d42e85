# SPDX-License-Identifier: Apache-2.0

"""Implement ``lint``, ``convert`` and ``schema``: options and output.

``lint`` checks files of rules and prints findings. A finding is a mistake at
one place of a file; its level is error, warning or note. ``--fix`` first
corrects mistakes that have only one possible correction.

``convert`` writes the rules of ironic-inspector or stock Ironic in the
language of this package. A loss is something that cannot be converted, or
that may behave differently.

``schema`` prints the JSON Schema by which editors check and complete rules.
"""

import argparse
import collections
import dataclasses
import json
import re
import typing

from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring import mended_file
from ironic_inspection_rules.kit.authoring import schema
from ironic_inspection_rules.kit.authoring.conversion import converted_file
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.kit.report import sarif
from ironic_inspection_rules.kit.terminal import progress
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import table_file


class Lint(arguments.FileCommand):
    """Look for mistakes in files of rules.

    Needs neither Ironic nor a database. Returns 1 if it finds an error or a
    warning; notes do not count.
    """

    example = 'rules.yaml'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options: format, checks, inventories, target, --fix."""
        arguments.add_files(parser)
        parser.add_argument(
            '-f',
            '--format',
            choices=sorted(_PRINTERS),
            default='table',
            help=_('How to print what was found'),
        )
        checks = sorted(lint.OPTIONAL)
        # Sphinx shows help texts unchanged, without the placeholders of
        # argparse.
        parser.add_argument(
            '--ignore',
            metavar='<check>',
            action='append',
            default=[],
            choices=checks,
            help=_('A check to leave out; may be repeated: %s')
            % ', '.join(checks),
        )
        arguments.add_inventories(
            parser,
            _(
                'File with an inventory, or a directory with such '
                'files: find rules that none of these machines meets'
            ),
        )
        parser.add_argument(
            '--interface',
            choices=inventory_fields.INTERFACES,
            help=_(
                'The inspect interface of the machines; without it, a '
                'field that any interface reports is accepted'
            ),
        )
        parser.add_argument(
            '--ironic',
            metavar='<release>',
            type=_parse_release,
            help=_(
                'The release of Ironic, such as 38; without it, a field '
                'that any release reports is accepted'
            ),
        )
        parser.add_argument(
            '--fix',
            action='store_true',
            help=_(
                'Mend in place what has exactly one right mending, and '
                'look for what is left; the rest of the files stays as '
                'it is'
            ),
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the findings. With ``--fix``, first correct the files.

        :returns: the exit status: 1 if a finding is an error or a warning,
            otherwise 0.
        """
        if parsed_args.fix:
            self._correct_files(parsed_args.files, parsed_args.format)
        # After corrections, these are the remaining findings.
        findings = _run_checks(parsed_args)
        format_findings = _PRINTERS[parsed_args.format]
        text = format_findings(findings)
        if text:
            self.app.stdout.write(f'{text}\n')
        if any(finding.is_problem for finding in findings):
            return 1
        return 0

    def _correct_files(self, paths: list[str], findings_format: str) -> None:
        """Correct files in place, and print a line for each correction.

        :param paths: files and folders.
        :param findings_format: the format of the findings: ``table``, ``json``
            or ``sarif``. Corrections are only printed with a table, because
            programs that read the other formats would not expect them.
        """
        # Standard input cannot be corrected. It must not be read here either,
        # because the checks could not read it again.
        files = table_file.read_files(
            path for path in paths if path != document.STDIN
        )
        # A file may occur twice, e.g. in a folder and by itself.
        distinct_paths = dict.fromkeys(file.path for file in files)
        for path in distinct_paths:
            # This writes the file if anything is corrected.
            mendings = mended_file.mend(path, registry.installed())
            if findings_format != 'table':
                continue
            # Sorted by line.
            for mending in sorted(mendings):
                self.app.stdout.write(
                    _('%(path)s:%(line)d: mended: %(what)s\n')
                    % mending._asdict()
                )


def _run_checks(parsed_args: argparse.Namespace) -> list[lint.Finding]:
    """Run all checks, and return the findings of checks that are not ignored.

    If inventories are given, rules are tried on them too, while a progress bar
    is shown.

    :param parsed_args: the options of :class:`Lint`.
    """
    inventories = machine_test.find_inventories(parsed_args.inventory)
    # Which fields an inventory has depends on the inspect interface and on the
    # release of Ironic.
    target = inventory_fields.InspectionTarget(
        parsed_args.interface, parsed_args.ironic
    )
    with progress.show_machine_bar(
        len(inventories), hidden=not inventories
    ) as advance:
        # The site is where the rules will run, as far as the options say.
        site = lint.Site(target, inventories, advance)
        findings = lint.lint(parsed_args.files, registry.installed(), site)
    return [
        finding
        for finding in findings
        if finding.check not in parsed_args.ignore
    ]


def _parse_release(text: str) -> str:
    """Parse a release of Ironic, e.g. ``38`` or ``38.0.1``."""
    if not re.fullmatch(r'[0-9]+(\.[0-9]+){0,2}', text):
        raise argparse.ArgumentTypeError(
            _('"%s" is no release of Ironic') % text
        )
    return text


def _as_table(findings: typing.Sequence[lint.Finding]) -> str:
    """Return a table of findings, followed by a line that counts them.

    The line is e.g. ``1 error, 2 warnings, 0 notes; files: 1``, where only
    files with findings are counted. Without findings, the text is empty.
    """
    if not findings:
        return ''
    rows = []
    for finding in findings:
        place = f'{finding.path}:{finding.line}:{finding.column}'
        rows.append(
            [
                place,
                finding.level,
                finding.rule or '',
                finding.message,
                finding.check,
            ]
        )
    text = table.render(
        [_('Place'), _('Level'), _('Rule'), _('Problem'), _('Check')], rows
    )
    numbers = collections.Counter(finding.level for finding in findings)
    errors = numbers[lint.ERROR]
    warnings = numbers[lint.WARNING]
    notes = numbers[lint.NOTE]
    counted = ', '.join(
        (
            _P('%d error', '%d errors', errors) % errors,
            _P('%d warning', '%d warnings', warnings) % warnings,
            _P('%d note', '%d notes', notes) % notes,
        )
    )
    files = {finding.path for finding in findings}
    return f'{text}\n' + _('%(counted)s; files: %(files)d') % {
        'counted': counted,
        'files': len(files),
    }


def _as_json(findings: typing.Sequence[lint.Finding]) -> str:
    """Return findings as JSON: a list of objects with all their fields."""
    plain = [dataclasses.asdict(finding) for finding in findings]
    return json.dumps(plain, indent=2)


def _as_sarif(findings: typing.Sequence[lint.Finding]) -> str:
    """Return findings as a SARIF log, for tools that review code."""
    return json.dumps(sarif.build_log(findings), indent=2)


_PRINTERS: dict[str, typing.Callable[[typing.Sequence[lint.Finding]], str]] = {
    'json': _as_json,
    'sarif': _as_sarif,
    'table': _as_table,
}


class Convert(arguments.FileCommand):
    """Write rules of ironic-inspector or stock Ironic as rules for here.

    They are written as YAML, and do what they did there. Lists what cannot
    be carried over, or comes out differently. Returns 1 if there is anything,
    if a file cannot be read, or if the new one cannot be written; 0 otherwise.
    """

    example = 'inspector-rules.json -o new-rules.yaml'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_files(parser)
        parser.add_argument(
            '--from',
            dest='language',
            choices=('inspector', 'ironic'),
            default='inspector',
            help=_(
                'whose rules they are; those of ironic-inspector are '
                'known by their form'
            ),
        )
        arguments.add_output(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Write the converted rules, and report losses on standard error.

        :returns: the exit status: 1 if anything is lost or may behave
            differently, otherwise 0.
        :raises: :class:`.exceptions.InvalidDocument` if a file cannot be read;
            OSError if a file cannot be written. In both cases the shell exits
            with status 1.
        """
        # Rules of ironic-inspector are recognized by their form, so only rules
        # of stock Ironic need the option --from.
        is_stock = parsed_args.language == 'ironic'
        texts = []
        losses = []
        for rule_file in table_file.read_documents(parsed_args.files):
            if not rule_file.entries and not rule_file.tables:
                self.app.stderr.write(
                    _('%s: warning: the file holds no rules\n')
                    % rule_file.path
                )
            converted = converted_file.convert(
                rule_file, registry.installed(), is_stock
            )
            texts.append(converted.text)
            losses += converted.lost
        arguments.write(parsed_args.output, '\n'.join(texts), self.app.stdout)
        for loss in losses:
            self.app.stderr.write(
                f'{loss.path}:{loss.line}:{loss.column}: {loss.rule}: '
                f'{loss.message}\n'
            )
        if losses:
            return 1
        return 0


class Schema(arguments.FileCommand):
    """Print a JSON Schema of files of rules, for editors.

    It has the ops of all packages that are installed here, and needs neither
    Ironic nor a database.
    """

    example = '--built-in'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'files',
            metavar='<file>',
            nargs='*',
            help=_(
                'File of rules with tables, or a folder with such files: '
                'editors then complete the names of their columns'
            ),
        )
        parser.add_argument(
            '--built-in',
            action='store_true',
            help=_(
                'Of files with built-in rules, which may have names for '
                'UUIDs and any priority'
            ),
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Print the JSON Schema.

        If files with tables are given, it also has the names of their columns.
        """
        files = file_set.load_all(parsed_args.files)
        tables = table_file.build(files.tables)
        json_schema = schema.schema(
            registry.installed(), parsed_args.built_in, tables
        )
        self.app.stdout.write(json.dumps(json_schema, indent=1) + '\n')
        return 0

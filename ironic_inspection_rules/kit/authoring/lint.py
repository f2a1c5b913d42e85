# SPDX-License-Identifier: Apache-2.0

"""Run the checks of ``lint``, and sort and deduplicate their findings.

This module also defines the names and levels of the checks. A check yields
mistakes, which have a place in a rule, e.g. ``/actions/0/args/path``, and a
message. This module makes a finding of each mistake, with the place in the
file.

Rules are checked one by one and then as a set, because a rule may depend on
other rules. A rule that validation refuses is checked alone, as far as it can
be read. Rules of ironic-inspector are in an older language, and only some
checks apply to them.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_check
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import certainty
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import conflicts
from ironic_inspection_rules.kit.authoring.checks import declared
from ironic_inspection_rules.kit.authoring.checks import failing
from ironic_inspection_rules.kit.authoring.checks import inventory
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.checks import node_values
from ironic_inspection_rules.kit.authoring.checks import overwritten
from ironic_inspection_rules.kit.authoring.checks import scalars
from ironic_inspection_rules.kit.authoring.checks import secrets
from ironic_inspection_rules.kit.authoring.checks import shape
from ironic_inspection_rules.kit.authoring.checks import tables
from ironic_inspection_rules.kit.authoring.checks import traits
from ironic_inspection_rules.kit.authoring.checks import unreached
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file

ERROR = 'error'
WARNING = 'warning'
NOTE = 'note'


@dataclasses.dataclass(frozen=True)
class Finding:
    """A problem in a file that its author should look at.

    :ivar path: the path of the file.
    :ivar line: the number of the line, starting at 1.
    :ivar column: the number of the column, starting at 1.
    :ivar level: ``error`` if the rule cannot be used, ``warning`` if it can be
        used but probably does not do what it should, ``note`` if it is fine as
        long as the author is aware of it.
    :ivar check: the name of the check that found the problem.
    :ivar rule: the label of the rule; None if the problem concerns the whole
        file.
    :ivar message: what is wrong.
    """

    path: str
    line: int
    column: int
    level: str
    check: str
    rule: str | None
    message: str

    @property
    def is_problem(self) -> bool:
        """Whether the author should change something."""
        return self.level != NOTE


ALL_TRAITS = 'all-traits'
BUILT_IN_ONLY = 'built-in-only'
CONFLICT = 'conflict'
DUPLICATE = 'duplicate-uuid'
FILE = 'file'
INVALID = 'invalid'
MASKED_VALUE = 'masked-value'
NEEDS = 'needs'
NO_FIELD = 'no-field'
INSPECTOR_RULE = 'inspector-rule'
PLAIN_SCALAR = 'plain-scalar'
PLUGIN = 'plugin'
READABLE_SECRET = 'readable-secret'
STOCK = 'stock-rule'
TABLE = 'table'
TABLE_VALUE = 'table-value'
TOO_EARLY = 'too-early'
UNKNOWN_TABLE = 'unknown-table'
UNMATCHED = 'unmatched-rule'
UNREACHABLE = 'unreachable-rule'
UNREPORTED = 'unreported-field'
UNUSED = 'unused-table'

_NOTES = frozenset((ALL_TRAITS, NEEDS, INSPECTOR_RULE))
"""Checks whose findings are notes, because the author may be aware of what
they say."""

_ALSO_OF_REFUSED = frozenset((PLAIN_SCALAR, STOCK, NO_FIELD))
"""Checks that add information about an argument for which a rule is
refused."""

_NOT_OF_INSPECTOR = frozenset(
    ('list-arguments', NO_FIELD, 'only-fails', 'overwritten', 'secret')
)
"""Checks that skip rules of ironic-inspector. These rules have no lists of
arguments, no loops and no mark for sensitive rules, and are converted before
anybody improves them."""


class _Check(typing.NamedTuple):
    """A check: a description of the mistake, and the function that finds it.

    :ivar description: what is wrong, as a sentence.
    :ivar find: finds the mistakes of one rule; None if they cannot be found by
        a function of one valid rule. Then another function of this module
        finds them, e.g. by comparing rules.
    """

    description: str
    find: (
        typing.Callable[[checked_rule.CheckedRule], checked_rule.Mistakes]
        | None
    ) = None


_CHECKS = {
    FILE: _Check(_('The file cannot be read.')),
    INVALID: _Check(_('The rule would be refused.')),
    DUPLICATE: _Check(_('Two rules have the same UUID.')),
    PLUGIN: _Check(
        _('The code of a plugin fails when it is asked about a rule.'),
        declared.check,
    ),
    BUILT_IN_ONLY: _Check(_('Only a built-in rule may have this.')),
    'unknown-field': _Check(
        _('A replacement field can never exist.'), names.check
    ),
    UNREPORTED: _Check(_('No inspection reports a replacement field.')),
    NEEDS: _Check(_('Not every inspection reports a replacement field.')),
    'unused-value': _Check(
        _('Nothing uses a value of the rule.'), names.check_vars
    ),
    'jinja': _Check(
        _('A variable of a template engine was not replaced.'),
        names.check_jinja,
    ),
    'never-holds': _Check(
        _('No machine can meet the condition.'), certainty.check_never
    ),
    'always-holds': _Check(
        _('All machines meet the condition.'), certainty.check_always
    ),
    'only-fails': _Check(
        _('A part of the rule can only end in an error.'), failing.check
    ),
    'neighbours': _Check(
        _('Values are not compared with all others.'),
        certainty.check_neighbours,
    ),
    'unreachable-action': _Check(
        _('An earlier action fails the inspection.'), unreached.check_actions
    ),
    UNREACHABLE: _Check(_('An earlier rule fails the inspection.')),
    'secret': _Check(
        _('A secret is in a rule that is not marked sensitive.'),
        secrets.check_written,
    ),
    READABLE_SECRET: _Check(
        _('A sensitive rule writes a value of its own where others read it.'),
        secrets.check_readable,
    ),
    MASKED_VALUE: _Check(
        _('An action writes a secret, which rules do not see.'),
        secrets.check_masked,
    ),
    'unit': _Check(
        _('A quantity with a unit compares as text.'), shape.check_units
    ),
    'capability-path': _Check(
        _('A path leads into the text of the capabilities.'),
        node_values.check_capabilities,
    ),
    'root-device': _Check(
        _('A hint at the root device is not stable.'),
        node_values.check_root_device,
    ),
    ALL_TRAITS: _Check(
        _('An action takes away all other traits.'),
        node_values.check_all_traits,
    ),
    'other-unit': _Check(
        _('A quantity is written to a field of another unit.'),
        node_values.check_units,
    ),
    'resource-class': _Check(
        _('A resource class has the prefix of Nova.'),
        node_values.check_resource_class,
    ),
    'invalid-trait': _Check(
        _('No trait can have this name.'), traits.check_traits
    ),
    'list-arguments': _Check(
        _('Arguments have no names, which Ironic deprecates.'),
        shape.check_arguments,
    ),
    'node-name': _Check(
        _('A name is nearly one that Ironic knows.'), names.check_node
    ),
    'value': _Check(
        _('A field never has the value it is compared with.'), values.check
    ),
    'no-effect': _Check(_('A part of the rule does nothing.'), shape.check),
    'overwritten': _Check(
        _('A later action of the rule undoes one.'), overwritten.check
    ),
    NO_FIELD: _Check(
        _('Text was perhaps to be a replacement field.'), shape.check_fields
    ),
    PLAIN_SCALAR: _Check(
        _('YAML reads something else than is written.'), scalars.check
    ),
    'missing': _Check(
        _('An action uses what the conditions say is missing.'),
        inventory.check_missing,
    ),
    'trait-of-text': _Check(
        _('A trait is named after text of any form.'), traits.check_texts
    ),
    'one-port': _Check(
        _('A rule for all machines needs the port of one.'), traits.check_ports
    ),
    TOO_EARLY: _Check(_('A rule reads what only a later one writes.')),
    CONFLICT: _Check(
        _('Two rules write one place, and only their order decides.')
    ),
    TABLE: _Check(_('A table would be refused.')),
    UNKNOWN_TABLE: _Check(
        _('A rule reads a table or a column that is not there.')
    ),
    UNUSED: _Check(_('Nothing reads a table or a column.')),
    TABLE_VALUE: _Check(_('No row has what a column is compared with.')),
    UNMATCHED: _Check(_('The rule matches none of the inventories.')),
    STOCK: _Check(_("The rule was written for stock Ironic's own engine.")),
    INSPECTOR_RULE: _Check(
        _('The rule is in the language of ironic-inspector.')
    ),
}
"""All checks by name. Findings have the name of their check."""

_CHECKS_OF_RULE_SETS: dict[
    str,
    typing.Callable[
        [typing.Sequence[checked_rule.CheckedRule]],
        checked_rule.MistakesOfRules,
    ],
] = {
    UNREACHABLE: unreached.check_rules,
    CONFLICT: conflicts.check,
    TOO_EARLY: inventory.check_order,
}
"""Functions that find mistakes in the set of all valid rules, by the name of
the check."""

DESCRIPTIONS = {name: check.description for name, check in _CHECKS.items()}

OPTIONAL = frozenset(_CHECKS) - {FILE, INVALID, DUPLICATE, TABLE}
"""The checks that an author may disable."""


def _ignore_progress(count: int) -> None:
    """Ignore the number of machines that were tried.

    This is the default of :attr:`Site.advance`, for callers that do not show
    progress.
    """


@dataclasses.dataclass(frozen=True)
class Site:
    """What is known about the site where the rules will run.

    :ivar target: how machines are inspected, which decides what data they
        report.
    :ivar inventories: paths of files with the inventories of machines.
    :ivar advance: called with the number of machines that have been tried
        since the last call.
    """

    target: inventory_fields.InspectionTarget = inventory_fields.ANY
    inventories: typing.Sequence[str] = ()
    advance: typing.Callable[[int], typing.Any] = _ignore_progress


ANYWHERE = Site()


def lint(
    paths: typing.Iterable[str], ops: registry.Registry, site: Site = ANYWHERE
) -> list[Finding]:
    """Check the rules in files and folders.

    The rules of all files are checked as one set, because a rule may make a
    rule of another file unreachable.

    :raises: :class:`.exceptions.InvalidDocument` if a folder has no rule
        files.
    """
    findings: list[Finding] = []
    documents = []
    for read_file in table_file.read_files(paths):
        try:
            documents.append(read_file.document)
        except exceptions.InvalidDocument as exc:
            line, column = exc.place or (1, 1)
            findings.append(
                Finding(
                    path=read_file.path,
                    line=line,
                    column=column,
                    level=ERROR,
                    check=FILE,
                    rule=None,
                    message=exc.reason,
                )
            )
    return sort_findings([*findings, *lint_documents(documents, ops, site)])


def sort_findings(findings: typing.Iterable[Finding]) -> list[Finding]:
    """Return findings without repetitions, sorted by path and place."""
    return sorted(dict.fromkeys(findings), key=_place)


def _place(finding: Finding) -> tuple[str, int, int]:
    """Return the path, the line and the column of a finding."""
    return finding.path, finding.line, finding.column


def lint_documents(
    documents: typing.Iterable[document.Document],
    ops: registry.Registry,
    site: Site = ANYWHERE,
    given_tables: table_file.FileTables | None = None,
) -> typing.Iterator[Finding]:
    """Check the rules and tables of files that have been read already.

    See :func:`lint`, which reads the files as well. The files, the rules one
    by one, the tables, and the set of all valid rules are checked in this
    order.

    :param given_tables: the tables of these files; None to read them.
    :returns: findings in no particular order and possibly repeated; see
        :func:`sort_findings`.
    """
    documents = list(documents)
    valid: list[checked_rule.CheckedRule] = []
    refused: list[checked_rule.CheckedRule] = []
    for rules_file in documents:
        written_rules = file_rule.list_rules(rules_file)
        yield from _check_file(rules_file, written_rules)
        for written in written_rules:
            rule = checked_rule.build(written, ops)
            for problem in rule.problems:
                yield _make_finding(written, problem, INVALID, level=ERROR)
            if not rule.problems:
                valid.append(rule)
            elif isinstance(written.entry, dict):
                # The rule is refused, but its valid parts can still be
                # checked.
                refused.append(rule)
    rules = [*valid, *refused]
    # The names in plugin data that any rule writes. Refused rules count as
    # well, because another rule may read the data that they are meant to
    # write.
    names: set[str] = set()
    for rule in rules:
        names.update(effects.names_of_plugin_data(rule.actions))
    written_names = frozenset(names)
    for rule in rules:
        findings = _check_rule(rule, written_names, site.target)
        yield from _without_refused(rule, findings)
    file_tables, table_findings = _load_tables(documents, given_tables)
    yield from table_findings
    # If a table has errors, rules are checked without tables.
    tables_by_name: table.Tables = {}
    if not table_findings:
        tables_by_name = table_file.build(file_tables)
        yield from _check_tables(valid, file_tables, tables_by_name)
    yield from _check_rule_set(valid, site, tables_by_name)


def _check_file(
    rules_file: document.Document,
    rules: typing.Sequence[file_rule.WrittenRule],
) -> typing.Iterator[Finding]:
    """Find a file without rules, or with rules of ironic-inspector.

    A file that only has tables is not a finding.
    """
    if not rules and not rules_file.tables:
        yield Finding(
            path=rules_file.path,
            line=1,
            column=1,
            level=WARNING,
            check=FILE,
            rule=None,
            message=_('the file holds no rules'),
        )
    for rule in rules:
        if rule.is_of_inspector:
            yield _make_finding_at(
                rule, '', file_rule.OF_INSPECTOR, INSPECTOR_RULE
            )
            # Report this only once per file.
            return


def _without_refused(
    rule: checked_rule.CheckedRule, findings: typing.Iterable[Finding]
) -> typing.Iterator[Finding]:
    """Skip findings at places for which the rule is refused anyway.

    Findings of the checks in ``_ALSO_OF_REFUSED`` are kept, because they say
    why the author may have written the refused value.
    """
    refused_places = {
        rule.written.place(problem.pointer) for problem in rule.problems
    }
    for finding in findings:
        place = (finding.line, finding.column)
        if place not in refused_places or finding.check in _ALSO_OF_REFUSED:
            yield finding


def _load_tables(
    documents: typing.Sequence[document.Document],
    given_tables: table_file.FileTables | None,
) -> tuple[table_file.FileTables, list[Finding]]:
    """Return the tables of files, and the errors in them as findings.

    :param given_tables: the tables of these files; None to read them.
    """
    file_tables = given_tables or table_file.NO_TABLES
    errors: list[exceptions.InvalidDocument] = []
    try:
        if given_tables is None:
            file_tables = table_file.load(documents)
        errors += table_file.find_problems(file_tables)
    except exceptions.InvalidDocument as exc:
        errors.append(exc)
    findings = []
    for error in errors:
        line, column = error.place or (1, 1)
        findings.append(
            Finding(
                path=error.path,
                line=line,
                column=column,
                level=ERROR,
                check=TABLE,
                rule=None,
                message=error.reason,
            )
        )
    return file_tables, findings


def _check_tables(
    rules: list[checked_rule.CheckedRule],
    file_tables: table_file.FileTables,
    tables_by_name: table.Tables,
) -> typing.Iterator[Finding]:
    """Check the tables of files, and the rows and columns that rules read.

    :param file_tables: the tables as they are in the files, with line numbers.
    :param tables_by_name: the same tables as rules read them.
    """
    yield from _check_table_names(rules, file_tables, tables_by_name)
    for rule, pointer, message in tables.check_values(rules, tables_by_name):
        yield _make_finding_at(rule.written, pointer, message, TABLE_VALUE)
    # Rules that are not sensitive read "******" instead of the value of a
    # secret column.
    for rule, pointer, message in secrets.check_columns(rules, tables_by_name):
        yield _make_finding_at(rule.written, pointer, message, MASKED_VALUE)
    for name, file_table in file_tables.tables.items():
        yield from _check_cells(file_table, tables_by_name[name].definition)
    for name, pointer, message in tables.unused(rules, tables_by_name):
        path, (line, column) = file_tables.tables[name].locate(pointer)
        yield Finding(
            path=path,
            line=line,
            column=column,
            level=WARNING,
            check=UNUSED,
            rule=None,
            message=f'{name}: {message}',
        )


def _check_table_names(
    rules: list[checked_rule.CheckedRule],
    file_tables: table_file.FileTables,
    tables_by_name: table.Tables,
) -> typing.Iterator[Finding]:
    """Find tables and columns that rules read but that do not exist.

    If no file has tables, the rules probably read tables of the server, so the
    finding is only a note.
    """
    for rule in rules:
        for problem in table_check.find_problems(rule.rule, tables_by_name):
            if file_tables.is_given:
                yield _make_finding(
                    rule.written, problem, UNKNOWN_TABLE, level=ERROR
                )
                continue
            hint = _('no file has tables, so it has to be in Ironic')
            with_hint = dataclasses.replace(problem, hint=hint)
            yield _make_finding(
                rule.written, with_hint, UNKNOWN_TABLE, level=NOTE
            )


def _check_cells(
    file_table: table_file.FileTable,
    definition: table.TableDefinition,
) -> typing.Iterator[Finding]:
    """Find the cells of a table that YAML misreads, such as ``0123``."""
    if file_table.rows is None:
        # The rows are not a list, which is reported separately.
        return
    for column, pointer, message in scalars.check_table(
        file_table.rows, definition
    ):
        path, (line, character) = file_table.locate(pointer)
        yield Finding(
            path=path,
            line=line,
            column=character,
            level=WARNING,
            check=PLAIN_SCALAR,
            rule=None,
            message=f'{file_table.name}.{column}: {message}',
        )


def _check_rule_set(
    rules: list[checked_rule.CheckedRule],
    site: Site,
    tables_by_name: table.Tables,
) -> typing.Iterator[Finding]:
    """Find mistakes that depend on other rules or on machines.

    For example, a rule is never reached if a rule before it always ends the
    inspection. If the site has files with the inventories of machines, a rule
    that matches none of these machines is a finding, and so is a file that
    cannot be read.
    """
    yield from _find_duplicates(rules)
    for name, find in _CHECKS_OF_RULE_SETS.items():
        for rule, pointer, message in find(rules):
            yield _make_finding_at(rule.written, pointer, message, name)
    if not site.inventories:
        return
    tried = unreached.check_machines(
        rules=rules,
        paths=site.inventories,
        advance=site.advance,
        tables=tables_by_name,
    )
    for rule, message in tried.unmatched:
        yield _make_finding_at(rule.written, '', message, UNMATCHED)
    # No rule is at fault if an inventory file cannot be read.
    for path, (line, column), reason in tried.broken:
        yield Finding(
            path=path,
            line=line,
            column=column,
            level=ERROR,
            check=FILE,
            rule=None,
            message=reason,
        )


def _find_duplicates(
    rules: list[checked_rule.CheckedRule],
) -> typing.Iterator[Finding]:
    """Find rules that have the same UUID as an earlier rule.

    A rule without a UUID gets a UUID that is derived from its content, so
    equal rules without a UUID are found too.
    """
    first_rules: dict[str, file_rule.WrittenRule] = {}
    for rule in rules:
        first = first_rules.setdefault(rule.rule.uuid, rule.written)
        if first is rule.written:
            continue
        line, _column = first.place()
        message = _(
            'rule %(label)s at %(path)s:%(line)d has this UUID too, or '
            'neither has one and they are the same'
        ) % {'label': first.label, 'path': first.source.path, 'line': line}
        yield _make_finding_at(
            rule.written, '/uuid', message, DUPLICATE, level=ERROR
        )


def _check_rule(
    rule: checked_rule.CheckedRule,
    written_names: frozenset[str],
    target: inventory_fields.InspectionTarget,
) -> typing.Iterator[Finding]:
    """Check a single rule, which may be refused by validation.

    The checks of ``_CHECKS`` come first. Other findings are about the language
    of the rule, fields that only built-in rules may have, and inspection data.

    :param written_names: the names in plugin data that any of the rules
        writes. This rule may read them even if no inspection reports them.
    :param target: how machines are inspected, which decides what data they
        report.
    """
    is_of_inspector = rule.written.is_of_inspector
    for name, check in _CHECKS.items():
        if check.find is None:
            # Another function finds the mistake, or it is found below.
            continue
        if is_of_inspector and name in _NOT_OF_INSPECTOR:
            continue
        for pointer, message in check.find(rule):
            yield _make_finding_at(rule.written, pointer, message, name)
    foreign = rule.written.language_note
    if foreign is not None and not is_of_inspector:
        yield _make_finding(rule.written, foreign, STOCK)
    if not is_of_inspector and not rule.problems:
        yield from _find_fields_of_built_in_rules(rule.written)
    for pointer, message, is_note in inventory.check(
        rule, written_names, target
    ):
        if is_note:
            name = NEEDS
        else:
            name = UNREPORTED
        yield _make_finding_at(rule.written, pointer, message, name)


def _find_fields_of_built_in_rules(
    rule: file_rule.WrittenRule,
) -> typing.Iterator[Finding]:
    """Find a UUID or a priority that only a built-in rule may have."""
    # Validate without ops: problems in operations are reported elsewhere, and
    # are skipped below.
    no_ops = registry.Registry({}, {})
    for problem in validation.validate(rule.entry, no_ops):
        if problem.pointer in ('/uuid', '/priority'):
            message = _('%s, unless the rule is built-in') % problem.sentence
            yield _make_finding_at(
                rule, problem.pointer, message, BUILT_IN_ONLY
            )


def _make_finding_at(
    rule: file_rule.WrittenRule,
    pointer: str,
    message: str,
    check: str,
    *,
    level: str | None = None,
) -> Finding:
    """Create the finding of a check at a place in a rule.

    :param pointer: the place, e.g. ``/actions/0/args/path``; empty for the
        whole rule.
    :param check: the name of the check that found the mistake.
    :param level: the level of the finding; None for the level of the check.
    """
    return _make_finding(
        rule, exceptions.Problem(pointer, message), check, level=level
    )


def _make_finding(
    rule: file_rule.WrittenRule,
    problem: exceptions.Problem,
    check: str,
    *,
    level: str | None = None,
) -> Finding:
    """Create the finding of a check at the place of a problem.

    :param check: the name of the check that found the problem.
    :param level: the level of the finding; None for the level of the check.
    """
    if level is None and check in _NOTES:
        level = NOTE
    elif level is None:
        level = WARNING
    line, column = rule.place(problem.pointer)
    return Finding(
        path=rule.source.path,
        line=line,
        column=column,
        level=level,
        check=check,
        rule=rule.label,
        message=str(file_rule.count_from_one(problem)),
    )

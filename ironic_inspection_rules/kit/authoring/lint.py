# SPDX-License-Identifier: Apache-2.0

"""Everything that is amiss in files of rules, with the place of each."""

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
    """One thing that an author should look at.

    ``line`` and ``column`` count from one. ``rule`` is what names the rule,
    and None where the whole file is at fault. ``check`` is the name of the
    check that found it, ``level`` one of ``error`` (the rule cannot be
    used), ``warning`` (it can, but hardly does what it should) and ``note``
    (it is good where its author knows this).
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
        """Return whether something should be mended."""
        return self.level != NOTE


FILE, INVALID, DUPLICATE = 'file', 'invalid', 'duplicate-uuid'
BUILT_IN_ONLY, UNREACHABLE = 'built-in-only', 'unreachable-rule'
READABLE_SECRET = 'readable-secret'
UNREPORTED, NEEDS = 'unreported-field', 'needs'
CONFLICT, UNMATCHED = 'conflict', 'unmatched-rule'
TOO_EARLY, STOCK, OLD = 'too-early', 'stock-rule', 'inspector-rule'
PLAIN_SCALAR, NO_FIELD = 'plain-scalar', 'no-field'
ALL_TRAITS = 'all-traits'
PLUGIN = 'plugin'
TABLE, UNKNOWN_TABLE = 'table', 'unknown-table'
UNUSED, TABLE_VALUE = 'unused-table', 'table-value'
MASKED = 'masked-value'

_NOTES = frozenset((ALL_TRAITS, NEEDS, OLD))
"""What an author may know already."""

_NOT_OF_INSPECTOR = frozenset((
    'list-arguments', NO_FIELD, 'only-fails', 'overwritten', 'secret'))
"""Checks that are not made of rules of ironic-inspector. These have neither
lists of arguments, nor loops, nor a mark of sensitive rules, and are converted
before anybody improves them."""

_CHECKS: dict[str, tuple[str, typing.Callable[
        [checked_rule.CheckedRule], checked_rule.Found] | None]] = {
    FILE: (_('The file cannot be read.'), None),
    INVALID: (_('The rule would be refused.'), None),
    DUPLICATE: (_('Two rules have the same UUID.'), None),
    PLUGIN: (_('The code of a plugin fails when it is asked about a rule.'),
             declared.check),
    BUILT_IN_ONLY: (_('Only a built-in rule may have this.'), None),
    'unknown-field': (_('A replacement field can never exist.'), names.check),
    UNREPORTED: (_('No inspection reports a replacement field.'), None),
    NEEDS: (_('Not every inspection reports a replacement field.'), None),
    'unused-value': (_('Nothing uses a value of the rule.'), names.check_vars),
    'jinja': (_('A variable of a template engine was not replaced.'),
              names.check_jinja),
    'never-holds': (_('No machine can meet the condition.'),
                    certainty.check_never),
    'always-holds': (_('All machines meet the condition.'),
                     certainty.check_always),
    'only-fails': (_('A part of the rule can only end in an error.'),
                   failing.check),
    'neighbours': (_('Values are not compared with all others.'),
                   certainty.check_neighbours),
    'unreachable-action': (_('An earlier action fails the inspection.'),
                           unreached.check_actions),
    UNREACHABLE: (_('An earlier rule fails the inspection.'), None),
    'secret': (_('A secret is in a rule that is not marked sensitive.'),
               secrets.check_written),
    READABLE_SECRET: (
        _('A sensitive rule writes a value of its own where others read it.'),
        secrets.check_readable),
    MASKED: (_('An action writes a secret, which rules do not see.'),
             secrets.check_masked),
    'unit': (_('A quantity with a unit compares as text.'), shape.check_units),
    'capability-path': (_('A path leads into the text of the capabilities.'),
                        node_values.check_capabilities),
    'root-device': (_('A hint at the root device is not stable.'),
                    node_values.check_root_device),
    ALL_TRAITS: (_('An action takes away all other traits.'),
                 node_values.check_all_traits),
    'other-unit': (_('A quantity is written to a field of another unit.'),
                   node_values.check_units),
    'resource-class': (_('A resource class has the prefix of Nova.'),
                       node_values.check_resource_class),
    'invalid-trait': (_('No trait can have this name.'), traits.check_traits),
    'list-arguments': (_('Arguments have no names, which Ironic deprecates.'),
                       shape.check_arguments),
    'node-name': (_('A name is nearly one that Ironic knows.'),
                  names.check_node),
    'value': (_('A field never has the value it is compared with.'),
              values.check),
    'no-effect': (_('A part of the rule does nothing.'), shape.check),
    'overwritten': (_('A later action of the rule undoes one.'),
                    overwritten.check),
    NO_FIELD: (_('Text was perhaps to be a replacement field.'),
                 shape.check_fields),
    PLAIN_SCALAR: (_('YAML reads something else than is written.'),
                   scalars.check),
    'missing': (_('An action uses what the conditions say is missing.'),
                inventory.check_missing),
    'trait-of-text': (_('A trait is named after text of any form.'),
                      traits.check_texts),
    'one-port': (_('A rule for all machines needs the port of one.'),
                 traits.check_ports),
    TOO_EARLY: (_('A rule reads what only a later one writes.'), None),
    CONFLICT: (_('Two rules write one place, and only their order decides.'),
               None),
    TABLE: (_('A table would be refused.'), None),
    UNKNOWN_TABLE: (_('A rule reads a table or a column that is not there.'),
                    None),
    UNUSED: (_('Nothing reads a table or a column.'), None),
    TABLE_VALUE: (_('No row has what a column is compared with.'), None),
    UNMATCHED: (_('The rule matches none of the inventories.'), None),
    STOCK: (_("The rule was written for stock Ironic's own engine."), None),
    OLD: (_('The rule is in the language of ironic-inspector.'), None),
}
"""By the name that findings give: the mistake that a check finds, and what
finds it in a single valid rule."""

DESCRIPTIONS = {name: text for name, (text, _find) in _CHECKS.items()}

OPTIONAL = frozenset(_CHECKS) - {FILE, INVALID, DUPLICATE, TABLE}
"""The checks of rules that could be made; an author may do without them."""


@dataclasses.dataclass(frozen=True)
class Site:
    """Site where the rules are to run, as far as it is known.

    ``target`` are the inspections that count, ``inventories`` the files of
    machines; ``advance`` is called with the number of those that were tried.
    """

    target: inventory_fields.Target = inventory_fields.ANY
    inventories: typing.Sequence[str] = ()
    advance: typing.Callable[[int], typing.Any] = lambda count: None


ANYWHERE = Site()


def lint(paths: typing.Iterable[str], ops: registry.Registry,
         site: Site = ANYWHERE) -> list[Finding]:
    """Check files of rules.

    Rules of all files count as one set: a rule may make one of another file
    unreachable.
    """
    findings: list[Finding] = []
    documents = []
    for path in paths:
        try:
            documents.append(document.load(path))
        except exceptions.InvalidDocument as exc:
            line, column = exc.place or (1, 1)
            findings.append(Finding(path, line, column, ERROR, FILE,
                                    None, exc.reason))
    return in_order([*findings, *of_documents(documents, ops, site)])


def in_order(findings: typing.Iterable[Finding]) -> list[Finding]:
    """Return each finding once, in the order of the files."""
    return sorted(dict.fromkeys(findings),
                  key=lambda each: (each.path, each.line, each.column))


def of_documents(documents: typing.Iterable[document.Document],
                 ops: registry.Registry, site: Site = ANYWHERE
                 ) -> typing.Iterator[Finding]:
    """Check what files hold; see :func:`lint`."""
    documents = list(documents)
    subjects: list[checked_rule.CheckedRule] = []
    broken: list[checked_rule.CheckedRule] = []
    for read in documents:
        written = file_rule.rules(read)
        if not written and not read.tables:
            yield Finding(read.path, 1, 1, WARNING, FILE, None,
                          _('the file holds no rules'))
        # Once is enough for all of a file.
        for rule in [each for each in written if each.is_old][:1]:
            yield _found(rule, '', file_rule.OLD, OLD)
        for rule in written:
            subject = checked_rule.of(rule, ops)
            for problem in subject.problems:
                yield _shown(rule, problem, INVALID, ERROR)
            if not subject.problems:
                subjects.append(subject)
            elif isinstance(rule.entry, dict):
                broken.append(subject)
    own = frozenset(effects.made_plugin_data(
        action for subject in [*subjects, *broken]
        for action in subject.actions))
    for subject in [*subjects, *broken]:
        # Of an argument for which it is refused nothing else is said.
        refused = {subject.written.place(each.pointer)
                   for each in subject.problems}
        for each in _check(subject, own, site.target):
            if (each.line, each.column) not in refused or (
                    each.check in (PLAIN_SCALAR, STOCK, NO_FIELD)):
                yield each
    file_tables, problems = _tables(documents)
    yield from problems
    built: table.Tables = {}
    if not problems:
        built = table_file.build(file_tables)
        yield from _check_tables(subjects, file_tables, built)
    yield from _check_together(subjects, site, built)


def _tables(documents: typing.Sequence[document.Document]
            ) -> tuple[table_file.FileTables, list[Finding]]:
    """Return the tables of files, and what is wrong with them."""
    read = table_file.NO_TABLES
    errors: list[exceptions.InvalidDocument] = []
    try:
        read = table_file.load(documents)
        errors += table_file.problems(read)
    except exceptions.InvalidDocument as exc:
        errors.append(exc)
    return read, [
        Finding(error.path, *(error.place or (1, 1)), ERROR, TABLE, None,
                error.reason) for error in errors]


def _check_tables(subjects: list[checked_rule.CheckedRule],
                  file_tables: table_file.FileTables, built: table.Tables
                  ) -> typing.Iterator[Finding]:
    """Check rules beside the tables of their files."""
    for subject in subjects:
        for problem in table_check.problems(subject.rule, built):
            # Without tables in files, those that are stored are meant.
            yield _shown(subject.written, problem, UNKNOWN_TABLE,
                         ERROR if file_tables.is_given else NOTE)
    for subject, pointer, message in tables.check_values(subjects, built):
        yield _found(subject.written, pointer, message, TABLE_VALUE)
    for subject, pointer, message in tables.check_secrets(subjects, built):
        yield _found(subject.written, pointer, message, MASKED)
    for name, pointer, message in tables.unused(subjects, built):
        path, place = file_tables.tables[name].locate(pointer)
        yield Finding(path, *place, WARNING, UNUSED, None,
                      f'{name}: {message}')


def _check_together(subjects: list[checked_rule.CheckedRule],
                    site: Site, built: table.Tables
                    ) -> typing.Iterator[Finding]:
    first: dict[str, file_rule.WrittenRule] = {}
    for subject in subjects:
        rule = subject.written
        other = first.setdefault(subject.rule.uuid, rule)
        if other is not rule:
            yield _found(
                rule, '/uuid',
                _('rule %(label)s at %(path)s:%(line)d has this UUID too, or '
                  'neither has one and they are the same') % {
                      'label': other.label, 'path': other.source.path,
                      'line': other.place()[0]}, DUPLICATE, ERROR)
    for name, find in ((UNREACHABLE, unreached.check_rules),
                       (CONFLICT, conflicts.check),
                       (TOO_EARLY, inventory.check_order)):
        for subject, pointer, message in find(subjects):
            yield _found(subject.written, pointer, message, name)
    if site.inventories:
        tried = unreached.check_machines(subjects, site.inventories,
                                         site.advance, built)
        for subject, message in tried.unmatched:
            yield _found(subject.written, '', message, UNMATCHED)
        for path, place, reason in tried.broken:
            yield Finding(path, *place, ERROR, FILE, None, reason)


def _check(rule: checked_rule.CheckedRule, own: frozenset[str],
           target: inventory_fields.Target) -> typing.Iterator[Finding]:
    is_old = rule.written.is_old
    for name, (_text, find) in _CHECKS.items():
        if find is None or (is_old and name in _NOT_OF_INSPECTOR):
            continue
        for pointer, message in find(rule):
            yield _found(rule.written, pointer, message, name)
    foreign = rule.written.foreign
    if foreign is not None and not is_old:
        yield _shown(rule.written, foreign, STOCK)
    if not is_old and not rule.problems:
        # What a built-in rule may have and a stored one may not.
        for problem in validation.validate(rule.written.entry,
                                           registry.Registry({}, {})):
            if problem.pointer in ('/uuid', '/priority'):
                yield _found(rule.written, problem.pointer,
                             _('%s, unless the rule is built-in')
                             % problem.sentence, BUILT_IN_ONLY)
    for pointer, message, is_note in inventory.check(rule, own, target):
        yield _found(rule.written, pointer, message,
                     NEEDS if is_note else UNREPORTED)


def _found(rule: file_rule.WrittenRule, pointer: str, message: str,
           check: str, level: str | None = None) -> Finding:
    return _shown(rule, exceptions.Problem(pointer, message), check, level)


def _shown(rule: file_rule.WrittenRule, problem: exceptions.Problem,
           check: str, level: str | None = None) -> Finding:
    """Return what a reader sees of a problem."""
    if level is None:
        level = NOTE if check in _NOTES else WARNING
    line, column = rule.place(problem.pointer)
    return Finding(rule.source.path, line, column, level, check, rule.label,
                   str(file_rule.shown(problem)))

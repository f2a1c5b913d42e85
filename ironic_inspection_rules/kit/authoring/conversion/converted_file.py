# SPDX-License-Identifier: Apache-2.0

"""Convert rule files in other languages to rule files of this language.

The other languages are the rules of ironic-inspector, and the rules of stock
Ironic, which is Ironic without this project. The new file is YAML. Comments
before a rule say what differs from the old rule. What cannot be carried over
is "lost": it is also returned as findings that point to the old file.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.conversion import inspector
from ironic_inspection_rules.kit.authoring.conversion import rule as conversion
from ironic_inspection_rules.kit.authoring.conversion import stock_rule
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import yaml_text

LOST = 'lost'

_CHECKS_OF_BROKEN_RULES = frozenset(
    ('jinja', 'never-holds', 'unknown-field', lint.UNREPORTED, lint.STOCK)
)
"""Checks that find converted rules which cannot work, in addition to
errors."""

_WIDTH = 78
"""Maximum number of columns in the file, if a text can be wrapped."""

# Differences from ironic-inspector that apply to all rules.
_IN_GENERAL = (
    _(
        'Other than in ironic-inspector, a condition does not hold, and holds '
        'inverted, instead of failing the inspection, where a value cannot be '
        'compared or is no IP address.'
    ),
    _(
        'Numbers are compared as they are, and not as whole ones. An index '
        'finds no character of text, [*] goes through lists only and fails on '
        'text and numbers, and null is no text for a regular expression.'
    ),
    _(
        'What a value is set in is made where it does not exist, and '
        'properties/capabilities is removed when nothing is left in it.'
    ),
)


class ConvertedFile(typing.NamedTuple):
    """The text of a YAML file, and what is lost or different in it."""

    text: str
    lost: list[lint.Finding]


def convert(
    rules_file: document.Document, ops: registry.Registry, stock: bool = False
) -> ConvertedFile:
    """Convert all rules of a file; rules of this language are kept unchanged.

    The new file starts with comments about differences that apply to all
    rules. Tables of the file are dropped, because other languages have none.
    If the file is not meant for stock Ironic, ``lint`` also looks for new
    rules that cannot work.

    :param stock: whether rules that do not belong to ironic-inspector are
        meant for stock Ironic. This is ignored if all rules belong to
        ironic-inspector.
    """
    rules = file_rule.list_rules(rules_file)
    # Whether each rule is one of ironic-inspector. What is not a mapping is no
    # rule.
    are_of_inspector = [
        rule.is_of_inspector for rule in rules if isinstance(rule.entry, dict)
    ]
    has_inspector_rules = any(are_of_inspector)
    has_only_inspector_rules = has_inspector_rules and all(are_of_inspector)
    # The form of the rules is more reliable than the option of the user.
    is_for_stock = stock and not has_only_inspector_rules
    header = [_('Converted from %s.') % rules_file.path]
    if stock and has_only_inspector_rules:
        header.append(
            _('Its rules are those of ironic-inspector, not of stock Ironic.')
        )
    if is_for_stock:
        header.extend(stock_rule.IN_GENERAL)
    if has_inspector_rules:
        header.extend(_IN_GENERAL)
    writer = _FileWriter(ops)
    for table in rules_file.tables or ():
        header.append(_('Table %s is left out.') % table.name)
        writer.record_lost_table(table)
    writer.write(_write_comments(header))
    inspector_rules = _convert_inspector_rules(rules, ops)
    for rule in rules:
        if not isinstance(rule.entry, dict):
            writer.record_loss(
                rule, exceptions.Problem('', _('a rule must be a mapping'))
            )
        elif rule.is_of_inspector:
            writer.write_converted(rule, inspector_rules[rule.index])
        elif is_for_stock:
            writer.write_converted(rule, _convert_stock_rule(rule.entry, ops))
        else:
            writer.write_unchanged(rule)
    if is_for_stock:
        # Such rules have odd behavior that is kept on purpose, and lint would
        # report all of it.
        return writer.result()
    return writer.linted_result(rules_file.path)


class _FileWriter:
    """Write the converted rules one by one, and record what is lost.

    The text is kept in memory until a method returns it as a
    :class:`ConvertedFile`.
    """

    def __init__(self, ops: registry.Registry) -> None:
        self._ops = ops
        self._pieces: list[str] = []
        # The rules that have been written to the file, in order.
        self._rules: list[file_rule.WrittenRule] = []
        self._lost: list[lint.Finding] = []

    def write(self, text: str) -> None:
        """Append YAML or comments to the file."""
        self._pieces.append(text)

    def record_loss(
        self, rule: file_rule.WrittenRule, problem: exceptions.Problem
    ) -> None:
        """Record what the file does not carry over from a rule."""
        self._lost.append(_make_finding(rule, problem))

    def record_lost_table(self, table: document.WrittenTable) -> None:
        """Record that the file does not contain a table."""
        line, column = table.place()
        self._lost.append(
            lint.Finding(
                path=table.path,
                line=line,
                column=column,
                level=lint.WARNING,
                check=LOST,
                rule=_('table %s') % table.name,
                message=_(
                    'tables are in no other language; put it beside the '
                    'converted rules'
                ),
            )
        )

    def write_unchanged(self, rule: file_rule.WrittenRule) -> None:
        """Write a rule of this language unchanged."""
        self.write(_write_yaml(rule.entry))
        self._rules.append(rule)

    def write_converted(
        self, rule: file_rule.WrittenRule, converted: conversion.Conversion
    ) -> None:
        """Write a converted rule, with its hints as comments.

        If the rule could not be converted, only comments are written. Losses
        and differences are recorded as well.
        """
        for problem in [*converted.lost, *converted.differences]:
            self.record_loss(rule, problem)
        comments = []
        # The differences are among the hints.
        for problem in [*converted.lost, *converted.hints]:
            place = file_rule.place_name(problem.pointer) or _('rule')
            comments.append(f'{place}: {problem.sentence}')
        if converted.rule is None:
            left_out = _('Rule %s is left out.') % rule.label
            self.write(_write_comments([left_out, *comments]))
            return
        entry = dict(converted.rule)
        uuid = rule.entry.get('uuid')
        if uuid:
            # The UUID comes first. The conversion of a rule of stock Ironic
            # has one, which may be derived from any text; a rule of
            # ironic-inspector keeps the one in its file.
            entry = {'uuid': uuid, **entry}
        self.write(_write_comments(comments) + _write_yaml(entry))
        self._rules.append(rule)

    def result(self) -> ConvertedFile:
        """Return the file as it has been written so far."""
        return ConvertedFile('\n'.join(self._pieces), self._lost)

    def linted_result(self, path: str) -> ConvertedFile:
        """Return the file as written so far, with losses that lint finds."""
        text = '\n'.join(self._pieces)
        findings = _find_broken_rules(path, text, self._rules, self._ops)
        return ConvertedFile(text, [*self._lost, *findings])


def _convert_stock_rule(
    entry: dict[str, typing.Any], ops: registry.Registry
) -> conversion.Conversion:
    """Convert a rule of a file that is meant for stock Ironic.

    A template of Ansible in the rule is recorded as lost, because the file
    should have been rendered first.
    """
    converted = stock_rule.convert(entry, ops)
    # Ironic reads doubled braces as literal braces, so the conversion records
    # no difference.
    for pointer, template in names.templates(entry):
        message = (
            _(
                '"%s" is a template of Ansible, which Ironic takes for '
                'text; convert the rendered file'
            )
            % template
        )
        converted.lost.append(exceptions.Problem(pointer, message))
    return converted


def _convert_inspector_rules(
    rules: typing.Iterable[file_rule.WrittenRule], ops: registry.Registry
) -> dict[int, conversion.Conversion]:
    """Convert the rules of ironic-inspector.

    :returns: conversions by the index of the rule in the file. The conversion
        of an invalid rule has its problems, and no new rule.
    """
    valid_rules: dict[int, model.Rule] = {}
    conversions: dict[int, conversion.Conversion] = {}
    for rule in rules:
        if not rule.is_of_inspector:
            continue
        try:
            valid_rules[rule.index] = file_rule.parse(rule.entry, ops)
        except exceptions.InvalidRule as exc:
            invalid = conversion.Conversion()
            invalid.lost.extend(exc.problems)
            conversions[rule.index] = invalid
    # Convert them together, because a rule may change data that a later rule
    # reads.
    converted = inspector.convert(list(valid_rules.values()))
    conversions.update(zip(valid_rules, converted, strict=True))
    return conversions


def _find_broken_rules(
    path: str,
    text: str,
    rules: list[file_rule.WrittenRule],
    ops: registry.Registry,
) -> typing.Iterator[lint.Finding]:
    """Find converted rules that are invalid or can never work.

    ``lint`` checks the new file. Its findings are then moved to the places in
    the old file.

    :param rules: the rules in ``text``, in their order.
    """
    converted = document.parse(path, text)
    for finding in lint.lint_documents([converted], ops):
        is_broken = (
            finding.level == lint.ERROR
            or finding.check in _CHECKS_OF_BROKEN_RULES
        )
        if not is_broken:
            continue
        rule = _find_rule_of_finding(finding, converted, rules)
        if rule is None:
            continue
        message = finding.message
        if finding.check == lint.DUPLICATE:
            # The message of lint has a line of the new file, so replace it.
            message = _(
                'an earlier rule has this UUID too, or neither has one and '
                'they are the same'
            )
        problem = exceptions.Problem('', message)
        yield _make_finding(rule, problem)


def _find_rule_of_finding(
    finding: lint.Finding,
    converted: document.Document,
    rules: list[file_rule.WrittenRule],
) -> file_rule.WrittenRule | None:
    """Return the old rule whose new rule has a finding of ``lint``.

    A finding has a place but no rule. It belongs to the last rule that begins
    at or before the place.

    :param converted: the new file.
    :param rules: the old rules, in the order of the new rules.
    :returns: None if the finding is before the first rule.
    """
    place = (finding.line, finding.column)
    last_rule = None
    for index, rule in enumerate(rules):
        if converted.place(index) <= place:
            last_rule = rule
    return last_rule


def _write_comments(texts: typing.Iterable[str]) -> str:
    """Return YAML comments with the texts, wrapped into lines."""
    return ''.join(yaml_text.comment(text, _WIDTH) for text in texts)


def _write_yaml(rule: typing.Any) -> str:
    """Return a rule as YAML: one item of the list in the file."""
    return yaml_text.dump([rule], default_flow_style=None, width=_WIDTH)


def _make_finding(
    rule: file_rule.WrittenRule, problem: exceptions.Problem
) -> lint.Finding:
    """Build the finding that a part of an old rule is lost.

    :param problem: a message, and the pointer to the part in the rule; an
        empty pointer stands for the whole rule.
    """
    line, column = rule.place(problem.pointer)
    return lint.Finding(
        path=rule.source.path,
        line=line,
        column=column,
        level=lint.WARNING,
        check=LOST,
        rule=rule.label,
        message=problem.sentence,
    )

# SPDX-License-Identifier: Apache-2.0

"""Values that YAML reads as something else than their authors meant."""

from collections.abc import Iterator
import re
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import mended_text
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import yaml_scalar

_SWITCH = re.compile('yes|no|on|off|y|n', re.IGNORECASE)
_ESCAPED = {'\0': '0', '\a': 'a', '\b': 'b', '\v': 'v', '\f': 'f',
            '\x1b': 'e'}
"""By a control character, the letter that it is in double quotes."""
_CONTROL = re.compile('[\0\a\b\v\f\x1b]')
_VERBOSE = re.compile(r'\(\?[a-wyz]*x')


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find values that YAML reads as something else than is written."""
    for pointer, text in checked_rule.texts({
            name: rule.written.entry.get(name) for name in model.CONTENT}):
        control = _CONTROL.search(text)
        if control:
            if control[0] == '\b':
                character = _('a backspace')
            else:
                character = _('a control character')
            yield pointer, _(
                'the text has %(character)s: "\\%(letter)s" is one in double '
                'quotes; use single quotes') % {
                    'character': character, 'letter': _ESCAPED[control[0]]}
    if rule.written.is_old:
        # It reads numbers, and names the places of arguments, otherwise.
        return
    for pointer, raw, value in _surprises(rule):
        yield pointer, _('YAML reads %(raw)s as %(value)s; put text in '
                         'quotes: "%(raw)s"') % {
                             'raw': raw, 'value': str(value).lower() if (
                                 isinstance(value, bool)) else value}
    for pointer, _text in _lines(rule):
        yield pointer, _('the text ends in a newline, which is compared too; '
                         'in YAML, "|-" leaves it out')


def mendings(rule: checked_rule.CheckedRule) -> Iterator[mended_text.Change]:
    """Yield what puts text into quotes, and the end of a word into a regex."""
    for pointer, raw, value in _surprises(rule):
        yield mended_text.Replace(pointer, value, raw)
    for operation in rule.operations:
        for name, value in operation.arguments.items():
            if isinstance(value, str) and '\b' in value and (
                    operation.op.signature.by_name[name].type
                    is pattern.Pattern):
                yield mended_text.Replace(operation.pointer_to(name), value,
                                        value.replace('\b', r'\b'))
    for pointer, text in _lines(rule):
        yield mended_text.Replace(pointer, text, text[:-1])


def _lines(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find texts of conditions that end in a newline."""
    for condition in rule.all_conditions:
        for pointer, text in checked_rule.texts(
                condition.written.get('args'), f'{condition.pointer}/args'):
            if text.endswith('\n') and not _VERBOSE.match(text):
                yield pointer, text


def _surprises(rule: checked_rule.CheckedRule
               ) -> Iterator[tuple[str, str, typing.Any]]:
    written = rule.written
    for (index, pointer), raw in written.source.plain.items():
        if index != written.index:
            continue
        value = data_path.get(written.entry, data_path.parse(pointer))
        if pointer in ('/description', '/scope', '/uuid') or (
                pointer.startswith(f'/{model.VARS}/')
                and not _SWITCH.fullmatch(raw)
                and not yaml_scalar.is_number(raw)):
            yield pointer, raw, value
            continue
        for operation in rule.operations:
            if pointer.startswith((f'{operation.pointer}/args/',
                                   f'{operation.pointer}/loop/')) and not (
                                       _is_meant(rule, operation, pointer,
                                                 raw)):
                yield pointer, raw, value


def _is_meant(rule: checked_rule.CheckedRule, operation: file_rule.Operation,
              pointer: str, raw: str) -> bool:
    """Return whether a number or a boolean is expected there."""
    declared = operation.op.signature.by_name
    messages = getattr(operation.op.plugin, 'TELLS', ())
    for name in operation.arguments_given:
        if pointer.startswith(operation.pointer_to(name)):
            if declared[name].type in (bool, int, float):
                return True
            if declared[name].type is str or name in messages:
                return False
    item = reach.items(rule)[operation.pointer]
    compared = [values.subject(rule, fact.field, item).value.type
                for fact in facts.of(operation, looped=True)]
    if yaml_scalar.is_number(raw):
        return 'text' not in compared
    return _SWITCH.fullmatch(raw) is not None and (
        pointer.startswith('/actions/') or 'boolean' in compared)

# SPDX-License-Identifier: Apache-2.0

"""YAML that was meant as text, and reads as a number or as true or false."""

import re
import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import facts
from ironic_inspection_rules.authoring.checks import values
from ironic_inspection_rules.authoring.mending import change
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import file_rule

_SWITCH = re.compile('yes|no|on|off|y|n', re.IGNORECASE)
_TYPED = (bool, int, float)


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find values that YAML 1.1 reads as something else than is written."""
    for pointer, raw, value in _surprises(rule):
        yield pointer, _('YAML reads %(raw)s as %(value)s; put text in '
                         'quotes: "%(raw)s"') % {
                             'raw': raw, 'value': str(value).lower() if (
                                 isinstance(value, bool)) else value}


def mendings(rule: checked_rule.CheckedRule
             ) -> typing.Iterator[change.Change]:
    """Yield what puts quotes around them."""
    for pointer, raw, value in _surprises(rule):
        yield change.Replace(pointer, value, raw)


def _surprises(rule: checked_rule.CheckedRule
               ) -> typing.Iterator[tuple[str, str, typing.Any]]:
    written = rule.written
    if written.is_old:
        return
    for (index, pointer), raw in written.source.plain.items():
        if index != written.index:
            continue
        value = data_path.get(written.entry, data_path.parse(pointer))
        if pointer in ('/description', '/scope', '/uuid'):
            yield pointer, raw, value
            continue
        for operation in rule.operations:
            if pointer.startswith((f'{operation.pointer}/args/',
                                   f'{operation.pointer}/loop/')) and not (
                                       _is_meant(operation, pointer, raw)):
                yield pointer, raw, value


def _is_meant(operation: file_rule.Operation, pointer: str,
              raw: str) -> bool:
    """Tell whether a number, or true and false, is what is wanted there."""
    declared = operation.op.signature.by_name
    if any(declared[name].type in _TYPED
           for name in operation.arguments_given
           if pointer.startswith(operation.pointer_to(name))):
        return True
    return _SWITCH.fullmatch(raw) is not None and (
        pointer.startswith('/actions/') or any(
            values.type_of(fact.field) == 'boolean'
            for fact in facts.of(operation)))

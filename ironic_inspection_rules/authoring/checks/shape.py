# SPDX-License-Identifier: Apache-2.0

"""Conditions, loops and fields that are written so that they do nothing."""

import re
import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import exclusion
from ironic_inspection_rules.authoring.checks import facts
from ironic_inspection_rules.authoring.checks import values as values_check
from ironic_inspection_rules.authoring.mending import change
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import inventory_fields
from ironic_inspection_rules.rule_file import builtin
from ironic_inspection_rules.rule_file import file_rule

_ROOTS = '|'.join((*interpolation.ROOTS, interpolation.ITEM))
_BARE = re.compile(rf'({_ROOTS})((?:\.[A-Za-z_]\w*|\[\w+\])+)')
_OPENED = re.compile(rf'(?:[^{{}}]|\{{[^{{}}]*\}})*'
                     rf'(?P<field>\{{(?:{_ROOTS})[.\[][^{{}}\s]*)')
_SHELL = re.compile(rf'\$(\{{(?:{_ROOTS})[.\[}}])')


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find what is there twice, or has nothing to work on."""
    for operation in rule.operations:
        if operation.written.get('multiple') and not operation.loops:
            yield operation.pointer, _(
                '"multiple" says nothing without a loop')
        if _repeats(operation) and not any(
                field.root == interpolation.ITEM
                for each in operation.all for field in _fields(each)):
            yield f'{operation.pointer}/loop', _(
                'nothing uses {item}: it is the same for each item of the '
                'loop')
        values = operation.arguments.get('values')
        first = operation.op.signature.arguments[:1]
        if first and first[0].variadic and first[0].name == 'values' and (
                isinstance(values, list) and len(values) == 1
                and not operation.loops
                and not (facts.is_field(values[0]) and values_check.type_of(
                    facts.field_name(values[0])) in ('list', None))):
            yield operation.pointer, _(
                'one value alone is compared with nothing')
    seen: dict[typing.Any, str] = {}
    for claim in exclusion.claims(rule.conditions):
        key = (*claim.says, claim.inverted, str(
            claim.condition.written.get('loop')),
            claim.condition.written.get('multiple'))
        first_at = seen.setdefault(key, claim.condition.pointer)
        if first_at != claim.condition.pointer:
            yield claim.condition.pointer, _(
                '%s says the same') % builtin.place_name(first_at)


def _repeats(operation: file_rule.Operation) -> bool:
    """Tell whether a loop does one thing several times."""
    loop = operation.written.get('loop')
    if isinstance(loop, list) and len(loop) < 2:
        return False
    # To fail where there are any items is a way to say so.
    return loop is not None and not getattr(operation.op.plugin, 'FAILS',
                                            False)


def _fields(operation: file_rule.Operation
            ) -> typing.Iterator[interpolation.Field]:
    for each in interpolation.fields([
            *operation.arguments.values(), operation.written.get('loop')]):
        yield from _in_filters(each)
        yield each


def _in_filters(field: interpolation.Field
                ) -> typing.Iterator[interpolation.Field]:
    for call in field.filters:
        for _name, argument in call.arguments:
            if isinstance(argument, interpolation.Field):
                yield argument


def check_fields(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find text that was to be a field."""
    for pointer, text, meant in _meant(rule):
        yield pointer, _('"%(text)s" is text, no field; did you mean '
                         '"%(meant)s"?') % {'text': text, 'meant': meant}


def mendings(rule: checked_rule.CheckedRule
             ) -> typing.Iterator[change.Change]:
    """Yield what makes fields of text that was to be one."""
    for pointer, text, meant in _meant(rule):
        yield change.Replace(pointer, text, meant)


def _meant(rule: checked_rule.CheckedRule
           ) -> typing.Iterator[tuple[str, str, str]]:
    if rule.written.is_old:
        return
    for operation in rule.operations:
        args = operation.written.get('args')
        for name in operation.templates:
            if name in ('path', 'name', 'names', 'prefix', 'msg', 'level'):
                continue
            pointer = operation.pointer_to(name)
            tokens = data_path.parse(pointer)[len(data_path.parse(
                f'{operation.pointer}/args')):]
            for place, text in checked_rule.texts(
                    data_path.get(args, tokens), pointer):
                meant = _as_field(text)
                if meant:
                    yield place, text, meant
        loop = operation.written.get('loop')
        if isinstance(loop, str) and _as_field(loop):
            yield f'{operation.pointer}/loop', loop, str(_as_field(loop))


def _as_field(text: str) -> str | None:
    bare = _BARE.fullmatch(text)
    if bare:
        steps = data_path.parse('/' + text.replace('.', '/').replace(
            '[', '/').replace(']', ''))
        if steps[0] not in ('inventory', 'plugin_data') or isinstance(
                inventory_fields.find(inventory_fields.known(), steps),
                inventory_fields.Field):
            return f'{{{text}}}'
    if _SHELL.search(text):
        return _SHELL.sub(r'\1', text)
    opened = _OPENED.fullmatch(text)
    return f'{text}}}' if opened else None

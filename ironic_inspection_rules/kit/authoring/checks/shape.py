# SPDX-License-Identifier: Apache-2.0

"""Parts of rules that do nothing, and text that was to be something else."""

import re
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import mended_text
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import known_values
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.rule_file import file_rule

_ROOTS = '|'.join((*interpolation.ROOTS, interpolation.ITEM))
_BARE = re.compile(rf'({_ROOTS})((?:\.[A-Za-z_]\w*|\[\w+\])+)')
_OPENED = re.compile(rf'(?:[^{{}}]|\{{[^{{}}]*\}})*'
                     rf'(?P<field>\{{(?:{_ROOTS})[.\[][^{{}}\s]*)')
_DOUBLED = re.compile(rf'\{{(\{{(?:{_ROOTS})[.\[|][^{{}}]*\}})\}}')
_OUTSIDE = re.compile(rf'\{{((?:{_ROOTS})[.\[|][^{{}}]*)\}}'
                      r'((?:\s*\|\s*[a-z_0-9]+(?:\([^(){}]*\))?)+)\s*')
_SHELL = re.compile(rf'\$(\{{(?:{_ROOTS})[.\[}}])')
_SHELL_BARE = re.compile(rf'\$(?=(?:{_ROOTS})[.\[])')


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find parts that are repeated or have no effect."""
    for operation in rule.operations:
        if operation.written.get('multiple') and not operation.loops:
            yield operation.pointer, _(
                '"multiple" says nothing without a loop')
        loop = operation.loop
        # To fail where there are any items is a way to say so.
        repeats = operation.loops and not getattr(
            operation.op.plugin, 'FAILS', False) and not (
                isinstance(loop, list) and len(loop) < 2)
        if repeats and not any(
                field.root == interpolation.ITEM for each in operation.all
                for field in effects.read_by(each)):
            yield f'{operation.pointer}/loop', _(
                'nothing uses {item}: it is the same for each item of the '
                'loop')
        given = operation.arguments.get('values')
        first = operation.op.signature.arguments[:1]
        if first and first[0].variadic and first[0].name == 'values' and (
                isinstance(given, list) and len(given) == 1
                and not operation.loops
                and not (facts.is_field(given[0]) and values.subject(
                    rule, facts.field_name(given[0])).value.type
                    in ('list', None))):
            yield operation.pointer, _(
                'one value alone is compared with nothing')
    seen: dict[typing.Any, str] = {}
    for condition in rule.conditions:
        first_at = seen.setdefault(exclusion.Claim(condition).identity,
                                   condition.pointer)
        if first_at != condition.pointer:
            yield condition.pointer, _('%s says the same') % (
                file_rule.place_name(first_at))


def check_fields(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find text that was to be a field."""
    for pointer, text, meant in _meant(rule):
        yield pointer, _('"%(text)s" is text, no field; did you mean '
                         '"%(meant)s"?') % {'text': text, 'meant': meant}
    # That is not mended: a rule that was taken over may mean the text.
    for name in model.CONTENT:
        for pointer, text in checked_rule.texts(rule.written.entry.get(name),
                                                f'/{name}'):
            for doubled in _DOUBLED.finditer(text):
                yield pointer, _('"%(text)s" is text, doubled braces are '
                                 'literal ones; a field is "%(field)s"') % {
                                     'text': doubled[0], 'field': doubled[1]}


def mendings(rule: checked_rule.CheckedRule
             ) -> typing.Iterator[mended_text.Change]:
    """Yield what makes a field of text."""
    for pointer, text, meant in _meant(rule):
        yield mended_text.Replace(pointer, text, meant)


def _meant(rule: checked_rule.CheckedRule
           ) -> typing.Iterator[tuple[str, str, str]]:
    for operation in rule.operations:
        for name in operation.templates:
            if name in ('path', 'name', 'names', 'prefix', 'msg', 'level'):
                continue
            pointer = operation.pointer_to(name)
            argument = data_path.get(operation.written, data_path.parse(
                pointer.removeprefix(operation.pointer)))
            for place, text in checked_rule.texts(argument, pointer):
                meant = _as_field(text)
                if meant:
                    yield place, text, meant
        loop = operation.loop
        if isinstance(loop, str):
            meant = _as_field(loop)
            if meant:
                yield f'{operation.pointer}/loop', loop, meant


def _as_field(text: str) -> str | None:
    plain = _SHELL_BARE.sub('', text, count=1)
    bare = _BARE.fullmatch(plain)
    if bare:
        steps = data_path.parse('/' + text.replace('.', '/').replace(
            '[', '/').replace(']', ''))
        if steps[0] not in ('inventory', 'plugin_data') or isinstance(
                inventory_fields.find(inventory_fields.known(), steps),
                inventory_fields.Field):
            return f'{{{plain}}}'
    outside = _OUTSIDE.fullmatch(text)
    if outside:
        names = re.findall(r'\|\s*(\w+)', outside[2])
        if registry.filters().keys() >= set(names):
            return f'{{{outside[1].rstrip()}{outside[2]}}}'
    if _SHELL.search(text):
        return _SHELL.sub(r'\1', text)
    opened = _OPENED.fullmatch(text)
    return f'{text}}}' if opened else None


def check_arguments(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find arguments without names."""
    for operation in rule.operations:
        args = operation.written.get('args')
        if not isinstance(args, list):
            continue
        names = ', '.join(f'{name}: …' for name in operation.arguments_given)
        yield f'{operation.pointer}/args', _(
            'a list of arguments is deprecated since Ironic 39, a later '
            'release refuses it; name them: {%s}') % names


def check_units(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find quantities that compare as text with a field."""
    for condition in rule.all_conditions:
        for each in facts.of(condition):
            match = isinstance(each.value, str) and (
                not facts.is_version(each)) and (
                    known_values.QUANTITY.fullmatch(each.value))
            if not match:
                continue
            unit: typing.Any = known_values.KEPT_IN.get(
                each.field.rpartition('/')[2])
            given = known_values.BYTES.get(match[2].lower())
            example = '' if unit is None or given is None else _(
                ', %(number)d: {%(field)s} is in %(unit)s') % {
                    'number': float(match[1]) * given / unit[1],
                    'field': '.'.join(data_path.parse(each.field)),
                    'unit': unit[0]}
            yield condition.pointer, _(
                '"%(value)s" compares as text, not as a number; write a '
                'number in the unit of the field%(example)s') % {
                    'value': each.value, 'example': example}

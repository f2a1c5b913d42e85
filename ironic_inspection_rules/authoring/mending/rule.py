# SPDX-License-Identifier: Apache-2.0

"""Changes of a rule, where there is exactly one right mending.

A name is mended where it can be nothing but a slip: no rule, op, filter or
machine has it, and one letter away is one name that is known.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import re
import typing

from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import names
from ironic_inspection_rules.authoring.checks import reach
from ironic_inspection_rules.authoring.checks import shape
from ironic_inspection_rules.authoring.checks import values
from ironic_inspection_rules.authoring.checks import writes
from ironic_inspection_rules.authoring.mending import change
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.machine import inventory_fields
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.traits import names as trait_names

Change = change.Change

_CHOICES = {'phase': model.PHASES, 'mode': model.MODES}
_KEYS = ('op', 'args', 'loop')
_UNIT = re.compile('_([kmgt]i?b|bytes)$')
_NAMED_TRAIT = ('add-trait', 'remove-trait')


def changes(rule: file_rule.WrittenRule,
            ops: registry.Registry) -> Iterator[Change]:
    """Yield what mends a rule in this language; what is good stays."""
    entry = rule.entry
    if not isinstance(entry, dict) or rule.is_old:
        return
    yield from _keys('', entry, model.WRITABLE)
    for name, choices in _CHOICES.items():
        yield from _choice(f'/{name}', entry.get(name), choices)
    for name, known in (('conditions', ops.conditions),
                        ('actions', ops.actions)):
        yield from _operations(f'/{name}', entry.get(name), known)
    checked = checked_rule.of(rule, ops)
    for mendings in (shape.mendings, values.mendings, _fields, _paths):
        yield from mendings(checked)


def _keys(pointer: str, mapping: dict[str, typing.Any],
          known: Iterable[str]) -> Iterator[Change]:
    free = set(known) - mapping.keys()
    found = [(key, suggestion.slip(key, free)) for key in mapping
             if key not in known]
    meant = [new for _old, new in found]
    for old, new in found:
        if new is not None and meant.count(new) == 1:
            yield change.Rename(pointer, old, new)


def _choice(pointer: str, value: typing.Any,
            choices: Iterable[str]) -> Iterator[Change]:
    if isinstance(value, str) and value not in choices:
        meant = suggestion.slip(value, choices)
        if meant:
            yield change.Rewrite(pointer, value, meant)


def _operations(pointer: str, operations: typing.Any,
                known: typing.Mapping[str, registry.Op]) -> Iterator[Change]:
    for index, operation in enumerate(
            operations if isinstance(operations, list) else ()):
        if isinstance(operation, dict):
            yield from _operation(f'{pointer}/{index}', operation, known)


def _operation(pointer: str, operation: dict[str, typing.Any],
               known: typing.Mapping[str, registry.Op]) -> Iterator[Change]:
    is_action = pointer.startswith('/actions')
    more = ('revert',) if is_action else ('multiple', 'conditions')
    yield from _keys(pointer, operation, _KEYS + more)
    yield from _choice(f'{pointer}/multiple', operation.get('multiple'),
                       model.MULTIPLE)
    for key in ('args', 'loop'):
        yield from _filters(f'{pointer}/{key}', operation.get(key))
    if not isinstance(operation.get('op'), str):
        return
    name, _inverted = model.split_op(operation['op'])
    op = known.get(name)
    if op is None:
        meant = suggestion.slip(name, known)
        if meant:
            yield change.Rewrite(f'{pointer}/op', name, meant)
    elif isinstance(op.plugin, plugin.Group):
        yield from _operations(f'{pointer}/conditions',
                               operation.get('conditions'), known)
    else:
        yield from _arguments(f'{pointer}/args', operation.get('args'), op)


def _arguments(pointer: str, args: typing.Any,
               op: registry.Op) -> Iterator[Change]:
    if isinstance(args, dict):
        yield from _keys(pointer, args, op.signature.by_name)
        name = args.get('name')
        if op.name in _NAMED_TRAIT and isinstance(name, str):
            yield from _trait(f'{pointer}/name', name)
    elif isinstance(args, list):
        bound, problems = op.signature.bind(args)
        if not problems:
            first = op.signature.arguments[:1]
            whole = bool(bound) and first[0].variadic and (
                bound[first[0].name] == args)
            yield change.Name(pointer, tuple(bound), whole)


def _trait(pointer: str, name: str) -> Iterator[Change]:
    form = re.sub('[^A-Z0-9_]+', '_', name.upper())
    if trait_names.problem(name) and not interpolation.fields(name) and (
            trait_names.problem(form) is None):
        yield change.Rewrite(pointer, name, form)


def _filters(pointer: str, value: typing.Any) -> Iterator[Change]:
    """Yield what mends the names of roots and filters."""
    known = registry.filters()
    for field in interpolation.fields(value):
        slips = [(call.name, suggestion.slip(call.name, known))
                 for call in field.filters if call.name not in known]
        if field.root is not None and field.root not in (
                *interpolation.ROOTS, interpolation.ITEM):
            slips.append((field.root, suggestion.slip(
                field.root, interpolation.ROOTS)))
        for old, new in slips:
            yield from _rewrite(pointer, field.text, old, new)


def _fields(rule: checked_rule.CheckedRule) -> Iterator[Change]:
    """Yield what mends the steps of fields in a valid rule."""
    for use in reach.uses(rule):
        wrong = _wrong_step(use)
        if wrong:
            yield from _rewrite(use.pointer, use.text, *wrong)


def _paths(rule: checked_rule.CheckedRule) -> Iterator[Change]:
    """Yield what mends the names of attributes that are written."""
    for action in rule.actions:
        for each in writes.writes(action):
            known = {'node': schema.NODE, 'port': schema.PORT}.get(each.kind)
            if known is None or not isinstance(each.name, str):
                continue
            name = re.split('[/.]', each.name.lstrip('/'))[0]
            meant = None if name in known else suggestion.slip(name, known)
            if meant and name and each.name.count(name) == 1:
                yield change.Rewrite(action.pointer_to(each.argument),
                                     each.name,
                                     each.name.replace(name, meant))


def _wrong_step(use: reach.Use) -> tuple[str, str | None] | None:
    if use.steps[0] == 'node' and use.steps[1:2]:
        name = use.steps[1]
        return None if name in names.NODE else (
            name, suggestion.slip(name, names.NODE))
    lacking = reach.lacking(use)
    if lacking:
        return lacking[0], suggestion.slip(*lacking)
    steps = use.from_roots
    if steps and steps[0] == 'ports' and steps[2:]:
        return None if steps[2] in names.PORT else (
            steps[2], suggestion.slip(steps[2], names.PORT))
    found = steps and inventory_fields.find(inventory_fields.known(), steps)
    if isinstance(found, inventory_fields.Unknown) and found.steps not in (
            (), ('plugin_data',)):
        # Beside plugin data of Ironic a site may have some of its own.
        return found.name, suggestion.slip(found.name, found.above.names)
    return None


def _rewrite(pointer: str, text: str, old: str,
             new: str | None) -> Iterator[Change]:
    """Yield what puts a name into the text of a field, if it is clear where.

    :param new: None where nobody knows. One with another unit is not what
        was meant: the value beside it would have to change as well.
    """
    if new is None or _UNIT.findall(old) != _UNIT.findall(new):
        return
    mended, count = re.subn(rf'(?<![\w-]){re.escape(old)}(?![\w-])', new,
                            text)
    if count == 1:
        yield change.Rewrite(pointer, f'{{{text}}}', f'{{{mended}}}')

# SPDX-License-Identifier: Apache-2.0

"""Find parts without effect, wrong braces, lists of arguments and units.

These are checks of ``lint`` for the notation of a rule. An operation is a
condition or an action. A field is a text in braces, e.g.
``{inventory.cpu.count}``; its first name is its root. A check yields mistakes:
pairs of the place in the rule, e.g. ``/conditions/0/args/values``, and a
message.
"""

import re
import typing

from ironic_inspection_rules import exceptions
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
# A path without braces: inventory.cpu.count.
_BARE_PATH = re.compile(rf'({_ROOTS})((?:\.[A-Za-z_]\w*|\[\w+\])+)')
# A field without its closing brace, possibly after others:
# {inventory.cpu.count
_UNCLOSED_FIELD = re.compile(
    rf'(?:[^{{}}]|\{{[^{{}}]*\}})*'
    rf'(?P<field>\{{(?:{_ROOTS})[.\[][^{{}}\s]*)'
)
# A field in doubled braces, which is text: {{inventory.cpu.count}}
_FIELD_IN_DOUBLED_BRACES = re.compile(
    rf'\{{(\{{(?:{_ROOTS})[.\[|][^{{}}]*\}})\}}'
)
# A field with filters after the braces: {inventory.disks} | length
_FILTERS_BEHIND_BRACES = re.compile(
    rf'\{{((?:{_ROOTS})[.\[|][^{{}}]*)\}}'
    r'((?:\s*\|\s*[a-z_0-9]+(?:\([^(){}]*\))?)+)\s*'
)
# A field in the notation of shell variables: ${inventory.cpu.count}
_FIELD_OF_SHELL = re.compile(rf'\$(\{{(?:{_ROOTS})[.\[}}])')

_MOSTLY_TEXT_ARGUMENTS = ('path', 'name', 'names', 'prefix', 'msg', 'level')
"""Arguments that are usually text, even if it looks like a field."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find parts of a rule that have no effect.

    These are ``multiple`` without a loop, a loop whose item is not used, a
    comparison of a single value, and a condition that repeats an earlier
    condition.
    """
    for operation in rule.operations:
        if operation.written.get('multiple') and not operation.loops:
            yield (
                operation.pointer,
                _('"multiple" says nothing without a loop'),
            )
        if _may_repeat(operation) and not _uses_item(operation):
            yield (
                f'{operation.pointer}/loop',
                _(
                    'nothing uses {item}: it is the same for each item of the '
                    'loop'
                ),
            )
        if _compares_one_value(rule, operation):
            yield (
                operation.pointer,
                _('one value alone is compared with nothing'),
            )
    # Two compared conditions are equal if they mean the same.
    first_places: dict[exclusion.ComparedCondition, str] = {}
    for condition in rule.conditions:
        compared = exclusion.ComparedCondition(condition)
        first_place = first_places.setdefault(compared, condition.pointer)
        if first_place != condition.pointer:
            yield (
                condition.pointer,
                _('%s says the same') % (file_rule.place_name(first_place)),
            )


def _may_repeat(operation: file_rule.Operation) -> bool:
    """Return whether a loop may run an operation more than once.

    A loop over ``["{node.name}"]`` does not, because it has a single item.
    """
    if not operation.loops:
        return False
    if getattr(operation.op.plugin, 'FAILS', False):
        # The action "fail" ends the inspection. With a loop it means: fail if
        # the list has any items.
        return False
    loop = operation.written.get('loop')
    return not (isinstance(loop, list) and len(loop) < 2)


def _uses_item(operation: file_rule.Operation) -> bool:
    """Return whether an operation, or a condition in it, reads ``{item}``."""
    for part in operation.all:
        for field in effects.fields_of_operation(part):
            if field.root == interpolation.ITEM:
                return True
    return False


def _compares_one_value(
    rule: checked_rule.CheckedRule, operation: file_rule.Operation
) -> bool:
    """Return whether a comparison such as ``eq`` has only one value.

    Such a comparison holds on every machine. A field that may be a list is not
    counted as one value, because the items of the list are then compared.
    """
    declared = operation.op.signature.arguments
    if not declared or operation.loops:
        return False
    # Comparisons such as "eq" accept any number of values.
    takes_any_number = declared[0].variadic and declared[0].name == 'values'
    if not takes_any_number:
        return False
    compared = operation.arguments.get('values')
    if not isinstance(compared, list) or len(compared) != 1:
        return False
    (value,) = compared
    if not facts.is_field(value):
        return True
    compared_field = values.describe_field(rule, facts.field_name(value))
    may_be_list = compared_field.value.type in ('list', None)
    return not may_be_list


def check_fields(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find text that looks like a field with wrong or missing braces.

    In paths, messages and similar arguments, only doubled braces are reported.
    """
    for pointer, text, meant in _find_broken_fields(rule):
        yield (
            pointer,
            _('"%(text)s" is text, no field; did you mean "%(meant)s"?')
            % {'text': text, 'meant': meant},
        )
    # Doubled braces are not corrected, because a rule that was converted from
    # a stock rule may mean a text with braces.
    for name in model.CONTENT:
        for pointer, text in checked_rule.texts(
            rule.written.entry.get(name), f'/{name}'
        ):
            for doubled in _FIELD_IN_DOUBLED_BRACES.finditer(text):
                yield (
                    pointer,
                    _(
                        '"%(text)s" is text, doubled braces are '
                        'literal ones; a field is "%(field)s"'
                    )
                    % {'text': doubled[0], 'field': doubled[1]},
                )


def mendings(
    rule: checked_rule.CheckedRule,
) -> typing.Iterator[mended_text.Change]:
    """Yield the changes of ``lint --fix`` that correct fields with bad braces.

    For example, ``inventory.cpu.count`` becomes ``{inventory.cpu.count}``.
    """
    for pointer, text, meant in _find_broken_fields(rule):
        yield mended_text.ReplaceValue(pointer, text, meant)


def _find_broken_fields(
    rule: checked_rule.CheckedRule,
) -> typing.Iterator[tuple[str, str, str]]:
    """Yield texts in arguments and loops that look like broken fields.

    Arguments that are usually text, e.g. paths and messages, are skipped.

    :returns: tuples of the pointer to the text; the text, e.g.
        ``inventory.cpu.count``; and the text with the field that was probably
        intended, ``{inventory.cpu.count}``.
    """
    for operation in rule.operations:
        for name in operation.templates:
            if name in _MOSTLY_TEXT_ARGUMENTS:
                continue
            # Read the argument as it is written, because "args" may be a list
            # or a mapping.
            pointer = operation.pointer_to(name)
            steps = data_path.split_pointer(
                pointer.removeprefix(operation.pointer)
            )
            argument = data_path.get(operation.written, steps)
            for place, text in checked_rule.texts(argument, pointer):
                meant = _mend_field(text)
                if meant:
                    yield place, text, meant
        loop = operation.loop
        if isinstance(loop, str):
            meant = _mend_field(loop)
            if meant:
                yield f'{operation.pointer}/loop', loop, meant


def _mend_field(text: str) -> str | None:
    """Return a text with the field that its author probably meant.

    - ``inventory.cpu.count`` has no braces.
    - ``{inventory.disks} | length`` has a filter after the braces.
    - ``${inventory.cpu.count}`` has the notation of a shell.
    - ``{inventory.cpu.count`` has no closing brace.

    :returns: None for any other text.
    """
    # A path without braces, possibly as in a shell: $inventory.cpu.count
    bare_path = text.removeprefix('$')
    if _BARE_PATH.fullmatch(bare_path):
        # If there is no "$", it may be text, unless machines have such data.
        is_of_shell = text.startswith('$')
        steps = _split_bare_path(bare_path)
        if steps and (is_of_shell or _may_exist(steps)):
            return _in_braces(bare_path)
    # Filters after the braces: {inventory.disks} | length
    with_filters = _FILTERS_BEHIND_BRACES.fullmatch(text)
    if with_filters:
        field, filters = with_filters.groups()
        names = re.findall(r'\|\s*(\w+)', filters)
        known_filters = registry.filters()
        if all(name in known_filters for name in names):
            return _in_braces(field.rstrip() + filters)
    # Braces of a shell, anywhere in a text: ${inventory.cpu.count}
    if _FIELD_OF_SHELL.search(text):
        return _FIELD_OF_SHELL.sub(r'\1', text)
    # A missing closing brace: {inventory.cpu.count
    if _UNCLOSED_FIELD.fullmatch(text):
        return f'{text}}}'
    return None


def _in_braces(text: str) -> str:
    """Return a field with its braces."""
    return f'{{{text}}}'


def _split_bare_path(bare_path: str) -> data_path.Path:
    """Return the steps of a path without braces.

    ``inventory.disks[0]`` gives ``('inventory', 'disks', '0')``. If the path
    has too many steps, the result is empty.
    """
    pointer = bare_path.replace('.', '/').replace('[', '/').replace(']', '')
    try:
        return data_path.parse(f'/{pointer}')
    except exceptions.OperationError:
        return ()


def _may_exist(steps: data_path.Path) -> bool:
    """Return whether a machine may have data at a path.

    This is only known for the inventory and plugin data; otherwise the result
    is True.
    """
    if steps[0] not in ('inventory', 'plugin_data'):
        return True
    field = inventory_fields.find_field(inventory_fields.known_fields(), steps)
    return isinstance(field, inventory_fields.InventoryField)


def check_arguments(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find operations whose arguments are a list, without names.

    Ironic 39 deprecates this form. For ``[/driver, ipmi]``, the message shows
    the names: ``{path: …, value: …}``.
    """
    for operation in rule.operations:
        args = operation.written.get('args')
        if not isinstance(args, list):
            continue
        names = ', '.join(f'{name}: …' for name in operation.arguments_given)
        yield (
            f'{operation.pointer}/args',
            _(
                'a list of arguments is deprecated since Ironic 39, a later '
                'release refuses it; name them: {%s}'
            )
            % names,
        )


def check_units(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find quantities such as "16 GiB" that are compared with a field.

    They are compared as text instead of by size. The message shows the same
    quantity in the unit of the field, if the unit is known.
    """
    for condition in rule.all_conditions:
        for fact in facts.stated_by(condition):
            if not isinstance(fact.value, str) or facts.is_version(fact):
                continue
            quantity = known_values.QUANTITY.fullmatch(fact.value)
            if quantity is None:
                continue
            number, unit = quantity.groups()
            example = _describe_in_unit_of(
                fact.field, number=float(number), unit=unit
            )
            yield (
                condition.pointer,
                _(
                    '"%(value)s" compares as text, not as a number; write a '
                    'number in the unit of the field%(example)s'
                )
                % {'value': fact.value, 'example': example},
            )


def _describe_in_unit_of(field: str, number: float, unit: str) -> str:
    """Return the end of a message: a quantity in the unit of a field.

    For 16 GiB and the field ``physical_mb`` this is ", 16384:
    {inventory.memory.physical_mb} is in MiB".

    :param field: the name of the field, e.g.
        ``/inventory/memory/physical_mb``.
    :param number: the number of the quantity, e.g. 16 for "16 GiB".
    :param unit: the unit of the quantity, e.g. "GiB".
    :returns: ``''`` if the unit of the field or of the quantity is unknown.
    """
    name = field.rpartition('/')[2]
    if name not in known_values.UNIT_OF_FIELD:
        return ''
    if unit.lower() not in known_values.BYTES_OF_UNIT:
        return ''
    unit_of_field = known_values.UNIT_OF_FIELD[name]
    size_in_bytes = number * known_values.BYTES_OF_UNIT[unit.lower()]
    return _(', %(number)d: {%(field)s} is in %(unit)s') % {
        'number': size_in_bytes / unit_of_field.size,
        'field': '.'.join(data_path.split_pointer(field)),
        'unit': unit_of_field.name,
    }

# SPDX-License-Identifier: Apache-2.0

"""Find values that YAML reads differently than their authors meant.

For example, YAML 1.1 reads ``no`` as false and ``0123`` as 83, and ``"\\b"``
in double quotes as a backspace. ``lint`` reports such values, and ``lint
--fix`` corrects them.

A scalar is a text, a number, a boolean or null in a YAML file. It is ambiguous
if it has no quotes, and YAML reads it as a number or a boolean although it may
be meant as text. The parser of rule files records the ambiguous scalars with
their text in the file (``raw``), e.g. ``no``.
"""

from collections.abc import Iterator
import re
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import mended_text
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_rows
from ironic_inspection_rules.rule_file import yaml_scalar

_ESCAPED = {'\0': '0', '\a': 'a', '\b': 'b', '\v': 'v', '\f': 'f', '\x1b': 'e'}
"""The letter of an escape in double quotes, by the control character."""
_CONTROL = re.compile('[\0\a\b\v\f\x1b]')
# The start of an expression with the flag "x". White space in it, including
# its last newline, matches nothing.
_VERBOSE = re.compile(r'\(\?[a-wyz]*x')


def check(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find values that YAML reads differently than their author meant.

    These are control characters from escapes in double quotes, scalars such as
    ``no`` that are meant as text, and texts of conditions that end in a
    newline. In rules of ironic-inspector, only control characters are
    reported.
    """
    yield from _check_control_characters(rule)
    if rule.written.is_of_inspector:
        # ironic-inspector converts text to numbers, and its arguments are at
        # other places.
        return
    for pointer, raw, value in _find_misread_scalars(rule):
        read_as = str(value)
        if isinstance(value, bool):
            read_as = read_as.lower()
        yield pointer, _format_misread(raw, read_as)
    for pointer, _text in _find_texts_with_newline(rule):
        yield (
            pointer,
            _(
                'the text ends in a newline, which is compared too; '
                'in YAML, "|-" leaves it out'
            ),
        )


def _check_control_characters(
    rule: checked_rule.CheckedRule,
) -> checked_rule.Mistakes:
    """Find texts with a control character, e.g. the backspace of "\\b".

    Its author probably meant a backslash and a letter. Only the first
    character of each text is reported.
    """
    for pointer, text in checked_rule.texts(
        {name: rule.written.entry.get(name) for name in model.CONTENT}
    ):
        control = _CONTROL.search(text)
        if control is None:
            continue
        if control[0] == '\b':
            character = _('a backspace')
        else:
            character = _('a control character')
        yield (
            pointer,
            _(
                'the text has %(character)s: "\\%(letter)s" is one in double '
                'quotes; use single quotes'
            )
            % {'character': character, 'letter': _ESCAPED[control[0]]},
        )


def check_table(
    rows: table_rows.Rows, definition: table.TableDefinition
) -> Iterator[tuple[str, str, str]]:
    """Find columns with values that YAML probably misreads.

    In a column of numbers, 2.10 may well mean 2.1, so such columns are
    skipped.

    :returns: the column, the JSON pointer (RFC 6901) of its first such value,
        and a sentence.
    """
    for name, column in rows.ambiguous.items():
        if definition.types.get(name) == 'number':
            continue
        value = rows.rows[column.row][name]
        message = _format_misread(column.written, str(value))
        if column.count > 1:
            message = _('%(message)s (in %(count)d rows of this column)') % {
                'message': message,
                'count': column.count,
            }
        place = data_path.pointer(('rows', str(column.row), name))
        yield name, place, message


def _format_misread(raw: str, read_as: str) -> str:
    """Return the message about a scalar that was probably meant as text.

    :param raw: the text of the scalar in the file, e.g. ``0123``.
    :param read_as: the value that YAML reads, e.g. ``83``.
    """
    if raw == read_as:
        # This applies to 1.5e+300, and to 1e+300 in a JSON file.
        return _(
            '%(raw)s is read as a number; put text in quotes: "%(raw)s"'
        ) % {'raw': raw}
    return _(
        'YAML reads %(raw)s as %(value)s; put text in quotes: "%(raw)s"'
    ) % {'raw': raw, 'value': read_as}


def mendings(rule: checked_rule.CheckedRule) -> Iterator[mended_text.Change]:
    """Yield the changes of ``lint --fix`` that correct misread values.

    Text gets quotes, a backspace in a regular expression becomes ``\\b``, and
    a newline at the end of a text is removed.
    """
    for pointer, raw, value in _find_misread_scalars(rule):
        yield mended_text.ReplaceValue(pointer, value, raw)
    for operation in rule.operations:
        for name, value in operation.arguments.items():
            if not isinstance(value, str) or '\b' not in value:
                continue
            declared = operation.op.signature.by_name[name]
            if declared.type is pattern.Pattern:
                yield mended_text.ReplaceValue(
                    operation.pointer_to(name),
                    value,
                    value.replace('\b', r'\b'),
                )
    for pointer, text in _find_texts_with_newline(rule):
        yield mended_text.ReplaceValue(pointer, text, text[:-1])


def _find_texts_with_newline(
    rule: checked_rule.CheckedRule,
) -> checked_rule.PlacedTexts:
    """Yield the texts of conditions that end in a newline, with pointers."""
    for condition in rule.all_conditions:
        for pointer, text in checked_rule.texts(
            condition.written.get('args'), f'{condition.pointer}/args'
        ):
            if text.endswith('\n') and not _VERBOSE.match(text):
                yield pointer, text


def _find_misread_scalars(
    rule: checked_rule.CheckedRule,
) -> Iterator[tuple[str, str, typing.Any]]:
    """Yield scalars without quotes that were probably meant as text.

    :returns: tuples of the pointer to the scalar, its text in the file, and
        the number or boolean that YAML reads.
    """
    written = rule.written
    for (rule_index, pointer), raw in written.source.ambiguous.items():
        if rule_index != written.index:
            # The scalar is in another rule of the file.
            continue
        if _is_misread(rule, pointer, raw):
            steps = data_path.split_pointer(pointer)
            value = data_path.get(written.entry, steps)
            yield pointer, raw, value


def _is_misread(
    rule: checked_rule.CheckedRule, pointer: str, raw: str
) -> bool:
    """Return whether an ambiguous scalar was probably meant as text.

    :param pointer: the place of the scalar in the rule.
    :param raw: the text of the scalar in the file, e.g. ``no``.
    """
    if pointer in ('/description', '/scope', '/uuid'):
        return True
    if pointer.startswith(f'/{model.VARS}/'):
        # A variable may be meant as a number or a boolean.
        return not yaml_scalar.is_perhaps_meant(raw)
    for operation in rule.operations:
        places = (f'{operation.pointer}/args/', f'{operation.pointer}/loop/')
        if pointer.startswith(places):
            return not _may_be_number_or_boolean(rule, operation, pointer, raw)
    # The type is fixed in other places, and the schema checks it.
    return False


def _may_be_number_or_boolean(
    rule: checked_rule.CheckedRule,
    operation: file_rule.Operation,
    pointer: str,
    raw: str,
) -> bool:
    """Return whether an argument may be meant as a number or a boolean.

    The declared type of the argument decides. If the argument accepts any
    type, the type of the field with which it is compared decides. Words such
    as ``no`` are also accepted in actions, because an action may set a
    boolean.

    :param pointer: the place of the scalar, in an argument or the loop.
    :param raw: the text of the scalar in the file, e.g. ``no``.
    """
    # These arguments are messages for people.
    message_names = getattr(operation.op.plugin, 'TELLS', ())
    for name in operation.arguments_given:
        # The slash ensures that "…/values/0" is not inside "…/value".
        if not f'{pointer}/'.startswith(f'{operation.pointer_to(name)}/'):
            continue
        declared_type = operation.op.signature.by_name[name].type
        if declared_type in (bool, int, float):
            return True
        if declared_type is str or name in message_names:
            return False
    # The argument accepts any type, or the scalar is in the loop.
    item = field_use.known_items(rule)[operation.pointer]
    types_of_fields = [
        values.describe_field(rule, fact.field, item).value.type
        for fact in facts.stated_by(operation, looped=True)
    ]
    if yaml_scalar.is_rare_notation(raw):
        return field_value.TEXT not in types_of_fields
    if not yaml_scalar.is_switch(raw):
        # This is e.g. "1:30", a number in base 60, which nobody means.
        return False
    # An action may set a boolean, and a condition may compare a boolean field.
    is_action = pointer.startswith('/actions/')
    return is_action or field_value.BOOLEAN in types_of_fields

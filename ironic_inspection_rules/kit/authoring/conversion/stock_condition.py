# SPDX-License-Identifier: Apache-2.0

"""Convert conditions of stock Ironic so that they hold for the same machines.

In stock Ironic, all fields become text. If a field is missing, the text
remains as it is written, and the condition is checked with it, but in this
language the condition would be false.

For example, ``!eq`` of ``{node.extra[rack]}`` and ``r1`` holds in stock Ironic
if the rack is missing. So the new condition is ``none-of`` with ``eq``, which
also holds then. "Here" means this language. Differences that remain are
recorded in a :class:`.rule.Conversion`, called notes.
"""

from collections.abc import Callable, Iterator
import ipaddress
import itertools
import operator
import re
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.authoring.conversion import stock_text
from ironic_inspection_rules.rule_file import stock_form

Operation = dict[str, typing.Any]
Args = typing.Mapping[str, typing.Any]
Text = stock_text.StockText

# The texts of all values that is-empty of stock Ironic accepts.
_EMPTY_TEXTS = ['', 'None', '[]', '{}']
# A brace that would start a field in this language, but is text in stock
# Ironic.
_ROOT = re.compile(
    r'(?<!\\)\{(?=\s*(?:'
    + '|'.join((*interpolation.ROOTS, interpolation.ITEM))
    + r')\b)'
)

_COMPARE_BY_OP: dict[str, Callable[[typing.Any, typing.Any], bool]] = {
    'eq': operator.eq,
    'lt': operator.lt,
    'gt': operator.gt,
}

_FALSE_WHERE_MISSING = frozenset(
    (*_COMPARE_BY_OP, 'matches', 'contains', 'in-net', 'one-of')
)
"""Conditions that are false in this language if a field is missing, whether
they are inverted or not."""

_RESULT_IF_MISSING = {'is-true': False, 'is-false': True}
"""The result of a condition of this language if a field is missing, for
conditions that treat a missing field as null."""


class Fails(Exception):
    """Stock Ironic fails the inspection; the message says why."""


def convert(
    op: str, inverted: bool, args: Args, notes: rule.Conversion
) -> Operation | bool:
    """Convert one condition of stock Ironic, or one iteration of its loop.

    :param args: the arguments by name, with :class:`.stock_text.StockText` for
        texts that stock Ironic formats.
    :param notes: the conversion that records every remaining difference.
    :returns: the condition in this language, or a boolean if the result is the
        same on all machines.
    :raises: :class:`Fails` if stock Ironic fails the inspection of every
        machine.
    :raises: :class:`.rule.Inconvertible` if this language cannot express the
        condition.
    """
    # The texts with fields, which differ from machine to machine.
    texts = stock_text.list_varying(dict(args))
    for text in texts:
        _note_differences(text, notes)
    _check_arguments(op, args)
    if not texts:
        return _invert_result(_find_result_if_missing(op, args), inverted)
    # A condition may have fields, but the same result on all machines.
    constant_result = _find_constant_result(op, args)
    if constant_result is not None:
        return _invert_result(constant_result, inverted)
    if op == 'in-net':
        notes.record_failure(
            _(
                'where "%s" is no IP address or subnet, stock Ironic fails '
                'the inspection; here the condition is false'
            )
            % texts[0].literal
        )
    if op == 'is-empty':
        return _convert_is_empty(texts[0], inverted, notes)
    if len(texts) > 1:
        return _convert_several_texts(op, inverted, args, texts, notes)
    # There is a single text with fields. The result of stock Ironic for a
    # machine without them decides how it is converted.
    try:
        result_if_missing = _find_result_if_missing(op, args)
    except Fails:
        # The text of the field is not an IP address, so stock Ironic fails the
        # inspection. A condition cannot do that, which has been recorded
        # above.
        result_if_missing = False
    return _convert_one_text(
        op, inverted, args, texts[0], result_if_missing=result_if_missing
    )


def _note_differences(text: Text, notes: rule.Conversion) -> None:
    """Record how a text of a condition differs here from stock Ironic."""
    for remark in text.remarks:
        notes.record_difference(remark)
    for name in text.secret_fields:
        notes.record_difference(
            _('{%s} reads as ****** here, where secrets are masked') % name
        )


def list_fields_needed(condition: Operation) -> Iterator[str]:
    """Yield the fields that exist on all machines on which a condition holds.

    For ``eq`` of ``{node.extra.rack}`` and ``r1`` this is ``node.extra.rack``.
    If such conditions hold, the actions of the rule can read the field without
    a default.

    :param condition: the converted condition, in the language of this plugin.
    """
    if 'loop' in condition:
        # A condition with a loop may hold because of a single item, and other
        # items may lack the field.
        return
    op = condition['op']
    name = op.removeprefix('!')
    if name not in _FALSE_WHERE_MISSING and op != 'exists':
        return
    # This is a converted "!is-empty". It is false for a missing field despite
    # the default, because the default "None" is one of the values.
    is_not_empty = op == '!one-of' and 'None' in condition['args']['values']
    for field in interpolation.fields(list(condition['args'].values())):
        # With any other default or filter, the condition may hold although the
        # field is missing.
        if not field.filters or is_not_empty:
            # Remove the format and the filters from the field.
            yield re.split('[!:|]', field.text)[0].strip()


def _convert_several_texts(
    op: str,
    inverted: bool,
    args: Args,
    texts: list[Text],
    notes: rule.Conversion,
) -> Operation:
    """Convert a condition on several texts whose fields may be missing.

    If a field is missing, stock Ironic compares the text as it is written.
    The result then depends on the other texts, so a group as in
    :func:`_convert_one_text` cannot express it. Instead, the field of
    every text gets its own text as a default.

    :param texts: the texts in ``args`` that have fields. They are only used to
        record differences; the converted condition is made from ``args``.
    :param notes: the conversion that records every remaining difference.
    """
    for text in texts:
        # A machine may lack a field of this text, but the text cannot have a
        # default, e.g. because it has several fields.
        if text.uncertain_fields and text.with_own_text_as_default() is None:
            notes.record_loss(
                _(
                    'where a field of "%s" is missing, stock Ironic '
                    'compares that text; here the condition is '
                    'false'
                )
                % text.literal
            )
    # The same texts are found in the arguments, and replaced.
    condition = _write_condition(op, args, _fill_with_default)
    return _invert(condition, inverted)


def _convert_one_text(
    op: str,
    inverted: bool,
    args: Args,
    text: Text,
    *,
    result_if_missing: bool,
) -> Operation:
    """Convert a condition on a single text whose fields may be missing.

    If a field is missing, stock Ironic checks the text as it is written. If
    the result is then true, the new condition needs a default, a group or
    ``exists``.

    :param result_if_missing: the result of stock Ironic for a missing field,
        before inversion.
    """
    condition = _write_condition(op, args, _fill_without_default)
    if not text.uncertain_fields:
        return _invert(condition, inverted)
    if _is_test_for_missing_field(op, args, text):
        # The old condition holds if the field is missing.
        (exists,) = _build_exists(text)
        return _invert(exists, not inverted)
    if op in _RESULT_IF_MISSING:
        return _convert_is_true_or_false(
            op, inverted, args, text, result_if_missing=result_if_missing
        )
    holds_if_missing = _invert_result(result_if_missing, inverted)
    if not holds_if_missing:
        # In this language the condition is false for a missing field, whether
        # it is inverted or not.
        return _invert(condition, inverted)
    if inverted:
        # "none-of" is true if its condition is false, regardless of the
        # reason.
        return {'op': 'none-of', 'conditions': [condition]}
    if text.with_own_text_as_default() is not None:
        # The other texts have no fields, so they get no default.
        return _write_condition(op, args, _fill_with_default)
    are_missing = [_invert(exists, True) for exists in _build_exists(text)]
    return {'op': 'any-of', 'conditions': [*are_missing, condition]}


def _convert_is_true_or_false(
    op: str,
    inverted: bool,
    args: Args,
    text: Text,
    *,
    result_if_missing: bool,
) -> Operation:
    """Convert ``is-true`` or ``is-false`` on a field that may be missing.

    In this language a missing field counts as null, which ``is-false`` treats
    as false. In stock Ironic it remains text in braces, which is neither true
    nor false.

    :param result_if_missing: the result of stock Ironic for a missing field,
        before inversion.
    """
    condition = _write_condition(op, args, _fill_without_default)
    if result_if_missing == _RESULT_IF_MISSING[op]:
        return _invert(condition, inverted)
    # An empty text is neither true nor false.
    with_default = text.with_default('')
    if with_default is not None:
        # The condition has no other text.
        def fill(_text: Text) -> str:
            return with_default

        return _invert(_write_condition(op, args, fill), inverted)
    conditions = [*_build_exists(text), condition]
    if inverted:
        all_of = {'op': 'all-of', 'conditions': conditions}
        return {'op': 'none-of', 'conditions': [all_of]}
    return {'op': 'all-of', 'conditions': conditions}


def _convert_is_empty(
    text: Text, inverted: bool, notes: rule.Conversion
) -> Operation:
    """Convert ``is-empty`` on a text to ``one-of`` with the empty texts.

    Stock Ironic checks the text of a field, so "None" and "[]" are empty. If a
    key is missing, the whole text is null.
    """
    converted = {
        'op': 'one-of',
        'args': {
            'value': _fill_with_none(text, notes),
            'values': rule.escape(_EMPTY_TEXTS),
        },
    }
    return _invert(converted, inverted)


def _fill_with_none(text: Text, notes: rule.Conversion) -> str:
    """Return a text that is "None", an empty text, if its field is missing.

    Stock Ironic takes such a text for empty. It is recorded as lost if this is
    not possible.
    """
    if not text.uncertain_fields:
        return text.filled
    with_default = text.with_default('None')
    is_one_field = text.source == text.literal
    if with_default is None or not is_one_field:
        # The text cannot have a default, or there is text around the field, so
        # that "None" would not make it empty.
        notes.record_loss(
            _(
                'stock Ironic takes "%s" for empty where a field is '
                'missing; here it is not'
            )
            % text.literal
        )
        return text.filled
    _note_steps_into_values(text.fields[0], notes)
    return with_default


def _note_steps_into_values(name: str, notes: rule.Conversion) -> None:
    """Record the difference on machines where a step is not a mapping.

    It is recorded for every field with a value between the root and the last
    step, because the conversion does not know the machines. In stock Ironic
    only a missing key gives null, which is empty. Any other error leaves the
    text of the field.

    :param name: the field, e.g. ``inventory.disk.size``, which steps into the
        value of ``inventory.disk``.
    """
    # The root and the value itself are not counted.
    parents = len(re.findall(r'[.\[]', name)) - 1
    if name.startswith('node.'):
        # The first step is an attribute of the node, which is never null.
        parents -= 1
    if parents > 0:
        notes.record_difference(
            _(
                'where what {%s} is in is not a mapping, such as null, '
                'stock Ironic takes it for not empty, and here it is '
                'empty'
            )
            % name
        )


def _check_arguments(op: str, args: Args) -> None:
    """Refuse arguments whose types the op does not accept.

    :raises: :class:`Fails` if stock Ironic fails the inspection of every
        machine because of them.
    :raises: :class:`.rule.Inconvertible` if this language does not accept
        them.
    """
    if op in _COMPARE_BY_OP:
        values = args['values']
        if not isinstance(values, list):
            raise Fails(_('it takes "values" as one list'))
        if op != 'eq':
            for left, right in itertools.pairwise(values):
                _check_order(left, right)
    elif op in ('matches', 'contains'):
        regex = args['regex']
        if isinstance(regex, Text) and regex.fields:
            raise rule.Inconvertible(
                _('a regular expression cannot take data of a machine')
            )
        _compile_like_stock(op, stock_text.make_plain(regex))
    elif op == 'one-of':
        value = args['value']
        if not _is_text(value) and stock_text.list_varying(value):
            raise rule.Inconvertible(
                _('a list or mapping with fields cannot be looked for')
            )


def _check_order(left: typing.Any, right: typing.Any) -> None:
    """Check that Python can order two values, e.g. for ``lt``.

    It can order two texts, two numbers, and two lists of them. With other
    values, stock Ironic fails the inspection.

    :raises: :class:`Fails` if it cannot on some machine.
    """
    if _is_text(left) and _is_text(right):
        return
    if _is_text(left) or _is_text(right):
        raise Fails(_('it cannot order text and something else'))
    if isinstance(left, list) and isinstance(right, list):
        _check_order_of_lists(left, right)
        return
    for value in (left, right):
        if not isinstance(value, int | float):
            raise Fails(_('it orders text, numbers and lists of them only'))


def _check_order_of_lists(
    left: list[typing.Any], right: list[typing.Any]
) -> None:
    """Check that Python can order two lists.

    It only orders the first two items that differ, e.g. 2 and 3 of ``[1, 2]``
    and ``[1, 3]``.

    :raises: :class:`Fails` if it cannot on some machine.
    """
    for left_item, right_item in zip(left, right, strict=False):
        if stock_text.list_varying([left_item, right_item]):
            # They differ on some machine. On another machine they may be
            # equal, and the next items are ordered.
            _check_order(left_item, right_item)
            continue
        plain_left = stock_text.make_plain(left_item)
        plain_right = stock_text.make_plain(right_item)
        if plain_left != plain_right:
            _check_order(left_item, right_item)
            return


def _find_constant_result(op: str, args: Args) -> bool | None:
    """Return the result of a condition with fields if it is always the same.

    For example, ``is-none: ["{node.name}"]`` is always false, because a field
    becomes text in stock Ironic.

    :returns: the result before inversion; None if it depends on the machine.
    """
    if op in _COMPARE_BY_OP and len(args['values']) < 2:
        # A single value is not compared with anything.
        return True
    if _is_false_on_all_machines(op, args):
        return False
    return None


def _is_false_on_all_machines(op: str, args: Args) -> bool:
    """Return whether a condition with fields is always false.

    For :func:`_find_constant_result`, which has an example.
    """
    if op == 'is-none':
        # All fields become text, which is never null.
        return True
    if op == 'is-empty':
        # A list or a mapping is not empty, because it contains the text with
        # the field.
        return not isinstance(args['value'], Text)
    if op == 'eq':
        # Text is never equal to anything else.
        return any(
            _is_text(left) != _is_text(right)
            for left, right in itertools.pairwise(args['values'])
        )
    if op == 'one-of':
        return _is_never_one_of(args['value'], args.get('values') or [])
    return False


def _is_never_one_of(value: typing.Any, values: typing.Any) -> bool:
    """Return whether "one-of" is false on every machine.

    In stock Ironic a value with a field becomes text:
    ``{inventory[cpu][count]}`` becomes "8". It may equal any text, but never a
    number, so it is never one of ``[8, 16]``. A value that is not text is
    compared unchanged, so 4 is never one of these values either.

    :param values: the values with which it is compared. False is returned if
        they are neither a list nor a mapping.
    """
    if not isinstance(values, list | dict):
        return False
    if _is_text(value):
        return not any(_is_text(candidate) for candidate in values)
    return all(candidate != value for candidate in values)


def _is_text(value: typing.Any) -> bool:
    """Return whether a value is a text, which may have fields."""
    return isinstance(value, Text | str)


def _find_result_if_missing(op: str, args: Args) -> bool:
    """Return the result of stock Ironic if all fields are missing.

    For example, ``eq: ["{node.extra.rack}", r1]`` is then false, because the
    text of the field is not ``r1``. If there are no fields, this is the result
    for every machine. The result is not inverted yet.

    :raises: :class:`Fails` if stock Ironic fails the inspection.
    """
    plain = stock_text.make_plain(dict(args))
    value = plain.get('value')
    try:
        if op in _COMPARE_BY_OP:
            pairs = itertools.pairwise(plain['values'])
            return all(_COMPARE_BY_OP[op](*pair) for pair in pairs)
        if op == 'in-net':
            address = ipaddress.ip_address(str(plain['address']))
            return address in ipaddress.ip_network(
                str(plain['subnet']), strict=False
            )
        if op == 'one-of':
            return bool(value in plain.get('values', []))
    except (TypeError, ValueError) as exc:
        raise Fails(str(exc)) from exc
    if op in ('matches', 'contains'):
        pattern = _compile_like_stock(op, plain['regex'])
        return pattern.search(str(value)) is not None
    if op == 'is-empty':
        if isinstance(args['value'], Text) and args['value'].is_key_missing:
            return True
        return str(value) in _EMPTY_TEXTS
    if op == 'is-none':
        return value is None
    if op == 'is-true':
        return _is_true(value)
    return _is_false(value)


def _is_true(value: typing.Any) -> bool:
    """Return the result of stock Ironic's ``is-true``.

    The texts "yes" and "true" are true, and so are all numbers except 0.
    """
    if isinstance(value, str):
        return value.lower() in ('yes', 'true')
    return isinstance(value, int | float) and bool(value)


def _is_false(value: typing.Any) -> bool:
    """Return the result of stock Ironic's ``is-false``; null is false."""
    if isinstance(value, str):
        return value.lower() in ('no', 'false')
    if isinstance(value, int | float):
        return not value
    return value is None


def _compile_like_stock(op: str, regex: typing.Any) -> re.Pattern[str]:
    """Compile a regular expression that fails if it fails in stock Ironic.

    Stock Ironic is Ironic without this plugin. Its ``contains`` searches a
    text for the expression. Its ``matches`` matches the expression, with "$"
    appended, at the beginning of a text.

    :param op: ``matches`` or ``contains``.
    :param regex: the expression as an author wrote it, which may not be text.
    :raises: :class:`Fails` if stock Ironic cannot compile it.
    """
    try:
        # Compile the plain expression first, also for "matches", because
        # "a)|(b" is an error that anchors around it must not hide.
        pattern = re.compile(regex)
        if op == 'matches':
            # Stock Ironic checks whether the last character is "$", so an
            # empty expression is an error.
            regex[-1]
            pattern = re.compile(rule.anchor_regex(regex))
    except (re.error, TypeError, IndexError) as exc:
        raise Fails(
            _('"%(regex)s" is no regular expression: %(reason)s')
            % {'regex': regex, 'reason': exc}
        ) from exc
    return pattern


def _is_test_for_missing_field(op: str, args: Args, text: Text) -> bool:
    r"""Return whether a condition only tests whether its field is missing.

    In stock Ironic a missing field matches its own text, as in ``{node.name}
    matches \{node\.name\}``. Here this is ``!exists``.
    """
    is_one_field = text.source == text.literal
    if op != 'matches' or not is_one_field:
        return False
    regex = stock_text.make_plain(args['regex'])
    own_text = stock_form.unescape_regex(regex)
    if own_text != text.literal:
        return False
    return re.search(rule.anchor_regex(regex), own_text) is not None


def _build_exists(text: Text) -> list[Operation]:
    """Build one ``exists`` condition per field of a text.

    There are two for ``{node.extra.rack}-{node.extra.unit}``.
    """
    return [
        {'op': 'exists', 'args': {'value': f'{{{name}}}'}}
        for name in text.fields
    ]


def _invert(condition: Operation, inverted: bool) -> Operation:
    """Return a condition, with the prefix ``!`` if it is inverted."""
    if not inverted:
        return condition
    return {**condition, 'op': f'!{condition["op"]}'}


def _invert_result(result: bool, inverted: bool) -> bool:
    """Return the opposite of a result if the condition is inverted."""
    if inverted:
        return not result
    return result


def _fill_without_default(text: Text) -> str:
    """Return a text in this language; its fields have no defaults."""
    return text.filled


def _fill_with_default(text: Text) -> str:
    """Return a text whose field has its own text as a default.

    The text is unchanged if it cannot have a default, or if all machines have
    its fields.
    """
    if text.uncertain_fields:
        with_default = text.with_own_text_as_default()
        if with_default is not None:
            return with_default
    return text.filled


def _write_condition(
    op: str, args: Args, fill: Callable[[Text], str]
) -> Operation:
    """Write a condition of stock Ironic in this language.

    ``matches: ["{node.name}", "a|b"]`` becomes ``contains`` with the regular
    expression ``\\A(?:a|b$)``.

    :param fill: returns the text in this language for a text of stock Ironic,
        e.g. :func:`_fill_with_default`.
    :raises: :class:`.rule.Inconvertible` if the values of ``one-of`` are not a
        list.
    """
    new_args = stock_text.write(dict(args), fill)
    if op == 'one-of':
        texts = _list_texts_of_one_of(args.get('values'))
        new_args['values'] = [stock_text.write(text, fill) for text in texts]
        return {'op': 'one-of', 'args': new_args}
    if op in ('matches', 'contains'):
        regex = stock_text.make_plain(args['regex'])
        if op == 'matches':
            # In stock Ironic only the last alternative must reach the end of
            # the text. "matches" would require this of all alternatives here.
            regex = rule.anchor_regex(regex)
        # Stock Ironic does not fill in fields in the expression, so escape
        # everything that looks like a field.
        new_args['regex'] = _ROOT.sub(r'\\{', regex)
        return {'op': 'contains', 'args': new_args}
    return {'op': op, 'args': new_args}


def _list_texts_of_one_of(values: typing.Any) -> list[str | Text]:
    """Return the values of ``one-of`` that its value may be equal to.

    The value has a field, so it becomes text, which is only equal to text.

    :raises: :class:`.rule.Inconvertible` if the values are not a list.
    """
    if not isinstance(values, list | dict):
        raise rule.Inconvertible(
            _('"values" of one-of is no list, but text is looked for in it')
        )
    return [value for value in values if _is_text(value)]

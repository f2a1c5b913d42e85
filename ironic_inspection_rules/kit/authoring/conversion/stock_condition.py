# SPDX-License-Identifier: Apache-2.0

"""Conditions of stock Ironic as conditions that hold for the same machines.

There, all fields become text, and text with a missing field stays as it is
written: such a condition is decided too, and here it would be false.
"""

from collections.abc import Callable, Iterator
import ipaddress
import itertools
import operator
import re
import typing

from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.authoring.conversion import stock_text
from ironic_inspection_rules.rule_file import stock_form

Operation = dict[str, typing.Any]
Args = typing.Mapping[str, typing.Any]
Text = stock_text.Text

_EMPTY = ['', 'None', '[]', '{}']
_ROOT = re.compile(
    r'(?<!\\)\{(?=\s*(?:' + '|'.join(
        (*interpolation.ROOTS, interpolation.ITEM)) + r')\b)')

_COMPARE: dict[str, Callable[[typing.Any, typing.Any], bool]] = {
    'eq': operator.eq, 'lt': operator.lt, 'gt': operator.gt}

_FALSE_WHERE_MISSING = frozenset((*_COMPARE, 'matches', 'contains', 'in-net',
                                  'one-of'))
_MISSING_IS = {'is-true': False, 'is-false': True}
"""The conditions here that take a missing field for null."""


class Fails(Exception):
    """Stock Ironic fails the inspection; the message says why."""


def convert(op: str, inverted: bool, args: Args,
            notes: rule.Conversion) -> Operation | bool:
    """Convert one condition, or one turn of its loop.

    :param args: by name, with :class:`.stock_text.Text` for what stock
        Ironic formats.
    :returns: the condition, or what it always is.
    :raises: :class:`Fails` where it fails the inspection of each machine.
    :raises: :class:`.rule.Inconvertible`.
    """
    varying = stock_text.varying(dict(args))
    for text in varying:
        for remark in text.remarks:
            notes.differ(remark)
        for name in text.secrets:
            notes.differ(_('{%s} reads as ****** here, where secrets are '
                           'masked') % name)
    _check_kinds(op, args)
    if not varying:
        return _decide(op, args) != inverted
    always = _always(op, args)
    if always is not None:
        return always != inverted
    if op == 'in-net':
        notes.differ(_('where "%s" is no IP address or subnet, stock Ironic '
                       'fails the inspection; here the condition is false')
                     % varying[0].literal)
    if op == 'is-empty':
        return _is_empty(varying[0], inverted, notes)
    if len(varying) > 1:
        for text in varying:
            if text.uncertain and text.or_else() is None:
                notes.lose(_('where a field of "%s" is missing, stock Ironic '
                             'compares that text; here the condition is '
                             'false') % text.literal)
        return _inverted(_write(op, args, lambda text: (
            text.or_else() or text.filled) if text.uncertain
            else text.filled), inverted)
    try:
        otherwise = _decide(op, args)
    except Fails:
        otherwise = False
    return _with_missing(op, inverted, args, varying[0], otherwise)


def needed(condition: Operation) -> Iterator[str]:
    """Return the fields without which a converted condition does not hold."""
    name = condition['op'].removeprefix('!')
    if 'loop' in condition or (
            name not in _FALSE_WHERE_MISSING and condition['op'] != 'exists'):
        return
    is_not_empty = condition['op'] == '!one-of' and (
        'None' in condition['args']['values'])
    for each in interpolation.fields(list(condition['args'].values())):
        if not each.filters or is_not_empty:
            yield re.split('[!:|]', each.text)[0].strip()


def _with_missing(op: str, inverted: bool, args: Args, text: Text,
                  otherwise: bool) -> Operation:
    """Write a condition; ``otherwise`` is what a missing field makes it."""
    written = _write(op, args, lambda each: each.filled)
    if not text.uncertain:
        return _inverted(written, inverted)
    existing = _idiom(op, args, text)
    if existing:
        return {'op': 'exists' if inverted else '!exists',
                'args': {'value': existing}}
    if op in _MISSING_IS:
        if otherwise == _MISSING_IS[op]:
            return _inverted(written, inverted)
        filled = text.or_else('')
        if filled is not None:
            return _inverted(_write(op, args, lambda _each: str(filled)),
                             inverted)
        written = {'op': 'all-of', 'conditions': [*_exist(text), written]}
        return {'op': 'none-of', 'conditions': [written]} if inverted else (
            written)
    if inverted:
        return _inverted(written, True) if otherwise else {
            'op': 'none-of', 'conditions': [written]}
    if not otherwise:
        return written
    filled = text.or_else()
    if filled is not None:
        return _write(op, args, lambda each: (
            str(filled) if each is text else each.filled))
    return {'op': 'any-of', 'conditions': [
        *({**each, 'op': '!exists'} for each in _exist(text)), written]}


def _is_empty(text: Text, inverted: bool, notes: rule.Conversion) -> Operation:
    filled = text.or_else('None') if text.uncertain else text.filled
    name = text.fields[0]
    if text.uncertain and (filled is None or text.source != text.literal):
        notes.lose(_('stock Ironic takes "%s" for empty where a field is '
                     'missing; here it is not') % text.literal)
        filled = text.filled
    elif len(re.findall(r'[.\[]', name)) > 1 + name.startswith('node.'):
        notes.differ(_('where what {%s} is in is not a mapping, such as null, '
                       'stock Ironic takes it for not empty, and here it is '
                       'empty') % name)
    return {'op': '!one-of' if inverted else 'one-of', 'args': {
        'value': filled or text.filled, 'values': rule.escape(_EMPTY)}}


def _check_kinds(op: str, args: Args) -> None:
    """Find what is an error in stock Ironic whatever the machine."""
    if op in _COMPARE:
        values = args['values']
        if not isinstance(values, list):
            raise Fails(_('it takes "values" as one list'))
        if op != 'eq':
            for one, other in itertools.pairwise(values):
                _check_order(one, other)
    if op in ('matches', 'contains'):
        regex = args['regex']
        if isinstance(regex, Text) and regex.fields:
            raise rule.Inconvertible(
                _('a regular expression cannot take data of a machine'))
        _compile(op, stock_text.plain(regex))
    if op == 'one-of' and not _is_text(args['value']) and (
            stock_text.varying(args['value'])):
        raise rule.Inconvertible(
            _('a list or mapping with fields cannot be looked for'))


def _check_order(one: typing.Any, other: typing.Any) -> None:
    """Find values of which neither is less or greater."""
    if _is_text(one) != _is_text(other):
        raise Fails(_('it cannot order text and something else'))
    if isinstance(one, list) and isinstance(other, list):
        for each, its in zip(one, other, strict=False):
            _check_order(each, its)
    elif not _is_text(one) and not (isinstance(one, int | float)
                                    and isinstance(other, int | float)):
        raise Fails(_('it orders text, numbers and lists of them only'))


def _always(op: str, args: Args) -> bool | None:
    """Return what it is whatever its fields are, None where they matter."""
    never = op == 'is-none'
    if op in _COMPARE and len(args['values']) < 2:
        return True
    if op == 'is-empty':
        # Else it is the text of a list or mapping with something in it.
        never = not isinstance(args['value'], Text)
    elif op == 'eq':
        never = any(_is_text(one) != _is_text(other)
                    for one, other in itertools.pairwise(args['values']))
    elif op == 'one-of':
        values = args.get('values') or []
        never = isinstance(values, list | dict) and not any(
            _is_text(value) if _is_text(args['value'])
            else value == args['value'] for value in values)
    return False if never else None


def _is_text(value: typing.Any) -> bool:
    return isinstance(value, Text | str)


def _decide(op: str, args: Args) -> bool:
    """Decide as stock Ironic does where all fields are missing."""
    plain = stock_text.plain(dict(args))
    value = plain.get('value')
    try:
        if op in _COMPARE:
            return all(_COMPARE[op](*pair)
                       for pair in itertools.pairwise(plain['values']))
        if op == 'in-net':
            return ipaddress.ip_address(str(plain['address'])) in (
                ipaddress.ip_network(str(plain['subnet']), strict=False))
        if op == 'one-of':
            return bool(value in plain.get('values', []))
    except (TypeError, ValueError) as exc:
        raise Fails(str(exc)) from exc
    if op in ('matches', 'contains'):
        return _compile(op, plain['regex']).search(str(value)) is not None
    if op == 'is-empty':
        return str(value) in _EMPTY or (
            isinstance(args['value'], Text) and args['value'].missing_key)
    if op == 'is-none':
        return value is None
    words, truth = (('yes', 'true'), True) if op == 'is-true' else (
        ('no', 'false'), False)
    if isinstance(value, str):
        return value.lower() in words
    if isinstance(value, int | float):
        return bool(value) is truth
    return op == 'is-false' and value is None


def _compile(op: str, regex: typing.Any) -> re.Pattern[str]:
    try:
        if op == 'matches':
            re.compile(regex)
            # Stock Ironic looks at its last character.
            regex[-1]
            return re.compile(rule.anchored(regex))
        return re.compile(regex)
    except (re.error, TypeError, IndexError) as exc:
        raise Fails(_('"%(regex)s" is no regular expression: %(reason)s') % {
            'regex': regex, 'reason': exc}) from exc


def _idiom(op: str, args: Args, text: Text) -> str | None:
    """Return the field that a condition asks for by its own text."""
    if op != 'matches' or text.source != text.literal:
        return None
    regex = stock_text.plain(args['regex'])
    own = stock_form.unescaped(regex)
    if own != text.literal or re.search(rule.anchored(regex), own) is None:
        return None
    return f'{{{text.fields[0]}}}'


def _exist(text: Text) -> list[Operation]:
    return [{'op': 'exists', 'args': {'value': f'{{{name}}}'}}
            for name in text.fields]


def _inverted(condition: Operation, inverted: bool) -> Operation:
    return {**condition, 'op': f'!{condition["op"]}'} if inverted else (
        condition)


def _write(op: str, args: Args, fill: Callable[[Text], str]) -> Operation:
    written = stock_text.write(dict(args), fill)
    if op == 'one-of':
        values = args.get('values')
        if not isinstance(values, list | dict):
            raise rule.Inconvertible(
                _('"values" of one-of is no list, but text is looked for in '
                  'it'))
        written['values'] = [stock_text.write(value, fill) for value in values
                             if _is_text(value)]
    elif op in ('matches', 'contains'):
        regex = stock_text.plain(args['regex'])
        if op == 'matches':
            op, regex = 'contains', rule.anchored(regex)
        # No field is meant, and none is read.
        written['regex'] = _ROOT.sub(r'\\{', regex)
    return {'op': op, 'args': written}

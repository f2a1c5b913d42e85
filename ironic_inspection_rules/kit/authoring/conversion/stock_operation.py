# SPDX-License-Identifier: Apache-2.0

"""Actions of stock Ironic, and loops, also those of its conditions.

The items of a loop are always written out in the rule. Each turn is converted
for itself; where all come out alike but for the item, they are a loop again.
"""

from collections.abc import Callable, Sequence
import contextlib
import re
import typing

from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.authoring.conversion import stock_condition
from ironic_inspection_rules.kit.authoring.conversion import stock_text

Operation = rule.Operation
Text = stock_text.Text

_LEVELS = frozenset({'debug', 'info', 'warning', 'error', 'critical'})
_MARK = re.compile(r'zqitem(\d+)qz')
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*')
_OF_OTHERS = frozenset({'chassis_uuid', 'portgroup_uuid'})
"""The attributes that Ironic's API makes of an other object."""


def convert(op: str, args: Operation, there: set[str],
            notes: rule.Conversion) -> Operation | None:
    """Convert one action, or one turn of its loop.

    :param args: by name, with :class:`.stock_text.Text` for what stock
        Ironic formats.
    :param there: fields that exist where the conditions hold; those that
        the action may remove are taken out.
    :returns: None where stock Ironic does nothing.
    :raises: :class:`.stock_condition.Fails` where it fails the inspection.
    :raises: :class:`.rule.Inconvertible`.
    """
    if op == 'unset-plugin-data':
        notes.hint(_('stock Ironic never unsets plugin data: the action is '
                     'left out'))
        return None
    written = stock_text.write(args, lambda text: _write(text, there, notes))
    if 'unique' in written:
        written['unique'] = bool(args['unique'])
    if 'path' in args:
        _convert_path(op, args, written, there, notes)
    if op.startswith('extend-'):
        notes.differ(_('where something else than a list is there, such as '
                       'null, the two differ: in plugin data stock Ironic '
                       'takes what is empty for a list, in an attribute it '
                       'fails the inspection'))
    if op == 'set-capability':
        if not isinstance(args['value'], str | Text):
            raise stock_condition.Fails(
                _('the value of a capability must be text'))
        notes.differ(_('where the node has the capability, stock Ironic adds '
                       'it a second time; here it is replaced'))
        if isinstance(args['value'], Text) and args['value'].fields:
            notes.differ(_('where the value is empty or has a comma, stock '
                           'Ironic adds it all the same; here it is an error'))
    if op == 'unset-capability':
        there.discard('node.properties.capabilities')
        notes.differ(_('where the node has no other capability, stock Ironic '
                       'leaves an empty text in properties/capabilities, and '
                       'fails the inspection where null is there; here '
                       'properties/capabilities is removed, or stays'))
    if op == 'log' and str(written.get('level', 'info')).lower() not in (
            _LEVELS):
        raise stock_condition.Fails(
            _('there is no level "%s"') % written['level'])
    if op == 'fail' and not isinstance(args['msg'], Text):
        written['msg'] = rule.escape(str(_plain(args['msg'])))
    if op.endswith('-port-attribute'):
        notes.differ(_('stock Ironic knows a port by its UUID only'))
    return {'op': op, 'args': written}


def _convert_path(op: str, args: Operation, written: Operation,
                  there: set[str], notes: rule.Conversion) -> None:
    """Write where an action sets something, and what, into ``written``."""
    if op.endswith('plugin-data'):
        path = args['path']
        tokens = list(map(_text, path if isinstance(path, list)
                          else _text(path).split('.')))
        written['path'] = rule.escape(data_path.pointer(tokens))
        _check_inside(tokens[1:], notes)
        _forget('plugin_data', tokens, there)
        return
    text = _text(args['path'])
    tokens = text.strip('/').split('/') if '/' in text else text.split('.')
    written['path'] = rule.escape(data_path.pointer(tokens))
    attributes = schema.PORT
    if not op.endswith('port-attribute'):
        attributes = schema.NODE
        _check_attribute(op, tokens, notes)
        _forget('node', tokens, there)
    if 'value' in args:
        _check_inside(tokens[2:], notes)
        if len(tokens) == 1 and tokens[0] in attributes:
            written['value'] = _attribute_value(
                tokens[0], attributes[tokens[0]], args['value'],
                written['value'], notes)


def _check_attribute(op: str, tokens: list[str],
                     notes: rule.Conversion) -> None:
    if tokens[0] not in schema.NODE:
        raise rule.Inconvertible(
            _('the attribute "%s" of a node cannot be changed by a rule')
            % tokens[0])
    if op == 'del-attribute' and len(tokens) == 1:
        notes.lose(_('stock Ironic does not save this; here "%s" becomes '
                     'its default') % tokens[0])
    elif op == 'del-attribute':
        notes.differ(_('stock Ironic fails the inspection where there is '
                       'nothing to delete; here that is fine'))
    if tokens == ['driver']:
        notes.differ(_('here interfaces that the new driver lacks become its '
                       'defaults; stock Ironic leaves them'))


def _forget(root: str, path: list[str], there: set[str]) -> None:
    """Forget fields that are perhaps gone when something else is set."""
    with contextlib.suppress(rule.Inconvertible):
        above = rule.write_field((root, *path))[1:-1]
        there -= {name for name in there
                  if name.startswith((f'{above}.', f'{above}['))}


def _check_inside(tokens: list[str], notes: rule.Conversion) -> None:
    """Note where the way to a value is followed differently here."""
    if tokens:
        notes.differ(_('where null is on the way there, stock Ironic fails '
                       'the inspection; here it becomes a mapping'))
    for token in tokens:
        if data_path.appends(token):
            notes.lose(_('to stock Ironic "-" is a name in a mapping; here '
                         'it is the end of a list'))
        elif data_path.index(token) is not None:
            notes.differ(_('where a list is there, stock Ironic fails the '
                           'inspection; here "%s" is its item') % token)


def _attribute_value(name: str, attribute: schema.Attribute,
                     value: typing.Any, written: typing.Any,
                     notes: rule.Conversion) -> typing.Any:
    varies = isinstance(value, Text) and value.fields
    if name in _OF_OTHERS:
        raise rule.Inconvertible(
            _('"%s" is no attribute in stock Ironic, which sets nothing')
            % name)
    if value is None and attribute.default not in (None, ..., {}):
        notes.differ(_('stock Ironic fails the inspection or sets null; here '
                       '"%s" becomes its default') % name)
    elif attribute.kind == 'true or false' and value is not None:
        if varies:
            raise rule.Inconvertible(
                _('to stock Ironic all text is true, also "False"'))
        return bool(_plain(value))
    if varies and attribute.kind == 'a mapping':
        raise rule.Inconvertible(
            _('text of a mapping cannot become one'))
    if varies and attribute.kind != 'a string':
        notes.differ(_('stock Ironic sets "%(name)s" to any text; here what '
                       'is not %(kind)s is an error') % {
                           'name': name, 'kind': attribute.kind})
    return written


def _plain(value: typing.Any) -> typing.Any:
    """Return a value without fields as stock Ironic has it."""
    if stock_text.varying(value):
        raise rule.Inconvertible(
            _('a list or mapping with fields cannot become text'))
    return stock_text.plain(value)


def _text(value: typing.Any) -> str:
    if isinstance(value, Text):
        if value.fields:
            raise rule.Inconvertible(
                _('data of a machine cannot become a path as a whole'))
        return value.literal
    if not isinstance(value, str) or not value.strip('/.'):
        raise stock_condition.Fails(_('there is no path'))
    return value


def _write(text: Text, there: set[str], notes: rule.Conversion) -> str:
    for remark in text.remarks:
        notes.differ(remark)
    for name in text.secrets:
        notes.lose(_('{%s} is hidden here where secrets are masked, and '
                     'cannot be written') % name)
    if there.issuperset(text.uncertain):
        return text.filled
    otherwise = text.or_else()
    if otherwise is None:
        notes.lose(_('where a field of "%s" is missing, stock Ironic takes '
                     'the text as it is written; here the inspection fails')
                   % text.literal)
        return text.filled
    return otherwise


def conditions(items: Sequence[typing.Any],
               turn: Callable[[typing.Any], Operation | bool],
               every: bool) -> Operation | bool:
    """Convert a condition with a loop, given what makes one for an item."""
    turns = [turn(item) for item in items]
    if (not every) in turns:
        return not every
    written = [each for each in turns if not isinstance(each, bool)]
    if not written:
        return every
    if len(written) == 1:
        return written[0]
    looped = _again(items, turns, turn)
    if looped is not None:
        return {**looped, 'loop': rule.escape(list(items)),
                **({'multiple': 'all'} if every else {})}
    return {'op': 'all-of' if every else 'any-of', 'conditions': written}


def actions(items: Sequence[typing.Any],
            turn: Callable[[typing.Any], Operation | None]) -> list[Operation]:
    """Convert an action with a loop, see :func:`conditions`."""
    turns = [turn(item) for item in items]
    looped = _again(items, turns, turn) if len(turns) > 1 else None
    if looped is not None:
        return [{**looped, 'loop': rule.escape(list(items))}]
    return [each for each in turns if each is not None]


def _again(items: Sequence[typing.Any], turns: Sequence[typing.Any],
           turn: Callable[[typing.Any], typing.Any]) -> Operation | None:
    """Return the operation over ``{item}`` that is that of each turn."""
    names = _names(items[0])
    if names is None or any(_names(item) != names for item in items):
        return None
    marks = [f'zqitem{number}qz' for number in range(len(names) or 1)]
    try:
        marked = turn(dict(zip(names, marks, strict=True)) if names
                      else marks[0])
    except (rule.Inconvertible, stock_condition.Fails):
        # A mark is no level of a log, and in no name of a trait.
        return None
    if not isinstance(marked, dict) or 'conditions' in marked and (
            'args' in marked):
        return None
    values = [list(item.values()) if names else [item] for item in items]
    for each, made in zip(values, turns, strict=True):
        texts = [rule.escape(str(value)) for value in each]
        if _replace(marked, texts.__getitem__) != made:
            return None
    fields = [f'item.{name}' for name in names] or ['item']
    # Alone, a field would keep the type of what is no text.
    alone = [field if all(isinstance(each, str) for each in its)
             else f'{field}!s'
             for field, its in zip(fields, zip(*values, strict=True),
                                   strict=True)]
    return typing.cast(Operation, _replace(
        marked, lambda mark: f'{{{fields[mark]}}}',
        lambda mark: f'{{{alone[mark]}}}'))


def _names(item: typing.Any) -> list[str] | None:
    """Return the keys of a flat item, none of plain text, else None."""
    if isinstance(item, dict):
        plain = all(_is_plain(value) for value in item.values()) and all(
            _NAME.fullmatch(name) for name in item)
        return list(item) if plain and item else None
    return [] if _is_plain(item) else None


def _is_plain(value: typing.Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(
        value, bool) and not re.search(r'[{}]', str(value))


def _replace(value: typing.Any, write: Callable[[int], str],
             alone: Callable[[int], str] | None = None,
             key: str | None = None) -> typing.Any:
    """Put something in place of the marks; ``alone`` of one that is all."""
    if isinstance(value, dict):
        return {name: _replace(item, write, alone, name)
                for name, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, write, alone) for item in value]
    if not isinstance(value, str):
        return value
    if alone and key != 'regex' and (mark := _MARK.fullmatch(value)):
        return alone(int(mark[1]))
    return _MARK.sub(lambda mark: write(int(mark[1])), value)

# SPDX-License-Identifier: Apache-2.0

"""diff: the meaning of a rule, however it is written.

Two rules mean the same where these data are the same: arguments have their
names, those that are left out their defaults; paths are tokens, and fields
are their steps and filters. Rules that do the same in another way, such as by
conditions in another order, are not found.
"""

import typing

from ironic_inspection_rules.engine.language import action as engine_action
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import call as engine_call
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.rule_file import file_rule

NAMES = ('uuid', 'description')
"""Fields that identify a rule and have no part in what it does."""


def of(rule: model.Rule) -> dict[str, typing.Any]:
    """Return the meaning of a rule that passed validation.

    :returns: the fields of :data:`.model.WRITABLE` but :data:`NAMES`, to be
        compared by :func:`.path.same`.
    """
    conditions, actions = file_rule.operations(rule, registry.installed())
    meaning = rule.to_mapping()
    for name in NAMES:
        meaning.pop(name, None)
    meaning['vars'] = _vars(dict(rule.vars))
    meaning['conditions'] = [_operation(condition) for condition in conditions]
    meaning['actions'] = [_action(action) for action in actions]
    return meaning


def _vars(values: dict[str, typing.Any]) -> typing.Any:
    """Return the meaning of vars, whose order counts where one uses another.

    :returns: a mapping; a list of pairs where the order counts.
    """
    meaning = _value(values)
    may_use_another = model.VARS in str(list(values.values()))
    if may_use_another:
        return list(meaning.items())
    return meaning


def _action(action: file_rule.Operation) -> dict[str, typing.Any]:
    reverts = engine_action.reverts(action.written, action.op)
    return {**_operation(action), 'reverts': reverts}


class _Text(list[typing.Any]):
    """Text with fields in it, in pieces.

    A type of its own, so that it is not the same as a list with these pieces
    that a rule has.
    """


class _PathsOfItems(list[typing.Any]):
    """The paths of all items of a loop; no list that a rule has."""


def _operation(
    operation: file_rule.Operation, outer: engine_loop.Loop | None = None
) -> dict[str, typing.Any]:
    """Return the meaning of a condition or an action.

    :param outer: the loop around it.
    """
    loop = operation.loop
    inside = engine_loop.Loop.of(loop, outer)
    items = loop
    if isinstance(loop, dict):
        # A loop over a mapping has that one item.
        items = [loop]
    multiple = None
    if loop is not None:
        multiple = operation.written.get('multiple') or model.MULTIPLE[0]
    meanings = {}
    for name, value in operation.arguments.items():
        meanings[name] = _argument(operation, name, value, inside)
    return {
        'op': operation.op.name,
        'inverted': operation.inverted,
        'arguments': meanings,
        'loop': _value(items),
        'multiple': multiple,
        'inner': [_operation(inner, inside) for inner in operation.inner],
    }


def _argument(
    operation: file_rule.Operation,
    name: str,
    value: typing.Any,
    loop: engine_loop.Loop | None,
) -> typing.Any:
    """Return the meaning of an argument, converted as the op gets it.

    Of the text ``"5"`` it is the number 5 where the op takes a number.

    :param loop: the innermost loop around the value.
    """
    argument = operation.op.signature.by_name[name]
    if value is not None and argument.type is data_path.Path:
        return _path(value, loop)
    if argument.type is pattern.Pattern:
        return value
    meaning = value
    if name not in operation.op.plugin.LITERAL:
        meaning = _value(value)
    if isinstance(meaning, _Text):
        # What it becomes depends on the machine.
        return meaning
    return arguments.convert(meaning, argument)


def _path(text: typing.Any, loop: engine_loop.Loop | None) -> typing.Any:
    """Return the meaning of a path: its tokens.

    If the path has the item of a literal loop in it, the meaning is a list
    with the tokens of the path of each item. The item is filled in before the
    path is split: an item such as ``extra/rack`` makes two tokens of it.

    :param loop: the innermost loop around the path.
    """
    if loop is not None and loop.items is not None:
        filled = [
            interpolation.fill_item(str(text), item) for item in loop.items
        ]
        if any(path != text for path in filled):
            # The paths have no item in them any more, so no loop.
            return _PathsOfItems(_path(path, None) for path in filled)
    tokens = engine_call.split(interpolation.parse(str(text)))
    return [_pieces(token) for token in tokens]


def _value(value: typing.Any) -> typing.Any:
    """Return the meaning of a value with fields in it."""
    if isinstance(value, str):
        return _pieces(interpolation.parse(value))
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): _value(item) for key, item in value.items()}
    return value


def _key(key: typing.Any) -> typing.Any:
    """Return the meaning of a key of a mapping, as text if it has fields."""
    meaning = _value(key)
    if isinstance(meaning, _Text):
        # A list cannot be the key of a mapping.
        return str(meaning)
    return meaning


def _pieces(pieces: list[str | interpolation.Field]) -> typing.Any:
    """Return the meaning of text: plain text, or its pieces with fields."""
    meanings: list[typing.Any] = []
    has_fields = False
    for piece in pieces:
        if isinstance(piece, interpolation.Field):
            has_fields = True
            meanings.append(_field(piece))
        elif piece:
            meanings.append(piece)
    if has_fields:
        return _Text(meanings)
    return ''.join(meanings)


def _field(field: interpolation.Field) -> list[typing.Any]:
    """Return the meaning of a field, whatever way it is written in."""
    if field.root is None:
        # It is not understood as a path, so its text stands for itself.
        return [field.text]
    filters = [_filter(call) for call in field.filters]
    return [
        field.root,
        list(field.steps),
        field.conversion,
        field.spec,
        filters,
    ]


def _filter(call: filter_syntax.FilterCall) -> list[typing.Any]:
    """Return the meaning of a filter: name, inner filter, arguments by name.

    Of ``round`` it is ``['round', None, {'precision': 0}]``, with the default
    of an argument that is left out. In ``map('trim')`` the inner filter is
    ``trim``.
    """
    inner = _inner_filter(call)
    arguments_of_call = call.arguments
    if inner is not None:
        # All of them belong to the inner filter.
        arguments_of_call = ()
    signature = registry.filters()[call.name].signature
    bound, _problems = signature.bind_call(arguments_of_call)
    meanings = {}
    for argument in signature.arguments:
        if argument.name in bound:
            value = bound[argument.name]
        elif not argument.required:
            value = argument.default
        else:
            # The inner filter is its value.
            continue
        meanings[argument.name] = _filter_argument(argument, value)
    return [call.name, inner, meanings]


def _inner_filter(
    call: filter_syntax.FilterCall,
) -> list[typing.Any] | None:
    """Return the meaning of the filter that a filter applies to every item.

    In ``map('replace', 'a', 'b')`` it is ``replace('a', 'b')``.

    :returns: None if it applies none, as in ``map(attribute='name')``.
    """
    if not registry.filters()[call.name].plugin.TAKES_FILTER:
        return None
    if not call.arguments:
        return None
    (argument_name, inner_name), *arguments_of_inner = call.arguments
    if argument_name is not None:
        return None
    return _filter(
        filter_syntax.FilterCall(inner_name, tuple(arguments_of_inner))
    )


def _filter_argument(
    argument: arguments.Argument, value: typing.Any
) -> typing.Any:
    """Return the meaning of an argument of a filter.

    That of a field is its steps and filters, and that of a path its tokens.
    Any other value is its own meaning.
    """
    if isinstance(value, interpolation.Field):
        return _Text([_field(value)])
    if isinstance(value, list):
        return [_filter_argument(argument, item) for item in value]
    if isinstance(value, dict):
        meanings = {}
        for key, item in value.items():
            meanings[key] = _filter_argument(argument, item)
        return meanings
    if value is not None and argument.type is data_path.Path:
        return list(data_path.parse(str(value)))
    return value

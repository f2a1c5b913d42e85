# SPDX-License-Identifier: Apache-2.0

"""Compute the meaning of a rule, independent of how it is written.

Two rules mean the same if their meanings are equal. In a meaning, arguments
have names, and defaults if they are omitted; paths are tokens, and fields are
steps and filters. Rules that have the same effect in another way, e.g. with
conditions in another order, do not have the same meaning.
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
"""Fields that identify a rule and do not affect what it does."""


def of(rule: model.Rule) -> dict[str, typing.Any]:
    """Return the meaning of a valid rule.

    It has all fields of the rule except the UUID and the description. For
    example, the actions ``set-attribute: [/name, a]`` and ``set-attribute:
    {path: name, value: a}`` are written differently, but have the same
    meaning.

    :returns: a mapping, to be compared by :func:`.path.same`.
    """
    conditions, actions = file_rule.operations(rule, registry.installed())
    meaning = rule.to_mapping()
    for name in NAMES:
        meaning.pop(name, None)
    meaning['vars'] = _meaning_of_vars(dict(rule.vars))
    meaning['conditions'] = [
        _meaning_of_operation(condition) for condition in conditions
    ]
    meaning['actions'] = [_meaning_of_action(action) for action in actions]
    return meaning


def _meaning_of_vars(values: dict[str, typing.Any]) -> typing.Any:
    """Return the meaning of variables, including the order if it matters.

    In ``{'a': '8', 'b': '{vars.a}'}`` the order matters, because ``b`` may
    only use earlier variables.

    :returns: a mapping if the order does not matter; otherwise a list of
        pairs.
    """
    meaning = _meaning_of_value(values)
    # Look for the word "vars" in any text. If it is not part of a field, rules
    # only seem to differ if their variables have another order.
    may_use_another = model.VARS in str(list(values.values()))
    if may_use_another:
        return list(meaning.items())
    return meaning


def _meaning_of_action(action: file_rule.Operation) -> dict[str, typing.Any]:
    """Return the meaning of an action, and whether it is undone.

    If an action reverts, it is undone when its rule no longer matches. It
    reverts if its field ``revert`` says so, or if it has a cleanup value.
    """
    reverts = engine_action.reverts(action.written, action.op)
    return {**_meaning_of_operation(action), 'reverts': reverts}


class _Text(list[typing.Any]):
    """Text with fields, as a list of pieces.

    It has its own type, so that it is never equal to a list in a rule.
    """


class _PathsOfItems(list[typing.Any]):
    """The paths of all items of a loop; never equal to a list in a rule."""


def _meaning_of_operation(
    operation: file_rule.Operation, outer: engine_loop.Loop | None = None
) -> dict[str, typing.Any]:
    """Return the meaning of a condition or an action.

    For example, the meaning of ``{op: eq, args: ['{node.name}', a]}`` has the
    ``op`` "eq", which is not ``inverted``, the ``arguments`` by name, and no
    ``loop``, ``multiple`` or ``inner`` conditions.

    :param outer: the loop around the operation.
    """
    loop_around_arguments = engine_loop.Loop.of(operation.loop, outer)
    items = operation.loop
    if isinstance(items, dict):
        # The only item of a loop over a mapping is the mapping.
        items = [items]
    multiple = None
    if operation.loop is not None:
        # The first word is the default of a loop without the field.
        multiple = operation.written.get('multiple') or model.MULTIPLE[0]
    meanings = {}
    for name, value in operation.arguments.items():
        meanings[name] = _meaning_of_argument(
            operation, name, value, loop_around_arguments
        )
    return {
        'op': operation.op.name,
        'inverted': operation.inverted,
        'arguments': meanings,
        'loop': _meaning_of_value(items),
        'multiple': multiple,
        'inner': [
            _meaning_of_operation(inner, loop_around_arguments)
            for inner in operation.inner
        ],
    }


def _meaning_of_argument(
    operation: file_rule.Operation,
    name: str,
    value: typing.Any,
    loop: engine_loop.Loop | None,
) -> typing.Any:
    """Return the meaning of an argument, converted as for the op.

    For example, the text ``"5"`` means 5 if the op takes a number.

    :param name: the name of the argument, e.g. ``path``.
    :param value: the value in the rule.
    :param loop: the innermost loop around the value.
    """
    argument = operation.op.signature.by_name[name]
    if value is not None and argument.type is data_path.Path:
        return _meaning_of_path(value, loop)
    if argument.type is pattern.Pattern:
        # Different expressions may match the same texts, but this is not
        # checked.
        return value
    meaning = value
    # Braces in a literal argument are text instead of fields.
    if name not in operation.op.plugin.LITERAL:
        meaning = _meaning_of_value(value)
    if isinstance(meaning, _Text):
        # The text has fields, so its conversion depends on the machine.
        return meaning
    return arguments.convert(meaning, argument)


def _meaning_of_path(
    text: typing.Any, loop: engine_loop.Loop | None
) -> typing.Any:
    """Return the meaning of a path: its tokens, e.g. ``['extra', 'rack']``.

    A path with ``{item}`` in a literal loop means the paths of all items. With
    the items "rack" and "bmc/port", ``/extra/{item}`` means ``[['extra',
    'rack'], ['extra', 'bmc', 'port']]``, because the item is filled in before
    the path is split.

    :param loop: the innermost loop around the path.
    """
    # The items of a loop over a field, e.g. {node.traits}, are unknown.
    if loop is not None and loop.items is not None:
        paths_of_items = [
            interpolation.fill_item(str(text), item) for item in loop.items
        ]
        has_item = any(path != text for path in paths_of_items)
        if has_item:
            # These paths no longer contain the item, so the loop does not
            # matter.
            return _PathsOfItems(
                _meaning_of_path(path, loop=None) for path in paths_of_items
            )
    tokens = engine_call.split_path(interpolation.parse(str(text)))
    return [_meaning_of_text(token) for token in tokens]


def _meaning_of_value(value: typing.Any) -> typing.Any:
    """Return the meaning of a value, in which the fields are parsed.

    A value without fields, e.g. 8 or ``['a', 'b']``, is its own meaning.
    """
    if isinstance(value, str):
        return _meaning_of_text(interpolation.parse(value))
    if isinstance(value, list | tuple):
        return [_meaning_of_value(item) for item in value]
    if isinstance(value, dict):
        return {
            _meaning_of_key(key): _meaning_of_value(item)
            for key, item in value.items()
        }
    return value


def _meaning_of_key(key: typing.Any) -> typing.Any:
    """Return the meaning of a mapping's key, as text if it has fields."""
    meaning = _meaning_of_value(key)
    if isinstance(meaning, _Text):
        # A list cannot be the key of a mapping. Its text is sufficient,
        # because it is only compared.
        return str(meaning)
    return meaning


def _meaning_of_text(pieces: list[str | interpolation.Field]) -> typing.Any:
    """Return the meaning of text: plain text, or pieces if it has fields.

    ``rack-{node.name}`` has two pieces: "rack-", and the meaning of the field.
    """
    meanings: list[typing.Any] = []
    has_fields = False
    for piece in pieces:
        if isinstance(piece, interpolation.Field):
            has_fields = True
            meanings.append(_meaning_of_field(piece))
        elif piece:
            meanings.append(piece)
    if has_fields:
        return _Text(meanings)
    return ''.join(meanings)


def _meaning_of_field(field: interpolation.Field) -> list[typing.Any]:
    """Return the meaning of a field, independent of how it is written.

    It has the root, steps, conversion, format and filters: ``['node',
    ['extra', 'rack'], None, None, []]`` for ``{node.extra.rack}``.
    """
    if field.root is None:
        # The text is not a path, so it is its own meaning.
        return [field.text]
    filters = [_meaning_of_filter(call) for call in field.filters]
    return [
        field.root,
        list(field.steps),
        field.conversion,
        field.spec,
        filters,
    ]


def _meaning_of_filter(call: filter_syntax.FilterCall) -> list[typing.Any]:
    """Return the meaning of a filter: name, inner filter, arguments by name.

    ``round`` means ``['round', None, {'precision': 0}]``, with the default of
    the argument. ``map('trim')``, which applies an inner filter, means::

        ['map', ['trim', None, {'chars': None}],
         {'filter': None, 'attribute': None, 'default': ABSENT}]

    :param call: the name of the filter, and its arguments as pairs of name and
        value; the name of a positional argument is None.
    """
    inner_meaning = _meaning_of_inner_filter(call)
    arguments_of_call = call.arguments
    if inner_meaning is not None:
        # All arguments belong to the inner filter.
        arguments_of_call = ()
    signature = registry.filters()[call.name].signature
    # A valid rule has no problems.
    value_by_name, _problems = signature.bind_call(arguments_of_call)
    meanings = {}
    for argument in signature.arguments:
        if argument.name in value_by_name:
            value = value_by_name[argument.name]
        elif not argument.required:
            value = argument.default
        else:
            # The inner filter is the value of this argument.
            continue
        meanings[argument.name] = _meaning_of_filter_argument(argument, value)
    return [call.name, inner_meaning, meanings]


def _meaning_of_inner_filter(
    call: filter_syntax.FilterCall,
) -> list[typing.Any] | None:
    """Return the meaning of the filter that a filter applies to every item.

    In ``map('replace', 'a', 'b')`` this is ``replace('a', 'b')``.

    :returns: None if there is no inner filter, e.g. ``map(attribute='name')``.
    """
    takes_filter = registry.filters()[call.name].plugin.TAKES_FILTER
    if not takes_filter or not call.arguments:
        return None
    # In map('replace', 'a', 'b') no argument has a name, and the first is the
    # name of the inner filter.
    (argument_name, inner_name), *arguments_of_inner = call.arguments
    if argument_name is not None:
        return None
    inner_call = filter_syntax.FilterCall(
        inner_name, tuple(arguments_of_inner)
    )
    return _meaning_of_filter(inner_call)


def _meaning_of_filter_argument(
    argument: arguments.Argument, value: typing.Any
) -> typing.Any:
    """Return the meaning of an argument of a filter.

    The meaning of a field is its steps and filters, and the meaning of a path
    is its tokens. Any other value is its own meaning.
    """
    if isinstance(value, interpolation.Field):
        return _Text([_meaning_of_field(value)])
    if isinstance(value, list):
        return [_meaning_of_filter_argument(argument, item) for item in value]
    if isinstance(value, dict):
        meanings = {}
        for key, item in value.items():
            meanings[key] = _meaning_of_filter_argument(argument, item)
        return meanings
    if value is not None and argument.type is data_path.Path:
        return list(data_path.parse(str(value)))
    return value

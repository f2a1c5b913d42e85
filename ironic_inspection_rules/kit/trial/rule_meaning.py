# SPDX-License-Identifier: Apache-2.0

"""diff: the meaning of a rule, however it is written.

Two rules mean the same if these data are the same: arguments have names, and
defaults where they are left out; paths are tokens, and fields are steps and
filters. Rules that do the same in another way, such as by conditions in
another order, do not have the same meaning here.
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

    It has all fields of the rule but the UUID and the description. The two
    actions ``set-attribute: [/name, a]`` and ``set-attribute: {path: name,
    value: a}`` are written otherwise, and have the same meaning.

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
    """Return the meaning of vars, whose order counts where one uses another.

    Of ``{'a': '8', 'b': '{vars.a}'}`` the order counts, as ``b`` may only use
    a variable before it.

    :returns: a mapping, as equal mappings may have any order; a list of pairs
        where the order counts.
    """
    meaning = _meaning_of_value(values)
    # The word "vars" in any text: it need not be a field, but then rules only
    # seem to differ where they have their variables in another order.
    may_use_another = model.VARS in str(list(values.values()))
    if may_use_another:
        return list(meaning.items())
    return meaning


def _meaning_of_action(action: file_rule.Operation) -> dict[str, typing.Any]:
    """Return the meaning of an action, and whether it is undone.

    An action that reverts is undone when its rule does not match any more: its
    field ``revert`` says so, or else that it has a cleanup value.
    """
    reverts = engine_action.reverts(action.written, action.op)
    return {**_meaning_of_operation(action), 'reverts': reverts}


class _Text(list[typing.Any]):
    """Text with fields in it, in pieces.

    The type is not that of a list in a rule, so that the two never are equal.
    """


class _PathsOfItems(list[typing.Any]):
    """The paths of all items of a loop; not equal to a list in a rule."""


def _meaning_of_operation(
    operation: file_rule.Operation, outer: engine_loop.Loop | None = None
) -> dict[str, typing.Any]:
    """Return the meaning of a condition or an action.

    ``{op: eq, args: ['{node.name}', a]}`` means an ``op`` "eq" that is not
    ``inverted``, its ``arguments`` by name, and no ``loop``, no ``multiple``
    and no ``inner`` conditions.

    :param outer: the loop around the operation.
    """
    loop_around_arguments = engine_loop.Loop.of(operation.loop, outer)
    items = operation.loop
    if isinstance(items, dict):
        # A loop over a mapping has the mapping as its only item.
        items = [items]
    multiple = None
    if operation.loop is not None:
        # The first word is what a loop without the field means.
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
    """Return the meaning of an argument, converted as the op gets it.

    The text ``"5"`` means 5 where the op takes a number.

    :param name: the name of the argument, such as ``path``.
    :param value: what the rule has for it.
    :param loop: the innermost loop around the value.
    """
    argument = operation.op.signature.by_name[name]
    if value is not None and argument.type is data_path.Path:
        return _meaning_of_path(value, loop)
    if argument.type is pattern.Pattern:
        # Two regular expressions may match the same texts. Which do is not
        # looked into.
        return value
    meaning = value
    # Braces in a literal argument are text, and no fields.
    if name not in operation.op.plugin.LITERAL:
        meaning = _meaning_of_value(value)
    if isinstance(meaning, _Text):
        # It has fields: how it is converted depends on the machine.
        return meaning
    return arguments.convert(meaning, argument)


def _meaning_of_path(
    text: typing.Any, loop: engine_loop.Loop | None
) -> typing.Any:
    """Return the meaning of a path: its tokens, such as ``['extra', 'rack']``.

    A path with ``{item}`` means the paths of all items of a literal loop: with
    the items "rack" and "bmc/port", ``/extra/{item}`` means ``[['extra',
    'rack'], ['extra', 'bmc', 'port']]``. The item is filled in before the path
    is split.

    :param loop: the innermost loop around the path.
    """
    # The items are not known of a loop over a field, such as {node.traits}.
    if loop is not None and loop.items is not None:
        paths_of_items = [
            interpolation.fill_item(str(text), item) for item in loop.items
        ]
        has_item = any(path != text for path in paths_of_items)
        if has_item:
            # No path has an item any more, so that no loop matters.
            return _PathsOfItems(
                _meaning_of_path(path, loop=None) for path in paths_of_items
            )
    tokens = engine_call.split_path(interpolation.parse(str(text)))
    return [_meaning_of_text(token) for token in tokens]


def _meaning_of_value(value: typing.Any) -> typing.Any:
    """Return the meaning of a value: the fields in its texts are parsed.

    A value without fields, such as 8 or ``['a', 'b']``, is its own meaning.
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
    """Return the meaning of a key of a mapping, as text if it has fields."""
    meaning = _meaning_of_value(key)
    if isinstance(meaning, _Text):
        # A list cannot be the key of a mapping: its text is as good, as it is
        # only compared.
        return str(meaning)
    return meaning


def _meaning_of_text(pieces: list[str | interpolation.Field]) -> typing.Any:
    """Return the meaning of text: plain text, or its pieces with fields.

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
    """Return the meaning of a field, however it is written.

    It has root, steps, conversion, format and filters:
    ``['node', ['extra', 'rack'], None, None, []]`` for ``{node.extra.rack}``.
    """
    if field.root is None:
        # The text is no path, and stands for itself.
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
    an argument. ``map('trim')``, which applies an inner filter, means::

        ['map', ['trim', None, {'chars': None}],
         {'filter': None, 'attribute': None, 'default': ABSENT}]

    :param call: the name of the filter, and its arguments as pairs of name
        and value; the name of a positional argument is None.
    """
    inner_meaning = _meaning_of_inner_filter(call)
    arguments_of_call = call.arguments
    if inner_meaning is not None:
        # All arguments belong to the inner filter.
        arguments_of_call = ()
    signature = registry.filters()[call.name].signature
    # A rule that passed validation has no problems.
    value_by_name, _problems = signature.bind_call(arguments_of_call)
    meanings = {}
    for argument in signature.arguments:
        if argument.name in value_by_name:
            value = value_by_name[argument.name]
        elif not argument.required:
            value = argument.default
        else:
            # The inner filter is its value.
            continue
        meanings[argument.name] = _meaning_of_filter_argument(argument, value)
    return [call.name, inner_meaning, meanings]


def _meaning_of_inner_filter(
    call: filter_syntax.FilterCall,
) -> list[typing.Any] | None:
    """Return the meaning of the filter that a filter applies to every item.

    In ``map('replace', 'a', 'b')`` it is ``replace('a', 'b')``.

    :returns: None without an inner filter, as in ``map(attribute='name')``.
    """
    takes_filter = registry.filters()[call.name].plugin.TAKES_FILTER
    if not takes_filter or not call.arguments:
        return None
    # In map('replace', 'a', 'b') all three have no name, and the first is the
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

    A field means its steps and filters, and a path its tokens. Any other value
    is its own meaning.
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

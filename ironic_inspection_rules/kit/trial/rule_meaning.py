# SPDX-License-Identifier: Apache-2.0

"""Compute the meaning of a rule, independent of how it is written.

The command ``diff`` compares meanings, so that it reports a rule that is only
written in another way as rewritten and not as changed.

The meaning of a rule is a mapping, in which everything is in one standard
form. Two rules mean the same if their meanings are equal:

* All arguments have names, and omitted arguments have their defaults.
* A path is a list of tokens: ``/extra/rack`` and ``extra.rack`` are both
  ``['extra', 'rack']``.
* A replacement field such as ``{node.name | lower}`` is a list of its root,
  its steps and its filters.

Rules that have the same effect in another way, e.g. with conditions in another
order, do not have the same meaning. A meaning is only compared, never run.
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


def compute(rule: model.Rule) -> dict[str, typing.Any]:
    """Return the meaning of a valid rule.

    It has all fields of the rule except the UUID and the description. For
    example, the actions ``set-attribute: [/name, a]`` and ``set-attribute:
    {path: name, value: a}`` are written differently, but have the same
    meaning.

    :returns: a mapping, to be compared by :func:`.path.is_same`.
    """
    # These have all arguments by name, including defaults.
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

    :param values: the values of the variables by name.
    :returns: a mapping if the order does not matter; otherwise a list of
        pairs, which are equal only in the same order.
    """
    meaning = _meaning_of_value(values)
    # A variable that uses another contains the word "vars". If the word is
    # only plain text, the order seems to matter although it does not. At
    # worst, two rules then seem to differ that do the same.
    text_of_values = str(list(values.values()))
    may_use_another = model.VARS in text_of_values
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

    For example, the meaning of ``{op: '!eq', args: [5, 6]}`` is::

        {'op': 'eq', 'inverted': True,
         'arguments': {'values': [5, 6], 'force_strings': False},
         'loop': None, 'multiple': None, 'inner': []}

    ``inner`` has the conditions of a group, or the conditions of an action.

    :param outer: the loop around the operation; None if there is none.
    """
    # The loop of the operation, or else the loop around it.
    innermost_loop = engine_loop.Loop.of(operation.loop, outer)
    items = operation.loop
    if isinstance(items, dict):
        # The only item of a loop over a mapping is the mapping.
        items = [items]
    multiple = None
    if operation.loop is not None:
        # The first word is the default of a loop without "multiple".
        multiple = operation.written.get('multiple') or model.DEFAULT_MULTIPLE
    meanings = {}
    for name, value in operation.arguments.items():
        meanings[name] = _meaning_of_argument(
            operation, name, value, innermost_loop
        )
    return {
        'op': operation.op.name,
        'inverted': operation.inverted,
        'arguments': meanings,
        'loop': _meaning_of_value(items),
        'multiple': multiple,
        'inner': [
            _meaning_of_operation(inner, innermost_loop)
            for inner in operation.inner
        ],
    }


def _meaning_of_argument(
    operation: file_rule.Operation,
    name: str,
    value: typing.Any,
    loop: engine_loop.Loop | None,
) -> typing.Any:
    """Return the meaning of an argument, depending on its type.

    * A path means its tokens.
    * A regular expression means itself. Different expressions may match the
      same texts, but this is not checked.
    * A text with replacement fields means the list of its pieces.
    * Any other value is converted as for the op: the text ``"5"`` means 5 if
      the op takes a number.

    :param operation: the condition or action with the argument.
    :param name: the name of the argument, e.g. ``path``.
    :param value: the value in the rule.
    :param loop: the innermost loop around the value.
    """
    argument = operation.op.signature.by_name[name]
    if value is not None and argument.type is data_path.Path:
        return _meaning_of_path(value, loop)
    if argument.type is pattern.Pattern:
        return value
    meaning = value
    # In a literal argument, braces are plain text and not a field.
    is_literal = name in operation.op.plugin.LITERAL
    if not is_literal:
        meaning = _meaning_of_value(value)
    if isinstance(meaning, _Text):
        # The text has fields, so it can only be converted for a machine.
        return meaning
    return arguments.convert(meaning, argument)


def _meaning_of_path(
    text: typing.Any, loop: engine_loop.Loop | None
) -> typing.Any:
    """Return the meaning of a path: its tokens, e.g. ``['extra', 'rack']``.

    If the items of the loop are written in the rule, a path with ``{item}``
    means the paths of all items. With the items "rack" and "bmc/port",
    ``/extra/{item}`` means ``[['extra', 'rack'], ['extra', 'bmc', 'port']]``,
    because an item is filled in before the path is split.

    :param text: the path in the rule.
    :param loop: the innermost loop around the path; None if there is none.
    """
    # The items of a loop over a field, e.g. {node.traits}, are None, because
    # they depend on the machine.
    if loop is not None and loop.items is not None:
        paths_of_items = [
            interpolation.fill_item(str(text), item) for item in loop.items
        ]
        has_item = any(path != text for path in paths_of_items)
        if has_item:
            # These paths no longer contain {item}. A field such as
            # {item | lower} stays, and is compared as it is written.
            return _PathsOfItems(
                _meaning_of_path(path, loop=None) for path in paths_of_items
            )
    # Split the path first, so that a field stays inside one token.
    tokens = engine_call.split_path(interpolation.parse(str(text)))
    return [_meaning_of_text(token) for token in tokens]


def _meaning_of_value(value: typing.Any) -> typing.Any:
    """Return a value of a rule, in which texts with fields are parsed.

    A value without fields, e.g. 8 or ``['a', 'b']``, is its own meaning. Lists
    and mappings may contain texts with fields, at any depth.
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
    """Return the meaning of a parsed text: a string, or a list of its pieces.

    * A text without fields means itself.
    * A text with fields means its pieces, as a :class:`_Text`:
      ``rack-{node.name}`` means "rack-" and the meaning of the field.

    :param pieces: the plain texts and fields of the text, in order.
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
    """Return the root, steps, conversion, format and filters of a field.

    This is the same for all ways to write a field: ``{node.extra.rack}`` and
    ``{node[extra][rack]}`` mean ``['node', ['extra', 'rack'], None, None,
    []]``.
    """
    if field.root is None:
        # The text in the braces is not a path, e.g. "{a b}". It is missing
        # when the rule runs, so it can only mean itself.
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
    """Return the name, the inner filter and the arguments of a filter.

    ``round`` means ``['round', None, {'precision': 0}]``, with the default of
    the argument. ``map('trim')`` applies the inner filter ``trim`` to every
    item of a list. It means::

        ['map', ['trim', None, {'chars': None}],
         {'filter': None, 'attribute': None, 'default': ABSENT}]

    :param call: the name of the filter, and its arguments as pairs of name and
        value; the name of a positional argument is None.
    """
    inner_meaning = _meaning_of_inner_filter(call)
    own_arguments = call.arguments
    if inner_meaning is not None:
        # All arguments belong to the inner filter.
        own_arguments = ()
    signature = registry.filters()[call.name].signature
    # A valid rule has no problems.
    value_by_name, _problems = signature.bind_call(own_arguments)
    meanings = {}
    for argument in signature.arguments:
        if argument.name in value_by_name:
            value = value_by_name[argument.name]
        elif not argument.required:
            value = argument.default
        else:
            # A required argument is only missing if it is the inner filter,
            # which is not in own_arguments.
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
    # The first argument of map('replace', 'a', 'b') is the name of the inner
    # filter, and the other arguments belong to it.
    (argument_name, inner_name), *arguments_of_inner = call.arguments
    if argument_name is not None:
        # In map(attribute='name'), the first argument has a name. There is no
        # inner filter.
        return None
    inner_call = filter_syntax.FilterCall(
        inner_name, tuple(arguments_of_inner)
    )
    return _meaning_of_filter(inner_call)


def _meaning_of_filter_argument(
    argument: arguments.Argument, value: typing.Any
) -> typing.Any:
    """Return the meaning of an argument of a filter.

    * A field, e.g. ``item.address``, means a text that is only this field.
    * A list or a mapping may contain fields, at any depth.
    * A path means its tokens.
    * Any other value means itself.

    :param argument: the declaration of the argument, with its type.
    :param value: the value in the rule.
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

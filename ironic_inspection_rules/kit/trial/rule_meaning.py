# SPDX-License-Identifier: Apache-2.0

"""Meaning of a rule, however it is written.

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
    return {**{name: value for name, value in rule.to_mapping().items()
               if name not in NAMES},
            'vars': _vars(dict(rule.vars)),
            'conditions': [_operation(each) for each in conditions],
            'actions': [{**_operation(each), 'reverts': engine_action.reverts(
                each.written, each.op)} for each in actions]}


def _vars(made: dict[str, typing.Any]) -> typing.Any:
    """Return the meaning of vars, whose order counts where one uses one."""
    meant = _value(made)
    return list(meant.items()) if model.VARS in str(
        list(made.values())) else meant


class _Text(list[typing.Any]):
    """Text with fields in it, in pieces: no list that a rule may have."""


class _ForEach(list[typing.Any]):
    """A path for each item of a loop."""


def _operation(each: file_rule.Operation,
               outer: engine_loop.Loop | None = None) -> dict[str, typing.Any]:
    loop = each.loop
    inside = engine_loop.Loop.of(loop, outer)

    def meaning(name: str, value: typing.Any) -> typing.Any:
        argument = each.op.signature.by_name[name]
        if value is not None and argument.type is data_path.Path:
            return _path(value, inside)
        if argument.type is pattern.Pattern:
            return value
        meant = value if name in each.op.plugin.LITERAL else _value(value)
        return meant if isinstance(meant, _Text) else arguments.convert(
            meant, argument)

    if isinstance(loop, dict):
        loop = [loop]
    return {
        'op': each.op.name, 'inverted': each.inverted,
        'arguments': {name: meaning(name, value)
                      for name, value in each.arguments.items()},
        'loop': _value(loop),
        'multiple': None if loop is None else (
            each.written.get('multiple') or model.MULTIPLE[0]),
        'inner': [_operation(part, inside) for part in each.inner]}


def _path(text: typing.Any, loop: engine_loop.Loop | None) -> typing.Any:
    if loop is not None and loop.items is not None:
        written = [interpolation.fill_item(str(text), item)
                   for item in loop.items]
        if any(each != text for each in written):
            return _ForEach(_path(each, None) for each in written)
    return [_pieces(token) for token in engine_call.split(
        interpolation.parse(str(text)))]


def _value(value: typing.Any) -> typing.Any:
    if isinstance(value, str):
        return _pieces(interpolation.parse(value))
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {str(meant) if isinstance(meant := _value(key), _Text)
                else meant: _value(item) for key, item in value.items()}
    return value


def _pieces(pieces: list[str | interpolation.Field]) -> typing.Any:
    if any(isinstance(piece, interpolation.Field) for piece in pieces):
        return _Text(_field(piece) if isinstance(piece, interpolation.Field)
                     else piece for piece in pieces if piece)
    return ''.join(map(str, pieces))


def _field(field: interpolation.Field) -> list[typing.Any]:
    if field.root is None:
        return [field.text]
    return [field.root, list(field.steps), field.conversion, field.spec,
            [_filter(each) for each in field.filters]]


def _filter(call: filter_syntax.Call) -> list[typing.Any]:
    op = registry.filters()[call.name]
    applied = None
    if op.plugin.TAKES_FILTER and call.arguments and (
            call.arguments[0][0] is None):
        (_none, name), *others = call.arguments
        applied = _filter(filter_syntax.Call(name, tuple(others)))
        call = filter_syntax.Call(call.name)
    given, _problems = op.signature.bind_call(call.arguments)
    return [call.name, applied, {
        argument.name: _filter_argument(
            argument, given.get(argument.name, argument.default))
        for argument in op.signature.arguments
        if argument.name in given or not argument.required}]


def _filter_argument(argument: arguments.Argument,
                     value: typing.Any) -> typing.Any:
    if isinstance(value, interpolation.Field):
        return _Text([_field(value)])
    if isinstance(value, list):
        return [_filter_argument(argument, item) for item in value]
    if isinstance(value, dict):
        return {key: _filter_argument(argument, item)
                for key, item in value.items()}
    if value is not None and argument.type is data_path.Path:
        return list(data_path.parse(str(value)))
    return value

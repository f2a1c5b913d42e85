# SPDX-License-Identifier: Apache-2.0

"""Rules as their authors wrote them, with secrets masked."""

import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.rule_file import yaml_text

_WIDTH = 88
_HEAD = ('priority', 'phase', 'scope', 'mode', 'sensitive')

Operation = typing.Mapping[str, typing.Any]


def head(rule: model.Rule) -> list[str]:
    """Return the lines of all but its conditions and actions."""
    name = 'description' if rule.description else 'uuid'
    written = rule.to_mapping()
    return _lines({name: written[name], **{
        each: written[each] for each in _HEAD
        if written[each] != model.DEFAULTS[each]},
        **disclosure.mark(rule)}) + variables(rule)


def variables(rule: model.Rule) -> list[str]:
    """Return the lines of its variables, none where it has none."""
    given = dict(disclosure.shown(rule).vars)
    if not given:
        return []
    return _lines({model.VARS: disclosure.data(given)})


def operations(rule: model.Rule, name: str) -> model.Operations:
    """Return the conditions or the actions of a rule that are shown.

    :param name: which of both.
    """
    shown: model.Operations = getattr(disclosure.shown(rule), name)
    return shown


def operation(written: Operation) -> list[str]:
    """Return the lines of one condition or action."""
    first, *others = _lines(disclosure.operation(written))
    return [f'- {first}', *(f'  {line}' for line in others)]


def arguments(written: Operation) -> str:
    """Return what an operation is called with, in one line."""
    return '\n'.join(line.strip() for line in _lines({
        name: value for name, value in disclosure.operation(written).items()
        if name != 'op'}))


def _lines(fields: typing.Mapping[str, typing.Any]) -> list[str]:
    """Return a field a line, and more where one is long."""
    return [line for name, value in fields.items()
            for line in yaml_text.dump(
                {name: value}, width=_WIDTH, default_flow_style=None
                if isinstance(value, dict | list) else False).splitlines()]

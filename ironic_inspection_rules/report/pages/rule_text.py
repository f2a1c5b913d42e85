# SPDX-License-Identifier: Apache-2.0

"""Rules as their authors wrote them, with secrets masked."""

import typing

from ironic_inspection_rules.authoring.checks import writes
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine.secrecy import masking
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
        if written[each] != model.DEFAULTS[each]}}) + variables(rule)


def variables(rule: model.Rule) -> list[str]:
    """Return the lines of its variables, none where it has none."""
    if rule.sensitive or not rule.vars:
        return []
    return _lines({model.VARS: masking.mask(dict(rule.vars))})


def operation(rule: model.Rule, written: Operation) -> list[str]:
    """Return the lines of one condition or action."""
    first, *others = _lines(_without_secrets(rule, written))
    return [f'- {first}', *(f'  {line}' for line in others)]


def arguments(rule: model.Rule, written: Operation) -> str:
    """Return what an operation is called with, in one line."""
    return '\n'.join(line.strip() for line in _lines({
        name: value for name, value in _without_secrets(rule, written).items()
        if name != 'op'}))


def _without_secrets(rule: model.Rule, written: Operation) -> Operation:
    given = written.get('args')
    named = given
    if isinstance(given, list):
        named = dict(zip(('value', 'path'), given[::-1], strict=False))
    if isinstance(named, dict) and any(writes.secrets(named)):
        return {'op': written['op'], 'args': masking.MASK}
    return written


def _lines(fields: typing.Mapping[str, typing.Any]) -> list[str]:
    """Return a field a line, and more where one is long."""
    return [line for name, value in fields.items()
            for line in yaml_text.dump(
                {name: value}, width=_WIDTH, default_flow_style=None
                if isinstance(value, dict | list) else False).splitlines()]

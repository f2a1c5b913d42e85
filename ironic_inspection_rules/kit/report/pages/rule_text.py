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
    """Return a rule as lines of YAML, without its conditions and actions.

    It has the description, or else the UUID, then what is not as by default,
    and the variables. Of a sensitive rule it says that the rest is withheld.
    """
    mapping = rule.to_mapping()
    name = 'uuid'
    if rule.description:
        name = 'description'
    fields = {name: mapping[name]}
    for field in _HEAD:
        if mapping[field] != model.DEFAULTS[field]:
            fields[field] = mapping[field]
    fields.update(disclosure.mark(rule))
    return _lines(fields) + variables(rule)


def variables(rule: model.Rule) -> list[str]:
    """Return the variables of a rule as lines of YAML, with secrets masked.

    :returns: no lines if it has none, or is sensitive.
    """
    own_vars = dict(disclosure.disclose_rule(rule).vars)
    if not own_vars:
        return []
    return _lines({model.VARS: disclosure.data(own_vars)})


def operations(rule: model.Rule, name: str) -> model.Operations:
    """Return the conditions or the actions of a rule; none of a sensitive one.

    :param name: ``conditions`` or ``actions``.
    """
    visible: model.Operations = getattr(disclosure.disclose_rule(rule), name)
    return visible


def operation(written: Operation) -> list[str]:
    """Return the lines of one condition or action."""
    first, *others = _lines(disclosure.operation(written))
    return [f'- {first}', *(f'  {line}' for line in others)]


def arguments(written: Operation) -> str:
    """Return an operation as lines of YAML, without its op and indents."""
    fields = dict(disclosure.operation(written))
    fields.pop('op', None)
    return '\n'.join(line.strip() for line in _lines(fields))


def _lines(fields: typing.Mapping[str, typing.Any]) -> list[str]:
    """Return fields as lines of YAML: one for a field, more for a long one."""
    lines = []
    for name, value in fields.items():
        # With None, PyYAML puts lists and mappings of scalars on one line.
        # With False, it writes a single value in block style.
        flow_style: bool | None = False
        if isinstance(value, dict | list):
            flow_style = None
        text = yaml_text.dump(
            {name: value}, width=_WIDTH, default_flow_style=flow_style
        )
        lines += text.splitlines()
    return lines

# SPDX-License-Identifier: Apache-2.0

"""Formats rules as YAML, as authors write them, with secrets masked."""

import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.rule_file import yaml_text

_MAX_COLUMNS = 88
_HEAD_FIELDS = ('priority', 'phase', 'scope', 'mode', 'sensitive')

Operation = typing.Mapping[str, typing.Any]


def head_lines(rule: model.Rule) -> list[str]:
    """Return a rule as lines of YAML, without its conditions and actions.

    The first line is the description of the rule, or its UUID if it has none.
    Fields that differ from their defaults and the variables follow::

        description: Note the rack
        priority: 100
        vars: {rack: '{inventory.extra.rack}'}

    A sensitive rule has ``withheld: true`` in place of its variables.
    """
    mapping = rule.to_mapping()
    title_field = 'uuid'
    if rule.description:
        title_field = 'description'
    fields = {title_field: mapping[title_field]}
    for field in _HEAD_FIELDS:
        if mapping[field] != model.DEFAULTS[field]:
            fields[field] = mapping[field]
    # The mark is empty unless the rule is sensitive.
    fields.update(disclosure.mark(rule))
    return _yaml_lines(fields) + variable_lines(rule)


def variable_lines(rule: model.Rule) -> list[str]:
    """Return the variables of a rule as lines of YAML, with secrets masked.

    :returns: an empty list if the rule has no variables or is sensitive.
    """
    own_vars = dict(disclosure.disclose_rule(rule).vars)
    if not own_vars:
        return []
    return _yaml_lines({model.VARS: disclosure.data(own_vars)})


def visible_operations(rule: model.Rule, name: str) -> model.Operations:
    """Return the conditions or the actions of a rule that may be shown.

    :param name: ``conditions`` or ``actions``.
    :returns: the operations; none if the rule is sensitive.
    """
    visible: model.Operations = getattr(disclosure.disclose_rule(rule), name)
    return visible


def operation_lines(written: Operation) -> list[str]:
    """Return one condition or action as lines of a YAML list item.

    For example, ``- op: log`` and ``  args: {msg: done}``. Secrets are masked.
    """
    first_line, *other_lines = _yaml_lines(disclosure.operation(written))
    return [f'- {first_line}', *(f'  {line}' for line in other_lines)]


def argument_text(written: Operation) -> str:
    """Return an operation as lines of YAML, without its op and indentation.

    For example, ``args: {msg: done}``.
    """
    fields = dict(disclosure.operation(written))
    fields.pop('op', None)
    return '\n'.join(line.strip() for line in _yaml_lines(fields))


def _yaml_lines(fields: typing.Mapping[str, typing.Any]) -> list[str]:
    """Return fields as lines of YAML.

    A list or a mapping of scalars is written on one line if it is short
    enough, as in ``args: {msg: done}``.
    """
    lines = []
    for name, value in fields.items():
        # With False, PyYAML writes every scalar on its own line. With None, it
        # writes a list or a mapping on one line if it has only scalars.
        flow_style: bool | None = False
        if isinstance(value, dict | list):
            flow_style = None
        text = yaml_text.dump(
            {name: value}, width=_MAX_COLUMNS, default_flow_style=flow_style
        )
        lines += text.splitlines()
    return lines

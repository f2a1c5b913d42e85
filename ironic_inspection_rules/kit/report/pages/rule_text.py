# SPDX-License-Identifier: Apache-2.0

"""Formats rules as YAML, as authors write them, with secrets masked.

The YAML of a rule has a *head*, conditions and actions::

    description: Note the rack          # The head
    vars: {rack: '{inventory.extra.rack}'}
    conditions:
    - op: is-true                       # An operation
      args: {value: '{rack}'}

Conditions and actions are both called *operations*. The content of a
*sensitive* rule is withheld: only its head is shown, without variables.
"""

import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.rule_file import yaml_text

_MAX_COLUMNS = 88
_HEAD_FIELDS = ('priority', 'phase', 'scope', 'mode', 'sensitive')
"""Fields of the head, which are shown if they differ from their defaults."""

Operation = typing.Mapping[str, typing.Any]
"""A condition or an action as in the rule, e.g. ``{'op': 'fail', …}``."""


def head_lines(rule: model.Rule) -> list[str]:
    """Return the head of a rule as lines of YAML.

    The first line is the description of the rule, or its UUID if it has none.
    Fields that differ from their defaults and the variables follow::

        description: Note the rack
        priority: 100
        vars: {rack: '{inventory.extra.rack}'}

    A sensitive rule has the line ``withheld: true`` in place of its variables.
    """
    rule_fields = rule.to_mapping()
    title_field = 'uuid'
    if rule.description:
        title_field = 'description'
    head = {title_field: rule_fields[title_field]}
    for name in _HEAD_FIELDS:
        if rule_fields[name] != model.DEFAULTS[name]:
            head[name] = rule_fields[name]
    # This adds {'withheld': True} for a sensitive rule, otherwise nothing.
    head.update(disclosure.withheld_mark(rule))
    return _yaml_lines(head) + variable_lines(rule)


def variable_lines(rule: model.Rule) -> list[str]:
    """Return the variables of a rule as lines of YAML, with secrets masked.

    For example, ``["vars: {rack: '{inventory.extra.rack}'}"]``.

    :returns: an empty list if the rule has no variables or is sensitive.
    """
    # The disclosed form of a sensitive rule has no variables.
    disclosed_rule = disclosure.disclose_rule(rule)
    variables = dict(disclosed_rule.vars)
    if not variables:
        return []
    return _yaml_lines({model.VARS: disclosure.mask_data(variables)})


def visible_operations(rule: model.Rule, name: str) -> model.Operations:
    """Return the conditions or the actions of a rule that may be shown.

    :param name: ``conditions`` or ``actions``.
    :returns: the operations; none if the rule is sensitive.
    """
    disclosed_rule = disclosure.disclose_rule(rule)
    operations: model.Operations = getattr(disclosed_rule, name)
    return operations


def operation_lines(operation: Operation) -> list[str]:
    """Return one condition or action as lines of a YAML list item.

    For example, ``['- op: log', '  args: {msg: done}']``. Secrets are masked.
    """
    masked_operation = disclosure.mask_operation(operation)
    first_line, *other_lines = _yaml_lines(masked_operation)
    return [f'- {first_line}', *(f'  {line}' for line in other_lines)]


def argument_text(operation: Operation) -> str:
    """Return the fields of an operation except its op, as lines of YAML.

    For example, ``args: {msg: done}``. Secrets are masked. The lines are not
    indented, to save space.
    """
    fields = dict(disclosure.mask_operation(operation))
    fields.pop('op', None)
    return '\n'.join(line.strip() for line in _yaml_lines(fields))


def _yaml_lines(fields: typing.Mapping[str, typing.Any]) -> list[str]:
    """Return fields as lines of YAML.

    A list or a mapping is written on one line if it has only scalars and is
    short enough, as in ``args: {msg: done}``.
    """
    lines = []
    for name, value in fields.items():
        # These are the rules of PyYAML: with False, every item has a line of
        # its own. With None, lists and mappings of scalars have one line.
        flow_style: bool | None = False
        if isinstance(value, dict | list):
            flow_style = None
        text = yaml_text.dump(
            {name: value}, width=_MAX_COLUMNS, default_flow_style=flow_style
        )
        lines += text.splitlines()
    return lines

# SPDX-License-Identifier: Apache-2.0

"""Secrets of a machine, which rules do not see, in what actions write."""

import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import reach
from ironic_inspection_rules.authoring.checks import writes
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import origin
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine.secrecy import masked_field
from ironic_inspection_rules.engine.secrecy import masking
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.legacy import text
from ironic_inspection_rules.rule_file import file_rule

_GET = 'get'
_WITH_SECRETS = (('node', 'driver_info', masking.MASK),)
"""Secrets that nearly every node has, by the path of one."""

_VALUE = ('value',)
"""The path to a value in an item of ``dict2items``."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find secrets that an action would write, which inspection refuses.

    They read as ``******`` to a rule, unless masking is switched off.
    """
    secrets: set[reach.Steps] = set(_WITH_SECRETS)
    for action in rule.actions:
        for name, written in _masked_in(rule, action, secrets):
            yield action.pointer_to(name), _message(written)
        secrets.update(_written_by(action))


def _message(written: str) -> str:
    return _('{%s} is or has a secret: rules do not see it, and the '
             'inspection fails where one would write it') % written


def _masked_in(rule: checked_rule.CheckedRule, action: file_rule.Operation,
               secrets: set[reach.Steps]
               ) -> typing.Iterator[tuple[str, str]]:
    """Yield the arguments of an action with a secret in a field of theirs.

    :param secrets: the paths of secrets whose names need not tell.
    :returns: the name of the argument, and the field.
    """
    origins = origin.Origins(rule.rule.vars, action.written.get('loop'))
    for name, value in action.templates.items():
        if name in action.op.plugin.TELLS:
            continue
        for field in interpolation.fields(value):
            for use in reach.of_field('', field):
                root, *steps = use.steps
                if root in masked_field.OF_RULE:
                    is_secret = any(
                        _may_be_secret(each, secrets)
                        for each in origins.of(root, tuple(steps)))
                else:
                    is_secret = _is_or_has(use.steps, secrets)
                if is_secret:
                    yield name, use.text
    for name in getattr(action.op.plugin, 'FORMATTED', ()):
        for written, keys in text.fields(action.arguments.get(name)):
            if any(masking.is_secret(str(key)) for key in keys):
                yield name, written


def _may_be_secret(source: origin.Origin,
                   secrets: set[reach.Steps]) -> bool:
    """Return whether a value of a rule is or has a secret of the machine."""
    steps = (source.root, *source.steps)
    if any(map(masking.is_secret, source.rest)):
        return True
    # The first is what the field reads, the others what its filters step into.
    _read, *stepped_into = reach.of_field('', source.field)
    for use in stepped_into:
        if any(map(masking.is_secret, use.steps)):
            return True
    if source.is_kept and stepped_into and (
            source.field.filters[-1].name == _GET):
        steps = stepped_into[-1].steps
    if source.is_kept and source.rest not in ((), _VALUE):
        # Of what has secrets it is something that is none.
        return any(map(masking.is_secret, steps))
    return _is_or_has(steps, secrets)


def _is_or_has(steps: reach.Steps, secrets: set[reach.Steps]) -> bool:
    """Return whether a place is that of a secret, or has one."""
    return any(map(masking.is_secret, steps)) or any(
        secret[:len(steps)] == steps for secret in secrets)


def _written_by(action: file_rule.Operation
                ) -> typing.Iterator[reach.Steps]:
    """Yield the paths of secrets that an action writes."""
    for write, steps in writes.placed(action):
        if write.kind == 'port' or write.value is data_path.ABSENT:
            continue
        for below, value in data_path.walk(write.value):
            path = (*steps, *below)
            if path and value and not isinstance(value, dict | list) and any(
                    map(masking.is_secret, path)):
                yield (write.kind, *path)

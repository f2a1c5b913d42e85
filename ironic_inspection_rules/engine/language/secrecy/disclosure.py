# SPDX-License-Identifier: Apache-2.0

"""Decides what readers may see of a rule, and of the data of a machine.

All code that shows, logs or keeps something calls this module. So no other
code needs to know whether a rule is sensitive, or how secrets are named.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language.secrecy import masking

WITHHELD = 'withheld'
"""The key that tells readers that the rest is withheld."""

Operation = typing.Mapping[str, typing.Any]
"""A condition or an action as its author wrote it: ``{'op': 'log', …}``."""

Entry = dict[str, typing.Any]
"""The description of a rule in an answer, a record or a report."""


ALWAYS, SENSITIVE, NEVER = 'always', 'sensitive', 'never'
"""Values of the option ``mask_secrets``."""


def mask_data(content: typing.Any) -> typing.Any:
    """Return data of a machine with all secrets masked."""
    return masking.mask(content)


def is_secret(path: typing.Iterable[str]) -> bool:
    """Return whether any name in a path names a secret.

    For example, ``('driver_info', 'ipmi_password')`` is the path of a secret.
    """
    return any(masking.is_secret(token) for token in path)


def mask_row(
    cells: typing.Mapping[str, typing.Any], secret: typing.Collection[str]
) -> dict[str, typing.Any]:
    """Return a row of a table with its secret columns masked.

    A cell of a secret column reads ``******``, unless it is null or empty.

    :param cells: the values of the row by column.
    :param secret: the names of secret columns.
    """
    masked = dict(cells)
    for column, value in cells.items():
        if column in secret and value not in (None, '', [], {}):
            masked[column] = masking.MASK
    return masked


def mask_tables(
    rule: model.Rule, tables_of_set: typing.Mapping[str, typing.Any]
) -> typing.Mapping[str, typing.Any]:
    """Return the tables of a rule set as a rule sees them.

    Secret columns are masked for rules that are not sensitive, whatever the
    value of ``mask_secrets``.

    :param tables_of_set: the tables of the rule set by name.
    """
    if rule.sensitive:
        return tables_of_set
    return {name: table.masked for name, table in tables_of_set.items()}


def mask_text(text: str) -> str:
    """Return free text of a machine with its secrets masked."""
    return masking.mask_text(text)


def is_masked(value: typing.Any) -> bool:
    """Return whether a kept value, or any part of it, is masked.

    The original value is not kept, so this looks for ``******``.
    """
    if isinstance(value, str):
        return value == masking.MASK
    return masking.MASK in str(value)


def mask_value_at(path: data_path.Path, value: typing.Any) -> typing.Any:
    """Return a value of the data with its secrets masked.

    :param path: the path of the value. Names in it determine which values are
        secret.
    """
    _path, masked = masking.mask_along(path, value)
    return masked


def mask_operation(written: Operation) -> Operation:
    """Return a condition or an action of a rule without its secrets.

    An operation with a secret keeps only its op.
    """
    if has_secrets(written):
        return {'op': written['op'], 'args': masking.MASK}
    return written


def has_secrets(written: Operation) -> bool:
    """Return whether a condition or an action has secrets written out."""
    return any(masking.find_secret_arguments(_arguments_of(written)))


def _arguments_of(written: Operation) -> typing.Mapping[str, typing.Any]:
    """Return the arguments of a condition or an action, by name.

    Whether a value is a secret depends on the path beside it, so both must be
    known by their names.

    If the arguments are a list, they get the names that the action declares.
    For a condition, and for an op that is not installed, the last two
    arguments are returned as ``path`` and ``value``.
    """
    arguments = written.get('args')
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, list):
        return {}
    name = written['op'].strip()
    action = registry.installed().actions.get(name)
    if action is not None:
        return action.signature.bind(arguments).values
    # An older rule may have an op that is no longer installed. Usually the
    # last argument is a value, and the one before it is the path.
    names = ('value', 'path')
    return dict(zip(names, reversed(arguments), strict=False))


def hides_secrets(rule: model.Rule, mask_secrets: str) -> bool:
    """Return whether a rule must not see the secrets of a machine.

    :param mask_secrets: ``always``, ``never``, or ``sensitive`` to let only
        sensitive rules see them (spec 003 "Other deployer impact").
    """
    if mask_secrets == SENSITIVE:
        return not rule.sensitive
    return mask_secrets == ALWAYS


def is_kept_masked(mask_secrets: str) -> bool:
    """Return whether secrets are masked in the data of machines to keep."""
    return mask_secrets != NEVER


def may_show_secrets(mask_secrets: str) -> bool:
    """Return whether any rule may see the secrets of a machine."""
    return mask_secrets != ALWAYS


def gives_reasons(rule: model.Rule) -> bool:
    """Return whether readers may see why the conditions of a rule hold."""
    return not rule.sensitive


def rule_label(rule: model.Rule) -> str:
    """Return the name of a rule in errors and logs: ``UUID (description)``.

    The description of a sensitive rule is omitted.
    """
    if rule.description and not rule.sensitive:
        return f'{rule.uuid} ({rule.description})'
    return rule.uuid


def disclose_text(rule: model.Rule, text: str, instead: str = '') -> str:
    """Return a text about the content of a rule, unless it is sensitive.

    :param instead: the text for a sensitive rule.
    """
    if rule.sensitive:
        return instead
    return text


def disclose_rule(rule: model.Rule) -> model.Rule:
    """Return a rule; for a sensitive rule, return a copy without content.

    The copy has no conditions, actions and vars.
    """
    if not rule.sensitive:
        return rule
    return dataclasses.replace(rule, conditions=(), actions=(), vars={})


def disclose_entry(
    rule: model.Rule,
    describe: typing.Callable[[model.Rule], Entry],
    **members: typing.Any,
) -> Entry:
    """Return the entry of a rule, or only its UUID if the rule is sensitive.

    The entry of a sensitive rule is ``{'uuid': UUID, 'withheld': True}``.

    :param describe: builds the entry of a rule that is not sensitive.
    :param members: further members for the entry of a sensitive rule.
    """
    if rule.sensitive:
        return {'uuid': rule.uuid, WITHHELD: True, **members}
    return describe(rule)


def disclose_answer(rule: model.Rule | None, entry: Entry) -> Entry:
    """Return an answer about what a rule did, or only whether it matched.

    For a sensitive rule, the answer has only its UUID and whether it matched.

    :param rule: the rule; None if it is no longer known. The entry then says
        itself whether it is withheld.
    :param entry: the answer, with ``rule`` and ``matched``.
    """
    is_sensitive = rule is not None and rule.sensitive
    if is_sensitive or entry.get(WITHHELD):
        return {
            'rule': {'uuid': entry['rule']['uuid']},
            'matched': entry['matched'],
            WITHHELD: True,
        }
    return entry


def is_shown(entry: Entry) -> bool:
    """Return whether an entry that a client received is not withheld."""
    return not entry.get(WITHHELD)


def withheld_mark(rule: model.Rule) -> dict[str, bool]:
    """Return the member ``withheld`` for the entry of a sensitive rule.

    :returns: ``{'withheld': True}``; empty for a rule that is not sensitive.
    """
    if rule.sensitive:
        return {WITHHELD: True}
    return {}


def as_not_sensitive(rule: model.Rule) -> model.Rule:
    """Return a copy of a rule that is not sensitive.

    Use this for code that needs traces of all rules, and whose result does not
    reveal anything about the rule. Otherwise the traces of sensitive rules
    would be withheld from this code too.
    """
    return dataclasses.replace(rule, sensitive=False)


def make_error(
    rule: model.Rule, op: str, exc: Exception
) -> exceptions.RuleError:
    """Build the error of a rule, which names the rule and its failing op.

    The error of a sensitive rule has no reason and no cause, because the text
    of both may contain parts of the rule or a secret.

    :param op: the condition or action that failed.
    :param exc: the exception that it raised.
    """
    reason: str | None = None
    cause: Exception | None = None
    if not rule.sensitive:
        reason = exceptions.reason_of(exc)
        cause = exc
    error: exceptions.RuleError
    if isinstance(exc, exceptions.FailRequested):
        # The action "fail" ran, so the rule ends the inspection on purpose.
        error = exceptions.RuleFailed(
            rule.uuid, rule_label(rule), op, reason, exc.maintenance
        )
    else:
        error = exceptions.RuleError(rule.uuid, rule_label(rule), op, reason)
    error.__cause__ = cause
    return error

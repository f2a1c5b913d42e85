# SPDX-License-Identifier: Apache-2.0

"""What is told of a rule, and of the data of a machine.

Whoever shows something, logs it or keeps it asks here, so that nobody else
asks whether a rule is sensitive, or what a secret is called.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import masking

WITHHELD = 'withheld'
"""The key by which readers know that the rest is not shown."""

Operation = typing.Mapping[str, typing.Any]
Told = dict[str, typing.Any]
Shown = typing.TypeVar('Shown')

ALWAYS, SENSITIVE, NEVER = 'always', 'sensitive', 'never'
"""Values of the option ``mask_secrets``."""


def data(found: typing.Any) -> typing.Any:
    """Return data of a machine as anybody may see them."""
    return masking.mask(found)


def is_secret(path: typing.Iterable[str]) -> bool:
    """Return whether a place of the data is that of a secret."""
    return any(map(masking.is_secret, path))


def row(found: typing.Mapping[str, typing.Any],
        secret: typing.Collection[str]) -> dict[str, typing.Any]:
    """Return a row of a table as anybody may see it.

    :param secret: the names of secret columns; null and empty values stay.
    """
    return {column: masking.MASK if column in secret and value not in (
        None, '', [], {}) else value for column, value in found.items()}


def tables(rule: model.Rule, of_set: typing.Mapping[str, typing.Any]
           ) -> typing.Mapping[str, typing.Any]:
    """Return the tables of a rule set as a rule sees them.

    Secret columns are masked for rules that are not sensitive, whatever
    ``mask_secrets`` is.
    """
    if rule.sensitive:
        return of_set
    return {name: found.masked for name, found in of_set.items()}


def free_text(found: str) -> str:
    """Return free text of a machine as anybody may see it."""
    return masking.mask_text(found)


def is_masked(value: typing.Any) -> bool:
    """Return whether a value that was kept is masked, or has one that is."""
    if isinstance(value, str):
        return value == masking.MASK
    return masking.MASK in str(value)


def value_at(path: data_path.Path, value: typing.Any) -> typing.Any:
    """Return a value of the data as anybody may see it.

    :param path: where it is; secrets are known by their names.
    """
    return masking.mask_along(path, value)[1]


def operation(written: Operation) -> Operation:
    """Return a condition or an action of a rule, without secrets in it."""
    if has_secrets(written):
        return {'op': written['op'], 'args': masking.MASK}
    return written


def has_secrets(written: Operation) -> bool:
    """Return whether a condition or an action has secrets written out."""
    given = written.get('args')
    if isinstance(given, list):
        given = dict(zip(('value', 'path'), given[::-1], strict=False))
    return isinstance(given, dict) and any(masking.secret_arguments(given))


def hides_secrets(rule: model.Rule, mask_secrets: str) -> bool:
    """Return whether a rule does not see the secrets of a machine.

    :param mask_secrets: ``always``, ``never``, or ``sensitive`` to let only
        sensitive rules see them (spec 003 "Other deployer impact").
    """
    return mask_secrets == ALWAYS or (
        mask_secrets == SENSITIVE and not rule.sensitive)


def is_kept_masked(mask_secrets: str) -> bool:
    """Return whether what is kept of a machine is without its secrets."""
    return mask_secrets != NEVER


def may_show_secrets(mask_secrets: str) -> bool:
    """Return whether there may be rules that see the secrets of a machine."""
    return mask_secrets != ALWAYS


def gives_reasons(rule: model.Rule) -> bool:
    """Return whether anybody is told why the conditions of a rule hold."""
    return not rule.sensitive


def label(rule: model.Rule) -> str:
    """Return the name of a rule in errors and logs: its UUID at least."""
    if rule.description and not rule.sensitive:
        return f'{rule.uuid} ({rule.description})'
    return rule.uuid


def say(rule: model.Rule, text: str, instead: str = '') -> str:
    """Return a text about what a rule is made of, or another one.

    :param instead: what is said of a sensitive rule.
    """
    return instead if rule.sensitive else text


def shown(rule: model.Rule) -> model.Rule:
    """Return a rule as everybody may see it."""
    if not rule.sensitive:
        return rule
    return dataclasses.replace(rule, conditions=(), actions=(), vars={})


def described(rule: model.Rule,
              describe: typing.Callable[[model.Rule], Told],
              **told: typing.Any) -> Told:
    """Return what a function makes of a rule, if that may be told.

    :param told: what is told of a sensitive rule besides its UUID.
    """
    if rule.sensitive:
        return {'uuid': rule.uuid, WITHHELD: True, **told}
    return describe(rule)


def answer(rule: model.Rule | None, told: Told) -> Told:
    """Return an answer about what a rule did as anybody may see it.

    :param rule: None if it is not known any more.
    :param told: with the ``rule``, and whether it ``matched``.
    """
    if (rule is not None and rule.sensitive) or told.get(WITHHELD):
        return {'rule': {'uuid': told['rule']['uuid']},
                'matched': told['matched'], WITHHELD: True}
    return told


def read(entry: Told, describe: typing.Callable[[Told], Shown],
         instead: Shown) -> Shown:
    """Return what a function makes of an entry of an answer.

    :param instead: what is returned for one that is withheld.
    """
    return instead if entry.get(WITHHELD) else describe(entry)


def mark(rule: model.Rule) -> dict[str, bool]:
    """Return what stands in place of content that is not shown."""
    return {WITHHELD: True} if rule.sensitive else {}


def opened(rule: model.Rule) -> model.Rule:
    """Return a rule as one that is not sensitive.

    For results that show nothing of the rule: all else would be withheld
    from who makes them as well.
    """
    return dataclasses.replace(rule, sensitive=False)


def error_of(rule: model.Rule, op: str, exc: Exception
             ) -> exceptions.RuleError:
    """Return the error of a rule, with its cause.

    :param op: the condition or action that failed.
    """
    reason: str | None = exceptions.reason_of(exc)
    cause: Exception | None = exc
    if rule.sensitive:
        reason = cause = None
    made: exceptions.RuleError
    if isinstance(exc, exceptions.FailRequested):
        made = exceptions.RuleFailed(rule.uuid, label(rule), op, reason,
                                     exc.maintenance)
    else:
        made = exceptions.RuleError(rule.uuid, label(rule), op, reason)
    made.__cause__ = cause
    return made

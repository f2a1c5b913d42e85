# SPDX-License-Identifier: Apache-2.0

"""Stored rules and their changes: what clients see of them, and what not.

A sensitive rule can be written, but not read. Clients get null for what it is
made of, may send that back, and it stays sensitive.
"""

from collections.abc import Iterable, Mapping, Sequence
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _

Fields = Mapping[str, typing.Any]


class HasMark(typing.Protocol):
    """A rule, stored or built-in."""

    sensitive: bool


def content(
    rule: HasMark, fields: Fields, instead: typing.Any = None
) -> dict[str, typing.Any]:
    """Return the content of a rule as anybody may see it.

    :param fields: those with conditions, actions or vars, and no others: all
        of them are hidden if the rule is sensitive.
    :param instead: the value of a field that is not shown.
    """
    if rule.sensitive:
        return dict.fromkeys(fields, instead)
    return dict(fields)


def of_revision(rule: Fields) -> Fields:
    """Return a rule of a revision as anybody may see it.

    :param rule: with ``secret``, which says that the rule is sensitive in any
        revision: then it is withheld in all.
    """
    if rule['secret']:
        return {**rule, **dict.fromkeys(model.CONTENT)}
    return rule


def marked(rule: Fields) -> Fields:
    """Return a rule of a revision, sensitive if it is so in any revision."""
    return {**rule, 'sensitive': rule['sensitive'] or rule['secret']}


def restored(
    rules: Iterable[Fields], present: Iterable[Fields]
) -> Sequence[Fields]:
    """Return the rules of a revision as they are put in force again.

    One that has become sensitive since its revision stays so, also if it is
    gone by now.

    :param present: the rules in force.
    """
    sensitive_uuids = {rule['uuid'] for rule in present if rule['sensitive']}
    restored_rules: list[Fields] = []
    for rule in rules:
        fields = {name: rule[name] for name in model.WRITABLE}
        was_sensitive = marked(rule)['sensitive']
        fields['sensitive'] = was_sensitive or rule['uuid'] in sensitive_uuids
        restored_rules.append(fields)
    return restored_rules


def is_closed(rule: typing.Any) -> bool:
    """Return whether nobody but its author is to see what a rule says.

    :param rule: as its author wrote it.
    """
    if not isinstance(rule, dict):
        return False
    # Validation takes "yes" for true as well.
    return bool(strutils.bool_from_string(rule.get('sensitive')))


def lacks_content(rule: typing.Any) -> bool:
    """Return whether a posted rule has nothing of what it is made of."""
    if not isinstance(rule, dict):
        return False
    return all(rule.get(name) is None for name in model.CONTENT)


def completed(
    rule: dict[str, typing.Any], before: Fields | None, restored: bool
) -> tuple[dict[str, typing.Any], bool]:
    """Return a posted rule, with the content of the stored one if it has none.

    That is how GET shows a sensitive rule.

    :param before: the rule that it takes the place of, if any.
    :param restored: whether it is a rule of a revision, with its content.
    :returns: the rule, and whether its content comes from the database: the
        client must not see it in an error.
    :raises: InvalidRule if there is no stored rule with content for it.
    """
    if not lacks_content(rule):
        return rule, restored and bool(rule['sensitive'])
    if before and before['sensitive']:
        stored = {name: before[name] for name in model.CONTENT}
        return {**rule, **stored}, True
    if is_closed(rule):
        raise exceptions.InvalidRule.of(
            _(
                'no sensitive rule is stored by this UUID or description, '
                'whose conditions and actions would be used; write them here, '
                'or leave the rule out'
            )
        )
    return rule, False


def with_defaults(rule: Fields) -> dict[str, typing.Any]:
    """Return the fields that the author of a rule sets.

    Content that a sensitive rule lacks is no default: it is not shown.
    """
    fields = {}
    for name in model.WRITABLE:
        value = rule.get(name)
        is_hidden = is_closed(rule) and name in model.CONTENT
        if value is None and not is_hidden:
            value = model.DEFAULTS.get(name)
        fields[name] = value
    return fields


def would_open(before: typing.Any, after: Fields) -> bool:
    """Return whether a change would show a rule that is sensitive.

    :param before: the stored rule, or its fields; None if there is none.
    """
    if before is None:
        return False
    return bool(before['sensitive']) and not after['sensitive']


def differing(before: Fields | None, names: Iterable[str]) -> set[str]:
    """Return which fields of a rule are said to differ.

    Of a sensitive rule that is all of its content or nothing: which part
    differs would help to guess what it is made of.

    :param names: of the fields that do differ.
    """
    differing_names = set(names)
    if before and before['sensitive']:
        if differing_names & set(model.CONTENT):
            differing_names.update(model.CONTENT)
    return differing_names


def planned(
    fields: Fields,
    before_and_after: Iterable[Fields],
    differing_names: Iterable[str] = (),
) -> dict[str, typing.Any]:
    """Return a rule of a plan as anybody may see it.

    :param fields: the rule on the side that is shown.
    :param before_and_after: the rule on both sides. It is withheld on both if
        it is sensitive on one.
    :param differing_names: the names of its fields that differ from those
        before.
    """
    shown = dict(fields)
    if any(rule.get('sensitive') for rule in before_and_after):
        for name in model.CONTENT:
            shown[name] = _('(withheld)')
            if name in differing_names:
                shown[name] = _('(withheld, new)')
    return shown


def refusal(
    rule: HasMark, exc: exceptions.InvalidRule
) -> exceptions.InvalidRule:
    """Return the error of a change of a stored rule."""
    if rule.sensitive:
        return exceptions.InvalidRule(without_content(exc.problems))
    return exc


def without_content(
    problems: Iterable[exceptions.Problem],
) -> list[exceptions.Problem]:
    """Return which operations of a sensitive rule are wrong, but not why.

    Problems of fields that everybody may read stay as they are.
    """
    redacted = []
    for problem in problems:
        parts = problem.pointer.split('/')
        if len(parts) > 2 and parts[1] in model.CONTENT:
            # Operations have numbers, but vars have names, which are secret.
            place = parts[:3]
            if parts[1] == model.VARS:
                place = parts[:2]
            problem = exceptions.Problem(
                '/'.join(place), _('is not valid in this rule')
            )
        redacted.append(problem)
    # Several problems of one operation read the same now.
    return list(dict.fromkeys(redacted))


def check_patch(
    rule: Fields, op: str, pointers: Iterable[Sequence[str]]
) -> None:
    """Check that an operation of a JSON patch reads nothing of the content.

    With another path, an action would write its old value to where it can be
    read.

    :param op: of the operation.
    :param pointers: its places, as tokens.
    :raises: Invalid if it reads a secret, or replaces only a part of it.
    """
    if not rule['sensitive']:
        return
    writes = op in ('add', 'remove', 'replace')
    for parts in pointers:
        is_whole_rule = not parts
        if is_whole_rule and writes:
            continue
        if not is_whole_rule and parts[0] not in model.CONTENT:
            continue
        if not writes or len(parts) > 1:
            raise exceptions.Invalid(
                _(
                    'the conditions and actions of a sensitive rule can only '
                    'be written, and only whole'
                )
            )

# SPDX-License-Identifier: Apache-2.0

"""Builds the form of stored rules that clients may see, without secrets.

A sensitive rule can be written, but not read. Clients get null for its
*content*, which is its conditions, actions and vars. If they send null back,
the rule keeps the stored content and stays sensitive.
"""

from collections.abc import Iterable, Mapping, Sequence
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _

Fields = Mapping[str, typing.Any]


class HasMark(typing.Protocol):
    """A rule with its mark ``sensitive``, stored or built in."""

    sensitive: bool


def content(
    rule: HasMark, fields: Fields, instead: typing.Any = None
) -> dict[str, typing.Any]:
    """Return content of a rule; hide the values if the rule is sensitive.

    For a sensitive rule, ``{'conditions': […]}`` becomes ``{'conditions':
    None}``.

    :param fields: conditions, actions or vars by name, and no other fields.
    :param instead: the value of a hidden field.
    """
    if rule.sensitive:
        return dict.fromkeys(fields, instead)
    return dict(fields)


def of_revision(rule: Fields) -> Fields:
    """Return a rule of a revision; hide its content if it was ever sensitive.

    If the rule is sensitive in any revision, its content is null in all of
    them, because an older revision must not show what was hidden later.

    :param rule: the fields of the rule in this revision, and ``secret``:
        whether it is sensitive in any revision.
    """
    if rule['secret']:
        return {**rule, **dict.fromkeys(model.CONTENT)}
    return rule


def mark_if_ever_sensitive(rule: Fields) -> Fields:
    """Mark a rule of a revision as sensitive if any revision of it is.

    :param rule: as for :func:`of_revision`.
    """
    return {**rule, 'sensitive': rule['sensitive'] or rule['secret']}


def keep_restored_sensitive(
    rules: Iterable[Fields], present: Iterable[Fields]
) -> Sequence[Fields]:
    """Return the rules of a revision to restore, some made sensitive.

    A rule becomes sensitive if it is sensitive today or in any revision.
    Otherwise, restoring an older revision would reveal what is hidden today.

    :param rules: the rules of the revision, with content and ``secret``:
        whether the rule is sensitive in any revision.
    :param present: the rules that are stored today.
    :returns: the rules, each with the fields that a client may write.
    """
    sensitive_uuids = {rule['uuid'] for rule in present if rule['sensitive']}
    restored_rules: list[Fields] = []
    for rule in rules:
        fields = {name: rule[name] for name in model.WRITABLE}
        was_ever_sensitive = rule['sensitive'] or rule['secret']
        is_sensitive_today = rule['uuid'] in sensitive_uuids
        fields['sensitive'] = was_ever_sensitive or is_sensitive_today
        restored_rules.append(fields)
    return restored_rules


def is_posted_sensitive(rule: typing.Any) -> bool:
    """Return whether a posted rule will be sensitive.

    :param rule: any value, as its author wrote it; it is not validated yet.
    """
    if not isinstance(rule, dict):
        return False
    # Read the value leniently, because validation accepts "yes" as true.
    return bool(strutils.bool_from_string(rule.get('sensitive')))


def lacks_content(rule: typing.Any) -> bool:
    """Return whether a posted rule has no conditions, actions and vars.

    GET returns sensitive rules like this, with null for all three.

    :param rule: any value, as its author wrote it; it is not validated yet.
    """
    if not isinstance(rule, dict):
        return False
    return all(rule.get(name) is None for name in model.CONTENT)


def complete(
    rule: dict[str, typing.Any], before: Fields | None, restored: bool
) -> tuple[dict[str, typing.Any], bool]:
    """Complete a posted rule without content with the stored content.

    A client may send back a sensitive rule as GET returned it, without
    conditions, actions and vars. Then the stored content is kept.

    :param before: the stored rule that it replaces, None for a new rule.
    :param restored: whether the rule was read from a revision instead of
        posted, so that it has its content.
    :returns: the rule, and whether it has sensitive content from the database,
        which errors must not show to the client.
    :raises: InvalidRule for a sensitive rule without content that does not
        replace a sensitive rule.
    """
    if not lacks_content(rule):
        # A client knows what it has posted, but not the content of a revision.
        has_stored_secret = restored and bool(rule['sensitive'])
        return rule, has_stored_secret
    if before and before['sensitive']:
        stored_content = {name: before[name] for name in model.CONTENT}
        return {**rule, **stored_content}, True
    if is_posted_sensitive(rule):
        raise exceptions.InvalidRule.of(
            _(
                'no sensitive rule is stored by this UUID or description, '
                'whose conditions and actions would be used; write them here, '
                'or leave the rule out'
            )
        )
    return rule, False


def with_defaults(rule: Fields) -> dict[str, typing.Any]:
    """Return all fields that an author may set, with defaults for null.

    A client compares rules in this form, for the plan of a change.

    In a sensitive rule, null hides conditions, actions and vars, so it is kept
    for these.
    """
    fields = {}
    for name in model.WRITABLE:
        value = rule.get(name)
        is_hidden = is_posted_sensitive(rule) and name in model.CONTENT
        if value is None and not is_hidden:
            value = model.DEFAULTS.get(name)
        fields[name] = value
    return fields


def would_reveal(before: typing.Any, after: Fields) -> bool:
    """Return whether a change would make a sensitive rule readable.

    This is not allowed: once a rule is sensitive, it stays sensitive.

    :param before: the stored rule, or its fields; None if there is none.
    :param after: the fields of the rule after the change.
    """
    if before is None:
        return False
    return bool(before['sensitive']) and not after['sensitive']


def find_problems_of_revealing(
    before: typing.Any, rule: typing.Any
) -> list[exceptions.Problem]:
    """Return the problem of a posted rule that would reveal a stored rule.

    It replaces a sensitive rule, but is not sensitive itself.

    :param before: the stored rule that it replaces, or its fields; None for a
        new rule.
    :param rule: any value, as its author wrote it; it is not validated yet.
    """
    if not would_reveal(before, {'sensitive': is_posted_sensitive(rule)}):
        return []
    return [
        exceptions.Problem(
            '/sensitive', _('a sensitive inspection rule stays sensitive')
        )
    ]


def disclose_differing(
    before: Fields | None, names: Iterable[str]
) -> set[str]:
    """Return the fields of a rule that differ, as a plan may show them.

    If ``actions`` of a sensitive rule differ, ``conditions`` and ``vars`` are
    reported too. Knowing which of them differ would help to guess the content.

    :param before: the stored rule, None for a new rule.
    :param names: the fields that really differ.
    """
    differing_names = set(names)
    if before and before['sensitive']:
        if differing_names & set(model.CONTENT):
            differing_names.update(model.CONTENT)
    return differing_names


def disclose_side(
    fields: Fields,
    before_and_after: Iterable[Fields],
    differing_names: Iterable[str] = (),
) -> dict[str, typing.Any]:
    """Return a rule before or after a change, as a plan may show it.

    If the rule was or will be sensitive, its conditions, actions and vars read
    ``(withheld)``.

    :param fields: the rule before or after the change.
    :param before_and_after: the rule before and after the change; only one of
        them if the rule is created or deleted.
    :param differing_names: the fields that differ. They read ``(withheld,
        new)`` instead.
    """
    side = dict(fields)
    if any(rule.get('sensitive') for rule in before_and_after):
        for name in model.CONTENT:
            if name in differing_names:
                side[name] = _('(withheld, new)')
            else:
                side[name] = _('(withheld)')
    return side


def disclose_error(
    rule: HasMark, exc: exceptions.InvalidRule
) -> exceptions.InvalidRule:
    """Return an error about a rule, without content if it is sensitive."""
    if rule.sensitive:
        return exceptions.InvalidRule(without_content(exc.problems))
    return exc


def without_content(
    problems: Iterable[exceptions.Problem],
) -> list[exceptions.Problem]:
    """Return problems of a sensitive rule that do not show its content.

    For example, a problem at ``/actions/0/args/path`` only says that
    ``/actions/0`` is wrong. Problems of fields that everybody may read are
    kept.
    """
    redacted = []
    for problem in problems:
        # "/conditions/0/args" is split into '', 'conditions', '0', 'args'.
        parts = problem.pointer.split('/')
        is_in_content = len(parts) > 2 and parts[1] in model.CONTENT
        if not is_in_content:
            redacted.append(problem)
            continue
        # The number of an operation may be shown: "/conditions/0". But the
        # names of vars are secret, so only "/vars" is shown.
        visible_parts = parts[:3]
        if parts[1] == model.VARS:
            visible_parts = parts[:2]
        redacted.append(
            exceptions.Problem(
                '/'.join(visible_parts), _('is not valid in this rule')
            )
        )
    # Several problems of one operation may be identical now.
    return list(dict.fromkeys(redacted))


def check_patch(
    rule: Fields, op: str, pointers: Iterable[Sequence[str]]
) -> None:
    """Reject an operation of a JSON patch that would reveal a sensitive rule.

    ``copy``, ``move`` and ``test`` would reveal its content. Replacing only a
    part, e.g. the path of an action, could make the rule write a secret to a
    place where everybody can read it. Replacing the whole content is allowed.

    :param op: the name of the operation.
    :param pointers: its ``path`` and ``from``, as tokens. ``/actions/0`` is
        ``('actions', '0')``, and the whole rule has no tokens.
    :raises: Invalid if the rule is sensitive, and the operation reads content
        or writes a part of it.
    """
    if not rule['sensitive']:
        return
    only_writes = op in ('add', 'remove', 'replace')
    for tokens in pointers:
        # All of the rule, or all of its conditions, actions or vars.
        is_whole = len(tokens) <= 1
        has_content = not tokens or tokens[0] in model.CONTENT
        is_allowed = only_writes and is_whole
        if has_content and not is_allowed:
            raise exceptions.Invalid(
                _(
                    'the conditions, actions and vars of a sensitive rule can '
                    'only be written, and only whole'
                )
            )

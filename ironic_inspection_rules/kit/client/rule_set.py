# SPDX-License-Identifier: Apache-2.0

"""Requests for the whole rule set: plan, apply, revisions and restore.

Applying replaces the stored rules by the rules of a request, and each change
makes a new revision of the rule set. The answer has a step for every rule,
e.g. ``{'uuid': ..., 'outcome': 'updated', 'fields': ['scope']}``. The outcome
is ``created``, ``updated``, ``moved``, ``deleted`` or ``unchanged``. In a dry
run, Ironic returns the same steps and changes nothing; a plan is made from
these steps.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import dataclasses
import itertools
import json
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.kit.client import inspection_rule

KNOWN_LATER = _('(known after apply)')
"""Placeholder for a UUID that does not exist yet."""

REVISION_UNKNOWN = _(
    "The rules are in force, but Ironic's answer has no number of their "
    'revision'
)
"""The warning after a change if the revision is unknown, see
:func:`revision_of`."""

CHANGES_UNKNOWN = _(
    "The rules are in force, but Ironic's answer does not say what was changed"
)
"""The warning after a change if its steps are unknown, see
:func:`has_complete_steps`."""

_MEMBERS_AFTER_CHANGE = ('rules', 'revision')
"""Members of an answer to a change. If the answer has one of them, it comes
from Ironic, and the change has been made. An error about the other member
would be wrong then."""

_RULES = '/inspection_rules'
_REVISIONS = f'{_RULES}/revisions'

Rule = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The steps that applying some rules would take.

    :ivar revision: the revision of the rule set on which the plan is based.
    :ivar steps: the steps for rules, in the new order of the rules. In
        addition to the members of the answer, a step has ``before`` and
        ``after``: the rule before and after the change. ``before`` of a new
        rule and ``after`` of a deleted rule are None.
    :ivar in_force: all rules in force, including built-in rules.
    :ivar tables: the steps for tables.
    """

    revision: int
    steps: Sequence[dict[str, Any]]
    in_force: Sequence[Rule] = ()
    tables: Sequence[dict[str, Any]] = ()

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The steps that change something."""
        return [
            step
            for step in (*self.steps, *self.tables)
            if step['outcome'] != 'unchanged'
        ]


def replace_inspection_rules(
    baremetal,
    rules: Sequence[Any],
    revision: int | None = None,
    message: str | None = None,
    dry_run: bool = False,
    prune: bool = True,
    tables: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Replace the stored rules, or return what replacing them would change.

    :param rules: the rules that the rule set will have.
    :param revision: the revision that the user has seen; None for any. If the
        rule set has another revision, Ironic refuses the request.
    :param message: a message that is stored with the new revision.
    :param dry_run: whether to change nothing.
    :param prune: whether to remove stored rules that are not in ``rules``, and
        stored tables that are not in ``tables``.
    :param tables: the JSON form of tables by name; None leaves stored tables
        unchanged.
    :returns: the answer, e.g. ``{'revision': 3, 'rules': [{'uuid': ...,
        'outcome': 'created'}]}``. After a change it may lack ``revision`` or
        ``rules``, see :func:`revision_of` and :func:`has_complete_steps`.
    :raises: Invalid if the body is larger than the API accepts;
        ``ConflictException`` of openstacksdk if the rule set has another
        revision; otherwise the same as :func:`.http.call`.
    """
    body: dict[str, Any] = {
        'rules': list(rules),
        'revision': revision,
        'message': message,
    }
    # An older API has no tables, and would refuse this member.
    if tables is not None:
        body['tables'] = tables
    # After a change, an answer with only one of these members is no error.
    sufficient_members: Sequence[str] = _MEMBERS_AFTER_CHANGE
    if dry_run:
        # Nothing has been changed, and a plan cannot be made without "rules".
        sufficient_members = ()
    return http.call_with_large_body(
        baremetal,
        'PUT',
        _RULES,
        body=body,
        required_member='rules',
        is_list=True,
        sufficient_members=sufficient_members,
        params={'dry_run': dry_run, 'prune': prune},
    )


def revision_of(answer: Mapping[str, Any]) -> int | None:
    """Return the revision of the rule set from an answer, or None.

    After a change, a missing revision is no error, because the change has been
    made nevertheless.

    :param answer: the answer of :func:`replace_inspection_rules`.
    """
    revision = answer.get('revision')
    if isinstance(revision, int):
        return revision
    return None


def has_complete_steps(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer to a change has complete steps.

    A step for a rule needs an ``outcome``, e.g. ``updated``. A step for a
    table needs an ``outcome`` and a ``name``. The change has been made even if
    they are missing, so the caller prints a warning instead of an error.

    :param answer: the answer of :func:`replace_inspection_rules`.
    """
    steps_for_rules = answer.get('rules')
    # An older API has no tables, and does not return this member.
    steps_for_tables = answer.get('tables') or []
    if not isinstance(steps_for_rules, list):
        return False
    if not isinstance(steps_for_tables, list):
        return False
    for step in (*steps_for_rules, *steps_for_tables):
        if not isinstance(step, dict) or 'outcome' not in step:
            return False
    return all('name' in step for step in steps_for_tables)


def inspection_rule_revisions(
    baremetal, **query: Any
) -> Iterator[dict[str, Any]]:
    """Yield revisions, the newest first, page by page.

    :param query: ``limit`` and ``marker``; None means not given.
    """
    return http.list_items(
        baremetal, _REVISIONS, name='revisions', query=query
    )


def get_inspection_rule_revision(baremetal, revision: int) -> dict[str, Any]:
    """Return the rule set of a revision."""
    return http.call(
        baremetal,
        'GET',
        f'{_REVISIONS}/{revision}',
        required_member='rules',
        is_list=True,
    )


def restore_inspection_rule_revision(
    baremetal, revision: int
) -> dict[str, Any]:
    """Put the rule set of a revision in force again.

    :returns: the same as :func:`replace_inspection_rules`.
    """
    return http.call(
        baremetal,
        'POST',
        f'{_REVISIONS}/{revision}/restore',
        required_member='rules',
        is_list=True,
        sufficient_members=_MEMBERS_AFTER_CHANGE,
        json={},
    )


def plan(
    baremetal,
    rules: Sequence[Any],
    prune: bool,
    tables: Mapping[str, Any] | None = None,
) -> Plan:
    """Make the plan of applying rules, without changing anything.

    Ironic returns the steps of a dry run. They do not have the rules before
    and after the change, so these are added here: ``before`` is the stored
    rule with the UUID of the step, and ``after`` is what it becomes.

    :param rules: the rules as their author wrote them.
    :param prune: whether to remove stored rules that are not in ``rules`` and,
        if ``tables`` is given, stored tables that are not in it.
    :param tables: the JSON form of tables by name; None leaves stored tables
        unchanged.
    :returns: the plan. New rules without a UUID have :data:`KNOWN_LATER`.
    :raises: an exception of openstacksdk if rules are invalid, which names a
        rule as ``/rules/<number>``; Invalid if the answer has no revision, or
        omits some rules.
    """
    answer = replace_inspection_rules(
        baremetal, rules, dry_run=True, prune=prune, tables=tables
    )
    _refuse_incomplete(answer, rules)
    in_force = list(inspection_rule.inspection_rules(baremetal, details=True))
    stored_by_uuid = {
        rule['uuid']: stored_rule.with_defaults(rule)
        for rule in in_force
        if not rule['built_in']
    }
    steps = []
    # The steps are in the order of the rules of the request. Further steps are
    # for stored rules that are not in the request. With prune these are
    # deleted, otherwise kept. For them, zip_longest gives None as the rule.
    for step, rule in itertools.zip_longest(answer['rules'], rules):
        uuid = step['uuid']
        before = stored_by_uuid.get(uuid)
        if step['outcome'] == 'created' and not rule.get('uuid'):
            # Applying the rules generates another UUID than this dry run.
            uuid = KNOWN_LATER
        after = _rule_after_step(step, uuid, before, rule)
        steps.append({**step, 'uuid': uuid, 'before': before, 'after': after})
    if not prune:
        # The stored rules keep their order, and new rules come last.
        steps = _sort_as_stored(steps, stored_by_uuid)
    return Plan(
        revision=answer['revision'],
        steps=steps,
        in_force=in_force,
        # An older API has no tables, and does not return this member.
        tables=answer.get('tables') or (),
    )


def _refuse_incomplete(
    answer: Mapping[str, Any], rules: Sequence[Any]
) -> None:
    """Refuse an answer to a dry run from which no plan can be made.

    A plan needs a step for every rule, and the revision: applying the plan
    without it would overwrite changes that somebody else has made meanwhile.

    :param answer: the answer to the dry run.
    :param rules: the rules of the request.
    :raises: Invalid if the revision is missing, or if there are fewer steps
        than rules.
    """
    if revision_of(answer) is None:
        raise exceptions.Invalid(
            _("Ironic's answer has no number of a revision, but %s")
            % json.dumps(answer.get('revision'))
        )
    steps = answer['rules']
    if len(steps) < len(rules):
        raise exceptions.Invalid(
            _("Ironic's answer has a step for %(steps)d of %(rules)d rules")
            % {'steps': len(steps), 'rules': len(rules)}
        )


def _sort_as_stored(
    steps: Iterable[dict[str, Any]], stored_uuids: Iterable[str]
) -> list[dict[str, Any]]:
    """Sort steps in the order of the stored rules, with new rules last.

    :param stored_uuids: the UUIDs of the stored rules, in order.
    """
    position_by_uuid = {
        uuid: position for position, uuid in enumerate(stored_uuids)
    }
    position_of_new = len(position_by_uuid)

    def position_of(step: dict[str, Any]) -> int:
        return position_by_uuid.get(step['uuid'], position_of_new)

    return sorted(steps, key=position_of)


def _rule_after_step(
    step: Mapping[str, Any], uuid: str, before: Rule | None, rule: Any
) -> Rule | None:
    """Return the rule that a step leaves; None if it deletes the rule.

    :param uuid: the UUID of the rule, or :data:`KNOWN_LATER`.
    :param before: the stored rule; None if there is none.
    :param rule: the rule of the request; None if it is not in the request.
    """
    if step['outcome'] == 'deleted':
        return None
    if rule is None:
        # This stored rule is not in the request, and is kept.
        return before
    wanted = stored_rule.with_defaults(rule)
    if before is None:
        # No stored rule has this UUID, so the rule is new.
        return {**wanted, 'uuid': uuid}
    return _rule_after_update(before, wanted, step['fields'])


def _rule_after_update(
    before: Rule, wanted: Rule, fields: Iterable[str]
) -> dict[str, Any]:
    """Return a stored rule in its state after an update.

    Only the fields that Ironic would change are taken from the wanted rule.
    Its other fields may be written in another form than the stored fields, but
    Ironic considers both as equal.

    :param before: the stored rule.
    :param wanted: the rule as its author wrote it, with defaults.
    :param fields: the names of the fields that Ironic would change.
    :returns: the fields that an author may set, with the UUID.
    """
    after = {name: before[name] for name in model.WRITABLE}
    for name in fields:
        if name in after:
            after[name] = wanted[name]
    return after

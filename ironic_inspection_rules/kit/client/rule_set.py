# SPDX-License-Identifier: Apache-2.0

"""Requests for plan, apply, revisions and restore."""

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
:func:`says_changes`."""

_MEMBERS_AFTER_CHANGE = ('rules', 'revision')
"""Members of which an answer to a change needs only one. The change has been
made, so an error about the other member would be wrong."""

_RULES = '/inspection_rules'
_REVISIONS = f'{_RULES}/revisions'

Rule = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The steps that applying some rules would take.

    :ivar revision: the revision of the rule set on which the plan is based.
    :ivar steps: the steps of the answer to a dry run, in the new order of the
        rules. A step also has ``before`` and ``after``, the rule before and
        after the change, or None.
    :ivar in_force: all rules in force, including built-in rules.
    :ivar tables: the steps of the answer for tables.
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

    :param revision: the revision that the user has seen.
    :param message: a message that is stored with the new revision.
    :param dry_run: whether to change nothing.
    :param prune: whether to remove stored rules that are not in ``rules``, and
        stored tables that are not in ``tables``.
    :param tables: the JSON form of tables by name; None leaves stored tables
        unchanged.
    :returns: the answer, e.g. ``{'revision': 3, 'rules': [{'uuid': ...,
        'outcome': 'created'}]}``. After a change it may lack ``revision`` or
        ``rules``, see :func:`revision_of` and :func:`says_changes`.
    :raises: Invalid if the body is larger than the API accepts;
        ``ConflictException`` of openstacksdk if the rule set has another
        revision; otherwise the same as :func:`.http.call`.
    """
    body: dict[str, Any] = {
        'rules': list(rules),
        'revision': revision,
        'message': message,
    }
    # An API of a release without tables would refuse the member.
    if tables is not None:
        body['tables'] = tables
    identified_by: Sequence[str] = _MEMBERS_AFTER_CHANGE
    if dry_run:
        # A plan needs the steps of the rules.
        identified_by = ()
    return http.call_with_large_body(
        baremetal,
        'PUT',
        _RULES,
        body=body,
        needed='rules',
        is_list=True,
        identified_by=identified_by,
        params={'dry_run': dry_run, 'prune': prune},
    )


def revision_of(answer: Mapping[str, Any]) -> int | None:
    """Return the new revision of the rule set from an answer to a change.

    :returns: None if the answer has no revision. The change has been made even
        then, so an error would be wrong.
    """
    revision = answer.get('revision')
    if isinstance(revision, int):
        return revision
    return None


def says_changes(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer to a change says what was done.

    Every rule needs an ``outcome``, e.g. ``updated``. Every table also needs
    its ``name``. The change has been made even without them, so an error would
    be wrong.
    """
    rules = answer.get('rules')
    # An API of a release without tables has no such member.
    tables = answer.get('tables') or []
    if not isinstance(rules, list) or not isinstance(tables, list):
        return False
    for step in (*rules, *tables):
        if not isinstance(step, dict) or 'outcome' not in step:
            return False
    return all('name' in table for table in tables)


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
        needed='rules',
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
        needed='rules',
        is_list=True,
        identified_by=_MEMBERS_AFTER_CHANGE,
        json={},
    )


def plan(
    baremetal,
    rules: Sequence[Any],
    prune: bool,
    tables: Mapping[str, Any] | None = None,
) -> Plan:
    """Make the plan of applying rules, without changing anything.

    The answer of Ironic has a step for every rule, e.g. ``{"uuid": ...,
    "outcome": "updated", "fields": ["scope"]}``. In the plan, a step also has
    the rule ``before`` and ``after``, which are not in the answer.

    :param rules: the rules as their author wrote them.
    :param prune: whether to remove stored rules that are not in ``rules`` and,
        if ``tables`` is given, stored tables that are not in it.
    :param tables: the JSON form of tables by name; None leaves stored tables
        unchanged.
    :returns: the plan. A new rule without a UUID has :data:`KNOWN_LATER` as
        its UUID.
    :raises: an exception of openstacksdk if rules are invalid, which names a
        rule as ``/rules/<number>``; Invalid if the answer has no revision, or
        omits some rules.
    """
    answer = replace_inspection_rules(
        baremetal, rules, dry_run=True, prune=prune, tables=tables
    )
    _refuse_incomplete(answer, rules)
    in_force = list(inspection_rule.inspection_rules(baremetal, details=True))
    stored = {
        rule['uuid']: stored_rule.with_defaults(rule)
        for rule in in_force
        if not rule['built_in']
    }
    uuids_of_request = {str(rule.get('uuid')).lower() for rule in rules}
    steps = []
    # The answer has the rules of the request in order, followed by the stored
    # rules that are not in the request. With prune these are deleted,
    # otherwise unchanged. For them, zip_longest returns None as the rule.
    for step, rule in itertools.zip_longest(answer['rules'], rules):
        uuid = step['uuid']
        before = stored.get(uuid)
        if step['outcome'] == 'created' and uuid not in uuids_of_request:
            # The UUID of a dry run is only a placeholder: applying the rules
            # generates another UUID.
            uuid = KNOWN_LATER
        if step['outcome'] == 'deleted':
            after = None
        elif rule is None:
            # This stored rule is not in the request, and is kept.
            after = before
        elif before is None:
            # No stored rule has this UUID, so the rule is new.
            after = {**stored_rule.with_defaults(rule), 'uuid': uuid}
        else:
            after = _rule_after_update(
                before, stored_rule.with_defaults(rule), step['fields']
            )
        steps.append({**step, 'uuid': uuid, 'before': before, 'after': after})
    if not prune:
        steps = _sort_as_stored(steps, stored)
    return Plan(
        revision=answer['revision'],
        steps=steps,
        in_force=in_force,
        # An API of a release without tables has no such member.
        tables=answer.get('tables') or (),
    )


def _refuse_incomplete(
    answer: Mapping[str, Any], rules: Sequence[Any]
) -> None:
    """Refuse an answer to a dry run from which no plan can be made.

    :param rules: the rules of the request.
    :raises: Invalid if the revision is missing, or if there are fewer steps
        than rules.
    """
    if revision_of(answer) is None:
        # A plan that is applied with the revision null would overwrite changes
        # that somebody else has made in the meantime.
        raise exceptions.Invalid(
            _("Ironic's answer has no number of a revision, but %s")
            % json.dumps(answer.get('revision'))
        )
    if len(answer['rules']) < len(rules):
        raise exceptions.Invalid(
            _("Ironic's answer has a step for %(steps)d of %(rules)d rules")
            % {'steps': len(answer['rules']), 'rules': len(rules)}
        )


def _sort_as_stored(
    steps: Iterable[dict[str, Any]], stored: Iterable[str]
) -> list[dict[str, Any]]:
    """Sort steps in the order of the stored rules, with new rules last.

    :param stored: the UUIDs of the stored rules, in order.
    """
    place_by_uuid = {uuid: place for place, uuid in enumerate(stored)}
    last_place = len(place_by_uuid)

    def place_of(step: dict[str, Any]) -> int:
        return place_by_uuid.get(step['uuid'], last_place)

    return sorted(steps, key=place_of)


def _rule_after_update(
    before: Rule, wanted: Rule, fields: Iterable[str]
) -> dict[str, Any]:
    """Return a stored rule in its state after an update.

    :param before: the stored rule.
    :param wanted: the rule as its author wrote it, with defaults.
    :param fields: the names of the fields that Ironic would change.
    :returns: the fields that an author may set, with the UUID.
    """
    after = {name: before[name] for name in model.WRITABLE}
    # Ironic may consider two forms of a field equal, so only the fields that
    # the answer names are changed.
    for name in fields:
        if name in after:
            after[name] = wanted[name]
    return after

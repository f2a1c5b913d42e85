# SPDX-License-Identifier: Apache-2.0

"""The calls that apply and restore a whole rule set."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import contextlib
import dataclasses
from typing import Any, NamedTuple

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import exception as ironic_exception
from oslo_utils import uuidutils
import tenacity

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import notification
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import table_set
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import replacement

# The policies that outcomes need, besides that of an update, which every
# caller of this module has.
_POLICIES = {
    replacement.CREATED: 'baremetal:inspection_rule:create',
    replacement.DELETED: 'baremetal:inspection_rule:delete',
}
# The action that notifications of each outcome name.
_NOTIFIED_ACTIONS = {
    replacement.CREATED: 'create',
    replacement.UPDATED: 'update',
    replacement.DELETED: 'delete',
}
# How often a change is decided again because another request came first.
_MOST_ATTEMPTS = 100

Fields = Mapping[str, Any]
NewUUID = Callable[[int, Fields], str]
"""Makes the UUID of a rule, of its number in the request and its fields."""


class _Changes(NamedTuple):
    """The changes of stored rules, as :meth:`.StoredRule.change` takes them.

    ``created`` are the fields of new rules, ``updated`` the new values by
    UUID, ``deleted`` UUIDs.
    """

    created: list[dict[str, Any]]
    updated: dict[str, dict[str, Any]]
    deleted: list[str]


def retry_on_conflict(change: Callable[[], Any]) -> Any:
    """Make a change, and once more where another request came first.

    :param change: reads the rule set anew at every attempt, as it may decide
        otherwise after the change of the other request. It raises Conflict if
        the rule set has changed since it was read.
    :returns: what the change returns.
    :raises: ironic.common.exception.Conflict if other requests come first at
        every attempt.
    """
    # Without a pause, as the change that came first is committed already.
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ironic_exception.Conflict),
        stop=tenacity.stop_after_attempt(_MOST_ATTEMPTS),
        reraise=True,
    )
    return retrying(change)


def replace(
    rules: Sequence[Any],
    revision: int | None = None,
    message: str | None = None,
    dry_run: bool = False,
    prune: bool = True,
    tables: Any = None,
) -> dict[str, Any]:
    """Replace the stored rules and tables by posted ones, as one revision.

    :param rules: as they were posted.
    :param revision: the revision of the rule set that the client has read;
        None for any: then the change is decided again if another one comes
        first.
    :param message: what the user has given as the reason; None for none.
    :param dry_run: whether only to answer what would be done.
    :param prune: whether stored rules that were not posted are deleted.
    :param tables: the JSON form of the posted tables by name, None to leave
        all stored ones.
    :returns: the answer: the revision, and the outcome for every rule and
        table.
    :raises: as :meth:`_Replacement.make`.
    """
    change = _Replacement(
        rules,
        tables,
        revision=revision,
        message=message,
        dry_run=dry_run,
        prune=prune,
        restored=False,
    )
    if revision is None:
        return retry_on_conflict(change.make)
    return change.make()


def restore(
    rules: Sequence[Any], tables: table.Tables, message: str
) -> dict[str, Any]:
    """Put the rules and tables of a revision in force again, and no others.

    :param rules: the rules of the revision, in which ``secret`` marks content
        that readers may not see.
    :param tables: the tables of the revision, with their secrets.
    :param message: the reason that the new revision names.
    :returns: the answer, as that of :func:`replace`.
    :raises: as :meth:`_Replacement.make`.
    """
    change = _Replacement(
        rules,
        tables,
        revision=None,
        message=message,
        dry_run=False,
        prune=True,
        restored=True,
    )
    return retry_on_conflict(change.make)


@dataclasses.dataclass(frozen=True)
class _Replacement:
    """The change of the stored rules and tables to the given ones.

    :param rules: as they were posted, or those of a revision.
    :param tables: the JSON form of the posted tables by name, None to leave
        all stored ones; or the tables of a revision.
    :param revision: the revision of the rule set that the client has read;
        None for any.
    :param message: the reason that the user has given, if any.
    :param dry_run: whether only to answer what would be done.
    :param prune: whether stored rules and tables that are not among these go.
    :param restored: whether they are those of a revision that is put back.
    """

    rules: Sequence[Any]
    tables: Any
    revision: int | None
    message: str | None
    dry_run: bool
    prune: bool
    restored: bool

    def make(self) -> dict[str, Any]:
        """Make the change, and return the answer.

        The caller needs the policies for the kinds of its changes only: who
        deletes no rule needs none to delete.

        :raises: Conflict if another change was first, or if the rule set is
            at another revision; HTTPForbidden without the policy for a kind
            of change, also in a dry run.
        :raises: InvalidRules, InvalidTables, or InvalidRuleSet for both of
            them.
        """
        revision, present = rule_object.StoredRule.read_rule_set(
            api.request.context
        )
        self._check_revision(revision)
        rules = self.rules
        created_at = {}
        if self.restored:
            # A rule that was deleted since this revision is created again. It
            # keeps the time at which it was created first.
            created_at = {
                rule['uuid']: rule['created_at'] for rule in self.rules
            }
            # A rule that became sensitive since then stays sensitive.
            rules = stored_rule.close_restored(self.rules, present)
        steps, table_plan = decide(
            rules, self.tables, present, self.prune, self.restored
        )
        outcomes = {step.outcome for step in steps}
        outcomes |= {step.outcome for step in table_plan.steps}
        _check_policies(outcomes)
        new_revision = revision
        if not self.dry_run:
            new_revision = _carry_out(
                steps,
                revision,
                self.message,
                created_at,
                table_plan.changes_to_store(),
            )
        return {
            'revision': new_revision,
            'rules': [_represent(step) for step in steps],
            'tables': [step.as_dict() for step in table_plan.steps],
        }

    def _check_revision(self, revision_in_force: int) -> None:
        """Check that the rule set is at the revision that the client has read.

        :raises: Conflict if it is at another one.
        """
        if self.revision in (None, revision_in_force):
            return
        # Two revisions may have the same rules, such as after a rule was
        # removed and put back. The list of revisions, from which a client may
        # have the number, has only the lower one of them.
        rule_set = rule_object.StoredRule.get_rules_of_revision(
            api.request.context, revision_in_force
        )
        if self.revision != rule_set['revision']:
            raise exceptions.RuleSetChanged(self.revision, revision_in_force)


def decide_tables(
    tables: Any, prune: bool, restored: bool = False
) -> table_set.TablePlan:
    """Decide which tables are created, changed, deleted or stay.

    :param tables: the JSON form of the posted tables by name, None to leave
        all stored ones; if ``restored``, the tables of the revision.
    :param prune: whether stored tables that were not posted are deleted;
        if ``restored``, those that the revision has not always are.
    :param restored: whether these are the tables of a revision.
    """
    rules = start.rules()
    built_in = rules.built_in_tables
    # Read anew, as another process may have changed the stored tables.
    in_force = rules.refresh(api.request.context)
    if restored:
        return table_set.decide_restored(tables, in_force, built_in)
    return table_set.decide(tables, prune, in_force, built_in)


def _check_policies(outcomes: Iterable[str]) -> None:
    """Check that the caller may make changes with some outcomes.

    :param outcomes: such as ``{'created', 'moved'}``.
    :raises: HTTPForbidden without the policy for one of them.
    """
    for outcome in outcomes:
        # The others need only the policy of an update, which the API has
        # checked before.
        if outcome in _POLICIES:
            api_utils.check_policy(_POLICIES[outcome])


def _check_rules_that_stay(
    rules: Sequence[Any],
    present: Sequence[Fields],
    tables: table.Tables,
) -> None:
    """Check that the stored rules that stay can still read their tables.

    The request may replace a table by one without a column that such a rule
    reads.

    :param rules: the posted rules, which may be invalid.
    :param present: the stored rules; those that were not posted stay.
    :param tables: all tables afterwards.
    :raises: InvalidTables if a rule stays that reads what is not there.
    """
    posted = [_canonicalize_uuid(rule) for rule in rules]
    try:
        matched = replacement.match(posted, present)
    except exceptions.InvalidRules:
        # Two posted rules have the same UUID, so it is not known which stored
        # rules stay. The caller has this error already.
        return
    replaced_uuids = set()
    for match_of_rule in matched:
        if match_of_rule is not None:
            replaced_uuids.add(match_of_rule.rule['uuid'])
    problems = []
    for rule in present:
        if rule['uuid'] in replaced_uuids:
            continue
        for problem in _missing_of_tables(rule, rule, tables):
            text = _('rule %(uuid)s stays: %(problem)s') % {
                'uuid': rule['uuid'],
                'problem': problem,
            }
            problems.append(exceptions.Problem('/tables', text))
    if problems:
        raise exceptions.InvalidTables(problems)


def _missing_of_tables(
    rule: Fields, before: Fields | None, tables: table.Tables
) -> Sequence[exceptions.Problem]:
    """Return the tables and columns that a rule reads and that are not there.

    :param before: the stored rule that it takes the place of, if any.
    """
    problems: Sequence[exceptions.Problem] = table_set.find_missing(
        rule, tables
    )
    if stored_rule.is_posted_sensitive(before):
        # The problems of a sensitive rule do not say what it reads.
        return stored_rule.without_content(problems)
    return problems


def _random_uuid(_index: int, _rule: Fields) -> str:
    return str(uuidutils.generate_uuid())


def _decide_rules(
    rules: Sequence[Any],
    present: Sequence[Fields],
    prune: bool,
    restored: bool,
    new_uuid: NewUUID,
    tables: table.Tables | None,
) -> list[replacement.RuleStep]:
    """Decide which rules are created, changed, deleted or stay.

    A rule that is posted as it is stored stays even if it is not valid any
    more: only the tables that it reads are checked.

    :param rules: the posted rules.
    :param present: the stored rules.
    :param prune: whether stored rules that were not posted are deleted.
    :param restored: whether these are the rules of a revision.
    :param tables: all tables afterwards, which the rules may read; None if
        they are not known.
    :raises: InvalidRules with the problems of all rules.
    """
    posted = [_canonicalize_uuid(rule) for rule in rules]
    matched = replacement.match(posted, present)
    parsed_rules = []
    # By the place of a rule in the request.
    problems_by_index: dict[int, Sequence[exceptions.Problem]] = {}
    for index, rule in enumerate(posted):
        match_of_rule = matched[index]
        if match_of_rule is None:
            stored = None
            rule_with_uuid = _with_uuid(rule, index, new_uuid)
        else:
            stored = match_of_rule.rule
            # A rule without a UUID gets that of the stored one in _parse().
            rule_with_uuid = rule
        try:
            parsed = _parse(rule_with_uuid, stored, restored)
        except exceptions.InvalidRule as exc:
            problems_by_index[index] = exc.problems
            continue
        parsed_rules.append(parsed)
        if tables is not None:
            missing = _missing_of_tables(parsed, stored, tables)
            if missing:
                problems_by_index[index] = missing
    if problems_by_index:
        raise exceptions.InvalidRules(problems_by_index)
    return replacement.decide(parsed_rules, matched, present, prune)


def _with_uuid(rule: Any, index: int, new_uuid: NewUUID) -> Any:
    """Return a posted rule with a new UUID if it has none.

    :param rule: may be anything: what is no mapping is returned as it is.
    :param index: the place of the rule in the request.
    """
    if isinstance(rule, dict) and rule.get('uuid') in (None, ''):
        return {**rule, 'uuid': new_uuid(index, rule)}
    return rule


def decide(
    rules: Sequence[Any],
    tables: Any,
    present: Sequence[Fields],
    prune: bool,
    restored: bool = False,
    new_uuid: NewUUID = _random_uuid,
) -> tuple[list[replacement.RuleStep], table_set.TablePlan]:
    """Decide which rules and tables are created, changed, deleted or stay.

    :param rules: as they were posted, or as GET shows them.
    :param tables: the JSON form of the posted tables by name, None to leave
        all stored ones; if ``restored``, the tables of the revision.
    :param present: the stored rules, in their order: the fields that an
        author sets, and the ``position``.
    :param prune: whether stored rules and tables that were not posted are
        deleted.
    :param restored: whether these are the rules and tables of a revision.
    :param new_uuid: called for a rule that is not stored and has no UUID.
    :returns: the plan: the steps of the rules, and that of the tables.
    :raises: InvalidRules, InvalidTables, or InvalidRuleSet for both of them.
    """
    errors: list[exceptions.InvalidInput] = []
    steps: list[replacement.RuleStep] = []
    table_plan = None
    tables_afterwards = None
    try:
        table_plan = decide_tables(tables, prune, restored)
        tables_afterwards = table_plan.tables
    except exceptions.InvalidTables as exc:
        # The client gets the problems of the rules in the same answer. What
        # rules read of tables is not checked, as the tables are not known.
        errors.append(exc)
    try:
        steps = _decide_rules(
            rules, present, prune, restored, new_uuid, tables_afterwards
        )
    except exceptions.InvalidRules as exc:
        # In the answer, the problems of rules stand before those of tables.
        errors.insert(0, exc)
    if tables_afterwards is not None and not prune:
        try:
            _check_rules_that_stay(rules, present, tables_afterwards)
        except exceptions.InvalidTables as exc:
            errors.append(exc)
    if len(errors) == 1:
        raise errors[0]
    if table_plan is None or errors:
        raise exceptions.InvalidRuleSet(errors)
    return steps, table_plan


def check(body: Any, prune: bool) -> None:
    """Check the rules and tables of a body that is refused for other members.

    So the client gets all problems at once.

    :param body: as it was posted, of any type.
    :param prune: whether stored rules and tables that were not posted are
        deleted.
    :raises: InvalidRules, InvalidTables, or InvalidRuleSet for both of them.
    """
    if not isinstance(body, dict):
        return
    rules = body.get('rules')
    if not isinstance(rules, list):
        rules = []
    tables = body.get('tables')
    _revision, present = rule_object.StoredRule.read_rule_set(
        api.request.context
    )
    if tables is None or isinstance(tables, dict):
        # The plan is dropped: this is only called for the errors.
        decide(rules, tables, present, prune)
        return
    # The caller has refused these tables already, as they are no mapping. What
    # rules read of them is not checked.
    _decide_rules(
        rules,
        present,
        prune,
        restored=False,
        new_uuid=_random_uuid,
        tables=None,
    )


def _parse(rule: Any, before: Fields | None, restored: bool) -> dict[str, Any]:
    """Return the fields of a posted rule, checked and with defaults.

    :param before: the stored rule that it replaces, None for a new rule. A
        sensitive rule that is posted without content gets that of this rule.
    :param restored: whether it is a rule of a revision.
    :raises: InvalidRule with the problems of the rule.
    """
    # What is no mapping is refused by parse() below.
    complete_rule = rule
    is_content_hidden = False
    if isinstance(rule, dict):
        complete_rule, is_content_hidden = _complete(rule, before, restored)
        if before and _is_unchanged(complete_rule, before):
            # An unchanged rule is not checked. It may not be valid any more,
            # such as after a plugin was removed.
            return {name: before[name] for name in model.WRITABLE}
    try:
        parsed = parse(complete_rule, before)
    except exceptions.InvalidRule as exc:
        problems: Sequence[exceptions.Problem] = exc.problems
        if is_content_hidden:
            # The client has not sent the content and must not learn it.
            problems = stored_rule.without_content(problems)
        # Without the cause, which has what is left out of a sensitive rule.
        raise exceptions.InvalidRule(problems) from None
    return parsed.to_mapping()


def _complete(
    rule: dict[str, Any], before: Fields | None, restored: bool
) -> tuple[dict[str, Any], bool]:
    """Return a posted rule with what it has of the stored one.

    It gets the UUID of the stored rule. If it is a sensitive rule that was
    posted as GET shows it, without conditions, actions and vars, it also gets
    those of the stored rule. Read-only fields are left out.

    :param before: the stored rule that it replaces, None for a new rule.
    :param restored: whether it is a rule of a revision.
    :returns: the rule, and whether it has stored content that the client must
        not see in an error.
    :raises: InvalidRule for a built-in rule, and for a sensitive rule without
        content that replaces no sensitive rule.
    """
    if rule.get('built_in'):
        raise exceptions.InvalidRule.of(
            _('a built-in rule is no part of the rule set')
        )
    own_fields = {
        name: value
        for name, value in rule.items()
        if name == 'uuid' or name not in view.READ_ONLY
    }
    if before:
        own_fields['uuid'] = before['uuid']
    complete_rule, is_content_hidden = stored_rule.complete(
        own_fields, before, restored
    )
    uuid = complete_rule['uuid']
    if isinstance(uuid, str) and uuid in start.rules().built_in_uuids:
        raise exceptions.InvalidRule.of(_('rule %s is built-in') % uuid)
    return complete_rule, is_content_hidden


def parse(
    rule: Any,
    before: Any,
    found: Sequence[exceptions.Problem] = (),
) -> model.Rule:
    """Check a rule that takes the place of a stored one.

    :param before: the stored rule, or its fields; None for a new rule.
    :param found: problems that the caller has found, which come first.
    :raises: InvalidRule with all problems, also that a sensitive rule would
        not be sensitive any more.
    """
    return validation.parse(
        rule,
        start.rules().ops,
        earlier_problems=[
            *found,
            *stored_rule.problems_of_opening(before, rule),
        ],
    )


def _is_unchanged(rule: Fields, before: Fields) -> bool:
    """Return whether a posted rule has the fields of the stored one.

    A field that it leaves out has its default.
    """
    if not rule.keys() <= set(model.WRITABLE):
        return False
    for name in model.WRITABLE:
        value = rule.get(name, model.DEFAULTS.get(name))
        if not model.is_same_value(name, value, before[name]):
            return False
    return True


def _canonicalize_uuid(rule: Any) -> Any:
    """Return a posted rule with its UUID in lower case and with hyphens.

    So it matches the UUID of the stored rule. What is no UUID stays as it is:
    a rule with null or an empty text gets a UUID later, others are refused.
    """
    if not isinstance(rule, dict):
        return rule
    uuid = rule.get('uuid')
    if not isinstance(uuid, str) or not uuidutils.is_uuid_like(uuid):
        return rule
    return {**rule, 'uuid': request.rule_uuid(uuid)}


def _carry_out(
    steps: Sequence[replacement.RuleStep],
    revision: int,
    message: str | None,
    created_at: Mapping[str, Any],
    tables: Sequence[Mapping[str, Any]],
) -> int:
    """Store the rules and tables of a plan, and send notifications.

    :param revision: the revision of the rule set that the plan was made for.
    :param message: what the user has given as the reason; None for none.
    :param created_at: when rules of a revision were created, by UUID, which
        a rule that was deleted since is given again; empty for posted rules.
    :param tables: the tables that change, see :meth:`.StoredRule.change`.
    :returns: the new revision.
    :raises: Conflict if the rule set has another revision by now.
    """
    context = api.request.context
    changes = _changes(steps, created_at)
    with contextlib.ExitStack() as notifications:
        if notification.enabled():
            for emitted in _notification_contexts(context, steps):
                # "start" of a rule is sent now. "end", or "error" if the
                # change raises an error, is sent when the stack is left. In
                # between, all rules change in one transaction.
                notifications.enter_context(emitted)
        return rule_object.StoredRule.change(
            context,
            revision,
            created=changes.created,
            updated=changes.updated,
            deleted=changes.deleted,
            message=message,
            tables=tables,
        )


def _changes(
    steps: Sequence[replacement.RuleStep], created_at: Mapping[str, Any]
) -> _Changes:
    """Return the rules to create, update and delete for the steps of a plan.

    :param created_at: when rules of a revision were created, by UUID; empty
        for posted rules.
    """
    changes = _Changes(created=[], updated={}, deleted=[])
    for step in steps:
        # The position is a column of the rule, but none of its fields.
        position: dict[str, float] = {}
        if step.new_position is not None:
            position = {'position': step.new_position}
        if step.before is None and step.after is not None:
            new_rule = {**step.after, **position}
            if new_rule['uuid'] in created_at:
                new_rule['created_at'] = created_at[new_rule['uuid']]
            changes.created.append(new_rule)
        elif step.after is None and step.before is not None:
            changes.deleted.append(step.before['uuid'])
        elif step.before is not None and step.after is not None:
            new_values = {name: step.after[name] for name in step.fields}
            columns = {**new_values, **position}
            # A rule that neither changes nor moves has none.
            if columns:
                changes.updated[step.before['uuid']] = columns
    return changes


def _notification_contexts(
    context: Any, steps: Sequence[replacement.RuleStep]
) -> Iterator[contextlib.AbstractContextManager[None]]:
    """Yield, for every rule that changes, a context that notifies of it.

    A context sends a notification when it is entered and another when it is
    left. The caller enters all contexts, then stores the change.
    """
    stored_rules = {
        rule.uuid: rule for rule in rule_object.StoredRule.list(context)
    }
    for step in steps:
        # A deleted rule has only its old fields.
        fields = step.after or step.before
        # Ironic has no notification for a rule that only moves.
        if not fields or step.outcome not in _NOTIFIED_ACTIONS:
            continue
        rule = stored_rules.get(fields['uuid'])
        if rule is None:
            # A new rule is not stored yet.
            rule = rule_object.StoredRule(context)
        # The fields are set for the notification; this object is not saved.
        rule.update(dict(fields))
        yield notification.emitted(
            context, rule, _NOTIFIED_ACTIONS[step.outcome]
        )


def _represent(step: replacement.RuleStep) -> dict[str, Any]:
    """Return what becomes of a rule, as its entry in the answer to clients.

    For example, ``{'uuid': …, 'description': 'Rack', 'outcome': 'updated',
    'matched_by': 'uuid', 'fields': ['priority']}``.
    """
    # A deleted rule has only its old fields. No step is without both.
    rule = step.after or step.before
    assert rule is not None
    differing: set[str] = set()
    if step.outcome == replacement.UPDATED:
        differing = set(step.fields)
    # The client knows what it posted. Of the stored rule, if it is sensitive,
    # it must not learn which part of the content differs.
    disclosed = stored_rule.disclose_differing(step.before, differing)
    return {
        'uuid': rule['uuid'],
        'description': rule['description'],
        'outcome': step.outcome,
        'matched_by': step.matched_by,
        'fields': [name for name in model.WRITABLE if name in disclosed],
    }

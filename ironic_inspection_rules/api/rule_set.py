# SPDX-License-Identifier: Apache-2.0

"""The calls that apply and restore a whole rule set.

The rule set is all stored rules and tables. A client posts a rule set, and the
stored rules and tables are changed to it. This is first decided and then done:

* *Steps* are the plan for the rules: a step is what happens to one rule, with
  an *outcome* such as "created", "updated" or "moved".
* The table plan has the steps of the tables.
* Storing the changes gives the rule set a new *revision*, a number. It fails
  with Conflict if another request has changed the rule set since it was read.

Earlier revisions are kept, and can be *restored*, i.e. put back in force.
"""

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

# The policies that an outcome requires in addition to the policy of an
# update, which the API has checked before it calls this module.
_POLICIES = {
    replacement.CREATED: 'baremetal:inspection_rule:create',
    replacement.DELETED: 'baremetal:inspection_rule:delete',
}
# The action that a notification of an outcome names.
_NOTIFIED_ACTIONS = {
    replacement.CREATED: 'create',
    replacement.UPDATED: 'update',
    replacement.DELETED: 'delete',
}
# Maximum number of attempts to make a change when other requests come first.
_MOST_ATTEMPTS = 100

Fields = Mapping[str, Any]
NewUUID = Callable[[int, Fields], str]
"""Makes the UUID of a rule from its index in the request and its fields."""


class _Changes(NamedTuple):
    """The changes of stored rules, as :meth:`.StoredRule.change` takes them.

    ``created`` has the fields of new rules, ``updated`` the new values by
    UUID, and ``deleted`` the UUIDs of the rules to delete.
    """

    created: list[dict[str, Any]]
    updated: dict[str, dict[str, Any]]
    deleted: list[str]


def retry_on_conflict(change: Callable[[], Any]) -> Any:
    """Make a change, and repeat it if another request changed the rules first.

    :param change: reads the rule set again on every attempt, because the
        change of the other request may lead to another decision. It must raise
        Conflict if the rule set has changed since it was read.
    :returns: the result of ``change``.
    :raises: ironic.common.exception.Conflict if another request comes first
        on every attempt.
    """
    # No pause is needed between attempts, because the other change has already
    # been committed when a conflict is noticed.
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
    """Replace the stored rules and tables with posted ones, as one revision.

    :param rules: the rules as they were posted.
    :param revision: the revision of the rule set that the client has read, or
        None for any. With None, the change is decided again if another
        request comes first.
    :param message: the reason given by the user; None if there is none.
    :param dry_run: whether to only answer what would be done.
    :param prune: whether to delete stored rules and tables that were not
        posted.
    :param tables: the JSON form of the posted tables by name; None to keep all
        stored tables.
    :returns: the answer: the revision, and the outcome of every rule and
        table.
    :raises: the same errors as :meth:`_Replacement.make`.
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
    """Put exactly the rules and tables of a revision back in force.

    Stored rules and tables that the revision does not have are deleted.

    :param rules: the rules of the revision; ``secret`` marks content that
        readers must not see.
    :param tables: the tables of the revision, including their secrets.
    :param message: the reason to store with the new revision.
    :returns: the answer, in the same form as from :func:`replace`.
    :raises: the same errors as :meth:`_Replacement.make`.
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
    """The change from the stored rules and tables to the given ones.

    :param rules: the posted rules, or the rules of a revision.
    :param tables: the JSON form of the posted tables by name, None to keep all
        stored tables; or the tables of a revision.
    :param revision: the revision of the rule set that the client has read;
        None for any.
    :param message: the reason given by the user, if any.
    :param dry_run: whether to only answer what would be done.
    :param prune: whether to delete stored rules and tables that are not among
        the given ones.
    :param restored: whether the rules and tables come from a revision that is
        put back in force.
    """

    rules: Sequence[Any]
    tables: Any
    revision: int | None
    message: str | None
    dry_run: bool
    prune: bool
    restored: bool

    def make(self) -> dict[str, Any]:
        """Decide the change, make it unless this is a dry run, and answer.

        The caller needs only the policies for the kinds of changes that are
        made, e.g. the policy to delete rules only if a rule is deleted.

        :returns: the answer: ``{'revision': 8, 'rules': […], 'tables': […]}``
            with the outcome of every rule and table.
        :raises: Conflict if another change came first, or if the rule set is
            at another revision; HTTPForbidden if the caller lacks the policy
            for a kind of change, even in a dry run.
        :raises: InvalidRules, InvalidTables, or InvalidRuleSet if both the
            rules and the tables are invalid.
        """
        # The revision in force, and its stored rules.
        revision, stored_rules = rule_object.StoredRule.read_rule_set(
            api.request.context
        )
        self._check_revision(revision)
        rules = self.rules
        # The times of creation of restored rules, by UUID.
        created_at = {}
        if self.restored:
            # A rule that was deleted after this revision is created again, and
            # gets its original time of creation.
            created_at = {
                rule['uuid']: rule['created_at'] for rule in self.rules
            }
            # A rule that became sensitive after this revision stays sensitive.
            rules = stored_rule.keep_restored_sensitive(
                self.rules, stored_rules
            )
        steps, table_plan = decide(
            rules, self.tables, stored_rules, self.prune, self.restored
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
        # Two revisions may have the same rules, e.g. after a rule was removed
        # and put back. Clients see only the lower number of such revisions in
        # the list of revisions. get_rules_of_revision() returns this number as
        # well.
        rule_set = rule_object.StoredRule.get_rules_of_revision(
            api.request.context, revision_in_force
        )
        if self.revision != rule_set['revision']:
            raise exceptions.RuleSetChanged(self.revision, revision_in_force)


def decide_tables(
    tables: Any, prune: bool, restored: bool = False
) -> table_set.TablePlan:
    """Decide which tables to create, change, delete and keep.

    :param tables: the JSON form of the posted tables by name, None to keep
        all stored tables; if ``restored``, the tables of the revision.
    :param prune: whether to delete stored tables that were not posted. If
        ``restored``, tables that are not in the revision are always deleted.
    :param restored: whether the tables come from a revision.
    """
    rules = start.rules()
    built_in = rules.built_in_tables
    # Read the tables again, because another process may have changed them.
    in_force = rules.refresh(api.request.context)
    if restored:
        return table_set.decide_restored(tables, in_force, built_in)
    return table_set.decide(tables, prune, in_force, built_in)


def _check_policies(outcomes: Iterable[str]) -> None:
    """Check that the caller may make changes with the given outcomes.

    :param outcomes: the outcomes of all rules and tables, e.g.
        ``{'created', 'moved'}``.
    :raises: HTTPForbidden if the caller lacks the policy for one of them.
    """
    for outcome in outcomes:
        # All other outcomes need only the policy of an update, which the API
        # has already checked.
        if outcome in _POLICIES:
            api_utils.check_policy(_POLICIES[outcome])


def _check_rules_that_stay(
    rules: Sequence[Any],
    stored_rules: Sequence[Fields],
    tables: table.Tables,
) -> None:
    """Check that the stored rules that stay can still read their tables.

    A stored rule stays if it was not posted. The request may have removed a
    table that it reads, or a column of such a table.

    :param rules: the posted rules, which may be invalid.
    :param stored_rules: the stored rules; rules that were not posted stay.
    :param tables: all tables after the change.
    :raises: InvalidTables if a rule that stays reads a missing table or
        column.
    """
    posted = [_canonicalize_uuid(rule) for rule in rules]
    try:
        matched = replacement.match(posted, stored_rules)
    except exceptions.InvalidRules:
        # Two posted rules have the same UUID, so it is unknown which stored
        # rules stay. The caller has already collected this error.
        return
    replaced_uuids = replacement.collect_matched_uuids(matched)
    problems = []
    for rule in stored_rules:
        if rule['uuid'] in replaced_uuids:
            continue
        for problem in _find_table_problems(rule, before=rule, tables=tables):
            text = _('rule %(uuid)s stays: %(problem)s') % {
                'uuid': rule['uuid'],
                'problem': problem,
            }
            problems.append(exceptions.Problem('/tables', text))
    if problems:
        raise exceptions.InvalidTables(problems)


def _find_table_problems(
    rule: Fields, before: Fields | None, tables: table.Tables
) -> Sequence[exceptions.Problem]:
    """Return the problems of a rule that reads missing tables or columns.

    :param before: the stored rule that the rule replaces, if any.
    """
    problems: Sequence[exceptions.Problem] = table_set.find_missing(
        rule, tables
    )
    if stored_rule.is_posted_sensitive(before):
        # The problems of a sensitive rule must not show what it reads.
        return stored_rule.without_content(problems)
    return problems


def _random_uuid(_index: int, _rule: Fields) -> str:
    return str(uuidutils.generate_uuid())


def _decide_rules(
    rules: Sequence[Any],
    stored_rules: Sequence[Fields],
    prune: bool,
    restored: bool,
    new_uuid: NewUUID,
    tables: table.Tables | None,
) -> list[replacement.RuleStep]:
    """Decide which rules to create, change, delete and keep.

    All posted rules are checked first. A rule that is posted unchanged is kept
    even if it is no longer valid: only the tables that it reads are checked.

    :param rules: the posted rules.
    :param stored_rules: the stored rules.
    :param prune: whether to delete stored rules that were not posted.
    :param restored: whether the rules come from a revision.
    :param new_uuid: makes the UUID of a new rule that has none.
    :param tables: all tables after the change, which the rules may read; None
        if they are unknown.
    :raises: InvalidRules with the problems of all rules.
    """
    posted = [_canonicalize_uuid(rule) for rule in rules]
    # For every posted rule, the match with the stored rule that it replaces;
    # None for a new rule.
    matched = replacement.match(posted, stored_rules)
    parsed_rules = []
    # The problems by the index of the rule in the request.
    problems_by_index: dict[int, Sequence[exceptions.Problem]] = {}
    for index, rule in enumerate(posted):
        match_of_rule = matched[index]
        if match_of_rule is None:
            stored = None
            rule_with_uuid = _with_uuid(rule, index, new_uuid)
        else:
            stored = match_of_rule.stored
            # _parse_posted() adds the UUID of the stored rule.
            rule_with_uuid = rule
        try:
            parsed_rules.append(
                _check_posted(rule_with_uuid, stored, restored, tables)
            )
        except exceptions.InvalidRule as exc:
            problems_by_index[index] = exc.problems
    if problems_by_index:
        raise exceptions.InvalidRules(problems_by_index)
    return replacement.plan_steps(parsed_rules, matched, stored_rules, prune)


def _check_posted(
    rule: Any,
    before: Fields | None,
    restored: bool,
    tables: table.Tables | None,
) -> dict[str, Any]:
    """Check a posted rule and the tables that it reads; return its fields.

    :param before: the stored rule that it replaces; None for a new rule.
    :param restored: whether the rule comes from a revision.
    :param tables: all tables after the change; None if they are unknown.
    :raises: InvalidRule with the problems of the rule, or of its tables if the
        rule itself is valid.
    """
    parsed = _parse_posted(rule, before, restored)
    if tables is not None:
        problems = _find_table_problems(parsed, before, tables)
        if problems:
            raise exceptions.InvalidRule(problems)
    return parsed


def _with_uuid(rule: Any, index: int, new_uuid: NewUUID) -> Any:
    """Return a posted rule, with a new UUID if it has none.

    :param rule: the rule as it was posted. A value that is not a mapping is
        returned unchanged, and is refused later.
    :param index: the index of the rule in the request.
    """
    if isinstance(rule, dict) and rule.get('uuid') in (None, ''):
        return {**rule, 'uuid': new_uuid(index, rule)}
    return rule


def decide(
    rules: Sequence[Any],
    tables: Any,
    stored_rules: Sequence[Fields],
    prune: bool,
    restored: bool = False,
    new_uuid: NewUUID = _random_uuid,
) -> tuple[list[replacement.RuleStep], table_set.TablePlan]:
    """Decide which rules and tables to create, change, delete and keep.

    The problems of rules and tables are collected, so that the client gets all
    of them at once.

    :param rules: the rules as they were posted, or the rules of a revision.
    :param tables: the JSON form of the posted tables by name, None to keep
        all stored tables; if ``restored``, the tables of the revision.
    :param stored_rules: the stored rules in their order; every rule has the
        fields that an author sets, and its ``position``.
    :param prune: whether to delete stored rules and tables that were not
        posted.
    :param restored: whether the rules and tables come from a revision.
    :param new_uuid: called for a rule that is not stored and has no UUID.
    :returns: the plan: the steps of the rules, and the plan of the tables.
    :raises: InvalidRules, InvalidTables, or InvalidRuleSet if both the rules
        and the tables are invalid.
    """
    errors_of_rules: list[exceptions.InvalidInput] = []
    errors_of_tables: list[exceptions.InvalidInput] = []
    steps: list[replacement.RuleStep] = []
    table_plan = None
    tables_afterwards = None
    try:
        table_plan = decide_tables(tables, prune, restored)
        tables_afterwards = table_plan.tables
    except exceptions.InvalidTables as exc:
        # The answer must have the problems of the rules as well. Whether rules
        # read missing columns is not checked, because the tables are unknown.
        errors_of_tables.append(exc)
    try:
        steps = _decide_rules(
            rules, stored_rules, prune, restored, new_uuid, tables_afterwards
        )
    except exceptions.InvalidRules as exc:
        errors_of_rules.append(exc)
    if tables_afterwards is not None and not prune:
        try:
            _check_rules_that_stay(rules, stored_rules, tables_afterwards)
        except exceptions.InvalidTables as exc:
            errors_of_tables.append(exc)
    errors = [*errors_of_rules, *errors_of_tables]
    if len(errors) == 1:
        raise errors[0]
    # Without a plan there is an error, but mypy does not know this.
    if errors or table_plan is None:
        raise exceptions.InvalidRuleSet(errors)
    return steps, table_plan


def check(body: Any, prune: bool) -> None:
    """Check the rules and tables of a body whose other members are invalid.

    The caller reports the problems of both, so that the client gets all
    problems at once.

    :param body: the body as it was posted, of any type.
    :param prune: whether stored rules and tables that were not posted would be
        deleted.
    :raises: InvalidRules, InvalidTables, or InvalidRuleSet if both the rules
        and the tables are invalid.
    """
    if not isinstance(body, dict):
        return
    rules = body.get('rules')
    if not isinstance(rules, list):
        rules = []
    tables = body.get('tables')
    _revision, stored_rules = rule_object.StoredRule.read_rule_set(
        api.request.context
    )
    if tables is None or isinstance(tables, dict):
        # This is called only for the errors that it raises.
        decide(rules, tables, stored_rules, prune)
        return
    # The caller has already refused these tables, because they are not a
    # mapping. Check only the rules, but not the tables that they read.
    _decide_rules(
        rules,
        stored_rules,
        prune,
        restored=False,
        new_uuid=_random_uuid,
        tables=None,
    )


def _parse_posted(
    rule: Any, before: Fields | None, restored: bool
) -> dict[str, Any]:
    """Check a posted rule, and return its fields with defaults.

    * A sensitive rule that is posted without content gets the content of the
      stored rule.
    * A rule that is equal to the stored rule is not checked. It may no longer
      be valid, e.g. after a plugin was removed.
    * Any rule gets the UUID of the stored rule, and loses read-only fields. A
      rule with ``built_in`` is refused.

    :param before: the stored rule that it replaces; None for a new rule.
    :param restored: whether the rule comes from a revision.
    :raises: InvalidRule with the problems of the rule.
    """
    # parse() below refuses a value that is not a mapping.
    complete_rule = rule
    is_content_hidden = False
    if isinstance(rule, dict):
        complete_rule, is_content_hidden = _complete(rule, before, restored)
        if before and _is_unchanged(complete_rule, before):
            return {name: before[name] for name in model.WRITABLE}
    try:
        parsed = parse(complete_rule, before)
    except exceptions.InvalidRule as exc:
        problems: Sequence[exceptions.Problem] = exc.problems
        if is_content_hidden:
            # The client did not send the content and must not learn it.
            problems = stored_rule.without_content(problems)
        # "from None", because the cause shows the content that is left out of
        # the problems of a sensitive rule.
        raise exceptions.InvalidRule(problems) from None
    return parsed.to_mapping()


def _complete(
    rule: dict[str, Any], before: Fields | None, restored: bool
) -> tuple[dict[str, Any], bool]:
    """Complete a posted rule with values of the stored rule.

    * Read-only fields, except the UUID, are dropped.
    * The rule gets the UUID of the stored rule.
    * A sensitive rule that was posted as GET shows it, without conditions,
      actions and vars, also gets these from the stored rule.

    :param before: the stored rule that it replaces; None for a new rule.
    :param restored: whether the rule comes from a revision.
    :returns: the rule, and whether it has stored content that the client must
        not see in an error.
    :raises: InvalidRule for a built-in rule, and for a sensitive rule without
        content that does not replace a sensitive rule.
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
    """Check a rule, which may replace a stored one.

    :param rule: the new rule as it was posted, of any type.
    :param before: the stored rule, or its fields; None if the rule replaces
        none.
    :param found: problems that the caller has found; they are reported first.
    :returns: the checked rule.
    :raises: InvalidRule with all problems, e.g. that a sensitive rule would no
        longer be sensitive.
    """
    return validation.parse(
        rule,
        start.rules().ops,
        earlier_problems=[
            *found,
            *stored_rule.find_problems_of_revealing(before, rule),
        ],
    )


def _is_unchanged(rule: Fields, before: Fields) -> bool:
    """Return whether a posted rule has the same fields as the stored one.

    A field that is missing from the posted rule has its default value.
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

    This is the form of the UUIDs of stored rules, with which it is compared. A
    value that is not a UUID is kept: null and an empty text are replaced with
    a UUID later, and other values are refused.

    :param rule: the rule as it was posted, of any type.
    """
    if not isinstance(rule, dict):
        return rule
    uuid = rule.get('uuid')
    if not isinstance(uuid, str) or not uuidutils.is_uuid_like(uuid):
        return rule
    return {**rule, 'uuid': request.convert_rule_uuid(uuid)}


def _carry_out(
    steps: Sequence[replacement.RuleStep],
    revision: int,
    message: str | None,
    created_at: Mapping[str, Any],
    tables: Sequence[Mapping[str, Any]],
) -> int:
    """Store the rules and tables of a plan, and send notifications.

    :param steps: what happens to every rule.
    :param revision: the revision of the rule set that the plan was made for.
    :param message: the reason given by the user; None if there is none.
    :param created_at: creation times of the rules of a revision by UUID, for
        rules that are created again; empty for posted rules.
    :param tables: the tables that change, see :meth:`.StoredRule.change`.
    :returns: the new revision.
    :raises: Conflict if the rule set has changed to another revision.
    """
    context = api.request.context
    changes = _changes(steps, created_at)
    with contextlib.ExitStack() as notifications:
        if notification.is_enabled():
            for emitted in _notification_contexts(context, steps):
                # Entering the context sends "start" for a rule. Leaving the
                # stack sends "end", or "error" if the change fails. All rules
                # change in one transaction in between.
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

    A step without a stored rule creates one, and a step without a new rule
    deletes one. All other steps change a rule, move it, or do neither.

    :param created_at: creation times of the rules of a revision by UUID; empty
        for posted rules.
    """
    changes = _Changes(created=[], updated={}, deleted=[])
    for step in steps:
        if step.after is None:
            # Every step has at least one of the two.
            assert step.before is not None
            changes.deleted.append(step.before['uuid'])
            continue
        # The position of the rule among the rules, if it is new or moves. It
        # is a column in the database, but not a field of rules.
        position: dict[str, float] = {}
        if step.new_position is not None:
            position = {'position': step.new_position}
        if step.before is None:
            new_rule = {**step.after, **position}
            if new_rule['uuid'] in created_at:
                new_rule['created_at'] = created_at[new_rule['uuid']]
            changes.created.append(new_rule)
            continue
        new_values = {name: step.after[name] for name in step.fields}
        columns = {**new_values, **position}
        # A rule that neither changes nor moves has no columns to update.
        if columns:
            changes.updated[step.before['uuid']] = columns
    return changes


def _notification_contexts(
    context: Any, steps: Sequence[replacement.RuleStep]
) -> Iterator[contextlib.AbstractContextManager[None]]:
    """Yield a context manager for every rule that changes.

    It sends one notification when it is entered, and another when it is left.
    The caller enters all of them and then stores the change.
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
            # A new rule has not been stored yet.
            rule = rule_object.StoredRule(context)
        # The fields are set for the notification; this object is not saved.
        rule.update(dict(fields))
        yield notification.emit_around(
            context, rule, _NOTIFIED_ACTIONS[step.outcome]
        )


def _represent(step: replacement.RuleStep) -> dict[str, Any]:
    """Return the entry of a rule in the answer: what happens to the rule.

    For example, ``{'uuid': …, 'description': 'Rack', 'outcome': 'updated',
    'matched_by': 'uuid', 'fields': ['priority']}``.
    """
    # A deleted rule has only its old fields. Every step has at least one of
    # the two.
    rule = step.after or step.before
    assert rule is not None
    differing: set[str] = set()
    if step.outcome == replacement.UPDATED:
        differing = set(step.fields)
    # The client knows what it posted. If the stored rule is sensitive, the
    # client must not learn which part of its content differs.
    disclosed = stored_rule.disclose_differing(step.before, differing)
    return {
        'uuid': rule['uuid'],
        'description': rule['description'],
        'outcome': step.outcome,
        'matched_by': step.matched_by,
        'fields': [name for name in model.WRITABLE if name in disclosed],
    }

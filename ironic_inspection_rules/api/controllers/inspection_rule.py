# SPDX-License-Identifier: Apache-2.0

"""The API of inspection rules: list, show, create, change, delete."""

from collections.abc import Callable, Iterable, Mapping
import contextlib
import functools
from typing import Any, NamedTuple

from ironic import api
from ironic.api.controllers import link
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import notification
from ironic_inspection_rules.api import patch
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import table_set
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.inspection import switches
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.patches import body_limit

Answer = dict[str, Any]

CREATION_ORDER = 'id'
SORT_KEYS = (
    CREATION_ORDER,
    *(name for name in view.BRIEF_FIELDS if name != 'built_in'),
)

# Characters that are kept with a revision.
_MAX_MESSAGE = 1000

REPLACE_SET = {'dry_run': args.boolean, 'prune': args.boolean}
RULE_SET = {
    'type': 'object',
    'required': ['rules'],
    'additionalProperties': False,
    'properties': {
        'rules': {'type': ['array']},
        **table_set.MEMBER,
        'revision': {'type': ['integer', 'null']},
        'message': {
            'type': ['string', 'null'],
            'maxLength': _MAX_MESSAGE,
            'pattern': '^[^\0\ud800-\udfff]*$',
            'description': f'text of at most {_MAX_MESSAGE} characters',
        },
    },
}
"""Body of a request to replace the rule set."""


class _ChangedRule(NamedTuple):
    """A stored rule as a request changes it, not saved yet.

    ``base`` is the revision of the rule set in which the rule finds the tables
    that it reads. If this is not the revision any more, the rule is not saved.
    None if it reads no tables.
    """

    rule: model.Rule
    base: int | None


def _scope(_name: str, value: str) -> str:
    """Check the scope that a request asks for."""
    # PostgreSQL refuses this character in a query.
    if '\0' in value:
        raise exceptions.Invalid(_('There is no such scope'))
    return value


def _marker(_name: str, value: str) -> str:
    return request.rule_uuid(value)


SHOW = {'fields': request.fields((*view.FIELDS, 'links'))}
LIST = {
    **SHOW,
    'detail': args.boolean,
    'scope': _scope,
    'phase': request.one_of(model.PHASES),
    'limit': request.integer,
    'marker': _marker,
    'sort_key': request.one_of(SORT_KEYS),
    'sort_dir': request.SORT_DIR,
}


def get_all(query: Answer) -> Answer:
    """List a page of rules, with warnings of what keeps them from running.

    A rule is shown without its conditions and actions, unless ``detail`` or
    ``fields`` ask for them.
    """
    fields = view.choose_fields(query, view.BRIEF_FIELDS, view.FIELDS)
    limit = api_utils.validate_limit(query['limit'])
    filters = {}
    for name in ('scope', 'phase'):
        if query[name] is not None:
            filters[name] = query[name]
    rules = page(
        api.request.context,
        start.rules().built_in,
        filters,
        sort_key=query['sort_key'],
        descending=query['sort_dir'] == 'desc',
        # One more than the page has shows whether another page follows.
        most=limit + 1,
        marker=query['marker'],
    )
    answer = view.page(
        view.RESOURCE,
        rules,
        limit,
        functools.partial(view.represent, fields=fields),
    )
    # For example, a warning that no conductor has the hook that runs rules.
    warnings = list(switches.off(start.is_all_in_one()))
    if warnings:
        answer['warnings'] = warnings
    return answer


def page(
    context: Any,
    built_in: Iterable[model.Rule],
    filters: dict[str, Any],
    sort_key: str | None,
    descending: bool,
    most: int,
    marker: str | None,
) -> list[Any]:
    """Return a page of rules, stored and built-in ones, after a marker.

    Rules that have the same value of the ``sort_key`` are in the order in
    which they run, also in a descending list. By ``id``, or without a
    ``sort_key``, the descending list is the ascending list in reverse. Text is
    compared by code point, as databases compare it in different ways.

    :param filters: values that the listed rules must have: ``{'phase':
        'main'}``.
    :param sort_key: one of :data:`SORT_KEYS`; None for the order in which
        the rules run.
    :param most: how many rules the page has at most.
    :param marker: UUID of the last rule of the page before.
    :raises: InspectionRuleNotFound if there is no such marker.
    """
    listed_built_in = {}
    for rule in built_in:
        if all(
            getattr(rule, name) == value for name, value in filters.items()
        ):
            listed_built_in[rule.uuid] = rule
    order = _RuleOrder(context, listed_built_in, filters)
    if sort_key is None:
        uuids = order.sort_as_run(descending)
    elif sort_key == CREATION_ORDER:
        uuids = order.sort_by_creation(descending)
    else:
        uuids = order.sort_by_value(sort_key, descending)
    if marker is not None:
        if marker not in uuids:
            raise ironic_exception.InspectionRuleNotFound(rule=marker)
        del uuids[: uuids.index(marker) + 1]
    # So far, only a few fields of all rules were read. The rules of this page
    # are read whole.
    rules = _read_rules(context, uuids[:most], listed_built_in)
    if None not in rules:
        return rules
    # A rule was deleted after its UUID was read. Without it, the page would be
    # too short and look like the last one. So everything is read once more.
    return page(
        context,
        built_in,
        filters,
        sort_key=sort_key,
        descending=descending,
        most=most,
        marker=marker,
    )


def _read_rules(
    context: Any, uuids: Iterable[str], built_in: Mapping[str, model.Rule]
) -> list[Any]:
    """Return the rules with some UUIDs, in the order of these.

    :param built_in: built-in rules by UUID.
    :returns: objects; None for a rule that is no longer stored.
    """
    stored_uuids = [uuid for uuid in uuids if uuid not in built_in]
    stored = {}
    for rule in rule_object.StoredRule.list(context, {'uuid': stored_uuids}):
        stored[rule.uuid] = rule
    return [built_in.get(uuid) or stored.get(uuid) for uuid in uuids]


class _RuleOrder:
    """Sorts the rules of a list by one of their fields.

    :param built_in: the built-in rules of the list by UUID.
    :param filters: the filters of the list.
    """

    def __init__(
        self,
        context: Any,
        built_in: dict[str, model.Rule],
        filters: dict[str, Any],
    ) -> None:
        self._context = context
        self._built_in = built_in
        self._filters = filters

    def _read_values(self, field: str) -> dict[str, Any]:
        """Read a field of all rules of the list, by UUID.

        Built-in rules come first, then the stored ones by their position. In
        this order, rules of the same phase and priority run.
        """
        values = {
            uuid: getattr(rule, field, None)
            for uuid, rule in self._built_in.items()
        }
        values.update(
            rule_object.StoredRule.list_values(
                self._context, field, self._filters
            )
        )
        return values

    def sort_by_value(self, field: str, descending: bool) -> list[str]:
        """Return the UUIDs in the order of a field, null as its least value.

        Rules with equal values are in the order in which they run.
        """
        values = self._read_values(field)

        def key(uuid: str) -> tuple[bool, Any]:
            # Null cannot be compared with text or numbers.
            return values[uuid] is not None, values[uuid]

        uuids_as_run = self.sort_as_run(descending=False)
        # A rule that was stored after the values were read has none.
        uuids = [uuid for uuid in uuids_as_run if uuid in values]
        # Rules with equal values keep their order, also with "reverse", as
        # Python's sort is stable in both directions.
        uuids.sort(key=key, reverse=descending)
        return uuids

    def sort_by_creation(self, descending: bool) -> list[str]:
        """Return the UUIDs in the order in which the rules were created.

        Built-in rules count as the oldest, in the order of their file.
        """
        ids = self._read_values('id')

        def key(uuid: str) -> int:
            # A built-in rule has no id, and ids of the database begin with 1.
            return ids[uuid] or 0

        uuids = sorted(ids, key=key)
        if descending:
            uuids.reverse()
        return uuids

    def sort_as_run(self, descending: bool) -> list[str]:
        """Return the UUIDs in the order in which the rules run."""
        phases = self._read_values('phase')
        priorities = self._read_values('priority')

        def key(uuid: str) -> tuple[int, int]:
            return model.PHASES.index(phases[uuid]), -priorities[uuid]

        # A rule that was deleted between the two reads has no priority.
        uuids = [uuid for uuid in phases if uuid in priorities]
        # Equal ones keep the order of _read_values(), as the sort is stable.
        uuids.sort(key=key)
        if descending:
            uuids.reverse()
        return uuids


def get_one(rule_uuid: str, query: Answer) -> Answer:
    """Show one rule, a built-in or a stored one."""
    uuid = _uuid(rule_uuid)
    fields = query['fields']
    if fields is None:
        fields = view.FIELDS
    for rule in start.rules().built_in:
        if rule.uuid == uuid:
            return view.represent(rule, fields)
    return view.represent(_read_stored(uuid), fields)


def create(body: Any) -> Answer:
    """Check and store a new rule, and answer with it and its address.

    :param body: the rule; without a UUID it gets a new one.
    :raises: InvalidRule, also for a table or a column that it reads and that
        does not exist.
    """
    if isinstance(body, dict) and body.get('uuid') is None:
        body = {**body, 'uuid': uuidutils.generate_uuid()}
    parsed = validation.parse(body, start.rules().ops)

    def check_and_store() -> rule_object.StoredRule:
        return store(parsed, base=_check_tables(parsed))

    # Another request may change the tables between the check and the storing.
    rule = rule_set.retry_on_conflict(check_and_store)
    api.response.location = link.build_url(view.RESOURCE, rule.uuid)
    return view.represent(rule)


def store(
    parsed: model.Rule, base: int | None = None
) -> rule_object.StoredRule:
    """Store a new rule, and send notifications of it.

    :param base: the revision of the rule set in which the rule was checked;
        None if it may be stored in any.
    :raises: Conflict if the rule set has another revision by now.
    :raises: RuleAlreadyExists if its UUID is taken.
    """
    uuid = request.rule_uuid(parsed.uuid)
    if uuid in start.rules().built_in_uuids:
        raise exceptions.RuleAlreadyExists(uuid)
    rule = rule_object.StoredRule(
        api.request.context, **{**parsed.to_mapping(), 'uuid': uuid}
    )
    with notification.emitted(api.request.context, rule, 'create'):
        rule.create(base=base)
    return rule


def update(rule_uuid: str, operations: Any) -> Answer:
    """Change some fields of a rule by a JSON patch, and answer with it.

    The changed rule is checked as a new one is. A patch is refused for a
    built-in rule, and if it would show what a sensitive rule hides.

    :param operations: the JSON patch, as the client sent it.
    """
    return _change(rule_uuid, functools.partial(_apply_patch, operations))


def _apply_patch(
    operations: Any, rule: rule_object.StoredRule
) -> _ChangedRule:
    """Return a stored rule as a JSON patch changes it, and check it."""
    before = {name: rule[name] for name in model.WRITABLE}
    limit = body_limit.of_size(api.request.path)
    fields = patch.apply(before, operations, limit.most_bytes)
    try:
        parsed = rule_set.parse(fields, rule)
        return _ChangedRule(parsed, _check_tables(parsed))
    except exceptions.InvalidRule as exc:
        # The error for a sensitive rule does not show its content. It has no
        # cause either: "raise … from None" also hides the error that is
        # handled here, which would show the content.
        disclosed_error = stored_rule.disclose_error(rule, exc)
        raise disclosed_error from disclosed_error.__cause__


def replace(rule_uuid: str, body: Any) -> Answer:
    """Replace a rule by the one in the body, and answer with it.

    A field that the body leaves out gets its default. Read-only fields may be
    in the body with the values that GET shows, but not with other values. A
    built-in rule cannot be replaced, and a sensitive rule stays sensitive.
    """
    return _change(rule_uuid, functools.partial(_replacement, body))


def _replacement(body: Any, rule: rule_object.StoredRule) -> _ChangedRule:
    """Return the posted rule that replaces a stored one, and check it.

    :param body: as the client sent it, of any type.
    :param rule: the stored rule.
    """
    if not isinstance(body, dict):
        # parse() raises an error, which says that a rule is a mapping.
        return _ChangedRule(rule_set.parse(body, before=None), base=None)
    as_shown = view.represent(rule)
    fields = {}
    for name, value in body.items():
        is_as_shown = name in view.READ_ONLY and value == as_shown[name]
        if not is_as_shown:
            fields[name] = value
    problems = []
    if 'uuid' in fields:
        # It differs from the UUID of the stored rule.
        problems.append(exceptions.Problem('/uuid', validation.READ_ONLY))
    # Other read-only fields with other values are refused by parse().
    parsed = rule_set.parse(
        {**fields, 'uuid': rule.uuid}, rule, found=problems
    )
    return _ChangedRule(parsed, _check_tables(parsed))


def replace_all(query: Answer, body: Answer) -> Answer:
    """Replace the rule set by the rules and tables in the body.

    A dry run only answers what would change. Unless ``prune`` is false, rules
    that are not in the body are removed.
    """
    return rule_set.replace(
        body['rules'],
        revision=body['revision'],
        message=body['message'],
        dry_run=bool(query['dry_run']),
        # True also without the parameter, which is None then.
        prune=query['prune'] is not False,
        tables=body['tables'],
    )


def check_all(query: Answer, body: Any) -> None:
    """Check the rules and tables of a body whose other members are wrong.

    So the client gets the problems of all members at once.

    :raises: InvalidRules, InvalidTables, or InvalidRuleSet for both of them.
    """
    # Stored rules are removed unless "prune" is false: it is None if the
    # request does not have it.
    rule_set.check(body, prune=query['prune'] is not False)


def delete(rule_uuid: str) -> None:
    """Remove one rule."""
    rule = _read_changeable(rule_uuid)
    with notification.emitted(api.request.context, rule, 'delete'):
        rule.destroy()


def delete_all() -> None:
    """Remove all rules but the built-in ones, and notify of every one."""
    context = api.request.context
    with contextlib.ExitStack() as notifications:
        if notification.enabled():
            for rule in rule_object.StoredRule.list(context):
                # "start" of a rule is sent now. "end", or "error" if the
                # removal fails, is sent when the stack is left.
                notifications.enter_context(
                    notification.emitted(context, rule, 'delete')
                )
        rule_object.StoredRule.destroy_all(context)


def _check_tables(rule: model.Rule) -> int | None:
    """Check that the tables and columns that a rule reads are there.

    :returns: the revision of the tables that were checked; None if the rule
        reads no tables.
    :raises: InvalidRule if a table or a column is not there.
    """
    in_force = start.rules().refresh(api.request.context)
    return table_set.check(rule, in_force)


def _uuid(text: str) -> str:
    """Return the UUID in the path of a request, in the form that is stored.

    :param text: what the client has put into the path, in place of the UUID.
    :raises: Invalid if the text is no UUID. If it is the description of
        rules, the message has their UUIDs.
    """
    try:
        return request.rule_uuid(text)
    except exceptions.Invalid as exc:
        rules = [
            *start.rules().built_in,
            *rule_object.StoredRule.list(api.request.context),
        ]
        uuids = [rule.uuid for rule in rules if rule.description == text]
        if not uuids:
            raise
        raise exceptions.Invalid(
            _('%(expected)s, the description of %(uuids)s')
            % {'expected': exc, 'uuids': ', '.join(uuids)}
        ) from exc


def _read_changeable(rule_uuid: str) -> rule_object.StoredRule:
    """Read the stored rule that a request is to change or remove.

    :raises: Invalid if it is built-in, InspectionRuleNotFound if there is
        none.
    """
    uuid = _uuid(rule_uuid)
    if uuid in start.rules().built_in_uuids:
        raise exceptions.Invalid(
            _('Inspection rule %s is built-in and cannot be changed') % uuid
        )
    return _read_stored(uuid)


def _change(
    rule_uuid: str, change: Callable[[rule_object.StoredRule], _ChangedRule]
) -> Answer:
    """Change a stored rule, and answer with it.

    If another request changes the rule set meanwhile, the rule is read,
    changed and saved once more.

    :param change: called with the stored rule, returns the changed rule. It
        raises an error if a sensitive rule would not stay sensitive.
    """

    def change_once() -> Answer:
        rule = _read_changeable(rule_uuid)
        changed = change(rule)
        # Only fields that differ are set: a versioned object takes every field
        # that is set for a changed one.
        differing = {}
        for name, value in changed.rule.to_mapping().items():
            if not model.is_same_value(name, rule[name], value):
                differing[name] = value
        rule.update(differing)
        with notification.emitted(api.request.context, rule, 'update'):
            rule.save(base=changed.base)
        return view.represent(rule)

    return rule_set.retry_on_conflict(change_once)


def _read_stored(uuid: str) -> rule_object.StoredRule:
    return rule_object.StoredRule.get_by_uuid(api.request.context, uuid)

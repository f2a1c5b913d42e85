# SPDX-License-Identifier: Apache-2.0

"""The API of inspection rules: list, show, create, change, delete.

Rules are stored in the database, or *built-in*: read from a file, and then no
request can change them. A rule may read rows of stored tables. All stored
rules and tables are the rule set, which gets a new revision, a number, with
every change. A *sensitive* rule has content that answers and errors must not
show.
"""

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
from ironic_inspection_rules.inspection import disabling_options
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.patches import body_limit

Answer = dict[str, Any]

CREATION_ORDER = 'id'
SORT_KEYS = (
    CREATION_ORDER,
    *(name for name in view.BRIEF_FIELDS if name != 'built_in'),
)

# Maximum number of characters of the message that is kept with a revision.
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

    ``base`` is the revision of the rule set whose tables the rule was checked
    against; None if it reads no tables. The rule is not saved if the rule set
    has another revision by then.
    """

    rule: model.Rule
    base: int | None


SHOW = {'fields': request.make_fields_converter((*view.FIELDS, 'links'))}
LIST = {
    **SHOW,
    'detail': args.boolean,
    'scope': args.string,
    'phase': request.make_word_converter(model.PHASES),
    'limit': request.convert_integer,
    'marker': request.RULE_UUID,
    'sort_key': request.make_word_converter(SORT_KEYS),
    'sort_dir': request.SORT_DIR,
}


def get_all(query: Answer) -> Answer:
    """List a page of rules.

    The conditions and actions of rules are shown only if ``detail`` or
    ``fields`` ask for them. If an option of Ironic keeps rules from running,
    the answer also has ``warnings``.

    :param query: the parameters of :data:`LIST`; None for a missing one.
    """
    fields = view.choose_fields(query, view.BRIEF_FIELDS, view.FIELDS)
    limit = api_utils.validate_limit(query['limit'])
    filters = {}
    for name in ('scope', 'phase'):
        if query[name] is not None:
            filters[name] = query[name]
    rules = list_page(
        api.request.context,
        start.rules().built_in,
        filters,
        sort_key=query['sort_key'],
        descending=query['sort_dir'] == 'desc',
        # One more rule than the page has shows whether another page follows.
        most=limit + 1,
        marker=query['marker'],
    )
    answer = view.build_page(
        view.RESOURCE,
        rules,
        limit,
        functools.partial(view.represent, fields=fields),
    )
    # For example, the option with the hooks of conductors lacks the hook that
    # runs rules.
    warnings = list(
        disabling_options.list_warnings_of_values(start.is_all_in_one())
    )
    if warnings:
        answer['warnings'] = warnings
    return answer


def list_page(
    context: Any,
    built_in: Iterable[model.Rule],
    filters: dict[str, Any],
    sort_key: str | None,
    descending: bool,
    most: int,
    marker: str | None,
) -> list[Any]:
    """Return a page of rules, stored and built-in ones, after a marker.

    Rules with equal values of the ``sort_key`` are listed in the order in
    which they run, even in a descending list. If the ``sort_key`` is ``id`` or
    None, the descending list is the reversed ascending list.

    The rules are sorted here and not by the database, because databases
    compare text in different ways. Here, it is compared by code point.

    :param filters: values that the listed rules must have: ``{'phase':
        'main'}``.
    :param sort_key: one of :data:`SORT_KEYS`; None for the order in which
        the rules run.
    :param most: maximum number of rules of the page.
    :param marker: UUID of the last rule of the previous page.
    :raises: InspectionRuleNotFound if there is no such marker.
    """
    listed_built_in = {}
    for rule in built_in:
        if all(
            getattr(rule, name) == value for name, value in filters.items()
        ):
            listed_built_in[rule.uuid] = rule
    order = _RuleOrder(context, listed_built_in, filters)
    while True:
        uuids = order.sort(sort_key, descending)
        if marker is not None:
            if marker not in uuids:
                raise ironic_exception.InspectionRuleNotFound(rule=marker)
            del uuids[: uuids.index(marker) + 1]
        # So far, only a few fields of all rules were read. Now read the rules
        # of this page with all fields.
        rules = _read_rules(context, uuids[:most], listed_built_in)
        # If a rule was deleted after its UUID was read, the page would be too
        # short and look like the last one. Then read everything again.
        if None not in rules:
            return rules


def _read_rules(
    context: Any, uuids: Iterable[str], built_in: Mapping[str, model.Rule]
) -> list[Any]:
    """Return the rules with the given UUIDs, in the order of the UUIDs.

    :param built_in: built-in rules by UUID.
    :returns: the rules; None for a rule that is no longer stored.
    """
    stored_uuids = [uuid for uuid in uuids if uuid not in built_in]
    stored = {}
    for rule in rule_object.StoredRule.list(context, {'uuid': stored_uuids}):
        stored[rule.uuid] = rule
    return [built_in.get(uuid) or stored.get(uuid) for uuid in uuids]


class _RuleOrder:
    """Sorts the UUIDs of the rules of a list by one of their fields.

    :param built_in: the built-in rules of the list by UUID.
    :param filters: values that the stored rules of the list must have, e.g.
        ``{'phase': 'main'}``.
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

    def sort(self, sort_key: str | None, descending: bool) -> list[str]:
        """Return the UUIDs sorted by one of :data:`SORT_KEYS`.

        :param sort_key: None for the order in which the rules run.
        """
        if sort_key is None:
            return self._sort_as_run(descending)
        if sort_key == CREATION_ORDER:
            return self._sort_by_creation(descending)
        return self._sort_by_value(sort_key, descending)

    def _read_values(self, field: str) -> dict[str, Any]:
        """Read a field of all rules of the list, by UUID.

        Built-in rules come first, then the stored rules by their position.
        Rules with the same phase and priority run in this order.
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

    def _sort_by_value(self, field: str, descending: bool) -> list[str]:
        """Return the UUIDs sorted by a field; null is the lowest value.

        Rules with equal values are in the order in which they run, even if the
        list is descending.
        """
        values = self._read_values(field)

        def key(uuid: str) -> tuple[bool, Any]:
            # Null cannot be compared with text or numbers. False comes first,
            # so two values are compared only if neither is null.
            return values[uuid] is not None, values[uuid]

        uuids_as_run = self._sort_as_run(descending=False)
        # A rule that was stored after the values were read has no value.
        uuids = [uuid for uuid in uuids_as_run if uuid in values]
        # Rules with equal values keep their order even with "reverse", because
        # Python's sort is stable in both directions.
        uuids.sort(key=key, reverse=descending)
        return uuids

    def _sort_by_creation(self, descending: bool) -> list[str]:
        """Return the UUIDs in the order in which the rules were created.

        Built-in rules count as the oldest, in the order of their file.
        """
        ids = self._read_values('id')

        def key(uuid: str) -> int:
            # A built-in rule has no id, and ids in the database start with 1.
            return ids[uuid] or 0

        uuids = sorted(ids, key=key)
        if descending:
            uuids.reverse()
        return uuids

    def _sort_as_run(self, descending: bool) -> list[str]:
        """Return the UUIDs in the order in which the rules run.

        Rules run phase by phase, and the highest priority runs first. Rules
        with the same phase and priority run in the order of
        :meth:`_read_values`.
        """
        phases = self._read_values('phase')
        priorities = self._read_values('priority')

        def key(uuid: str) -> tuple[int, int]:
            return model.PHASES.index(phases[uuid]), -priorities[uuid]

        # A rule that was deleted between the two reads has no priority.
        uuids = [uuid for uuid in phases if uuid in priorities]
        # The sort is stable: rules with equal keys keep their order.
        uuids.sort(key=key)
        if descending:
            uuids.reverse()
        return uuids


def get_one(rule_uuid: str, query: Answer) -> Answer:
    """Show one rule, which is built-in or stored."""
    uuid = _convert_uuid(rule_uuid)
    fields = query['fields']
    if fields is None:
        fields = view.FIELDS
    for rule in start.rules().built_in:
        if rule.uuid == uuid:
            return view.represent(rule, fields)
    return view.represent(_read_stored(uuid), fields)


def create(body: Any) -> Answer:
    """Check and store a new rule, and answer with it and its address.

    :param body: the rule; it gets a new UUID if it has none.
    :raises: InvalidRule, also if the rule reads a table or a column that does
        not exist; RuleAlreadyExists if another rule has the UUID.
    """
    if isinstance(body, dict) and body.get('uuid') is None:
        body = {**body, 'uuid': uuidutils.generate_uuid()}
    parsed = validation.parse(body, start.rules().ops)

    def check_and_store() -> rule_object.StoredRule:
        # The revision whose tables the rule was checked with, if it reads any.
        checked_revision = _check_tables(parsed)
        return store(parsed, base=checked_revision)

    # Another request may change the tables after the check; then try again.
    rule = rule_set.retry_on_conflict(check_and_store)
    api.response.location = link.build_url(view.RESOURCE, rule.uuid)
    return view.represent(rule)


def store(
    parsed: model.Rule, base: int | None = None
) -> rule_object.StoredRule:
    """Store a new rule, and send notifications about it.

    :param base: the revision of the rule set in which the rule was checked;
        None if it may be stored in any revision.
    :raises: Conflict if the rule set has changed to another revision.
    :raises: RuleAlreadyExists if its UUID is taken.
    """
    uuid = request.convert_rule_uuid(parsed.uuid)
    if uuid in start.rules().built_in_uuids:
        raise exceptions.RuleAlreadyExists(uuid)
    rule = rule_object.StoredRule(
        api.request.context, **{**parsed.to_mapping(), 'uuid': uuid}
    )
    with notification.emit_around(api.request.context, rule, 'create'):
        rule.create(base=base)
    return rule


def update(rule_uuid: str, operations: Any) -> Answer:
    """Change some fields of a rule with a JSON patch, and answer with it.

    The changed rule is checked like a new one. A patch is refused if the rule
    is built-in, or if the patch would reveal what a sensitive rule hides.

    :param operations: the JSON patch, as the client sent it.
    """
    return _change(rule_uuid, functools.partial(_apply_patch, operations))


def _apply_patch(
    operations: Any, rule: rule_object.StoredRule
) -> _ChangedRule:
    """Return a stored rule as a JSON patch changes it.

    :param operations: the JSON patch, as the client sent it.
    :param rule: the stored rule, which is not changed.
    :raises: Invalid if the patch cannot be applied; InvalidRule if the changed
        rule is not valid.
    """
    before = {name: rule[name] for name in model.WRITABLE}
    # A patch must not make a rule larger than the body of a request may be.
    limit = body_limit.find_size_limit(api.request.path)
    fields = patch.apply(before, operations, limit.most_bytes)
    try:
        parsed = rule_set.parse(fields, rule)
        checked_revision = _check_tables(parsed)
    except exceptions.InvalidRule as exc:
        # The error for a sensitive rule does not show its content, and has no
        # cause. Keep it so: without "from", the error that is handled here,
        # which shows the content, would become its context.
        disclosed_error = stored_rule.disclose_error(rule, exc)
        raise disclosed_error from disclosed_error.__cause__
    return _ChangedRule(parsed, base=checked_revision)


def replace(rule_uuid: str, body: Any) -> Answer:
    """Replace a rule with the rule in the body, and answer with it.

    A field that is missing in the body gets its default. The body may have
    read-only fields only with the values that GET shows. A built-in rule
    cannot be replaced, and a sensitive rule stays sensitive.
    """
    return _change(rule_uuid, functools.partial(_parse_replacement, body))


def _parse_replacement(
    body: Any, rule: rule_object.StoredRule
) -> _ChangedRule:
    """Return the posted rule that replaces a stored one, and check it.

    Read-only fields in the body, e.g. ``created_at``, are ignored if they have
    the values that GET shows, and refused if they have other values.

    :param body: the body as the client sent it, of any type.
    :param rule: the stored rule, which is not changed.
    :raises: InvalidRule if the posted rule is not valid.
    """
    if not isinstance(body, dict):
        # parse() raises an error that says that a rule is a mapping.
        return _ChangedRule(rule_set.parse(body, before=None), base=None)
    as_shown = view.represent(rule)
    # The fields to check: all but the read-only ones that are ignored.
    fields = {}
    for name, value in body.items():
        is_as_shown = name in view.READ_ONLY and value == as_shown[name]
        if not is_as_shown:
            fields[name] = value
    problems = []
    if 'uuid' in fields:
        # This UUID differs from the UUID of the stored rule.
        problems.append(exceptions.Problem('/uuid', validation.READ_ONLY))
    # parse() refuses other read-only fields that have other values.
    parsed = rule_set.parse(
        {**fields, 'uuid': rule.uuid}, rule, found=problems
    )
    checked_revision = _check_tables(parsed)
    return _ChangedRule(parsed, base=checked_revision)


def replace_all(query: Answer, body: Answer) -> Answer:
    """Replace the rule set with the rules and tables in the body.

    A dry run only answers what would change. Rules and tables that are not in
    the body are removed unless ``prune`` is false.
    """
    return rule_set.replace(
        body['rules'],
        revision=body['revision'],
        message=body['message'],
        dry_run=bool(query['dry_run']),
        # Prune if the parameter is missing: it is None then.
        prune=query['prune'] is not False,
        tables=body['tables'],
    )


def check_all(query: Answer, body: Any) -> None:
    """Check the rules and tables of a body whose other members are invalid.

    With this, the client gets the problems of all members at once.

    :raises: InvalidRules, InvalidTables, or InvalidRuleSet if both the rules
        and the tables are invalid.
    """
    # Prune unless "prune" is false: it is None if the parameter is missing.
    rule_set.check(body, prune=query['prune'] is not False)


def delete(rule_uuid: str) -> None:
    """Remove one rule."""
    rule = _read_changeable(rule_uuid)
    with notification.emit_around(api.request.context, rule, 'delete'):
        rule.destroy()


def delete_all() -> None:
    """Remove all rules except the built-in ones, and send notifications."""
    context = api.request.context
    with contextlib.ExitStack() as notifications:
        if notification.is_enabled():
            for rule in rule_object.StoredRule.list(context):
                # Entering the context sends "start" for a rule. Leaving the
                # stack sends "end", or "error" if the removal fails.
                notifications.enter_context(
                    notification.emit_around(context, rule, 'delete')
                )
        rule_object.StoredRule.destroy_all(context)


def _check_tables(rule: model.Rule) -> int | None:
    """Check that the tables and columns that a rule reads exist.

    :returns: the revision of the rule set whose tables were checked; None if
        the rule reads no tables.
    :raises: InvalidRule if a table or a column does not exist.
    """
    in_force = start.rules().refresh(api.request.context)
    return table_set.check(rule, in_force)


def _convert_uuid(text: str) -> str:
    """Return the UUID in the path of a request, in its stored form.

    :param text: the part of the path that should be a UUID.
    :raises: Invalid if the text is not a UUID. If it is the description of
        rules, the message has the UUIDs of these rules as a hint.
    """
    try:
        return request.convert_rule_uuid(text)
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

    :raises: Invalid if the rule is built-in; InspectionRuleNotFound if it does
        not exist.
    """
    uuid = _convert_uuid(rule_uuid)
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
    changed and saved again.

    :param change: called with the stored rule; returns the changed rule. It
        must raise an error if a sensitive rule would not stay sensitive.
    """

    def change_once() -> Answer:
        """Read, change and save the rule; raise Conflict if it has changed."""
        rule = _read_changeable(rule_uuid)
        changed = change(rule)
        # Set only the fields that differ, because a versioned object considers
        # every field that is set as changed.
        differing = {}
        for name, value in changed.rule.to_mapping().items():
            if not model.is_same_value(name, rule[name], value):
                differing[name] = value
        rule.update(differing)
        with notification.emit_around(api.request.context, rule, 'update'):
            rule.save(base=changed.base)
        return view.represent(rule)

    return rule_set.retry_on_conflict(change_once)


def _read_stored(uuid: str) -> rule_object.StoredRule:
    return rule_object.StoredRule.get_by_uuid(api.request.context, uuid)

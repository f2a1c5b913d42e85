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


class _NewFields(NamedTuple):
    """What a stored rule is to be, see :func:`_change`.

    ``base`` is the revision of the rule set that this was decided on, None if
    it does not matter.
    """

    rule: model.Rule
    base: int | None


def _scope(_name: str, value: str) -> str:
    """Check the scope that a request asks for."""
    # PostgreSQL refuses the character in a query.
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
        # One more than the page has says whether another page follows.
        most=limit + 1,
        marker=query['marker'],
    )
    answer = view.page(
        view.RESOURCE,
        rules,
        limit,
        functools.partial(view.represent, fields=fields),
    )
    # Such as that no conductor has the hook that runs rules.
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

    Rules with equal values are in the order in which they run, in either
    direction; but by ``id``, or without a ``sort_key``, the descending list is
    the ascending list in reverse. Text is compared by code point, whatever the
    database would do.

    :param filters: values that fields of the listed rules must have.
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
    # Only the rules of this page are read whole.
    rules = _read_rules(context, uuids[:most], listed_built_in)
    if None not in rules:
        return rules
    # Rules were deleted after their UUIDs were read. A page that is too short
    # would look like the last one, so it is read again from the start.
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
    """Return rules by their UUIDs, None for one that is no longer stored.

    :param built_in: built-in rules by UUID.
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
        """Read a field of all rules, by UUID.

        Built-in rules come first, then the stored ones by their position: so
        rules of the same phase and priority run.
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

        Equal values stay in the order in which the rules run.
        """
        values = self._read_values(field)

        def key(uuid: str) -> tuple[bool, Any]:
            return values[uuid] is not None, values[uuid]

        # Sorting is stable, in either direction. A rule that was stored
        # between the reads has no value yet.
        uuids = [uuid for uuid in self.sort_as_run(False) if uuid in values]
        uuids.sort(key=key, reverse=descending)
        return uuids

    def sort_by_creation(self, descending: bool) -> list[str]:
        """Return the UUIDs in the order in which the rules were made.

        Built-in rules, which have no id, count as the oldest, in the order of
        their file.
        """
        ids = self._read_values('id')

        def key(uuid: str) -> int:
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

    def make() -> rule_object.StoredRule:
        return store(parsed, _check_tables(parsed))

    rule = rule_set.retry_on_conflict(make)
    api.response.location = link.build_url(view.RESOURCE, rule.uuid)
    return view.represent(rule)


def store(
    parsed: model.Rule, base: int | None = None
) -> rule_object.StoredRule:
    """Store a new rule, and send notifications of it.

    :param base: the revision of the rule set that the caller has read; None
        for any.
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

    The changed rule is checked as a new one is. A built-in rule is refused,
    and so is what would open a sensitive one.
    """
    return _change(rule_uuid, functools.partial(_apply_patch, operations))


def _apply_patch(operations: Any, rule: rule_object.StoredRule) -> _NewFields:
    """Return what a JSON patch makes of a stored rule, checked."""
    before = {name: rule[name] for name in model.WRITABLE}
    limit = body_limit.of_size(api.request.path)
    fields = patch.apply(before, operations, limit.most_bytes)
    try:
        parsed = rule_set.parse(fields, rule)
        return _NewFields(parsed, _check_tables(parsed))
    except exceptions.InvalidRule as exc:
        # Of a sensitive rule, the error must not show the content: it has no
        # cause, and "from None" hides the one that is handled here.
        refused = stored_rule.disclose_error(rule, exc)
        raise refused from refused.__cause__


def replace(rule_uuid: str, body: Any) -> Answer:
    """Replace a rule by the one in the body, and answer with it.

    What the body leaves out becomes its default. Read-only fields may be
    there as a client has just read them, but not with other values. A built-in
    rule is refused, and so is what would open a sensitive one.
    """
    return _change(rule_uuid, functools.partial(_replacement, body))


def _replacement(body: Any, rule: rule_object.StoredRule) -> _NewFields:
    """Return the posted rule that replaces a stored one, checked."""
    if not isinstance(body, dict):
        # parse() refuses it, and says what a rule is to be.
        return _NewFields(rule_set.parse(body, before=None), base=None)
    # Read-only fields may be posted with the values that GET shows.
    as_shown = view.represent(rule)
    fields = {}
    for name, value in body.items():
        if name not in view.READ_ONLY or value != as_shown[name]:
            fields[name] = value
    problems = []
    if 'uuid' in fields:
        # It differs from the UUID of the stored rule.
        problems.append(exceptions.Problem('/uuid', validation.READ_ONLY))
    parsed = rule_set.parse(
        {**fields, 'uuid': rule.uuid}, rule, found=problems
    )
    return _NewFields(parsed, _check_tables(parsed))


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
    """Check the rules and tables of a body that is refused otherwise.

    :raises: InvalidRules, InvalidTables, or InvalidRuleSet for both of them.
    """
    rule_set.check(body, query['prune'] is not False)


def delete(rule_uuid: str) -> None:
    """Remove one rule."""
    rule = _read_changeable(rule_uuid)
    with notification.emitted(api.request.context, rule, 'delete'):
        rule.destroy()


def delete_all() -> None:
    """Remove all rules but the built-in ones, and notify of every one."""
    context = api.request.context
    with contextlib.ExitStack() as stack:
        if notification.enabled():
            for rule in rule_object.StoredRule.list(context):
                stack.enter_context(
                    notification.emitted(context, rule, 'delete')
                )
        rule_object.StoredRule.destroy_all(context)


def _check_tables(rule: model.Rule) -> int | None:
    """Check that a rule finds its tables; see :func:`.table_set.check`."""
    return table_set.check(rule, start.rules().refresh(api.request.context))


def _uuid(text: str) -> str:
    """Return the UUID of a rule in a path, in its usual form.

    :raises: Invalid if the text is no UUID. For the description of rules, the
        message has their UUIDs.
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
    rule_uuid: str, decide: Callable[[rule_object.StoredRule], _NewFields]
) -> Answer:
    """Save what a stored rule is to be, and answer with it.

    Where another change of rules came first, it is decided and saved again.

    :param decide: called with the stored rule, returns what it is to be; sees
        to it that a sensitive rule stays sensitive.
    """
    return rule_set.retry_on_conflict(
        functools.partial(_change_once, rule_uuid, decide)
    )


def _change_once(
    rule_uuid: str, decide: Callable[[rule_object.StoredRule], _NewFields]
) -> Answer:
    """Try once to change a stored rule, see :func:`_change`.

    :raises: Conflict if another client has changed it meanwhile.
    """
    rule = _read_changeable(rule_uuid)
    new = decide(rule)
    fields = new.rule.to_mapping()
    # Only these: for a versioned object every field that is set has changed.
    differing = {}
    for name, value in fields.items():
        if not model.is_same_value(name, rule[name], value):
            differing[name] = value
    rule.update(differing)
    with notification.emitted(api.request.context, rule, 'update'):
        rule.save(base=new.base)
    return view.represent(rule)


def _read_stored(uuid: str) -> rule_object.StoredRule:
    return rule_object.StoredRule.get_by_uuid(api.request.context, uuid)

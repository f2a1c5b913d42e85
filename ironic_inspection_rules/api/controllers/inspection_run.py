# SPDX-License-Identifier: Apache-2.0

"""The API of runs of rules, and of explain.

A *run* is the record of what the rules did in one inspection: which rules
matched, and what they changed. The last runs of a node are kept. *Explain*
finds in these records which rule has set a value, or why a rule did not match.
The *place* of a value is an object and a path, by which runs record changes,
e.g. the node and ``/extra/rack``.

A sensitive rule has content that most clients must not see, so answers about
it have only its UUID.
"""

import functools
from typing import Any

from ironic import api
from ironic import objects
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_outcome
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import run as run_object
from ironic_inspection_rules.runs import explain as run_explain
from ironic_inspection_rules.runs import phase_record
from ironic_inspection_rules.runs import recorded_change

RESOURCE = 'inspection_runs'

Answer = dict[str, Any]
Query = dict[str, Any]
"""The parameters of a request by name, checked; None for a missing one."""

_TIMES = ('created_at', 'started_at')
BRIEF_FIELDS = (
    'uuid',
    'node_uuid',
    'event',
    'inspect_interface',
    'result',
    'error',
    'revision',
    *_TIMES,
)
FIELDS = (*BRIEF_FIELDS, 'phases')
DATA_FIELDS = ('inventory', 'plugin_data')
"""Fields with the data of the machine; only for one run, and on request."""

_REFERENCES = ('chassis_uuid', 'portgroup_uuid')
"""UUID attributes for which Ironic's objects store only an ``id``."""

_SET_BY_FAIL = ('maintenance', 'maintenance_reason')
"""Attributes that the action ``fail`` sets; not recorded as changes."""

LIST = {
    'limit': request.convert_integer,
    'marker': request.convert_marker,
    'detail': args.boolean,
    'fields': request.make_fields_converter((*FIELDS, 'links')),
}
SHOW = {
    'fields': request.make_fields_converter((*FIELDS, *DATA_FIELDS, 'links'))
}
EXPLAIN = {
    'path': args.string,
    'trait': args.string,
    'port': args.string,
    'rule': request.RULE_UUID,
}

_convert_run_uuid = request.make_uuid_converter(_('a run'))


def get_all(node: Any, query: Query) -> Answer:
    """List a page of the kept runs of a node, newest first.

    The field ``phases``, which may be large, is read and shown only if
    ``detail`` is set or ``fields`` names it.
    """
    fields = view.choose_fields(query, BRIEF_FIELDS, FIELDS)
    limit = api_utils.validate_limit(query['limit'])
    runs = run_object.InspectionRun.list(
        api.request.context,
        node.uuid,
        limit + 1,
        query['marker'],
        whole='phases' in fields,
    )
    represent = functools.partial(_represent, fields=fields)
    return view.build_page(
        f'nodes/{node.uuid}/{RESOURCE}', runs, limit, represent
    )


def get_one(node: Any, run_uuid: str, query: Query) -> Answer:
    """Show a run, by default with its phases but without machine data.

    The inventory and plugin data that the machine sent are shown if
    ``fields`` names them. They are kept only for the newest run, and only if
    it failed; for any other run they are null.

    :raises: Ironic's error if the caller may not read inventories.
    """
    fields = query['fields']
    if fields is None:
        fields = FIELDS
    context = api.request.context
    run = run_object.InspectionRun.get_by_uuid(
        context, node.uuid, _convert_run_uuid('uuid', run_uuid)
    )
    run_fields = [name for name in fields if name not in DATA_FIELDS]
    answer = _represent(run, run_fields)
    data_fields = [name for name in fields if name in DATA_FIELDS]
    if data_fields:
        # Some callers may see a run, but not the data of the machine.
        api_utils.check_node_policy_and_retrieve(
            'baremetal:node:inventory:get', node.uuid
        )
        data = run_object.InspectionRun.get_data(context, node.uuid)
        if not data or data['uuid'] != run.uuid:
            # No data are kept, or they belong to a newer run.
            data = {}
        answer.update({name: data.get(name) for name in data_fields})
    return answer


def explain(node: Any, query: Query) -> Answer:
    """Explain where a value of the node comes from, or what a rule did.

    * With ``path`` or ``trait``, the answer is the rule that last set the
      value in a kept run, and its conditions.
    * With ``rule``, a UUID, the answer is what the rule did in the newest run,
      or why it did not match.

    :raises: Invalid if the query asks for both or for neither.
    :raises: NotFound if no kept run has the answer.
    """
    rule_uuid = query['rule']
    asks_for_value = query['path'] or query['trait'] or query['port']
    if rule_uuid is not None and asks_for_value:
        raise exceptions.Invalid(_('Ask for "rule" alone, or for a value'))
    context = api.request.context
    if rule_uuid is None:
        runs = run_object.InspectionRun.list(context, node.uuid, whole=True)
        answer = _explain_value(
            node, runs, query['path'], query['trait'], query['port']
        )
    else:
        newest = run_object.InspectionRun.list(
            context, node.uuid, limit=1, whole=True
        )
        answer = rule_outcome.find(node, rule_uuid, newest, start.rules())
    # An answer about a sensitive rule does not name a run.
    run = answer.get('run')
    if run is not None:
        answer['run'] = _represent(run, BRIEF_FIELDS)
    return answer


_MEMBERS_OF_CHANGE = ('object', 'path', 'op', 'before', 'after', 'action')
"""Members of the record of a change that an answer includes."""


def _explain_value(
    node: Any,
    runs: list[Any],
    path: str | None,
    trait: str | None,
    port: str | None,
) -> Answer:
    """Return the answer of ``explain``: which rule last set a value, and why.

    :param runs: the :class:`.InspectionRun` objects that are kept of the
        node, newest first, with their ``phases``.
    :param path: path of a value in the node, in plugin data or in the port,
        e.g. ``/extra/rack``, ``extra.rack`` or ``plugin_data/rack``; None for
        a trait.
    :param trait: name of the trait; None for a path.
    :param port: MAC address or UUID of the port; None without a port.
    :returns: the change, the rule with its conditions, the run as an
        :class:`.InspectionRun`, and in ``current`` whether the node still has
        the value; None if unknown. If the rule is sensitive, only
        ``{'rule': {'uuid': UUID}, 'withheld': True}``.
    :raises: Invalid unless the caller asks for a single value.
    :raises: NotFound if no kept run has set the value.
    """
    place, value_now = _find_place(node, path, trait, port)
    records_of_runs = [(run, run.phases, run.places) for run in runs]
    # The attribution has the last change of the value in these runs, which is
    # its "setting", and the sensitive rules that may have changed the value
    # after that.
    attribution = run_explain.find(records_of_runs, place)
    if attribution.setting is None:
        raise _not_found_error(
            node,
            count_of_runs=len(runs),
            path_or_trait=trait or path,
            port_ident=port,
            place=place,
            possible_setters=attribution.possible_setters,
        )
    # For a sensitive rule, described() does not call this function, and
    # returns only the UUID.
    describe = functools.partial(
        _describe_change, attribution, place, value_now
    )
    return attribution.setting.described(describe)


def _describe_change(
    attribution: run_explain.Attribution,
    place: recorded_change.RecordedPlace,
    value_now: Any,
    rule: phase_record.Record,
) -> Answer:
    """Return the answer of ``explain`` for the change that set a value.

    The answer has the change, the rule with its conditions, and in ``current``
    whether the node still has the value. If it has another value, this is the
    ``current_value``; otherwise ``current_value`` is None.

    :param attribution: the attribution, which has the change as its
        ``setting``. The change was not made by a sensitive rule.
    :param place: the place that the client asks for. At the time of the
        change, the value may have been at another place, e.g. in another item
        of a list.
    :param value_now: the value at the place now, ABSENT or UNKNOWN.
    :param rule: the record of the rule in the run that made the change.
    :returns: the answer for clients, except that its ``run`` is the
        :class:`.InspectionRun`.
    """
    setting = attribution.setting
    assert setting is not None
    change = setting.change
    assert change is not None
    # True, False, or None if it is unknown.
    current = recorded_change.still_holds(change, setting.place, value_now)
    current_value = None
    if current is False and value_now is not data_path.ABSENT:
        current_value = disclosure.mask_value_at(place.path, value_now)
    answer = {name: change[name] for name in _MEMBERS_OF_CHANGE}
    answer.update(
        {
            'rule': {
                name: rule[name]
                for name in ('uuid', 'description', 'revision')
            },
            'revision': rule['revision'],
            'phase': setting.phase,
            'conditions': rule['conditions'],
            'run': setting.run,
            'current': current,
            'current_value': current_value,
            'sensitive_rules': list(attribution.possible_setters),
        }
    )
    # If an action has conditions, the record of the rule has entries that say
    # whether the action ran, and why. Show the entries of this action.
    conditions_of_action = [
        decision
        for decision in rule.get('when', ())
        if decision['action'] == change['action'] and decision['ran']
    ]
    if conditions_of_action:
        answer['when'] = conditions_of_action
    return answer


def _not_found_error(
    node: Any,
    count_of_runs: int,
    path_or_trait: str | None,
    port_ident: str | None,
    place: recorded_change.RecordedPlace,
    possible_setters: tuple[str, ...],
) -> exceptions.NotFound:
    """Build the error of ``explain`` for a value that no kept run has set.

    The message also has the reasons for which the answer may be incomplete,
    e.g. that a sensitive rule may have set the value.

    :param count_of_runs: the number of runs that are kept of the node.
    :param path_or_trait: the path or the trait of the query.
    :param port_ident: the MAC address or UUID in the query; None without a
        port.
    :param place: where runs would have changes of the value.
    :param possible_setters: UUIDs of sensitive rules that may have set the
        value.
    """
    port = _find_port(node, port_ident)
    name_of_value = _name_value(path_or_trait, port_ident, port)
    if not CONF.inspection_rules.keep_runs:
        return exceptions.NotFound(
            _(
                'Nobody knows what set %s: no runs are kept, '
                '[inspection_rules]keep_runs is 0.'
            )
            % name_of_value
        )
    text = _P(
        'No rule has set %(what)s of node %(node)s in the %(count)d '
        'inspection that is kept.',
        'No rule has set %(what)s of node %(node)s in the %(count)d '
        'inspections that are kept.',
        count_of_runs,
    )
    sentences = [
        text
        % {'what': name_of_value, 'node': node.uuid, 'count': count_of_runs}
    ]
    is_of_node = place.object == working_copy.NODE
    if is_of_node and place.path[0] in _SET_BY_FAIL:
        sentences.append(
            _(
                'This does not count the action "fail", which may have put '
                'the node into maintenance: the error of an inspection names '
                'the rule that failed it.'
            )
        )
    if port_ident is not None and port is None:
        sentences.append(
            _('It has no port %s: a port is named by its MAC address or UUID.')
            % port_ident
        )
    if possible_setters:
        sentences.append(
            _(
                'Of the sensitive rules that ran then, it is not told what '
                'they changed: %s.'
            )
            % ', '.join(possible_setters)
        )
    return exceptions.NotFound(' '.join(sentences))


def _name_value(
    path_or_trait: str | None, port_ident: str | None, port: Any
) -> str | None:
    """Return the name of a value for a message.

    A value of a port is e.g. ``/extra/rack of port 52:54:00:00:00:01``.

    :param port_ident: the MAC address or UUID in the query; None without a
        port.
    :param port: the port; None if the node has no such port.
    """
    if port_ident is None:
        return path_or_trait
    port_name = port_ident
    if port is not None:
        port_name = port.address
    return _('%(path)s of port %(port)s') % {
        'path': path_or_trait,
        'port': port_name,
    }


_NOT_ONE_PLACE = _(
    'Ask for "path", for "trait", for "port" and "path", or for "rule"'
)


def _find_place(
    node: Any, path_text: str | None, trait: str | None, port_ident: str | None
) -> tuple[recorded_change.RecordedPlace, Any]:
    """Return the place that a query asks for, and its current value.

    The place is a trait, a path in the node, a path in the plugin data, or a
    path in a port of the node.

    :param path_text: the path as the client sent it, e.g. ``/extra/rack``;
        None for a trait.
    :param trait: the name of the trait; None for a path.
    :param port_ident: the MAC address or UUID of the port; None without one.
    :returns: the place and the value. The value is :data:`.path.ABSENT` if
        there is none, and :data:`.recorded_change.UNKNOWN` if it cannot be
        read.
    :raises: Invalid if the parameters name no place, or several.
    """
    if trait is not None:
        # A trait belongs to the node, so neither a path nor a port is allowed.
        if not trait or path_text is not None or port_ident is not None:
            raise exceptions.Invalid(_NOT_ONE_PLACE)
        return _place_of_trait(node, trait)
    if path_text is None:
        raise exceptions.Invalid(_NOT_ONE_PLACE)
    try:
        path = data_path.parse(path_text)
    except exceptions.OperationError as exc:
        raise exceptions.Invalid(str(exc)) from exc
    if port_ident is not None:
        return _place_in_port(node, port_ident, path)
    if path[0] == working_copy.PLUGIN_DATA and len(path) > 1:
        return _place_in_plugin_data(node, path[1:])
    place = recorded_change.RecordedPlace(working_copy.NODE, path)
    return place, _read_value(node, path)


def _place_of_trait(
    node: Any, trait: str
) -> tuple[recorded_change.RecordedPlace, Any]:
    """Return the place of a trait, and its current value.

    In the record of a run, the value of a trait is its name.
    """
    value_now: Any = data_path.ABSENT
    if trait in node.traits.get_trait_names():
        value_now = trait
    place = recorded_change.RecordedPlace(working_copy.TRAITS, (trait,))
    return place, value_now


def _place_in_port(
    node: Any, ident: str, path: data_path.Path
) -> tuple[recorded_change.RecordedPlace, Any]:
    """Return the place of a value in a port, and its current value.

    The record of a run names a port by its MAC address, e.g. ``port
    52:54:00:12:34:56``, or by its UUID. The place has both names.

    :param ident: the MAC address or the UUID of the port.
    """
    port = _find_port(node, ident)
    if port is None:
        # The port may have been deleted, but runs still have its address.
        place = recorded_change.RecordedPlace(f'port {ident.lower()}', path)
        return place, data_path.ABSENT
    place = recorded_change.RecordedPlace(
        f'port {port.address}', path, f'port {port.uuid}'
    )
    return place, _read_value(port, path)


def _place_in_plugin_data(
    node: Any, path: data_path.Path
) -> tuple[recorded_change.RecordedPlace, Any]:
    """Return the place of a value in plugin data, and its current value.

    The value is read from the stored inventory of the node.
    """
    try:
        data = inspect_utils.get_inspection_data(node, api.request.context)
        value_now = data_path.get(data['plugin_data'] or {}, path)
    except ironic_exception.IronicException:
        # Nothing is stored, or the storage does not answer. The answer can
        # still have the change, but not whether the value is still there.
        value_now = recorded_change.UNKNOWN
    place = recorded_change.RecordedPlace(working_copy.PLUGIN_DATA, path)
    return place, value_now


def _read_value(owner: Any, path: data_path.Path) -> Any:
    """Return the current value of a node or a port at a path.

    :param owner: the object of the node or the port.
    :returns: the value; :data:`.recorded_change.UNKNOWN` for the UUID of
        another object, e.g. a chassis, because Ironic's object has only its
        ``id``.
    """
    if path[0] in _REFERENCES:
        return recorded_change.UNKNOWN
    return recorded_change.look_up(facts.as_dict(owner), (), path)


def _find_port(node: Any, ident: str | None) -> Any:
    """Find the port of a node by its MAC address or UUID.

    :returns: None if the node has no such port, or if ``ident`` is None.
    """
    if ident is None:
        return None
    for port in objects.Port.list_by_node_id(api.request.context, node.id):
        if ident == port.uuid or ident.lower() == port.address:
            return port
    return None


def _represent(run: Any, fields: Any) -> dict[str, Any]:
    """Return a run as clients see it: some of its fields, and its links.

    :param fields: names of fields; times are returned as ISO 8601 text.
    """
    represented = {name: getattr(run, name) for name in fields}
    for name in _TIMES:
        if represented.get(name):
            represented[name] = represented[name].isoformat()
    ident = f'{run.node_uuid}/{RESOURCE}/{run.uuid}'
    represented['links'] = view.build_links('nodes', ident)
    return represented

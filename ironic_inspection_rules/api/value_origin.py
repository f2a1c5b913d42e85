# SPDX-License-Identifier: Apache-2.0

"""Who set a value of a node, as the API tells it."""

from collections.abc import Iterable
import dataclasses
from typing import Any

from ironic import api
from ironic import objects
from ironic.common import exception as ironic_exception
from ironic.conf import CONF
from ironic.drivers.modules import inspect_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.runs import explain as run_explain


@dataclasses.dataclass(frozen=True)
class Question:
    """Which value is asked for.

    :param node: the node.
    :param path: of the value, in any of the forms that rules take.
    :param trait: name of a trait.
    :param port: MAC address or UUID of the port that ``path`` belongs to.
    """

    node: Any
    path: str | None = None
    trait: str | None = None
    port: str | None = None


def find(asked: Question, runs: Iterable[Any]) -> dict[str, Any]:
    """Return the rule that last set a value, and why it did.

    :param runs: the runs kept of the node, whole, newest first.
    :returns: the answer; its ``run`` is one of these.
    :raises: Invalid if the question makes no sense.
    :raises: NotFound if no kept run has set the value.
    """
    place, present = _place(asked)
    runs = list(runs)
    found = run_explain.find(((run, run.phases) for run in runs), place,
                             present)
    if not isinstance(found, run_explain.Finding):
        raise exceptions.NotFound(_nobody(asked, len(runs), found))
    change, rule = found.change, found.rule
    if change is None:
        # It is sensitive.
        return {**dict.fromkeys(_OF_CHANGE), 'conditions': [],
                'rule': {'uuid': rule['uuid'], 'description': None,
                         'revision': None},
                'run': found.run, 'sensitive_rules': []}
    current = run_explain.still_holds(change, place, present)
    current_value = None
    if current is False and present is not data_path.ABSENT:
        # A sensitive rule may have set it.
        current_value = masking.MASK if found.sensitive else (
            masking.mask_along(place.path, present)[1])
    return {
        'object': change['object'], 'path': change['path'],
        'op': change['op'], 'before': change['before'],
        'after': change['after'], 'action': change['action'],
        'rule': {name: rule[name]
                 for name in ('uuid', 'description', 'revision')},
        'revision': rule['revision'],
        'phase': found.phase,
        'conditions': rule['conditions'],
        **({'when': asked_actions} if (asked_actions := [
            each for each in rule.get('when', ())
            if each['action'] == change['action'] and each['ran']]) else {}),
        'run': found.run,
        'current': current,
        'current_value': current_value,
        'sensitive_rules': list(found.sensitive),
    }


_OF_CHANGE = ('object', 'path', 'op', 'before', 'after', 'action', 'revision',
              'phase', 'current', 'current_value')


def _place(asked: Question) -> tuple[run_explain.Place, Any]:
    """Return where the value is, and what is there now."""
    if (asked.trait is None) is (asked.path is None) or asked.trait == '' or (
            asked.port is not None and asked.path is None):
        raise exceptions.Invalid(
            _('Ask for "path", for "trait", or for "port" and "path"'))
    present: Any = data_path.ABSENT
    if asked.trait is not None:
        if asked.trait in asked.node.traits.get_trait_names():
            present = asked.trait
        return (run_explain.Place(working_copy.TRAITS, (asked.trait,)),
                present)
    try:
        path = data_path.parse(asked.path or '')
    except exceptions.OperationError as exc:
        raise exceptions.Invalid(str(exc)) from exc
    if asked.port is not None:
        port = _port(asked)
        address = port.address if port else asked.port.lower()
        return (run_explain.Place(f'port {address}', path),
                _present(port, path))
    if path[0] == working_copy.PLUGIN_DATA and len(path) > 1:
        try:
            data = inspect_utils.get_inspection_data(asked.node,
                                                     api.request.context)
            present = data_path.get(data['plugin_data'] or {}, path[1:])
        except ironic_exception.IronicException:
            present = run_explain.UNKNOWN
        return (run_explain.Place(working_copy.PLUGIN_DATA, path[1:]),
                present)
    return (run_explain.Place(working_copy.NODE, path),
            _present(asked.node, path))


def _port(asked: Question) -> Any:
    """Return the port that was asked for, None where there is none."""
    return None if asked.port is None else next(
        (port for port in objects.Port.list_by_node_id(
            api.request.context, asked.node.id)
         if asked.port == port.uuid or asked.port.lower() == port.address),
        None)


def _present(ironic_object: Any, path: data_path.Path) -> Any:
    if ironic_object is None:
        return data_path.ABSENT
    value = data_path.get(facts.as_dict(ironic_object), path[:2])
    return run_explain.look_up(value, path[:2], path)


def _nobody(asked: Question, count: int, sensitive: tuple[str, ...]) -> str:
    what = asked.trait or asked.path
    port = _port(asked)
    if asked.port is not None:
        what = _('%(path)s of port %(port)s') % {
            'path': asked.path, 'port': port.address if port else asked.port}
    if not CONF.inspection_rules.keep_runs:
        return _('Nobody knows what set %s: no runs are kept, '
                 '[inspection_rules]keep_runs is 0.') % what
    message = _('No rule has set %(what)s of node %(node)s in the %(count)d '
                'inspections that are kept.') % {
                    'what': what, 'node': asked.node.uuid, 'count': count}
    if asked.port is not None and port is None:
        message += ' ' + _('It has no port %s: a port is named by its MAC '
                           'address or UUID.') % asked.port
    if sensitive:
        message += ' ' + _(
            'Of the sensitive rules that ran then, it is not recorded what '
            'they changed: %s.') % ', '.join(sensitive)
    return message

# SPDX-License-Identifier: Apache-2.0

"""Requests for rules, and requests that detect Ironic and this plugin.

Stock Ironic has rules at the same path as this plugin, and another service may
answer at a wrong endpoint. So an answer must have the members that an answer
of Ironic has, which are passed to :mod:`.http` as ``required_member``. After a
change, any member of a rule is sufficient.

The functions for rules are named like methods of openstacksdk (spec 003
"openstacksdk").
"""

from collections.abc import Iterator, Mapping, Sequence
import json
from typing import Any

from openstack import exceptions as sdk_exceptions
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import http

UUID_UNKNOWN = _("The rule is stored, but Ironic's answer has no UUID of it")
"""The warning after a change of a rule whose answer lacks ``uuid``."""

_MEMBERS_OF_RULE = ('priority', 'phase', *model.CONTENT)
"""Members of an answer to a change of a rule. If the answer has one of them,
it comes from Ironic, and the change has been made. An error about a missing
``uuid`` would be wrong then."""

_RULES = '/inspection_rules'


def inspection_rules(
    baremetal, details: bool = False, **query: Any
) -> Iterator[dict[str, Any]]:
    """Yield rules, page by page.

    :param details: whether the rules include their conditions and actions.
    :param query: ``scope``, ``phase``, ``limit``, ``marker``, ``sort_key``,
        ``sort_dir``, ``fields``.
    """
    if details:
        query['detail'] = 'true'
    # If rules lack these fields, the answer comes from another service.
    required_fields = ['uuid', 'description']
    if query.get('fields') is not None:
        # The rules have only the requested fields, so they may lack these.
        required_fields = []
    return http.list_items(
        baremetal,
        _RULES,
        name='inspection_rules',
        query=query,
        required_in_items=required_fields,
    )


def get_inspection_rule(
    baremetal, uuid: str, fields: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a rule with all its fields, or only with some of them.

    :param fields: the names of the fields to return; all fields if empty.
    :raises: Invalid if the answer does not come from Ironic. The rule may be a
        rule of stock Ironic, see :func:`has_plugin`.
    """
    # An answer without this field comes from another service, or from a proxy.
    required_field = 'uuid'
    query = {}
    if fields:
        # The answer has only these fields, and may have no UUID.
        required_field = fields[0]
        query['fields'] = ','.join(fields)
    return http.call(
        baremetal,
        'GET',
        f'{_RULES}/{uuid}',
        required_member=required_field,
        params=query,
    )


def find_inspection_rule(baremetal, name: str) -> str:
    """Return the UUID of the rule that a user names.

    :param name: a UUID, which is returned without a request; or the
        description of a rule.
    :raises: :class:`.exceptions.NotFound` if no rule has the description;
        :class:`.exceptions.Conflict` if several rules have it.
    """
    if uuidutils.is_uuid_like(name):
        return name
    rules = list(inspection_rules(baremetal))
    uuids = [rule['uuid'] for rule in rules if rule['description'] == name]
    if not uuids:
        # The error message suggests a similar description.
        descriptions = [
            rule['description'] for rule in rules if rule['description']
        ]
        raise exceptions.NotFound(
            suggestion.unknown_message(_('rule'), name, descriptions)
        )
    if len(uuids) > 1:
        raise exceptions.Conflict(
            _('%(count)d rules have the description "%(name)s": %(uuids)s')
            % {'count': len(uuids), 'name': name, 'uuids': ', '.join(uuids)}
        )
    return uuids[0]


def warnings(baremetal) -> list[str]:
    """Return Ironic's warnings about options that keep rules from running.

    The API adds these warnings to every list of rules.

    :returns: a sentence per warning; an empty list if nothing keeps rules from
        running.
    :raises: the same as :func:`.http.call`; also Invalid if the warnings are
        not a list.
    """
    # Every page of the list has all warnings, so request the smallest page.
    answer = http.call(
        baremetal,
        'GET',
        _RULES,
        required_member='inspection_rules',
        params={'limit': 1},
    )
    sentences = answer.get('warnings') or []
    if not isinstance(sentences, list):
        raise exceptions.Invalid(
            _("Ironic's answer has no list of warnings, but %s")
            % json.dumps(sentences)
        )
    return sentences


def warnings_of_rules_in_force(baremetal) -> list[str]:
    """Return the warnings of Ironic after a successful change of rules.

    If the warnings cannot be read, this is no error: scripts would conclude
    that the change has failed, and repeat it. Instead, the only warning is
    that they cannot be read.

    :returns: the same as :func:`warnings`.
    """
    try:
        return warnings(baremetal)
    except http.REQUEST_ERRORS as exc:
        # An error of openstacksdk has the message of Ironic in "details". Its
        # str() begins with the class, the status and the URL.
        reason = getattr(exc, 'details', None) or exc
        return [
            _(
                'The rules are in force, but it is not known whether Ironic '
                'has the options that they need: its warnings cannot be read '
                '(%s)'
            )
            % reason
        ]


def has_plugin(baremetal) -> bool:
    """Return whether Ironic's API has this plugin.

    Only this plugin has a list of traits. Stock Ironic may have rules at the
    same path as this plugin, so these say nothing.
    """
    try:
        # The filter by a single name keeps the answer small.
        http.call(
            baremetal,
            'GET',
            '/traits',
            required_member='traits',
            params={'name': 'in:CUSTOM_ANY'},
        )
    except sdk_exceptions.NotFoundException:
        return False
    except sdk_exceptions.HttpException:
        # Only the status 404 says that there is no list. Other errors are e.g.
        # for a user who may not read it, or of an API with
        # use_rpc_for_database.
        return True
    return True


def is_ironic(baremetal) -> bool:
    """Return whether the service at the endpoint is Ironic.

    Every Ironic has a list of nodes, so one item of this list is requested.
    """
    try:
        http.call(
            baremetal,
            'GET',
            '/nodes',
            required_member='nodes',
            params={'limit': 1, 'fields': 'uuid'},
        )
    except (sdk_exceptions.NotFoundException, exceptions.Invalid):
        # Another service has no list at this path, or something else.
        return False
    except sdk_exceptions.HttpException:
        # Any other error shows that the list exists, e.g. the error for a user
        # who may not read it.
        return True
    return True


def create_inspection_rule(
    baremetal, rule: Mapping[str, Any]
) -> dict[str, Any]:
    """Create a rule, and return it.

    :returns: the rule. It may lack ``uuid`` if the answer is incomplete; the
        rule has been created nevertheless.
    """
    return http.call(
        baremetal,
        'POST',
        _RULES,
        required_member='uuid',
        sufficient_members=_MEMBERS_OF_RULE,
        json=rule,
    )


def update_inspection_rule(
    baremetal, uuid: str, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Replace some fields of a rule, and return the changed rule.

    :param fields: the new values by name of the field.
    :returns: the rule. If the answer is incomplete, it may lack ``uuid``; the
        rule has been changed nevertheless.
    """
    # For example, [{"op": "replace", "path": "/priority", "value": 5}].
    patch = []
    for name, value in fields.items():
        patch.append({'op': 'replace', 'path': f'/{name}', 'value': value})
    return http.call(
        baremetal,
        'PATCH',
        f'{_RULES}/{uuid}',
        required_member='uuid',
        sufficient_members=_MEMBERS_OF_RULE,
        json=patch,
    )


def delete_all_inspection_rules(baremetal) -> None:
    """Remove all rules except the built-in rules."""
    http.delete(baremetal, _RULES)


def evaluate_inspection_rules(baremetal, **request: Any) -> dict[str, Any]:
    """Try rules without changing anything.

    :param request: any of ``node``, ``inventory``, ``plugin_data``, ``rules``,
        ``prune`` and ``phase``; None means not given.
    """
    return http.call_with_large_body(
        baremetal,
        'POST',
        f'{_RULES}/evaluate',
        body=http.without_none(**request),
        required_member='rules',
        is_list=True,
    )

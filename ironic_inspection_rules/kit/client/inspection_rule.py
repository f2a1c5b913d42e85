# SPDX-License-Identifier: Apache-2.0

"""Requests about rules, and whether the API is Ironic's with this plugin.

Functions are named like methods of the SDK (spec 003 "openstacksdk").
"""

from collections.abc import Iterator, Mapping, Sequence
import json
from typing import Any

from openstack import exceptions as sdk_exceptions
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import http

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
    needed_fields = ['uuid', 'description']
    if query.get('fields') is not None:
        # The rules only have the requested fields.
        needed_fields = []
    return http.list_items(
        baremetal,
        _RULES,
        name='inspection_rules',
        query=query,
        needed_of_items=needed_fields,
    )


def get_inspection_rule(
    baremetal, uuid: str, fields: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a rule.

    :param fields: the names of the fields to return; all if empty.
    :raises: Invalid if the answer does not come from Ironic. It is not checked
        whether Ironic has this plugin, see :func:`has_plugin`.
    """
    # An answer without this field is of another service, or of a proxy.
    needed_field = 'uuid'
    query = {}
    if fields:
        # The answer only has these fields, and may have no UUID.
        needed_field = fields[0]
        query['fields'] = ','.join(fields)
    return http.call(
        baremetal, 'GET', f'{_RULES}/{uuid}', needed=needed_field, params=query
    )


def find_inspection_rule(baremetal, name: str) -> str:
    """Find the UUID of the rule that a user names.

    A UUID is returned unchanged, even if there is no such rule.

    :param name: the UUID, or the description if no other rule has it.
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
            suggestion.unknown(_('rule'), name, descriptions)
        )
    if len(uuids) > 1:
        raise exceptions.Conflict(
            _('%(count)d rules have the description "%(name)s": %(uuids)s')
            % {'count': len(uuids), 'name': name, 'uuids': ', '.join(uuids)}
        )
    return uuids[0]


def warnings(baremetal) -> list[str]:
    """Read warnings about options of Ironic that rules need.

    :returns: a sentence per option; an empty list if nothing is missing.
    :raises: the same as :func:`.http.call`; also Invalid if the warnings are
        not a list.
    """
    # Every page of the list has the warnings, so a page with one rule is
    # enough.
    answer = http.call(
        baremetal,
        'GET',
        _RULES,
        needed='inspection_rules',
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
    """Read warnings about options after a change of rules.

    If the warnings cannot be read, that is the only warning. An error would
    say that the change has failed, and scripts would repeat it.

    :returns: the same as :func:`warnings`.
    """
    try:
        return warnings(baremetal)
    except http.REQUEST_ERRORS as exc:
        # Use only the message of Ironic, because str() of an openstacksdk
        # error starts with the class, the status and the URL.
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
    """Return whether Ironic's API has this plugin, not only its own rules."""
    # Stock Ironic has rules at the same path, but no list of traits. The
    # filter by a single name keeps the answer small.
    try:
        http.call(
            baremetal,
            'GET',
            '/traits',
            needed='traits',
            params={'name': 'in:CUSTOM_ANY'},
        )
    except sdk_exceptions.NotFoundException:
        return False
    except sdk_exceptions.ForbiddenException:
        # The call exists, but the user may not list traits.
        return True
    return True


def is_ironic(baremetal) -> bool:
    """Return whether Ironic answers; every Ironic has a list of nodes."""
    try:
        http.call(
            baremetal,
            'GET',
            '/nodes',
            needed='nodes',
            params={'limit': 1, 'fields': 'uuid'},
        )
    except (sdk_exceptions.NotFoundException, exceptions.Invalid):
        # Another service does not have this call, or returns something else.
        return False
    except sdk_exceptions.HttpException:
        # Other errors, e.g. for users who may not list nodes, show that the
        # list exists.
        return True
    return True


def create_inspection_rule(
    baremetal, rule: Mapping[str, Any]
) -> dict[str, Any]:
    """Create a rule, and return it."""
    return http.call(baremetal, 'POST', _RULES, needed='uuid', json=rule)


def update_inspection_rule(
    baremetal, uuid: str, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Replace some fields of a rule, and return the rule."""
    patch = []
    for name, value in fields.items():
        patch.append({'op': 'replace', 'path': f'/{name}', 'value': value})
    return http.call(
        baremetal, 'PATCH', f'{_RULES}/{uuid}', needed='uuid', json=patch
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
        needed='rules',
        is_list=True,
    )

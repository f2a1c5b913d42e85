# SPDX-License-Identifier: Apache-2.0

"""Requests for traits, and for nodes by their traits, that openstacksdk lacks.

All functions take ``baremetal``, the bare metal proxy of an openstacksdk
connection.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib import parse as urlparse

from openstack.baremetal.v1 import node

from ironic_inspection_rules.kit.client import http

MICROVERSION = '1.37'


def nodes(
    baremetal,
    details: bool = False,
    traits: Iterable[str] = (),
    traits_any: Iterable[str] = (),
    not_traits: Iterable[str] = (),
    not_traits_any: Iterable[str] = (),
    **query: Any,
) -> Iterator[node.Node]:
    """Yield nodes like ``baremetal.nodes``, filtered by their traits.

    This is for scripts of users; the commands call :func:`.node.nodes`.
    ``baremetal.nodes`` does not send filters by traits. So they are added to
    the path of the request, e.g. ``/nodes?traits=CUSTOM_A,CUSTOM_B``.

    :param details: whether the nodes have all their fields.
    :param traits: nodes must have all of these traits.
    :param traits_any: nodes must have at least one of these traits.
    :param not_traits: nodes must lack at least one of these traits.
    :param not_traits_any: nodes must have none of these traits.
    :param query: any other parameters of ``baremetal.nodes``.
    """
    filters = {
        'traits': traits,
        'traits-any': traits_any,
        'not-traits': not_traits,
        'not-traits-any': not_traits_any,
    }
    parameters = {}
    for name, names_of_traits in filters.items():
        if names_of_traits:
            parameters[name] = ','.join(names_of_traits)
    # For example, "traits=CUSTOM_A,CUSTOM_B&not-traits=CUSTOM_C".
    query_string = urlparse.urlencode(parameters, safe=',')
    path = node.Node.base_path
    if details:
        path += '/detail'
    # openstacksdk formats the path with the operator "%", so percent signs
    # must be doubled.
    path_for_sdk = f'{path}?{query_string}'.replace('%', '%%')
    return node.Node.list(baremetal, base_path=path_for_sdk, **query)


def traits(
    baremetal, name: str | None = None, associated: bool | None = None
) -> list[dict[str, Any]]:
    """Return traits as mappings with ``name`` and the number of ``nodes``.

    :param name: ``startswith:PREFIX`` or ``in:NAME,NAME``.
    :param associated: True for traits that some node has, False for traits
        that no node has, None for both.
    """
    answer = http.call(
        baremetal,
        'GET',
        '/traits',
        required_member='traits',
        is_list=True,
        microversion=MICROVERSION,
        params=http.without_none(name=name, associated=associated),
    )
    return answer['traits']

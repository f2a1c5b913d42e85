# SPDX-License-Identifier: Apache-2.0

"""Ironic's limits of the size and the depth of request bodies.

Ironic 35.0 and 36.0 set none; there those of later releases hold as well.
Ironic counts the depth byte by byte in Python, which takes seconds for a large
table, and meanwhile holds up all threads of the API. The same count that is
mostly done in C takes its place.
"""

import typing

from ironic.conf import CONF

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.patches import name

try:
    from ironic.api.middleware import json_depth
except ImportError:
    json_depth = None

IS_OF_IRONIC = json_depth is not None
"""Whether Ironic itself limits bodies that claim to be JSON."""

USUAL = {
    'max_json_body_depth': 25,
    'max_json_body_size': 1024,
    'max_json_body_size_provision': 65536,
    'max_json_body_size_inspection': 16384,
}
"""The defaults of the options in ``[api]``, for where there are none."""

INSPECTION_PATH = name.Name(
    'ironic.api.middleware.json_depth',
    '_is_inspection_path',
    'rules for import and evaluation must be as small as other requests',
    parameters=('path',),
    required=False,
    in_every_release=False,
)

CHECK_DEPTH = name.Name(
    'ironic.api.middleware.json_depth',
    'check_depth',
    'the depth of large requests is counted slowly',
    parameters=('raw', 'max_depth'),
    required=False,
    in_every_release=False,
)

NAMES = (INSPECTION_PATH, CHECK_DEPTH)


class SizeLimit(typing.NamedTuple):
    """The limit of the size of a body.

    ``most_bytes``: how many it may have. ``option``: the option that says so,
    such as ``[api]max_json_body_size``, None if this Ironic has no such
    option.
    """

    most_bytes: int
    option: str | None


# Ironic compares with this one path only, by a function that has no option.
_inspection_endings: set[str] = {'continue_inspection'}


def as_inspection_data(ending: str) -> None:
    """Let the bodies of some requests be as large as inspection data.

    Their limit becomes ``[api]max_json_body_size_inspection``.

    :param ending: the end of the paths of these requests, such as
        ``inventory/reapply``.
    """
    _inspection_endings.add(ending)
    if IS_OF_IRONIC and name.are_here((INSPECTION_PATH,)):
        # The middleware looks the function up in its module at every request,
        # so it may be replaced after the middleware was built.
        INSPECTION_PATH.put(_is_inspection_path)


def count_depth_fast() -> None:
    """Count the depth of bodies in a fraction of the time Ironic takes."""
    if IS_OF_IRONIC and name.are_here((CHECK_DEPTH,)):
        CHECK_DEPTH.put(_check_depth)


def depth() -> int:
    """Return how deep objects and lists in a body may be nested."""
    option = 'max_json_body_depth'
    return getattr(CONF.api, option, USUAL[option])


def of_size(path: str) -> SizeLimit:
    """Return how large the body of a request may be.

    Ironic has three limits: for inspection data, for deployments, whose body
    may have a config drive in it, and for all other requests.

    :param path: the path of the request. Those that were given to
        :func:`as_inspection_data` have the limit of inspection data.
    """
    option = 'max_json_body_size'
    if _is_inspection_path(path):
        option = 'max_json_body_size_inspection'
    elif path.strip('/').endswith('states/provision'):
        option = 'max_json_body_size_provision'
    kibibytes = getattr(CONF.api, option, USUAL[option])
    # An Ironic without limits does not have the option that would be named.
    option_of_ironic = None
    if IS_OF_IRONIC:
        option_of_ironic = f'[api]{option}'
    return SizeLimit(most_bytes=kibibytes * 1024, option=option_of_ironic)


def _check_depth(raw: bytes, max_depth: int) -> bool:
    """Return whether a body is nested at most to a depth."""
    return not budget.is_deeper(raw, max_depth)


def _is_inspection_path(path: str) -> bool:
    """Return whether bodies sent to a path may be as large as inventories."""
    return path.strip('/').endswith(tuple(_inspection_endings))

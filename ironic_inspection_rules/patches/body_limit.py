# SPDX-License-Identifier: Apache-2.0

"""Ironic's limits of the size and the depth of request bodies.

Ironic 35.0 and 36.0 set none; there those of later releases hold as well.
Ironic counts the depth byte by byte in Python, which takes seconds for a large
table, and meanwhile holds up all threads of the API. The same count that is
mostly done in C takes its place.
"""

from ironic.conf import CONF

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.patches import name

try:
    from ironic.api.middleware import json_depth
except ImportError:
    json_depth = None

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

# Ironic compares with this one path only, by a function that has no option.
_inspection_endings: set[str] = {'continue_inspection'}


def as_inspection_data(ending: str) -> None:
    """Let bodies of requests be as large as inspection data.

    Their limit becomes ``[api]max_json_body_size_inspection``.

    :param ending: the end of the paths of these requests.
    """
    _inspection_endings.add(ending)
    if json_depth and name.are_here((INSPECTION_PATH,)):
        # The middleware looks the function up in its module at every request,
        # so it may be replaced after the middleware was built.
        INSPECTION_PATH.put(_is_inspection_path)


def count_depth_fast() -> None:
    """Count the depth of bodies in a fraction of the time Ironic takes."""
    if json_depth and name.are_here((CHECK_DEPTH,)):
        CHECK_DEPTH.put(_check_depth)


def is_of_ironic() -> bool:
    """Check if Ironic itself limits bodies that claim to be JSON."""
    return json_depth is not None


def depth() -> int:
    """Return how deep objects and lists in a body may be nested."""
    option = 'max_json_body_depth'
    return getattr(CONF.api, option, USUAL[option])


def size(path: str) -> int:
    """Return how many bytes the body of a request may have."""
    option = _size_option(path)
    kibibytes = getattr(CONF.api, option, USUAL[option])
    return kibibytes * 1024


def option_of_size(path: str) -> str | None:
    """Return the option that limits the size of a body.

    :returns: ``[api]max_json_body_size`` or the like; None if this Ironic has
        no such options.
    """
    if not is_of_ironic():
        return None
    return f'[api]{_size_option(path)}'


def _size_option(path: str) -> str:
    """Return the option of ``[api]`` that limits bodies sent to a path.

    Large bodies of this plugin's own calls, such as rule sets, count as those
    of an inspection.
    """
    if _is_inspection_path(path):
        return 'max_json_body_size_inspection'
    if path.strip('/').endswith('states/provision'):
        return 'max_json_body_size_provision'
    return 'max_json_body_size'


def _check_depth(raw: bytes, max_depth: int) -> bool:
    """Return whether a body is nested at most to a depth."""
    return not budget.is_deeper(raw, max_depth)


def _is_inspection_path(path: str) -> bool:
    """Return whether bodies sent to a path may be as large as inventories."""
    return path.strip('/').endswith(tuple(_inspection_endings))

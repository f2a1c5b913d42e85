# SPDX-License-Identifier: Apache-2.0

"""Patches Ironic's limits on the size and the depth of request bodies.

Ironic refuses a body that is too large, or whose objects and lists are nested
too deeply. Requests with inspection data may be larger than others. Two
functions of Ironic are replaced:

- The function that recognizes requests with inspection data knows only one
  path. Some requests of this project need the same limit.
- The function that counts the depth does so byte by byte in Python. For a
  large table, this takes seconds and blocks all threads of the API. Our
  function does most of the work in C.

Ironic 35.0 and 36.0 have no limits; the defaults of later releases are used
for them.
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
"""Defaults of options in ``[api]``, for releases that lack the options."""

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
    """The limit on the size of a body.

    ``most_bytes`` is the maximum size. ``option`` is the option that sets it,
    e.g. ``[api]max_json_body_size``; None if this release of Ironic has no
    such option.
    """

    most_bytes: int
    option: str | None


# Ironic's own function recognizes only this path, and it is not configurable.
_inspection_endings: set[str] = {'continue_inspection'}


def allow_size_of_inspection_data(ending: str) -> None:
    """Allow the bodies of some requests to be as large as inspection data.

    Their limit becomes ``[api]max_json_body_size_inspection``.

    :param ending: the ending of the paths of these requests, e.g.
        ``inventory/reapply``.
    """
    _inspection_endings.add(ending)
    if IS_OF_IRONIC and name.are_available((INSPECTION_PATH,)):
        # The function may be replaced after the middleware was built, because
        # the middleware looks it up in its module at every request.
        INSPECTION_PATH.replace_with(_is_inspection_path)


def count_depth_fast() -> None:
    """Replace Ironic's function that checks the depth with a faster one."""
    if IS_OF_IRONIC and name.are_available((CHECK_DEPTH,)):
        CHECK_DEPTH.replace_with(budget.is_within_depth)


def depth() -> int:
    """Return the maximum nesting depth of objects and lists in a body."""
    option = 'max_json_body_depth'
    return getattr(CONF.api, option, USUAL[option])


def find_size_limit(path: str) -> SizeLimit:
    """Return the limit on the size of the body of a request.

    Larger bodies are refused. A rule after a patch, and the data that rules
    build in a phase, must not be larger either.

    There are three limits, Ironic's options or their usual values:

    - for inspection data, and for the requests that were passed to
      :func:`allow_size_of_inspection_data`;
    - for changes of the provision state, because their body may contain a
      config drive;
    - for all other requests.

    :param path: the path of the request, e.g. ``/v1/continue_inspection``.
    """
    if _is_inspection_path(path):
        option = 'max_json_body_size_inspection'
    elif path.strip('/').endswith('states/provision'):
        option = 'max_json_body_size_provision'
    else:
        option = 'max_json_body_size'
    kibibytes = getattr(CONF.api, option, USUAL[option])
    # A release of Ironic without limits does not have the option.
    option_of_ironic = None
    if IS_OF_IRONIC:
        option_of_ironic = f'[api]{option}'
    return SizeLimit(most_bytes=kibibytes * 1024, option=option_of_ironic)


def _is_inspection_path(path: str) -> bool:
    """Return whether the limit for inspection data applies to a path."""
    return path.strip('/').endswith(tuple(_inspection_endings))

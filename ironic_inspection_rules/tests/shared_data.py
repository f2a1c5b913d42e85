# SPDX-License-Identifier: Apache-2.0

"""Public rule sets and inventories that are not part of this project."""

import json
import os
import pathlib
import typing

import testtools

import ironic_inspection_rules

_CHECKOUT = pathlib.Path(ironic_inspection_rules.__file__).parent.parent


def directory() -> pathlib.Path:
    """Return where they are, or skip the test that asks.

    ``IR_SHARED_DATA`` names the directory; without it, it is ``shared/data``
    beside the checkout.
    """
    path = pathlib.Path(
        os.environ.get('IR_SHARED_DATA')
        or _CHECKOUT.parent / 'shared' / 'data'
    )
    if not path.is_dir():
        raise testtools.TestCase.skipException(
            'the public rule sets are not here; IR_SHARED_DATA names them'
        )
    return path


def read(name: str) -> typing.Any:
    """Return the content of a JSON file, or skip the test that asks.

    :param name: path below the directory.
    """
    return json.loads((directory() / name).read_text())

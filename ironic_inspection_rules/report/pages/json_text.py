# SPDX-License-Identifier: Apache-2.0

"""JSON that a browser reads, whatever a machine has sent."""

import json
import math
import re
import typing

_LONE = re.compile('[\ud800-\udfff]')
"""Halves of characters, which no file can be written with."""


def dumps(value: typing.Any, **options: typing.Any) -> str:
    """Return a value as JSON text.

    Numbers that JSON does not know, as Python reads them from a ramdisk, are
    text there: ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.

    :param value: plain JSON data, as Python knows them.
    :param options: of :func:`json.dumps`.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False,
                          **options)
    except ValueError:
        text = json.dumps(_known(value), ensure_ascii=False, **options)
    return _LONE.sub(lambda lone: f'\\u{ord(lone[0]):04x}', text)


def _known(value: typing.Any) -> typing.Any:
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value

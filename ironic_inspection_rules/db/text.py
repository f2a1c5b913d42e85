# SPDX-License-Identifier: Apache-2.0

"""Text that every database can store."""

import re

_UNSTORABLE = re.compile('[\0\ud800-\udfff\U00010000-\U0010ffff]')
"""Characters that text columns of some databases refuse."""


_MOST_BYTES = 65535
"""Bytes that a column of type TEXT holds in MySQL."""

_CUT = ' … (cut)'


def storable(text: str) -> str:
    """Replace each character that some database refuses; cut what is long."""
    text = _UNSTORABLE.sub('\N{REPLACEMENT CHARACTER}', text)
    encoded = text.encode()
    if len(encoded) <= _MOST_BYTES:
        return text
    return encoded[:_MOST_BYTES - len(_CUT.encode())].decode(
        errors='ignore') + _CUT

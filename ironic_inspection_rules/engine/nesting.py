# SPDX-License-Identifier: Apache-2.0

"""How deep JSON text is nested, told without parsing it.

Parsers recurse. Ironic's threads have so little stack that a deep document
does not raise an error there, it ends the process.
"""

import re

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_OPEN = b'[{'
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}'))


def is_deeper(text: bytes, limit: int) -> bool:
    """Tell whether lists and objects are nested deeper than a limit.

    What is no JSON is told of up to where a parser gives up.

    :param text: in UTF-8.
    """
    depth = 0
    for bracket in _STRING.sub(b'', text).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in _OPEN else -1
        if depth > limit:
            return True
    return False

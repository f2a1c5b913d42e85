# SPDX-License-Identifier: Apache-2.0

"""Detects values that YAML 1.1 reads differently than their authors mean.

YAML decides by the form of an unquoted value whether it is a text, a number or
a boolean. For example, it reads the answer ``no`` as false, the version
``2.10`` as the number 2.1, and the serial number ``0123456`` as an octal
number.
"""

import re

import yaml

# Words that YAML 1.1 reads as true or false.
_SWITCH = re.compile('yes|no|on|off|y|n', re.IGNORECASE)
# An octal number, or a number in base 60.
_ODD_INTEGER = re.compile(r'[-+]?(?:0[0-7_]+|[0-9_]+(?::[0-5]?[0-9])+)')
# The author of such a value may mean either a number or a text.
_WRITTEN_NUMBER = re.compile(
    r'[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|'
    r'[0-9][0-9_]*_[0-9_.]*|[0-9.]+[eE][-+][0-9]+)'
)
# A number with a trailing zero, which is lost, or a number in base 60.
_ODD_FLOAT = re.compile(r'[-+]?(?:[0-9_]*\.[0-9]+0|[0-9_:]*:[0-9_.:]*)')


def is_misread(node: yaml.Node) -> bool:
    """Return whether YAML 1.1 reads a scalar differently than most people.

    - A boolean is misread unless it is ``true`` or ``false``: OFF is false.
    - An integer is misread if it is octal or in base 60: 0123456,
      52:54:00:12:34:56.
    - A float is misread if it loses a zero or is in base 60: 2.10 is 2.1.
    - Both are misread in a rare notation: 0x1F, 1_000.

    :param node: any node. Only unquoted scalars can be misread.
    """
    if not isinstance(node, yaml.ScalarNode) or node.style:
        # A mapping or a list is no scalar. A scalar with a style is quoted or
        # in a block, and is always text.
        return False
    # The tag of an unquoted scalar is the type that YAML has detected.
    if node.tag == 'tag:yaml.org,2002:bool':
        return node.value.lower() not in ('true', 'false')
    if node.tag == 'tag:yaml.org,2002:int':
        is_odd = _ODD_INTEGER.fullmatch(node.value) is not None
    elif node.tag == 'tag:yaml.org,2002:float':
        is_odd = _ODD_FLOAT.fullmatch(node.value) is not None
    else:
        # YAML reads the scalar as text or null, for example.
        return False
    return is_odd or is_rare_notation(node.value)


def is_perhaps_meant(written: str) -> bool:
    """Return whether the reading of YAML may be what the author means.

    For example, ``OFF`` may mean false and ``0x1F`` may mean 31, but
    ``0123456`` is unlikely to mean 42798.
    """
    return is_switch(written) or is_rare_notation(written)


def is_switch(written: str) -> bool:
    """Return whether a text is a word that YAML 1.1 reads as a boolean."""
    return _SWITCH.fullmatch(written) is not None


def is_rare_notation(written: str) -> bool:
    """Return whether a text is a number in a notation that few people know.

    The number is hexadecimal or binary, or has underscores or an exponent,
    e.g. ``0x1F``, ``1_000`` or ``1.0e+3``. The author may mean the text.
    """
    return _WRITTEN_NUMBER.fullmatch(written) is not None

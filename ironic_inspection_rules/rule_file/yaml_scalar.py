# SPDX-License-Identifier: Apache-2.0

"""Detects values that YAML 1.1 reads differently than their authors mean."""

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

    YAML 1.1 reads 52:54:00:12:34:56 as a number in base 60, 0123456 as an
    octal number, 2.10 as 2.1, OFF as false, and 0x1F and 1_000 as numbers.

    :param node: any node. Only unquoted scalars can be misread.
    """
    if not isinstance(node, yaml.ScalarNode) or node.style:
        # A quoted scalar or a block scalar is always text.
        return False
    # The tag of an unquoted scalar gives the type that YAML reads.
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

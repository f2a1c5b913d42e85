# SPDX-License-Identifier: Apache-2.0

"""Values that YAML 1.1 reads otherwise than their authors mean."""

import re

import yaml

# Words that YAML 1.1 reads as true or false.
_SWITCH = re.compile('yes|no|on|off|y|n', re.IGNORECASE)
# A number to the base of 8 or of 60.
_ODD_INTEGER = re.compile(r'[-+]?(?:0[0-7_]+|[0-9_]+(?::[0-5]?[0-9])+)')
# These may be meant as numbers, too.
_WRITTEN_NUMBER = re.compile(
    r'[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|'
    r'[0-9][0-9_]*_[0-9_.]*|[0-9.]+[eE][-+][0-9]+)'
)
# A number with a zero at its end, which is lost, or to the base of 60.
_ODD_FLOAT = re.compile(r'[-+]?(?:[0-9_]*\.[0-9]+0|[0-9_:]*:[0-9_.:]*)')


def is_misread(node: yaml.Node) -> bool:
    """Return whether YAML 1.1 reads a scalar otherwise than most people do.

    It reads 52:54:00:12:34:56 as a number to the base of 60, 0123456 as a
    number to the base of 8, 2.10 as 2.1, OFF as false, and 0x1F and 1_000 as
    numbers.

    :param node: any node; only scalars without quotes can be misread.
    """
    if not isinstance(node, yaml.ScalarNode) or node.style:
        # A scalar in quotes, or in a block, is always text.
        return False
    # Without quotes, the tag says as what YAML reads it.
    if node.tag == 'tag:yaml.org,2002:bool':
        return node.value.lower() not in ('true', 'false')
    if node.tag == 'tag:yaml.org,2002:int':
        is_odd = _ODD_INTEGER.fullmatch(node.value) is not None
    elif node.tag == 'tag:yaml.org,2002:float':
        is_odd = _ODD_FLOAT.fullmatch(node.value) is not None
    else:
        # YAML reads it as text, or as nothing.
        return False
    return is_odd or is_rare_notation(node.value)


def is_perhaps_meant(written: str) -> bool:
    """Return whether the author of a misread value may mean what YAML reads.

    ``OFF`` may mean false and ``0x1F`` may mean 31; ``0123456`` hardly means
    42798.
    """
    return is_switch(written) or is_rare_notation(written)


def is_switch(written: str) -> bool:
    """Return whether a text is a word that YAML 1.1 reads as a boolean."""
    return _SWITCH.fullmatch(written) is not None


def is_rare_notation(written: str) -> bool:
    """Return whether a text is in a notation of numbers that few know.

    It is a number to the base of 16 or 2, or has underscores or an exponent,
    such as ``0x1F``, ``1_000`` or ``1.0e+3``. Its author may mean the text.
    """
    return _WRITTEN_NUMBER.fullmatch(written) is not None

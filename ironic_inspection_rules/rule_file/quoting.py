# SPDX-License-Identifier: Apache-2.0

"""YAML that was meant as text, and reads as something else.

``!eq`` is a tag to YAML, ``{node.name}`` a mapping. Both are what people
write first, so an error says to put them in quotes.
"""

import re

import yaml

from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.i18n import _

_NAMES = '|'.join((*interpolation.ROOTS, interpolation.ITEM))
_FIELD = re.compile(rf'\{{\s*(?:{_NAMES})\b[^{{}}]*\}}')
_UNQUOTED = re.compile(rf'[:\-,\[{{]\s*(?P<field>\{{\s*(?:{_NAMES})'
                       r'(?:[.\[|][^{}]*)\})\s*(?:[,\]}]|$)')
_PATH = re.compile(rf'(?:{_NAMES})(?:[.\[].*)?')
_PLAIN = re.compile(r'[:\-,\[]\s+(?P<text>[^\s\'"\[\]#][^\n]*)')
_ODD_INTEGER = re.compile(r'[-+]?(?:0[0-7_]+|[0-9_]+(?::[0-5]?[0-9])+)')
_ODD_FLOAT = re.compile(r'[-+]?(?:[0-9_]*\.[0-9]+0|[0-9_:]*:[0-9_.:]*)')
_NULL = 'tag:yaml.org,2002:null'


def reads_otherwise(node: yaml.Node) -> bool:
    """Return whether YAML 1.1 reads something else than people who write it.

    Such as 52:54:00:12:34:56 as a number to the base of 60, 0123456 as one
    to the base of 8, 2.10 as 2.1 and OFF as false.
    """
    if not isinstance(node, yaml.ScalarNode) or node.style:
        return False
    if node.tag == 'tag:yaml.org,2002:bool':
        return node.value.lower() not in ('true', 'false')
    if node.tag == 'tag:yaml.org,2002:int':
        return _ODD_INTEGER.fullmatch(node.value) is not None
    return node.tag == 'tag:yaml.org,2002:float' and (
        _ODD_FLOAT.fullmatch(node.value) is not None)


def problem(node: yaml.Node, text: str) -> str | None:
    """Return that a value should be in quotes, None where it need not.

    :param text: of the whole file.
    """
    if isinstance(node, yaml.MappingNode):
        return _mapping_problem(node)
    if not isinstance(node, yaml.ScalarNode) or not node.tag:
        return None
    if node.tag.startswith('!'):
        return _quote(f'{node.tag} {node.value}'.strip())
    # "! eq" loses its sign without a trace.
    if text[node.start_mark.index:].startswith('! '):
        return _quote(f'! {node.value}')
    return None


def syntax_hint(text: str, line: int) -> str | None:
    """Return what is probably wrong in a line that is no YAML.

    :param text: of the whole file.
    :param line: number of the line, from zero.
    """
    lines = text.split('\n')
    wrong = lines[line] if line < len(lines) else ''
    if re.match(r' *\t', wrong):
        return _('YAML does not know tabs: indent with blanks')
    unquoted = _UNQUOTED.search(wrong)
    if unquoted:
        return _quote(unquoted['field'])
    plain = _PLAIN.search(wrong)
    if plain and (plain['text'].startswith(('!', '%', '@', '`', '&', '*'))
                  or _FIELD.match(plain['text'])):
        return _quote(plain['text'].rstrip())
    return None


def _mapping_problem(node: yaml.MappingNode) -> str | None:
    if not node.flow_style or len(node.value) != 1:
        return None
    key, value = node.value[0]
    if getattr(value, 'tag', None) != _NULL or value.value:
        return None
    if isinstance(key, yaml.MappingNode):
        return _('text with "{{" must be in quotes')
    if isinstance(key, yaml.ScalarNode) and _PATH.fullmatch(key.value):
        return _quote(f'{{{key.value}}}')
    return None


def _quote(text: str) -> str:
    written = text.replace('\\', '\\\\').replace('"', '\\"')
    return _('text like this must be in quotes: write "%s"') % written

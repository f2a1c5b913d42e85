# SPDX-License-Identifier: Apache-2.0

"""Text with a unit, where a comparison needs a number."""

import re
import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import facts
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

_QUANTITY = re.compile(r'\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+|%)\s*')

_BYTES = {'b': 1, 'k': 2 ** 10, 'kb': 1000, 'kib': 2 ** 10, 'm': 2 ** 20,
          'mb': 1000 ** 2, 'mib': 2 ** 20, 'g': 2 ** 30, 'gb': 1000 ** 3,
          'gib': 2 ** 30, 't': 2 ** 40, 'tb': 1000 ** 4, 'tib': 2 ** 40}

_KEPT_IN = {'physical_mb': ('MiB', 2 ** 20), 'memory_mb': ('MiB', 2 ** 20),
            'local_gb': ('GiB', 2 ** 30), 'size': ('bytes', 1),
            'total': ('bytes', 1)}
"""The unit of what an inventory or a node has under these names."""


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find quantities that compare as text with a field."""
    for condition in rule.all_conditions:
        for each in facts.of(condition):
            match = isinstance(each.value, str) and (
                not facts.is_version(each)) and _QUANTITY.fullmatch(
                    each.value)
            if match:
                yield condition.pointer, _(
                    '"%(value)s" compares as text, not as a number; write '
                    'a number in the unit of the field%(example)s') % {
                        'value': each.value,
                        'example': _example(match, each.field)}


def _example(match: re.Match[str], field: str) -> str:
    """Say which number, where the units are known."""
    unit: typing.Any = _KEPT_IN.get(field.rpartition('/')[2])
    given = _BYTES.get(match[2].lower())
    if unit is None or given is None:
        return ''
    return _(', %(number)d: {%(field)s} is in %(unit)s') % {
        'number': float(match[1]) * given / unit[1],
        'field': '.'.join(data_path.parse(field)),
        'unit': unit[0]}

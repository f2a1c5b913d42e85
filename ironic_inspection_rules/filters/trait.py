# SPDX-License-Identifier: Apache-2.0

"""The filter that makes a trait of text."""

import re
import typing

from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.filters import text
from ironic_inspection_rules.traits import names

_OTHERS = re.compile('[^A-Z0-9]+')


class Trait(plugin.Filter):
    """``trait``: the name of a trait, ``CUSTOM_…`` unless os-traits has it."""

    def __call__(self, value: typing.Any) -> str:
        name = _OTHERS.sub('_', text.read(value).upper())
        return name if name in names.STANDARD else f'CUSTOM_{name}'

# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


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

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


"""Filters on any value."""

import typing

from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin


class Default(plugin.Filter):
    """``default``: another value where the field does not exist.

    With ``boolean`` also where it is false, zero, null or empty.
    """

    ACCEPTS_MISSING = True

    def __call__(self, value: typing.Any, default: typing.Any = '',
                 boolean: bool = False) -> typing.Any:
        if value is data_path.ABSENT or boolean and not value:
            return default
        return value

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
"""Conditions made of conditions."""

from collections.abc import Iterable

from ironic_inspection_rules.engine import plugin


class AnyOf(plugin.Group):
    """``any-of``: at least one of them holds."""

    HOLDS = 'any'

    def __call__(self, results: Iterable[bool]) -> bool:
        return any(results)


class AllOf(plugin.Group):
    """``all-of``: each of them holds."""

    HOLDS = 'all'

    def __call__(self, results: Iterable[bool]) -> bool:
        return all(results)


class NoneOf(plugin.Group):
    """``none-of``: not one of them holds."""

    HOLDS = 'none'

    def __call__(self, results: Iterable[bool]) -> bool:
        return not any(results)

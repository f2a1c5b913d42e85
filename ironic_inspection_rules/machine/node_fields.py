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

"""The names that Ironic knows in ``driver_info`` and ``properties``.

``node_fields.yaml`` is made by ``tools/collect_node_fields.py`` from Ironic's
code.
"""

import functools
import importlib.resources

import yaml

FIELDS = ('driver_info', 'properties')


@functools.cache
def known() -> dict[str, frozenset[str]]:
    """Return the known names by field of the node."""
    text = importlib.resources.files('ironic_inspection_rules.machine'
                                     ).joinpath('node_fields.yaml')
    read = yaml.safe_load(text.read_text('utf-8'))
    return {field: frozenset(read[field]) for field in FIELDS}

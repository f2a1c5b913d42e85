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

"""Options of the rules themselves.

Ironic registers ``mask_secrets`` in the same group; it is used as it is.
"""

import re

from oslo_config import cfg
from oslo_config import types

from ironic_inspection_rules.i18n import _

GROUP = 'inspection_rules'


class RegularExpression(types.String):
    """A string that is refused unless it compiles."""

    def __init__(self) -> None:
        super().__init__(type_name='regular expression value')

    def __call__(self, value: str) -> str:
        try:
            re.compile(value)
        except re.error as exc:
            raise ValueError(
                _('"%(value)s" is not a regular expression: %(reason)s')
                % {'value': value, 'reason': exc}) from exc
        return super().__call__(value)


opts = [
    cfg.StrOpt('built_in',
               help=_('Path to a YAML file with the built-in inspection '
                      'rules. It is read once, when a service starts.')),
    cfg.StrOpt('default_scope',
               help=_('Scope of the stored inspection rules that have none '
                      'of their own.')),
    cfg.Opt('supported_interfaces',
            type=RegularExpression(),
            default='^(agent|inspector)$',
            help=_('Regular expression for the inspect interfaces of the '
                   'nodes that the rules run on. Use ".*" to run them on '
                   'all nodes, also those with an out-of-band interface.')),
]

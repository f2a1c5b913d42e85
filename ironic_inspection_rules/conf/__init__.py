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

"""The options of this project, registered beside Ironic's own."""

from collections.abc import Sequence

from oslo_config import cfg

from ironic_inspection_rules.conf import coordination
from ironic_inspection_rules.conf import inspection_pxe_filter
from ironic_inspection_rules.conf import inspection_queue
from ironic_inspection_rules.conf import inspection_rules

_MODULES = (
    coordination,
    inspection_pxe_filter,
    inspection_queue,
    inspection_rules,
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register all options; doing so again changes nothing."""
    for module in _MODULES:
        conf.register_opts(module.opts, group=module.GROUP)


def list_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """List the options for the sample configuration generator."""
    return [(module.GROUP, module.opts) for module in _MODULES]

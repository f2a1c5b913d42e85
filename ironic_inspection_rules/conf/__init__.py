# SPDX-License-Identifier: Apache-2.0

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

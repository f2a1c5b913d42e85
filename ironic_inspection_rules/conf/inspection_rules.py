# SPDX-License-Identifier: Apache-2.0

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
    cfg.FloatOpt('phase_time_limit', default=10.0, min=0.1,
                 help=_('Seconds that the inspection rules of one phase may '
                        'take for one machine. Beyond, the inspection fails '
                        'and nothing of the phase is saved.')),
    cfg.FloatOpt('early_phase_time_limit', default=2.0, min=0.1,
                 help=_('The same for the early phase, which runs in the API '
                        'service on data that nobody has authenticated.')),
    cfg.IntOpt('phase_operation_limit', default=1_000_000, min=100,
               help=_('How many operations the inspection rules of one phase '
                      'may do for one machine. Each rule, each action '
                      'and each item of a loop is one; values count by their '
                      'size.')),
    cfg.IntOpt('early_phase_operation_limit', default=100_000, min=100,
               help=_('The same for the early phase.')),
    cfg.IntOpt('loop_limit', default=100_000, min=1,
               help=_('How many items one loop may have.')),
    cfg.StrOpt('built_in',
               help=_('Path to a YAML file with the built-in inspection '
                      'rules. It is read once, when a service starts.')),
    cfg.StrOpt('default_scope',
               help=_('Scope of the stored inspection rules that have none '
                      'of their own.')),
    cfg.Opt('supported_interfaces',
            type=RegularExpression(),
            default='^(agent|inspector|redfish|idrac-redfish)$',
            help=_('Regular expression for the inspect interfaces of the '
                   'nodes that the rules run on. Rules need an interface that '
                   'has inspection hooks or applies inspection rules: agent, '
                   'redfish and what is made of these. A conductor warns '
                   'about any other that matches.')),
    cfg.IntOpt('keep_revisions',
               default=100, min=1,
               help=_('Number of revisions of the rule set that are kept: '
                      'who changed which inspection rules, and what they '
                      'were.')),
    cfg.IntOpt('keep_runs', default=5, min=0, max=1000,
               help=_('How many of its last inspections are kept of each '
                      'node: which rules matched, and what they changed. 0 '
                      'keeps none.')),
    cfg.IntOpt('keep_history', default=0, min=0, max=36500,
               help=_('For how many days the data of each inspection are '
                      'kept: inventory and plugin data without the logs of '
                      'the ramdisk, what the rules found and what they did. '
                      'What did not change is stored once. 0 keeps none, '
                      'and removes what was kept.')),
    cfg.FloatOpt('statistics_period', default=5.0, min=0.1,
                 help=_('Seconds after which a process writes what it has '
                        'counted of the rules to the database.')),
]

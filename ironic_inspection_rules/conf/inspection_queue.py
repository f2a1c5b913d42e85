# SPDX-License-Identifier: Apache-2.0

"""Options of the inspection that is not lost.

The defaults and ranges are those of spec 001 ("Deployer impact").
"""

from oslo_config import cfg

from ironic_inspection_rules.i18n import _

GROUP = 'inspection_queue'

opts = [
    cfg.BoolOpt('enabled',
                default=False,
                help=_('Whether a posted inventory is stored before the '
                       'ramdisk is answered, and processed by inspection '
                       'workers. All services must agree on it.')),
    cfg.IntOpt('workers',
               min=1,
               sample_default='<number of processors>',
               help=_('Number of threads of one inspection worker, which is '
                      'the number of inventories it processes at once. '
                      'Defaults to the number of processors.')),
    cfg.BoolOpt('embedded',
                sample_default='<True if rpc_transport is none or local>',
                help=_('Whether the all-in-one ironic service runs an '
                       'inspection worker in its own process. Defaults to '
                       'True if rpc_transport is "none" or "local".')),
    cfg.FloatOpt('get_timeout',
                 default=3.0,
                 min=0.01,
                 help=_('Seconds that an idle worker waits for work before '
                        'it asks the queue again, and the longest time '
                        'before it notices that it shall stop.')),
    cfg.IntOpt('lease',
               default=60,
               min=1,
               help=_('Seconds without a sign of life after which a worker '
                      'counts as dead, and others take over what it was '
                      'processing. They are measured by the clock of the '
                      'database.')),
    cfg.IntOpt('max_attempts',
               default=3,
               min=1,
               help=_('Number of times that the processing of one request '
                      'is begun before its node fails inspection.')),
    cfg.IntOpt('processing_time_limit',
               default=600,
               min=1,
               help=_('Seconds that one delivery of a request may take. '
                      'After that its worker does not vouch for it any more, '
                      'another one takes over, and what the first one still '
                      'writes is refused. Loops of a worker that hang for '
                      'that long are started anew.')),
    cfg.ListOpt('conductor_groups',
                default=[],
                help=_('Conductor groups whose nodes this worker processes; '
                       'the group "" is that of nodes without one. All nodes '
                       'if empty. Nodes with hardware types that are not in '
                       '[DEFAULT]enabled_hardware_types are left to other '
                       'workers as well.')),
    cfg.FloatOpt('inspection_timeout',
                 default=900.0,
                 min=1.0,
                 max=900.0,
                 help=_('Seconds that a node may be in "inspect wait" '
                        'before it fails inspection. The timeout of the '
                        'conductor, [conductor]inspect_wait_timeout, '
                        'applies too. Neither counts once the data of the '
                        'node are accepted.')),
    cfg.FloatOpt('clean_up_period',
                 default=30.0,
                 min=0.01,
                 help=_('Seconds between two rounds of the tasks that one '
                        'worker does for all: timeouts, returning what dead '
                        'workers held, removing old requests and those of '
                        'deleted nodes.')),
    cfg.FloatOpt('report_expiration',
                 default=86400.0,
                 min=1.0,
                 help=_('Seconds that a request which is done stays visible.'
                        ' What the ramdisk sent last is kept as long as '
                        'the node.')),
    cfg.FloatOpt('reboot_throttle',
                 default=0.0,
                 min=0.0,
                 help=_('Seconds between two machines being powered on for '
                        'inspection in the whole cluster. 0 does not hold '
                        'any machine back.')),
    cfg.IntOpt('connection_retries',
               default=10,
               min=0,
               help=_('Number of times that a database or a coordination '
                      'service which is out of reach is tried again every '
                      'connection_retry_interval, before that is an error in '
                      'the log. After that a worker tries the database less '
                      'often. Services try for as long as they run. '
                      '[coordination]connection_retries takes its default '
                      'from here; the message broker has options of its '
                      'own, in [oslo_messaging_rabbit].')),
    cfg.FloatOpt('connection_retry_interval',
                 default=1.0,
                 min=0.0,
                 help=_('Seconds between two such retries.')),
]

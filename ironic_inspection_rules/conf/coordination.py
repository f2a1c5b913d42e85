# SPDX-License-Identifier: Apache-2.0

"""Where the members of a cluster meet to elect leaders and share locks.

The usual section of OpenStack services with tooz; Ironic has none.
"""

from oslo_config import cfg

from ironic_inspection_rules.i18n import _

GROUP = 'coordination'

opts = [
    cfg.StrOpt('backend_url',
               default='file://$state_path/coordination',
               secret=True,
               help=_('URL of the coordination service: '
                      '"redis://host:6379", "etcd3+http://host:2379", '
                      '"zookeeper://host:2181" or "file:///directory". '
                      'The default and any other directory do for services '
                      'on one host only, which all run as the same user.')),
    cfg.IntOpt('connection_retries',
               default='$inspection_queue.connection_retries',
               min=0,
               help=_('Number of retries after which a coordination service '
                      'that stays out of reach is logged as an error. '
                      'Services themselves try again for '
                      'as long as they run.')),
    cfg.FloatOpt('connection_retry_interval',
                 default='$inspection_queue.connection_retry_interval',
                 min=0.0,
                 help=_('Seconds between two such retries.')),
]

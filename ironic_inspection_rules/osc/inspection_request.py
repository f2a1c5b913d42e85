# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal inspection``: requests, and reapplying."""

import datetime
from typing import Any

from oslo_utils import timeutils

from ironic_inspection_rules.client import inspection_request
from ironic_inspection_rules.client import node
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import machine_file
from ironic_inspection_rules.osc import command

_COLUMNS = ('UUID', 'Node', 'State', 'Attempts', 'Age', 'Error')
_LONG = ('uuid', 'node_uuid', 'event', 'state', 'attempts', 'worker',
         'last_error', 'created_at', 'started_at', 'finished_at')
_LONGEST = 60


class ReapplyInspection(command.ShowOne):
    """Run hooks and rules again on what the ramdisk of a node sent.

    The machine is not touched. Shows the request; its state shows when it
    is done.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        command.add_node(parser)
        parser.add_argument(
            '--inventory', metavar='<file>',
            help=_('File with an inventory to use instead'))
        return parser

    def take_action(self, parsed_args):
        data: dict[str, Any] = {}
        if parsed_args.inventory:
            read = machine_file.load(parsed_args.inventory)
            data = {'inventory': read.inventory,
                    'plugin_data': read.plugin_data}
        return _as_columns(inspection_request.reapply_inspection(
            self.baremetal, parsed_args.node, **data))


class ListInspectionRequests(command.Lister):
    """List inspection requests, oldest first."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--node', metavar='<node>',
                            help=_('Only those of this node'))
        parser.add_argument('--long', action='store_true',
                            help=_('With worker, times and whole errors'))
        parser.add_argument('--state', metavar='<state>',
                            help=_('Only those in this state'))
        return parser

    def take_action(self, parsed_args):
        baremetal = self.baremetal
        found = list(inspection_request.inspection_requests(
            baremetal, node=parsed_args.node, state=parsed_args.state))
        if parsed_args.long:
            return _LONG, [tuple(each[name] for name in _LONG)
                           for each in found]
        names = {each['uuid']: each['name'] for each in node.nodes(
            baremetal, {}, ('uuid', 'name'))} if found else {}
        now = timeutils.utcnow(with_timezone=True)
        return _COLUMNS, [
            (each['uuid'], names.get(each['node_uuid']) or each['node_uuid'],
             each['state'], each['attempts'], _age(each['created_at'], now),
             _short(each['last_error'] or '')) for each in found]


class ShowInspectionRequest(command.ShowOne):
    """Show an inspection request."""

    def get_parser(self, prog_name):
        return _with_request(super().get_parser(prog_name))

    def take_action(self, parsed_args):
        return _as_columns(inspection_request.get_inspection_request(
            self.baremetal, parsed_args.request))


class AbortInspectionRequest(command.Command):
    """Abort an inspection request that is not yet processed."""

    def get_parser(self, prog_name):
        return _with_request(super().get_parser(prog_name))

    def take_action(self, parsed_args):
        inspection_request.abort_inspection_request(self.baremetal,
                                                    parsed_args.request)


def _age(created_at: str, now: datetime.datetime) -> str:
    """Return roughly how long ago something was."""
    created = timeutils.parse_isotime(created_at)
    if created.tzinfo is None:
        created = created.replace(tzinfo=datetime.UTC)
    seconds = int((now - created).total_seconds())
    for unit, length in (('d', 86400), ('h', 3600), ('min', 60)):
        if seconds >= length:
            return f'{seconds // length} {unit}'
    return f'{max(seconds, 0)} s'


def _short(error: str) -> str:
    # Ironic puts its own words before the reason, more than once.
    reason = error.rpartition('Reason: ')[2]
    return reason if len(reason) <= _LONGEST else f'{reason[:_LONGEST]}…'


def _with_request(parser):
    parser.add_argument('request', metavar='<request>',
                        help=_('UUID of the request'))
    return parser


def _as_columns(shown: dict[str, Any]):
    fields = {name: value for name, value in shown.items()
              if name != 'links'}
    return tuple(fields), tuple(fields.values())

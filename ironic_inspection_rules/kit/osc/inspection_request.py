# SPDX-License-Identifier: Apache-2.0

"""Commands for inspection requests: list, show, abort and reapply.

With durable inspection, Ironic puts every inspection into a queue as a
request. A request waits, is processed by a worker, and ends in the state
``finished`` or ``error``. Reapplying means to run hooks and rules again on the
data that a ramdisk has sent before. It also makes a request. ``inspection
reapply`` is for one node, ``inspection rule reapply`` for many nodes.
"""

import collections
from collections.abc import Iterable
import datetime
import functools
import json
from typing import Any, NamedTuple

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions
from oslo_utils import timeutils

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.kit.client import inspection_request
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.client import node
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel
from ironic_inspection_rules.kit.terminal import table

_COLUMNS = ('UUID', 'Node', 'State', 'Attempts', 'Age', 'Error')
_LONG = (
    'uuid',
    'node_uuid',
    'event',
    'state',
    'attempts',
    'worker',
    'last_error',
    'created_at',
    'started_at',
    'finished_at',
)

EXIT_INCOMPLETE = 1
"""The status of ``reapply`` if a node was refused or failed."""

ACCEPTED = 'accepted'
REFUSED = 'refused'
FINISHED = 'finished'
ERROR = 'error'
_DONE = (REFUSED, FINISHED, ERROR)
"""The final states of a reapplication."""

_UNDER_WAY = ('starting', 'waiting', 'processing')
"""The states of requests on which Ironic is still working."""

_PAUSE_SECONDS = 2
"""How long to wait if no request has ended since the last check."""

# Maximum number of nodes that are named. Further nodes are only counted.
_MAX_ROWS = 50


class ReapplyInspection(command.ShowOne):
    """Run hooks and rules again on the data that a ramdisk sent.

    The machine is not touched. Prints the request; its state shows when it
    is done. Needs durable inspection ([inspection_queue]enabled).
    """

    example = 'rack1-07'

    def add_arguments(self, parser):
        command.add_node(parser)
        parser.add_argument(
            '--inventory',
            metavar='<file>',
            type=arguments.check_path,
            help=_('File with an inventory to use instead'),
        )

    def take_action(self, parsed_args):
        """Reapply for one node, and return the fields of the new request.

        A warning is printed on standard error if the answer has no UUID.

        :returns: two values: the names of the fields, and their values.
        """
        # If no data are sent, Ironic uses the data that the ramdisk has sent.
        data: dict[str, Any] = {}
        if parsed_args.inventory:
            machine = machine_file.load(parsed_args.inventory)
            data = {
                'inventory': machine.inventory,
                'plugin_data': machine.plugin_data,
            }
        request = inspection_request.reapply_inspection(
            self.baremetal, parsed_args.node, **data
        )
        if request.get('uuid') is None:
            # Ironic has accepted the request, so this is not an error.
            self.app.stderr.write(
                _('Warning: %s\n') % inspection_request.UUID_UNKNOWN
            )
        return _as_columns(request)


class ListInspectionRequests(command.Lister):
    """List inspection requests, oldest first."""

    example = '--state waiting'

    def add_arguments(self, parser):
        parser.add_argument(
            '--node', metavar='<node>', help=_('Only those of this node')
        )
        parser.add_argument(
            '--long',
            action='store_true',
            help=_('With worker, times and whole errors'),
        )
        parser.add_argument(
            '--state',
            metavar='<state>',
            help=_('Only those in this state: %s')
            % ', '.join((*_UNDER_WAY, FINISHED, ERROR)),
        )

    def take_action(self, parsed_args):
        """List the requests that fit the options.

        With ``--long``, all fields are shown as Ironic returns them. Otherwise
        the row is shorter, e.g. ``1c7c…, rack1-07, waiting, 0, 3 h, ''``: it
        has the name of the node, the age of the request, and a short error.

        :returns: the titles of the columns, and one row per request.
        """
        baremetal = self.baremetal
        requests = list(
            inspection_request.inspection_requests(
                baremetal, node=parsed_args.node, state=parsed_args.state
            )
        )
        if parsed_args.long:
            return _LONG, [
                tuple(request[name] for name in _LONG) for request in requests
            ]
        # A request only has the UUID of its node, so read the names.
        names: dict[str, str | None] = {}
        if requests:
            names = _read_node_names(baremetal)
        now = timeutils.utcnow(with_timezone=True)
        rows = []
        for request in requests:
            node_uuid = request['node_uuid']
            error = command.extract_reason(request['last_error'] or '')
            rows.append(
                (
                    request['uuid'],
                    names.get(node_uuid) or node_uuid,
                    request['state'],
                    request['attempts'],
                    _format_age(request['created_at'], now),
                    command.shorten(error),
                )
            )
        return _COLUMNS, rows


def _read_node_names(baremetal: Any) -> dict[str, str | None]:
    """Return the names of all nodes by UUID.

    The name of a node may be None. Users who may list requests may not be
    allowed to list nodes. For them the result is empty.
    """
    try:
        nodes = list(node.nodes(baremetal, {}, ('uuid', 'name')))
    except sdk_exceptions.ForbiddenException:
        return {}
    return {fields['uuid']: fields['name'] for fields in nodes}


class ShowInspectionRequest(command.ShowOne):
    """Show an inspection request."""

    example = '1c7c4f0e-3f2b-4a70-9a52-5c0a4b3f9d11'

    def add_arguments(self, parser):
        _add_request_argument(parser)

    def take_action(self, parsed_args):
        """Return the fields of the request, without links."""
        request = inspection_request.get_inspection_request(
            self.baremetal, parsed_args.request
        )
        return _as_columns(request)


class AbortInspectionRequest(command.BaremetalCommand):
    """Abort an inspection request that is not yet processed."""

    example = '1c7c4f0e-3f2b-4a70-9a52-5c0a4b3f9d11'

    def add_arguments(self, parser):
        _add_request_argument(parser)

    def take_action(self, parsed_args):
        inspection_request.abort_inspection_request(
            self.baremetal, parsed_args.request
        )


def _format_age(created_at: str | None, now: datetime.datetime) -> str:
    """Return the age of a request in its largest whole unit.

    For example, an age of 3 hours and 30 minutes becomes ``3 h``.

    :param created_at: the time in ISO 8601 format, in UTC if it has no zone.
        Any other text is returned unchanged. None becomes an empty text.
    :param now: the present time, with a zone.
    """
    if created_at is None:
        return ''
    try:
        created = timeutils.parse_isotime(created_at)
    except ValueError:
        return created_at
    if created.tzinfo is None:
        created = created.replace(tzinfo=datetime.UTC)
    seconds = int((now - created).total_seconds())
    for unit, seconds_of_unit in (('d', 86400), ('h', 3600), ('min', 60)):
        if seconds >= seconds_of_unit:
            return f'{seconds // seconds_of_unit} {unit}'
    # The number is negative if the clock of the server is ahead.
    return f'{max(seconds, 0)} s'


def _add_request_argument(parser):
    """Add the argument for the UUID of a request."""
    parser.add_argument(
        'request', metavar='<request>', help=_('UUID of the request')
    )


def _as_columns(request: dict[str, Any]):
    """Return names and values of the fields of a request, except links."""
    fields = dict(request)
    fields.pop('links', None)
    return tuple(fields), tuple(fields.values())


class Reapplication(NamedTuple):
    """The reapplication for one node, and how far it has come.

    :ivar name: the name of the node, or its UUID if it has no name.
    :ivar state: ``refused`` if Ironic did not accept it, ``accepted`` while
        Ironic works on the request, then ``finished`` or ``error``.
    :ivar request: the UUID of the request; None if it was refused, or if
        Ironic's answer had no UUID.
    :ivar reason: why it was refused or ended in an error.
    """

    name: str
    state: str
    request: str | None
    reason: str | None = None

    @property
    def has_failed(self) -> bool:
        """Whether Ironic refused it, or its request ended in an error."""
        return self.state in (REFUSED, ERROR)


class ReapplyInspectionRules(command.BaremetalCommand):
    """Run hooks and rules again on the data that ramdisks of many nodes sent.

    The machines are not touched. Needs durable inspection
    ([inspection_queue]enabled). Returns 1 if a node is refused or, with
    --wait, fails.
    """

    example = '--nodes rack1-07 --wait'

    def add_arguments(self, parser):
        node_selection.add_argument(
            parser, '--nodes', required=True, action='extend'
        )
        parser.add_argument(
            '--limit',
            metavar='<number>',
            type=arguments.parse_positive,
            help=_('Reapply for this many nodes at most'),
        )
        parser.add_argument(
            '--wait',
            action='store_true',
            help=_('Wait until all requests are done, and show what failed'),
        )
        parallel.add_jobs(parser)

    def take_action(self, parsed_args):
        """Reapply for the selected nodes, and print what has become of it.

        With ``--wait``, first wait until all requests have ended. If the
        command ends early, because of an interrupt or an error, it prints the
        reapplications so far. Ironic goes on with the requests that it has
        accepted.

        :returns: the exit status: 1 if a reapplication was refused or has
            failed, 130 after an interrupt, otherwise 0.
        """
        selection = node_selection.NodeSelection.parse(parsed_args.nodes)
        baremetal = self.baremetal
        # The threads append to this list. After an interrupt or an error it
        # still has all reapplications that Ironic has accepted.
        reapplications: list[Reapplication] = []
        reapply = functools.partial(_reapply_node, baremetal, reapplications)
        try:
            _require_queue(baremetal)
            nodes = selection.read_matching_nodes(
                baremetal, max_count=parsed_args.limit
            )
            with parallel.RequestThreads(parsed_args.jobs) as threads:
                # The iteration makes the calls. There are no results, because
                # the threads append them to the list.
                for _no_result in threads.map(reapply, nodes, _('Reapplying')):
                    pass
                if parsed_args.wait:
                    _wait_for_requests(threads, baremetal, reapplications)
        except KeyboardInterrupt:
            if reapplications:
                self._show(reapplications)
            message = _('Interrupted')
            if _is_any_under_way(reapplications):
                message = _(
                    'Interrupted; what Ironic has accepted goes on, see '
                    '"openstack baremetal inspection request list"'
                )
            self.app.stderr.write(f'{message}\n')
            return parallel.EXIT_INTERRUPTED
        except http.REQUEST_ERRORS:
            # The base class of all commands prints the error. Before that, say
            # which requests go on.
            if reapplications:
                self._show(reapplications)
            if _is_any_under_way(reapplications):
                self.app.stderr.write(
                    _(
                        'What Ironic has accepted goes on, see "openstack '
                        'baremetal inspection request list"\n'
                    )
                )
            raise
        self._show(reapplications)
        if any(reapplication.has_failed for reapplication in reapplications):
            return EXIT_INCOMPLETE
        return 0

    def _show(self, reapplications: list[Reapplication]) -> None:
        """Print the numbers of reapplications by state, and the failed ones.

        The numbers are one line, e.g. ``2 accepted, 1 refused``. The
        reapplications that were refused or failed follow as a table with their
        reasons, sorted by the name of the node. It has at most 50 rows.
        """
        output = self.app.stdout
        states = collections.Counter(
            reapplication.state for reapplication in reapplications
        )
        counts = [
            f'{count} {state}' for state, count in sorted(states.items())
        ]
        output.write(', '.join(counts) or _('no nodes'))
        output.write('\n')
        rows = []
        for reapplication in reapplications:
            if reapplication.has_failed:
                reason = reapplication.reason or ''
                rows.append([reapplication.name, reapplication.state, reason])
        if not rows:
            return
        rows.sort()
        titles = [_('Node'), _('State'), _('Reason')]
        table_of_failed = table.render(titles, rows[:_MAX_ROWS], output)
        output.write(f'{table_of_failed}\n')
        left_out = len(rows) - _MAX_ROWS
        if left_out > 0:
            output.write(_('and %d more\n') % left_out)


def _require_queue(baremetal: Any) -> None:
    """Raise an error if durable inspection is not enabled in Ironic.

    An Ironic without durable inspection does not know the call that lists
    requests. This function makes the call, and ignores its result.

    :raises: CommandError that says how to enable durable inspection.
    """
    requests = inspection_request.inspection_requests(baremetal, limit=1)
    try:
        # The call is made when the first item is read.
        next(iter(requests), None)
    except sdk_exceptions.ForbiddenException:
        # Ironic knows the call. The user may not list requests, but may be
        # allowed to reapply.
        return
    except sdk_exceptions.NotFoundException as exc:
        if not inspection_rule.has_plugin(baremetal):
            # The base class of all commands reports what is missing.
            raise
        raise osc_exceptions.CommandError(
            _(
                'Reapplying needs durable inspection: set '
                '[inspection_queue]enabled = True in ironic.conf, run '
                'ironic-inspection-rules-dbsync upgrade, and restart Ironic'
            )
        ) from exc


def _is_any_under_way(reapplications: Iterable[Reapplication]) -> bool:
    """Return whether some accepted reapplications have not ended yet."""
    return any(
        reapplication.state not in _DONE for reapplication in reapplications
    )


def _reapply_node(
    baremetal: Any,
    reapplications: list[Reapplication],
    node_fields: dict[str, Any],
) -> None:
    """Ask Ironic to reapply for one node, and append the result to a list.

    The result is ``accepted`` with the UUID of the request, if it is known, or
    ``refused`` with the reason.

    :param reapplications: the list to append to.
    :param node_fields: the node, with ``uuid`` and ``name``.
    :raises: the error of the request if another attempt may succeed, or if
        there is no answer. Nothing is appended then.
    """
    uuid = node_fields['uuid']
    name = node_fields['name'] or uuid
    try:
        request = inspection_request.reapply_inspection(baremetal, uuid)
    except sdk_exceptions.HttpException as exc:
        if parallel.is_transient(exc):
            raise
        reapplication = Reapplication(
            name, REFUSED, request=None, reason=exc.details or str(exc)
        )
    else:
        reapplication = Reapplication(name, ACCEPTED, request.get('uuid'))
    reapplications.append(reapplication)


def _wait_for_requests(
    threads: parallel.RequestThreads,
    baremetal: Any,
    reapplications: list[Reapplication],
) -> None:
    """Wait until the requests of all reapplications have ended.

    The states of all requests are read again and again.

    :param reapplications: the reapplications of all nodes. When a request
        ends, its item in the list is replaced by one with the final state.
    """
    read_state = functools.partial(_read_state, baremetal)
    while True:
        # The reapplications that have not ended, by their index in the list.
        waiting = {}
        for index, reapplication in enumerate(reapplications):
            if reapplication.state not in _DONE:
                waiting[index] = reapplication
        if not waiting:
            return
        updated = threads.map(
            read_state,
            list(waiting.values()),
            _('Waiting for %d') % len(waiting),
        )
        has_any_ended = False
        # Replace the items one by one: after an interrupt, the caller prints
        # the states that have been read until then.
        for index, reapplication in zip(waiting, updated, strict=True):
            reapplications[index] = reapplication
            if reapplication.state in _DONE:
                has_any_ended = True
        if not has_any_ended:
            # Do not burden Ironic with constant requests.
            threads.pause(_PAUSE_SECONDS)


def _read_state(baremetal: Any, reapplication: Reapplication) -> Reapplication:
    """Read the state of a request, and return the updated reapplication.

    * While Ironic works on the request, the reapplication is unchanged.
    * If the request has ended, its state and its error are taken over.
    * If Ironic no longer has the request, or if its state or its UUID is
      unknown, the state of the reapplication becomes ``error``.

    :param reapplication: a reapplication that Ironic has accepted.
    """
    if reapplication.request is None:
        return reapplication._replace(
            state=ERROR, reason=inspection_request.UUID_UNKNOWN
        )
    try:
        request = inspection_request.get_inspection_request(
            baremetal, reapplication.request
        )
    except sdk_exceptions.NotFoundException:
        return reapplication._replace(
            state=ERROR,
            reason=_('the request is gone, with its node or by age'),
        )
    state = request.get('state')
    if state in _UNDER_WAY:
        return reapplication
    if state in (FINISHED, ERROR):
        return reapplication._replace(
            state=state, reason=request.get('last_error')
        )
    # This release does not know the state. If it waited for another state, it
    # might wait forever.
    return reapplication._replace(
        state=ERROR,
        reason=_(
            'the state of its request is %s, which this release of the '
            'command does not know'
        )
        % json.dumps(state),
    )

# SPDX-License-Identifier: Apache-2.0

"""The API that replays kept inspections with other rules.

The data of past inspections are kept. To *replay* an inspection means to
evaluate rules on its data again, without storing anything: first the rules of
its time, to make sure that it ends as it did then, and then the rules to try.
The answer shows how the endings differ. If the inspection does not end as it
did then, it is *incomparable* with the rules to try.
"""

from collections.abc import Collection, Iterator, Sequence
import dataclasses
import functools
from typing import Any

from ironic.common import context as ironic_context
from ironic.common import exception as ironic_exception
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import posted_rules
from ironic_inspection_rules.api import stream
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import evaluate
from ironic_inspection_rules.api.controllers import inventory_history
from ironic_inspection_rules.api.fleet import page as fleet_page
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import replay

LOG = log.getLogger(__name__)

SCHEMA = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {
        **evaluate.PAGE,
        **posted_rules.MEMBERS,
        'since': {'type': ['string', 'null']},
    },
}
"""Body of a request to decide kept inspections again."""

_ERROR = 'error'
_MOST_COMPILED_SETS = 8
"""Maximum number of compiled rule sets of earlier revisions in the cache."""

Entry = dict[str, Any]


def post(body: Entry) -> Entry:
    """Send how kept inspections would end with other rules.

    The entries are computed one after another while the answer is sent.

    :param body: the rules to try; the nodes whose inspections are replayed, or
        all nodes if ``nodes`` is missing; the page; and ``since``, the time of
        the oldest inspection.
    :returns: an empty mapping, because the stream is the answer.
    """
    since = None
    if body['since']:
        since = inventory_history.convert_time('since', body['since'])
    nodes = body['nodes']
    if nodes is None:
        # Without filters, these are all nodes.
        nodes = {}
    problems = fleet_page.find_problems(nodes, body['marker'])
    if problems:
        # This raises an error that also has the problems of the rules.
        posted_rules.refuse(body, problems)
    plans = posted_rules.compile_plans(body)
    page = fleet_page.find_nodes(nodes, body['limit'], body['marker'])
    uuids = {uuid for _ident, uuid in page.nodes if uuid}
    # The UUIDs of the nodes whose history the caller may read.
    readable = inventory_history.find_readable(uuids, page.filters)
    # These are generated while the answer is sent.
    entries = _Replay(plans, since).replay_nodes(page.nodes, readable)
    stream.send(stream.generate_page(entries, 'runs', page.next))
    return {}


@functools.lru_cache(_MOST_COMPILED_SETS)
def _compile(
    rules: repository.Repository, revision: int | None, options: str
) -> posted_rules.Plans:
    """Compile the rules of an earlier revision, by phase.

    The result is cached, because most inspections ran with the rules of a few
    revisions.

    :param rules: the rules in force.
    :param revision: the revision of the stored rules; None counts as 0.
    :param options: the built-in rules and the options of that time, see
        :class:`.Repository`.
    :raises: Incomparable if the rules are not kept, or no longer compile.
    """
    try:
        context = ironic_context.get_admin_context()
        stored = rule_object.StoredRule.get_rules_of_revision(
            context, revision or 0
        )['rules']
        # Use the repository of the rules in force: most rows are still the
        # same, so they are not read again, and take no additional memory.
        tables = rules.tables_of(context, revision or 0)
        rules_then = rules.with_options(options)
        return rules_then.compile(rules_then.with_stored(stored), tables)
    except ironic_exception.NotFound:
        raise replay.Incomparable(
            _('the rules of revision %s are not kept any more') % revision
        ) from None
    except exceptions.InvalidRule:
        raise replay.Incomparable(
            _('a rule of revision %s does not compile any more') % revision
        ) from None


@dataclasses.dataclass(frozen=True)
class _Replay:
    """Replays kept inspections, first with the rules of their time.

    ``plans`` are the rules to try: the rules in force together with the posted
    ones. None to replay only with the rules of the time. ``since`` is the time
    of the oldest inspection; None for all.
    """

    plans: posted_rules.Plans | None
    since: Any

    def replay_nodes(
        self,
        nodes: Sequence[fleet_page.RequestedNode],
        readable: Collection[str],
    ) -> Iterator[Entry]:
        """Yield an entry for every run, the newest run of a node first.

        A node that the caller may not read has one entry with an error.

        :param nodes: the names or UUIDs of the request, with their UUIDs.
        :param readable: the UUIDs of the nodes that the caller may read.
        """
        for ident, uuid in nodes:
            if uuid is None or uuid not in readable:
                # The error is the same for both, because the caller must not
                # learn whether such a node exists.
                yield {
                    'node': ident,
                    'outcome': _ERROR,
                    'reason': _('Node %s could not be found.') % ident,
                }
                continue
            for row, document in history.read_back(uuid, since=self.since):
                yield {
                    'node': uuid,
                    'run': row.uuid,
                    'created_at': view.format_time(row.created_at),
                    'revision': document.get('revision'),
                    **self._try(row, document),
                }

    def _try(self, row: Any, document: history.Document) -> Entry:
        """Return how a run ends, as members of its entry.

        This never raises an error. An error becomes the entry of this
        inspection, because the answer has other inspections as well.

        :param row: the row of the kept inventory, with the UUID of its run.
        :param document: the data of the inspection.
        """
        # Reads the inventory of the inspection before, if rules need it.
        read_inventory_before = functools.partial(
            history.stored_before, row.node_uuid, row.id
        )
        try:
            return self._decide(
                replay.KeptInspection(document, read_inventory_before)
            )
        except replay.Incomparable as exc:
            return {'outcome': replay.INCOMPARABLE, 'reason': str(exc)}
        except Exception as exc:
            LOG.exception('Inspection %s cannot be replayed', row.uuid)
            return {'outcome': _ERROR, 'reason': exceptions.reason_of(exc)}

    def _decide(self, kept_inspection: replay.KeptInspection) -> Entry:
        """Repeat a run with the rules of its time, then with the rules to try.

        The rules to try are compared only if the repeated run ends as it did
        then. Otherwise it is unknown whether they cause a difference.

        :param kept_inspection: the inspection: its facts, and how it ended.
        :returns: members of the entry: ``{'outcome': 'different', 'reason':
            None, 'then': {…}, 'now': {…}}``. ``now`` is missing without rules
            to try.
        :raises: Incomparable if there are rules to try and the repeated run
            ends differently, or if the rules of its time are not kept or do
            not compile.
        """
        rules = start.rules()
        # The compiled rules of the time of the inspection, by phase.
        plans_then = {}
        for phase in kept_inspection.phases:
            # Phases may have run with different revisions.
            plans_of_revision = _compile(
                rules, kept_inspection.revision(phase), kept_inspection.options
            )
            plans_then[phase] = plans_of_revision[phase]
        # How every phase of the repeated run ends, and a text that says how
        # the repeated run ends differently; None if it ends as it did then.
        ends, deviation = kept_inspection.repeat(plans_then, rules.limits)
        if self.plans is None:
            # There are no rules to try. Only answer how the repeated run ends.
            return {
                'outcome': _outcome(differs=bool(deviation)),
                'reason': deviation,
                'then': kept_inspection.ending,
            }
        if deviation:
            raise replay.Incomparable(
                _('by the rules of its time it does not end as it did: %s')
                % deviation
            )
        now = replay.compare(kept_inspection, ends, self.plans, rules.limits)
        # The answer has this member only as its outcome.
        differs = now.pop('differs')
        return {
            'outcome': _outcome(differs),
            'reason': None,
            'then': kept_inspection.ending,
            'now': now,
        }


def _outcome(differs: bool) -> str:
    """Return the outcome of a replay that could be compared."""
    if differs:
        return replay.DIFFERENT
    return replay.SAME

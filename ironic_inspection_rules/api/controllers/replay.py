# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules/replay: kept inspections decided again."""

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
from ironic_inspection_rules.inspection import limits
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.runs import history
from ironic_inspection_rules.runs import replay

LOG = log.getLogger(__name__)

SCHEMA = {
    'type': 'object', 'additionalProperties': False, 'properties': {
        **evaluate.PAGE, **posted_rules.MEMBERS,
        'since': {'type': ['string', 'null']}}}
"""Body of a request to decide kept inspections again."""

_ERROR = 'error'
_SETS = 8
"""Rule sets of earlier times that are kept compiled."""

Entry = dict[str, Any]


def post(asked: Entry) -> Entry:
    """Send how each kept inspection would end, entry by entry."""
    since = asked['since'] and inventory_history.time('since', asked['since'])
    plans = posted_rules.plans(asked)
    page = fleet_page.find({} if asked['nodes'] is None else asked['nodes'],
                           asked['limit'], asked['marker'])
    readable = inventory_history.readable(
        {uuid for _asked, uuid in page.nodes if uuid}, page.filters)
    stream.send(stream.page(
        _Replay(plans, since).all(page.nodes, readable), 'runs', page.next))
    return {}


@functools.lru_cache(_SETS)
def _compile(rules: repository.Repository, revision: int | None, options: str
             ) -> posted_rules.Plans:
    try:
        context = ironic_context.get_admin_context()
        stored = rule_object.Rule.get_rules_of_revision(
            context, revision or 0)['rules']
        # Rows that are still in force are shared with these.
        tables = rules.tables_of(context, revision or 0)
        rules = rules.with_options(options)
        return rules.compile(rules.with_stored(stored), tables)
    except ironic_exception.NotFound:
        raise replay.Incomparable(
            _('the rules of revision %s are not kept any more')
            % revision) from None
    except exceptions.InvalidRule:
        raise replay.Incomparable(
            _('a rule of revision %s does not compile any more')
            % revision) from None


@dataclasses.dataclass(frozen=True)
class _Replay:
    """The rules to try on each run.

    ``plans`` are the rules in force with the given ones among them, None for
    the rules of its time.
    """

    plans: posted_rules.Plans | None
    since: Any

    def all(self, nodes: Sequence[tuple[str, str | None]],
            readable: Collection[str]) -> Iterator[Entry]:
        """Yield an entry for each run, those of a node newest first.

        :param nodes: what was asked for, and the UUID.
        :param readable: the UUIDs of those that the caller may read.
        """
        for asked, uuid in nodes:
            if uuid is None or uuid not in readable:
                yield {'node': asked, 'outcome': _ERROR, 'reason': _(
                    'Node %s could not be found.') % asked}
                continue
            for row, document in history.read_back(uuid, since=self.since):
                yield {'node': uuid, 'run': row.uuid, 'created_at':
                       view.time(row.created_at), 'revision':
                       document.get('revision'), **self._of(row, document)}

    def _of(self, row: Any, document: history.Document) -> Entry:
        """Return how a run ends; never raises."""
        try:
            past = replay.Past(document, functools.partial(
                history.stored_before, row.node_uuid, row.id))
            return self._decided(past)
        except replay.Incomparable as exc:
            return {'outcome': replay.INCOMPARABLE, 'reason': str(exc)}
        # The answer has other inspections.
        except Exception as exc:
            LOG.exception('Inspection %s cannot be decided again', row.uuid)
            return {'outcome': _ERROR,
                    'reason': exceptions.reason_of(exc)}

    def _decided(self, past: replay.Past) -> Entry:
        allowed = limits.by_phase()
        ends, otherwise = past.again({
            phase: _compile(start.rules(), past.revision(phase),
                            past.options)[phase] for phase in past.phases},
            allowed)
        if self.plans is None:
            return {'outcome': replay.DIFFERENT if otherwise else replay.SAME,
                    'reason': otherwise, 'then': past.ending}
        if otherwise:
            raise replay.Incomparable(
                _('by the rules of its time it does not end as it did: %s')
                % otherwise)
        now = replay.compare(past, ends, self.plans, allowed)
        return {'outcome': (replay.DIFFERENT if now.pop('differs')
                            else replay.SAME), 'reason': None,
                'then': past.ending, 'now': now}

# SPDX-License-Identifier: Apache-2.0

"""One page of all rules, built-in and stored, in the order asked for."""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from ironic.common import exception as ironic_exception

from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.objects import rule as rule_object

CREATION_ORDER = 'id'
SORT_KEYS = (CREATION_ORDER, *(name for name in view.BRIEF_FIELDS
                               if name != 'built_in'))


def page(context: Any, built_in: Iterable[model.Rule],
         filters: dict[str, Any], sort_key: str | None, descending: bool,
         limit: int, marker: str | None
         ) -> tuple[Sequence[Any], bool]:
    """Read the rules of one page.

    Rules that the key does not tell apart are in the order in which they
    run: built-in ones first, then by creation. Text is compared by code
    point, whatever the database would do.

    :param filters: fields and the values they must have.
    :param sort_key: one of :data:`SORT_KEYS`; None for the order in which
        the rules run.
    :param limit: number of rules on a page.
    :param marker: UUID of the last rule of the page before.
    :returns: the rules, and whether more follow; there is a rule then.
    :raises: InspectionRuleNotFound if there is no such marker.
    """
    own = {rule.uuid: rule for rule in built_in
           if all(getattr(rule, name) == value
                  for name, value in filters.items())}
    uuids = _sorted_uuids(context, own, filters, sort_key, descending)
    start = 0
    if marker is not None:
        try:
            start = uuids.index(marker) + 1
        except ValueError as exc:
            raise ironic_exception.InspectionRuleNotFound(
                rule=marker) from exc
    wanted = uuids[start:start + limit]
    stored = {rule.uuid: rule for rule in rule_object.Rule.list(
        context, {'uuid': [uuid for uuid in wanted if uuid not in own]})}
    # A rule can go between one query and the next.
    rules = [found for uuid in wanted
             if (found := own.get(uuid) or stored.get(uuid))]
    more = len(uuids) > start + limit
    if more and not rules:
        return page(context, built_in, filters, sort_key, descending, limit,
                    marker)
    return rules, more


def _sorted_uuids(context: Any, own: dict[str, model.Rule],
                  filters: dict[str, Any], sort_key: str | None,
                  descending: bool) -> list[str]:
    def values(field: str) -> dict[str, Any]:
        return {
            **{uuid: getattr(rule, field, None)
               for uuid, rule in own.items()},
            **dict(rule_object.Rule.list_values(context, field, filters))}

    if sort_key == CREATION_ORDER:
        uuids = [*values('uuid')]
        return uuids[::-1] if descending else uuids
    if sort_key is None:
        # A rule can go between one query and the next.
        phases, priorities = values('phase'), values('priority')
        uuids = sorted(
            (uuid for uuid in phases if uuid in priorities),
            key=lambda uuid: (model.PHASES.index(phases[uuid]),
                              -priorities[uuid]))
        return uuids[::-1] if descending else uuids
    found = values(sort_key)
    return sorted(found, key=lambda uuid: (found[uuid] is not None,
                                           found[uuid]), reverse=descending)

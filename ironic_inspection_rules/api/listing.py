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

"""One page of all rules, built-in and stored, in the order asked for."""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from ironic.common import exception as ironic_exception

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.objects import rule as rule_object

CREATION_ORDER = 'id'
SORT_KEYS = (CREATION_ORDER, 'uuid', 'description', 'priority', 'scope',
             'sensitive', 'phase', 'created_at', 'updated_at')


def page(context: Any, built_in: Iterable[model.Rule],
         filters: dict[str, Any], sort_key: str, descending: bool,
         limit: int, marker: str | None
         ) -> tuple[Sequence[Any], bool]:
    """Read the rules of one page.

    Rules that the key does not tell apart are in the order in which they
    run: built-in ones first, then by creation. Text is compared by code
    point, whatever the database would do.

    :param filters: fields and the values they must have.
    :param sort_key: one of :data:`SORT_KEYS`.
    :param limit: number of rules on a page.
    :param marker: UUID of the last rule of the page before.
    :returns: the rules, and whether more follow.
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
    return rules, len(uuids) > start + limit


def _sorted_uuids(context: Any, own: dict[str, model.Rule],
                  filters: dict[str, Any], sort_key: str,
                  descending: bool) -> list[str]:
    field = 'uuid' if sort_key == CREATION_ORDER else sort_key
    values = [(uuid, getattr(rule, field, None))
              for uuid, rule in own.items()]
    values += rule_object.Rule.list_values(context, field, filters)
    if sort_key != CREATION_ORDER:
        values.sort(key=lambda pair: (pair[1] is not None, pair[1]),
                    reverse=descending)
    elif descending:
        values.reverse()
    return [uuid for uuid, _value in values]

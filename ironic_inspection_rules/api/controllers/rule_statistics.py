# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules/statistics: what is counted of each rule."""

from typing import Any

from ironic import api

from ironic_inspection_rules.api import request
from ironic_inspection_rules.inspection import keeping
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.rule_set import repository

_OF_RULE = ('uuid', 'description', 'phase', 'mode')
_COUNTED: dict[str, Any] = {
    'runs': 0, 'matched': 0, 'failed': 0, 'audited': 0, 'seconds': 0.0,
    'last_matched_at': None, 'last_matched_node': None, 'since': None}
FIELDS = (*_OF_RULE, *_COUNTED)


QUERY = {'fields': request.fields(FIELDS),
         'sort_key': request.one_of(FIELDS), 'sort_dir': request.SORT_DIR}


def get(query: dict[str, Any]) -> dict[str, Any]:
    """List the statistics of all rules, in the order they run in."""
    keeping.counter().flush()
    context = api.request.context
    counted = {row['rule_uuid']: row for row in
               rule_statistics.RuleStatistics.list(context)}
    rules = repository.order(start.rules().in_force(context))
    rows = [{**{name: getattr(rule, name) for name in _OF_RULE},
             **{name: counted.get(rule.uuid, _COUNTED)[name]
                for name in _COUNTED}} for rule in rules]
    if (key := query['sort_key']) is not None:
        rows.sort(key=lambda row: (row[key] is not None, row[key]),
                  reverse=query['sort_dir'] == 'desc')
    return {'statistics': [
        {name: row[name] for name in query['fields'] or FIELDS}
        for row in rows]}

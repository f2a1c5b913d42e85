# SPDX-License-Identifier: Apache-2.0

"""The API of statistics: how often rules ran and matched.

The statistics of a rule are e.g. ``{'uuid': UUID, 'description': 'Rack',
'runs': 12, 'matched': 5, 'last_matched_at': TIME, …}``.
"""

from collections.abc import Mapping
from typing import Any

from ironic import api

from ironic_inspection_rules.api import request
from ironic_inspection_rules.inspection import rule_counter
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.rule_set import repository

_OF_RULE = ('uuid', 'description', 'phase', 'mode')
_COUNTS_BEFORE_FIRST_RUN: dict[str, Any] = {
    'runs': 0,
    'matched': 0,
    'failed': 0,
    'audited': 0,
    'seconds': 0.0,
    'last_matched_at': None,
    'last_matched_node': None,
    'since': None,
}
_COUNTED = tuple(_COUNTS_BEFORE_FIRST_RUN)
FIELDS = (*_OF_RULE, *_COUNTED)

QUERY = {
    'fields': request.make_fields_converter(FIELDS),
    'sort_key': request.make_word_converter(FIELDS),
    'sort_dir': request.SORT_DIR,
}


def get(query: dict[str, Any]) -> dict[str, Any]:
    """List the statistics of all rules.

    They are listed in the order in which the rules run, unless the query has
    a ``sort_key``. A rule that has never run has zeros.

    :param query: ``sort_key``, ``sort_dir``, and ``fields``, the names of the
        fields to show; None for a missing parameter.
    """
    # Store the counts that this process has collected so far, because only
    # stored counts are read below.
    rule_counter.get_counter().flush()
    context = api.request.context
    counts_by_uuid = {}
    for counts in rule_statistics.RuleStatistics.list(context):
        counts_by_uuid[counts['rule_uuid']] = counts
    rows = []
    for rule in repository.order(start.rules().read_rules_in_force(context)):
        counts = counts_by_uuid.get(rule.uuid, _COUNTS_BEFORE_FIRST_RUN)
        rows.append(_represent(rule, counts))
    sort_key = query['sort_key']
    if sort_key is not None:

        def key(row: dict[str, Any]) -> tuple[bool, Any]:
            # Null cannot be compared with text or numbers; it comes first.
            return row[sort_key] is not None, row[sort_key]

        rows.sort(key=key, reverse=query['sort_dir'] == 'desc')
    fields = query['fields'] or FIELDS
    statistics = []
    for row in rows:
        statistics.append({name: row[name] for name in fields})
    return {'statistics': statistics}


def _represent(rule: Any, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statistics of a rule with all fields.

    :param counts: the counts of the rule by name; other members are ignored.
    """
    row = {name: getattr(rule, name) for name in _OF_RULE}
    for name in _COUNTED:
        row[name] = counts[name]
    return row

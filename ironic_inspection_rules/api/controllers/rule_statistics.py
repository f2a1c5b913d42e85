# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules/statistics: what is counted of each rule."""

from collections.abc import Iterable
from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import version
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import keeping
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import rule_statistics
from ironic_inspection_rules.policies import inspection_run as policies
from ironic_inspection_rules.rule_set import repository

RESOURCE = 'statistics'

_OF_RULE = ('uuid', 'description', 'phase', 'mode')
_COUNTED: dict[str, Any] = {
    'runs': 0, 'matched': 0, 'failed': 0, 'audited': 0, 'seconds': 0.0,
    'last_matched_at': None, 'last_matched_node': None, 'since': None}
FIELDS = (*_OF_RULE, *_COUNTED)


class RuleStatisticsController(base.RestController):
    """How often each rule in force ran, matched and failed.

    :param rules: the rules in force.
    """

    def __init__(self, rules: repository.Repository) -> None:
        self._rules = rules

    @base.expose()
    @version.since_inspection_rules_get
    def get(self) -> dict[str, Any]:
        """List the statistics of all rules, in the order they run in."""
        api_utils.check_policy(policies.STATISTICS)
        query = request.query({'fields': _fields, 'sort_key': _sort_key,
                               'sort_dir': _sort_direction})
        keeping.counter().flush()
        context = api.request.context
        counted = {row['rule_uuid']: row for row in
                   rule_statistics.RuleStatistics.list(context)}
        rows = [_row(rule, counted.get(rule.uuid, _COUNTED))
                for rule in self._in_order(context)]
        if query['sort_key']:
            rows = _sorted(rows, query['sort_key'],
                           query['sort_dir'] == 'desc')
        return {RESOURCE: [
            {name: row[name] for name in query['fields'] or FIELDS}
            for row in rows]}

    def _in_order(self, context: Any) -> list[model.Rule]:
        stored = (model.Rule.from_mapping(rule.as_dict())
                  for rule in rule_object.Rule.list(context))
        return sorted(
            repository.order([*self._rules.built_in, *stored]),
            key=lambda rule: model.PHASES.index(rule.phase))


def _row(rule: model.Rule, counted: dict[str, Any]) -> dict[str, Any]:
    return {**{name: getattr(rule, name) for name in _OF_RULE},
            **{name: counted[name] for name in _COUNTED}}


def _sorted(rows: Iterable[dict[str, Any]], name: str,
            descending: bool) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row[name] is not None, row[name]),
                  reverse=descending)


def _fields(_name: str, value: str) -> list[str]:
    fields = args.string_list('fields', value)
    api_utils.check_for_invalid_fields(fields, FIELDS)
    return fields


def _sort_key(_name: str, value: str) -> str:
    if value not in FIELDS:
        raise exceptions.Invalid(
            _('Statistics can be sorted by %s') % ', '.join(FIELDS))
    return value


def _sort_direction(_name: str, value: str) -> str:
    return api_utils.validate_sort_dir(value)

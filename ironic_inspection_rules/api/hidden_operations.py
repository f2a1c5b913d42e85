# SPDX-License-Identifier: Apache-2.0

"""Posted rules whose operations only Ironic knows: sensitive, stored ones."""

from collections.abc import Sequence
from typing import Any

from ironic.api.controllers.v1 import utils as api_utils
from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import replacement

_POLICY = 'baremetal:inspection_rule:update'
"""Who may not write rules could read off other rules what these do."""


def filled(context: Any, posted: Sequence[Any]
           ) -> tuple[list[Any], frozenset[int]]:
    """Give sensitive rules without operations those of the stored ones.

    So they are in files that were exported, and so they are replaced. Stored
    rules are found as for a replacement.

    :param posted: rules of a request, as they were posted.
    :returns: the rules, and the places of those that were given some.
    :raises: InvalidRule where there is no such sensitive rule; what Ironic
        raises where the caller may not change rules.
    """
    rules = list(posted)
    hidden = [index for index, rule in enumerate(rules)
              if _lacks_operations(rule)]
    if not hidden:
        return rules, frozenset()
    api_utils.check_policy(_POLICY)
    rules = [rule_set.with_canonical_uuid(index, rule)
             for index, rule in enumerate(rules)]
    _revision, present = rule_object.Rule.read_rule_set(context)
    matched = replacement.match(rules, present)
    for index in hidden:
        pair = matched[index]
        if pair is None or not pair[0]['sensitive']:
            raise exceptions.InvalidRule([exceptions.Problem(
                '', _('no sensitive rule is stored by this UUID or '
                      'description, whose conditions and actions would be '
                      'used; write them here, or leave the rule out'))],
                f'/rules/{index}')
        rules[index] = {**rules[index], **{
            name: pair[0][name] for name in ('uuid', *model.HIDDEN)}}
    return rules, frozenset(hidden)


def _lacks_operations(rule: Any) -> bool:
    return (isinstance(rule, dict)
            and strutils.bool_from_string(rule.get('sensitive'))
            and all(rule.get(name) is None for name in model.HIDDEN))

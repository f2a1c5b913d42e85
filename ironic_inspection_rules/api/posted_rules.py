# SPDX-License-Identifier: Apache-2.0

"""Rules of a request that are tried, not stored."""

from collections.abc import Mapping, Sequence
import functools
import hashlib
import json
from typing import Any
import uuid

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils
from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import replacement
from ironic_inspection_rules.rule_set import repository

Plans = Mapping[str, Sequence[compiler.CompiledRule]]

_KEPT = 4
_LARGEST = 1 << 20
"""Characters of a rule set that is kept: more is slow to read anyway."""

_POLICY = 'baremetal:inspection_rule:update'
"""Others could find out what sensitive rules do by trying them."""


def plans(posted: Sequence[Any]) -> Plans:
    """Compile rules, by phase, in the order they run in.

    The last few sets are kept: a client that tries rules on a fleet posts
    them with every page. A rule without a UUID gets one by its content and
    its place. One with ``built_in`` stands for the built-in rule of its UUID,
    and all others have the default scope where they set none, as if they were
    stored. A sensitive rule without operations, as in exported files, has
    those of the stored rule that it would replace.

    :param posted: rules of a request, as they were posted.
    :raises: :class:`.exceptions.InvalidRules` with the place of a bad one as
        ``/rules/<number>``.
    """
    rules, hidden = _filled(posted)
    # Not sorted: vars are computed in their order.
    text = json.dumps(rules)
    compile_ = _compile if len(text) > _LARGEST else _compile_kept
    return compile_(start.rules(), text, hidden)


def _filled(posted: Sequence[Any]) -> tuple[list[Any], frozenset[int]]:
    """Give sensitive rules without operations those of the stored ones.

    :returns: the rules, and the places of those that were given some: no
        error may say what is in them.
    :raises: InvalidRule where there is no such sensitive rule; what Ironic
        raises where the caller may not change rules.
    """
    rules = list(posted)
    hidden = [index for index, rule in enumerate(rules)
              if isinstance(rule, dict)
              and strutils.bool_from_string(rule.get('sensitive'))
              and all(rule.get(name) is None for name in model.HIDDEN)]
    if not hidden:
        return rules, frozenset()
    api_utils.check_policy(_POLICY)
    rules = [rule_set.with_canonical_uuid(index, rule)
             for index, rule in enumerate(rules)]
    _revision, present = rule_object.Rule.read_rule_set(
        api.request.context)
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


def _compile(rules: repository.Repository, text: str,
             hidden: frozenset[int]) -> Plans:
    parsed = []
    refused = []
    for position, rule in enumerate(json.loads(text)):
        try:
            parsed.append(_parse(rules, position, rule, position in hidden))
        except exceptions.InvalidRule as exc:
            refused.append(exc)
    if refused:
        raise exceptions.InvalidRules(refused)
    return rules.compile(parsed)


_compile_kept = functools.lru_cache(_KEPT)(_compile)


def _parse(rules: repository.Repository, position: int, rule: Any,
           hidden: bool) -> model.Rule:
    if isinstance(rule, dict):
        if rule.get('built_in') and rule.get('uuid') in rules.built_in_uuids:
            return next(each for each in rules.built_in
                        if each.uuid == rule['uuid'])
        if rule.get('uuid') is None:
            said = {name: value for name, value in rule.items()
                    if name != 'uuid'}
            text = f'{position} {json.dumps(said, sort_keys=True)}'
            digest = hashlib.sha256(text.encode()).digest()
            rule = {**rule, 'uuid': str(uuid.UUID(bytes=digest[:16],
                                                  version=4))}
    try:
        return rules.scoped(validation.parse(rule, rules.ops))
    except exceptions.InvalidRule as exc:
        raise exceptions.InvalidRule(
            view.without_secrets(exc.problems) if hidden else exc.problems,
            f'/rules/{position}') from (None if hidden else exc)

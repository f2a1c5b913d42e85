# SPDX-License-Identifier: Apache-2.0

"""Rules that are posted for a dry run."""

from collections.abc import Mapping, Sequence
import functools
import hashlib
import json
import threading
from typing import Any, NoReturn
import uuid

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import table_set
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.rule_set import replacement
from ironic_inspection_rules.rule_set import repository

Plans = Mapping[str, Sequence[compiler.CompiledRule]]

MEMBERS: dict[str, Any] = {
    'rules': {'type': ['array', 'null']},
    'prune': {'type': ['boolean', 'null']},
    **table_set.MEMBER,
}
"""Members of a request that tries rules, as JSON Schema."""

_PRUNE_NEEDS_RULES = _(
    '"prune" needs "rules", which would be the whole rule set'
)

# Sets of posted rules that stay compiled: a fleet is evaluated page by page.
_KEPT = 4
_LARGEST = 1 << 20
"""Characters of a rule set that is kept: more is slow to read anyway."""

_compiling = threading.Lock()
"""Held by the thread that compiles a set to be kept.

A client asks for several pages of a fleet at a time. Without the lock, each of
the first would compile the same rules, and they would wait for each other all
the same.
"""

_MOST_ROWS = 10_000
"""Rows of tables of a rule set that is kept, at most."""

_POLICY = 'baremetal:inspection_rule:update'
"""Others could find out what sensitive rules do by trying them."""


def compile_plans(
    body: Mapping[str, Any], revision: int | None = None
) -> Plans | None:
    """Compile the rules of a dry run: stored, built-in and posted ones.

    A posted rule replaces the stored rule of the same UUID or description;
    with ``prune`` the posted rules replace all stored ones. Built-in rules
    stay. A posted sensitive rule without content gets that of the stored rule.
    The last compiled sets are cached, as a client that tries rules on a fleet
    posts them with every page.

    :param body: the request, with ``rules`` and ``tables`` as they were
        posted.
    :param revision: the revision of the stored rules, if it is read already.
    :returns: the rules by phase, in the order they run in; None if the
        request has neither rules nor tables.
    :raises: :class:`.exceptions.InvalidRules` with places as
        ``/rules/<number>``; Invalid for ``prune`` without rules; HTTPForbidden
        for sensitive rules without content, if the caller may not run these.
    """
    prune = bool(body['prune'])
    tables = body.get('tables')
    has_rules = body['rules'] is not None
    if _prunes_without_rules(body):
        raise exceptions.Invalid(_PRUNE_NEEDS_RULES)
    if tables is None and not has_rules:
        return None
    # With tables alone, the stored rules are tried.
    posted = body['rules'] or []
    _check_policy(posted)
    rules = start.rules()
    if revision is None:
        revision = rules.refresh(api.request.context).revision
    if _has_many_rows(tables):
        # The key of the cache is text. For many rows, writing it would take as
        # long as compiling the rules.
        return _compile(rules, posted, tables, prune)
    # Not sorted: vars are computed in their order.
    text = json.dumps([posted, tables])
    if len(text) > _LARGEST:
        return _compile(rules, posted, tables, prune)
    with _compiling:
        return _compile_kept(rules, revision, text, prune)


def _prunes_without_rules(body: Mapping[str, Any]) -> bool:
    """Return whether a request drops stored rules, and has none instead."""
    return bool(body['prune']) and body['rules'] is None


def _check_policy(posted: Sequence[Any]) -> None:
    """Check that the caller may have stored content of sensitive rules run.

    :raises: HTTPForbidden without the policy for a rule without content.
    """
    if any(map(stored_rule.lacks_content, posted)):
        api_utils.check_policy(_POLICY)


def check(body: Any) -> None:
    """Check the rules and tables of a request that is refused otherwise.

    :param body: as it was posted, of any type.
    :raises: InvalidRules, InvalidTables, or InvalidRuleSet for both of them.
    :raises: HTTPForbidden without the policy for sensitive rules without
        operations.
    """
    if not isinstance(body, dict):
        return
    if isinstance(body.get('rules'), list):
        _check_policy(body['rules'])
    rule_set.check(body, prune=body.get('prune') is True)


def refuse(
    body: Mapping[str, Any], problems: Sequence[exceptions.Problem]
) -> NoReturn:
    """Refuse a request for some members, and for its rules and tables.

    :param problems: the problems of the other members.
    :raises: InvalidBody, or InvalidRuleSet if rules or tables are bad too.
    """
    of_members = list(problems)
    if _prunes_without_rules(body):
        of_members.append(exceptions.Problem('/prune', _PRUNE_NEEDS_RULES))
    refused = exceptions.InvalidBody(of_members)
    try:
        check(body)
    except exceptions.InvalidInput as exc:
        raise exceptions.InvalidRuleSet([refused, exc]) from exc
    raise refused


def _has_many_rows(tables: Any) -> bool:
    """Return whether posted tables are too large to be cached.

    :param tables: as they were posted, of any type.
    """
    if not isinstance(tables, dict):
        return False
    count = 0
    for posted in tables.values():
        if isinstance(posted, dict) and isinstance(posted.get('rows'), list):
            count += len(posted['rows'])
    return count > _MOST_ROWS


def _compile(
    rules: repository.Repository,
    posted: Sequence[Any],
    tables: Any,
    prune: bool,
) -> Plans:
    """Compile the rule set that there would be with posted rules and tables.

    It is decided and checked as when the rule set is replaced.
    """
    _revision, stored = rule_object.StoredRule.read_rule_set(
        api.request.context
    )
    steps, decided = rule_set.decide(
        posted, tables, stored, prune, new_uuid=_uuid_of
    )
    stored_afterwards = replacement.rules_after(steps)
    return rules.compile(rules.with_stored(stored_afterwards), decided.tables)


@functools.lru_cache(_KEPT)
def _compile_kept(
    rules: repository.Repository, _revision: int | None, text: str, prune: bool
) -> Plans:
    """Return what :func:`_compile` does, from a few sets that are kept.

    The text stands for the rules, as lists and mappings cannot be the key of
    a cache.

    :param _revision: the revision of the stored rules. It is a part of the
        key only: a set that was compiled before they changed is not found.
    :param text: the JSON of the posted rules and tables: ``[[…], null]``.
    """
    posted, tables = json.loads(text)
    return _compile(rules, posted, tables, prune)


def _uuid_of(index: int, rule: Mapping[str, Any]) -> str:
    """Return a UUID made of the content and the place of a new rule.

    It is the same for every page of a fleet: the answers name rules by it.
    """
    content = dict(rule)
    # A new rule may have the field all the same, with null in it.
    content.pop('uuid', None)
    text = f'{index} {json.dumps(content, sort_keys=True)}'
    digest = hashlib.sha256(text.encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))

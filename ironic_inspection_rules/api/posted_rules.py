# SPDX-License-Identifier: Apache-2.0

"""Rules that are posted for a dry run.

A client may post rules and tables to find out what they would do, without
storing them. They are combined with the stored rules in the same way as if
they were stored, and then compiled. The result, *plans*, has the compiled
rules of every phase: ``{'main': [<rule>, <rule>], …}``.
"""

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
"""The compiled rules of every phase, in the order in which they run."""

MEMBERS: dict[str, Any] = {
    'rules': {'type': ['array', 'null']},
    'prune': {'type': ['boolean', 'null']},
    **table_set.MEMBER,
}
"""Members of a request that tries rules, as JSON Schema."""

_PRUNE_NEEDS_RULES = _(
    '"prune" needs "rules", which would be the whole rule set'
)

# A cache helps because a fleet is evaluated page by page, and every page posts
# the same rules.
_MOST_CACHED_SETS = 4
_MOST_CACHED_CHARACTERS = 1 << 20
"""Maximum length of the JSON of a rule set that is cached.

Reading a longer one takes so long that compiling it matters less.
"""

_compiling = threading.Lock()
"""Held by the thread that compiles a rule set to be cached.

A client requests several pages of a fleet at the same time. Without the lock,
the thread of every page would compile the same rules. All of them would be
late, because Python threads do not compute in parallel.
"""

_MOST_CACHED_ROWS = 10_000
"""Maximum number of rows in all tables of a cached rule set."""

_TRY_STORED_CONTENT = 'baremetal:inspection_rule:update'
"""The policy for running the hidden content of stored sensitive rules.

Other users could find out what these rules do by trying them.
"""


def compile_plans(
    body: Mapping[str, Any], revision: int | None = None
) -> Plans | None:
    """Compile the rules of a dry run: stored, built-in and posted ones.

    * A posted rule replaces the stored rule with the same UUID or description.
      With ``prune``, the posted rules replace all stored ones.
    * Built-in rules are kept.
    * A posted sensitive rule without content gets the content of the stored
      rule.

    The last compiled sets are cached, because a client that tries rules on a
    fleet posts them with every page.

    :param body: the request, with ``rules`` and ``tables`` as they were
        posted.
    :param revision: the revision of the stored rules, if already read.
    :returns: the rules by phase, in the order in which they run; None if the
        request has neither rules nor tables, and so tries the rules in force.
    :raises: :class:`.exceptions.InvalidRules` with places as
        ``/rules/<number>``; Invalid for ``prune`` without rules; HTTPForbidden
        for sensitive rules without content, if the caller may not run these.
    """
    prune = bool(body['prune'])
    tables = body.get('tables')
    if _prunes_without_rules(body):
        raise exceptions.Invalid(_PRUNE_NEEDS_RULES)
    if body['rules'] is None and tables is None:
        return None
    # With tables alone, the stored rules are tried with these tables.
    posted = body['rules'] or []
    _check_policy(posted)
    rules = start.rules()
    if revision is None:
        revision = rules.refresh(api.request.context).revision
    if _has_many_rows(tables):
        # Do not use the cache, whose key is the JSON text: for many rows,
        # writing it would take as long as compiling the rules.
        return _compile(rules, posted, tables, prune)
    # The keys are not sorted, because vars are computed in their order.
    text = json.dumps([posted, tables])
    if len(text) > _MOST_CACHED_CHARACTERS:
        return _compile(rules, posted, tables, prune)
    with _compiling:
        return _compile_cached(rules, revision, text, prune)


def _prunes_without_rules(body: Mapping[str, Any]) -> bool:
    """Return whether a request removes all stored rules but posts no rules."""
    return bool(body['prune']) and body['rules'] is None


def _check_policy(posted: Sequence[Any]) -> None:
    """Check that the caller may try the content of stored sensitive rules.

    A client that may not see this content posts the rule without conditions
    and actions, and the stored ones are run instead.

    :raises: HTTPForbidden if there is such a rule and the caller lacks the
        policy.
    """
    if any(map(stored_rule.lacks_content, posted)):
        api_utils.check_policy(_TRY_STORED_CONTENT)


def check(body: Any) -> None:
    """Check the rules and tables of a request whose other members are invalid.

    With this, the client gets the problems of all members at once.

    :param body: the body as it was posted, of any type.
    :raises: InvalidRules, InvalidTables, or InvalidRuleSet if both the rules
        and the tables are invalid.
    :raises: HTTPForbidden if there is a sensitive rule without content, and
        the caller lacks the policy.
    """
    if not isinstance(body, dict):
        return
    if isinstance(body.get('rules'), list):
        _check_policy(body['rules'])
    rule_set.check(body, prune=body.get('prune') is True)


def refuse(
    body: Mapping[str, Any], problems: Sequence[exceptions.Problem]
) -> NoReturn:
    """Refuse a request, with all its problems in one answer.

    :param problems: the problems of all members except rules and tables, which
        are checked here.
    :raises: InvalidBody; InvalidRuleSet if rules or tables are invalid, too.
    """
    problems_of_members = list(problems)
    if _prunes_without_rules(body):
        problems_of_members.append(
            exceptions.Problem('/prune', _PRUNE_NEEDS_RULES)
        )
    error_of_members = exceptions.InvalidBody(problems_of_members)
    try:
        check(body)
    except exceptions.InvalidInput as exc:
        # Rules or tables are invalid, too: raise one error for everything.
        raise exceptions.InvalidRuleSet([error_of_members, exc]) from exc
    raise error_of_members


def _has_many_rows(tables: Any) -> bool:
    """Return whether posted tables are too large to be cached.

    :param tables: the tables as they were posted, e.g. ``{'racks': {'rows':
        […]}}``. Any other value is refused later.
    """
    if not isinstance(tables, dict):
        return False
    count_of_rows = 0
    for table in tables.values():
        if isinstance(table, dict) and isinstance(table.get('rows'), list):
            count_of_rows += len(table['rows'])
    return count_of_rows > _MOST_CACHED_ROWS


def _compile(
    rules: repository.Repository,
    posted: Sequence[Any],
    tables: Any,
    prune: bool,
) -> Plans:
    """Compile the rule set that would result from posted rules and tables.

    Rules and tables are checked as if they replaced the stored ones. Nothing
    is stored.

    :param rules: the rules in force.
    :param prune: whether the posted rules would replace all stored ones.
    """
    _revision, stored_rules = rule_object.StoredRule.read_rule_set(
        api.request.context
    )
    # What would happen to every stored and posted rule, and to the tables.
    steps, table_plan = rule_set.decide(
        posted, tables, stored_rules, prune, new_uuid=_uuid_from_content
    )
    rules_afterwards = replacement.rules_after(steps)
    return rules.compile(
        rules.with_stored(rules_afterwards), table_plan.tables
    )


@functools.lru_cache(_MOST_CACHED_SETS)
def _compile_cached(
    rules: repository.Repository, _revision: int | None, text: str, prune: bool
) -> Plans:
    """Compile posted rules and tables, or return the plans in the cache.

    The arguments are the key of the cache. The posted rules and tables are
    passed as text, because lists and mappings cannot be part of a key.

    :param _revision: the revision of the stored rules. It is only part of the
        key, so that plans that were compiled before the stored rules changed
        are no longer used.
    :param text: the JSON of the posted rules and tables: ``[[…], null]``.
    """
    posted, tables = json.loads(text)
    return _compile(rules, posted, tables, prune)


def _uuid_from_content(index: int, rule: Mapping[str, Any]) -> str:
    """Return a UUID derived from the content and the place of a new rule.

    The answers name rules by their UUID. A random UUID would differ from page
    to page of a fleet, because every page is a separate request.

    :param index: the index of the rule in the request. Without it, two equal
        rules would get the same UUID.
    """
    content = dict(rule)
    # A new rule may nevertheless have this field, with null as its value.
    content.pop('uuid', None)
    text = f'{index} {json.dumps(content, sort_keys=True)}'
    digest = hashlib.sha256(text.encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))

# SPDX-License-Identifier: Apache-2.0

"""Rules of a request that are tried, not stored."""

import collections
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import hashlib
import json
import threading
from typing import Any
import uuid

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.rule_set import repository

Plans = Mapping[str, Sequence[compiler.CompiledRule]]

_KEPT = 4
_LARGEST = 1 << 20
"""Characters of a rule set that is kept: more is slow to read anyway."""


class PostedRules:
    """Compiles rules, and keeps the last few sets of them.

    A client that tries rules on a fleet posts them with every page.

    :param rules: has the ops and the options to compile with.
    """

    def __init__(self, rules: repository.Repository) -> None:
        self._rules = rules
        self._built_in = {rule.uuid: rule for rule in rules.built_in}
        self._lock = threading.Lock()
        self._kept: collections.OrderedDict[bytes, Plans] = (
            collections.OrderedDict())

    def plans(self, posted: Sequence[Any],
              hidden: Collection[int] = ()) -> Plans:
        """Compile rules, by phase, in the order they run in.

        One without a UUID gets one by its content and its place. One with
        ``built_in`` stands for the built-in rule of its UUID, and all others
        have the default scope where they set none, as if they were stored.

        :param hidden: the places of rules whose operations the client does
            not know: no error tells of them.
        :raises: :class:`.exceptions.InvalidRules` with the place of a bad one
            as ``/rules/<number>``.
        """
        text = json.dumps(posted, sort_keys=True)
        if len(text) > _LARGEST:
            return self._compile(posted, hidden)
        key = hashlib.sha256(text.encode()).digest()
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        found = self._compile(posted, hidden)
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def _compile(self, posted: Sequence[Any],
                 hidden: Collection[int]) -> Plans:
        rules = []
        refused = []
        for position, rule in enumerate(posted):
            try:
                rules.append(self._parse(position, rule, position in hidden))
            except exceptions.InvalidRule as exc:
                refused.append(exc)
        if refused:
            raise exceptions.InvalidRules(refused)
        return self._rules.compile(rules)

    def _parse(self, position: int, rule: Any, hidden: bool) -> model.Rule:
        if isinstance(rule, dict):
            built_in = rule.get('built_in') and self._built_in.get(
                str(rule.get('uuid')))
            if built_in:
                return built_in
            if rule.get('uuid') is None:
                rule = {**rule, 'uuid': _uuid_of(position, rule)}
        try:
            return self._rules.scoped(
                validation.parse(rule, self._rules.ops))
        except exceptions.InvalidRule as exc:
            raise exceptions.InvalidRule(
                view.without_secrets(exc.problems) if hidden
                else exc.problems, f'/rules/{position}') from (
                    None if hidden else exc)


def _uuid_of(position: int, rule: dict[str, Any]) -> str:
    said = {name: value for name, value in rule.items() if name != 'uuid'}
    text = f'{position} {json.dumps(said, sort_keys=True)}'
    digest = hashlib.sha256(text.encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))

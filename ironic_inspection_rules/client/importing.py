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

"""Bringing many rules into Ironic at once: all of them or none."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.i18n import _

Rule = Mapping[str, Any]

DEFAULTS: dict[str, Any] = {
    'description': None, 'priority': 0, 'scope': None, 'sensitive': False,
    'phase': 'main', 'conditions': [], 'actions': None}


@dataclasses.dataclass(frozen=True)
class Step:
    """What becomes of one rule: ``previous`` is the one it replaces."""

    rule: Rule
    previous: Rule | None = None

    @property
    def outcome(self) -> str:
        """One of ``created``, ``updated`` and ``unchanged``."""
        if self.previous is None:
            return 'created'
        return 'unchanged' if _same(self.rule, self.previous) else 'updated'


def decide(rules: Iterable[Any], present: Sequence[Rule],
           replace: bool) -> list[Step]:
    """Decide what has to be done for each rule.

    :param rules: the rules to import.
    :param present: the rules that Ironic has, with details.
    :param replace: whether a rule takes the place of the one with its UUID
        or, where it has none, with its description.
    :raises: :class:`.exceptions.Conflict` where that is not clear.
    """
    steps: list[Step] = []
    for rule in rules:
        if not isinstance(rule, dict):
            raise exceptions.Invalid(_('A rule must be a mapping'))
        previous = _find(rule, present) if replace else None
        if previous and any(previous is step.previous for step in steps):
            raise exceptions.Conflict(
                _('Two of the rules would replace rule %s')
                % previous['uuid'])
        steps.append(Step(rule, previous))
    return steps


def carry_out(baremetal, steps: Sequence[Step],
              done: Callable[[], object]) -> None:
    """Make and replace rules; on an error put back what was before.

    All rules are tried by Ironic before the first one changes. Rules that
    cannot be read, and so not be put back, are replaced last.

    :param done: called after each step.
    """
    changes = sorted((step for step in steps if step.outcome != 'unchanged'),
                     key=_reversibility)
    if not changes:
        return
    inspection_rule.evaluate_inspection_rules(
        baremetal, rules=[dict(step.rule) for step in changes],
        inventory={})
    undo: list[Callable[[], object]] = []
    try:
        for step in changes:
            undo.append(_apply(baremetal, step))
            done()
    except Exception:
        for put_back in reversed(undo):
            put_back()
        raise


def _apply(baremetal, step: Step) -> Callable[[], object]:
    """Do one step and return what undoes it."""
    previous = step.previous
    if previous is None:
        made = inspection_rule.create_inspection_rule(baremetal, step.rule)
        return lambda: inspection_rule.delete_inspection_rule(
            baremetal, made['uuid'])
    uuid = previous['uuid']
    inspection_rule.replace_inspection_rule(baremetal, uuid, {
        name: value for name, value in step.rule.items() if name != 'uuid'})
    if previous['sensitive']:
        return lambda: None
    return lambda: inspection_rule.replace_inspection_rule(
        baremetal, uuid, {name: previous[name] for name in DEFAULTS})


def _reversibility(step: Step) -> int:
    if step.previous is None:
        return 0
    return 2 if step.previous['sensitive'] else 1


def _find(rule: Rule, present: Sequence[Rule]) -> Rule | None:
    key = 'uuid' if rule.get('uuid') else 'description'
    found = [each for each in present
             if rule.get(key) and each[key] == rule[key]
             and not each['built_in']]
    if len(found) > 1:
        raise exceptions.Conflict(
            _('%(count)d rules have the description "%(description)s"')
            % {'count': len(found), 'description': rule['description']})
    return found[0] if found else None


def _same(rule: Rule, present: Rule) -> bool:
    wanted = {name: rule.get(name, default)
              for name, default in DEFAULTS.items()}
    return wanted == {name: present[name] for name in DEFAULTS}

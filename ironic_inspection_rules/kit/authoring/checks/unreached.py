# SPDX-License-Identifier: Apache-2.0

"""Find rules and actions that no inspection reaches, for ``lint``.

An action such as ``fail`` ends the inspection, so later actions and rules do
not run. There are two ways to find them:

- by comparing rules: if an earlier rule fails, and a later rule has all of its
  conditions, then the later rule is never reached;
- by trying all rules on the inventories of machines: a rule is reported if it
  matches none of them.
"""

from collections.abc import Sequence
import dataclasses
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.authoring.checks import postcondition
from ironic_inspection_rules.kit.authoring.checks import secrets
from ironic_inspection_rules.kit.machine import file_work
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_set import repository


def check_actions(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find actions after an action that fails the inspection.

    All of them are reported, with the name of the first action that fails.
    """
    failing = None
    for action in rule.actions:
        if failing is not None:
            yield (
                action.pointer,
                _('this action is never reached: %s fails the inspection')
                % file_rule.place_name(failing.pointer),
            )
        elif postcondition.fails(action):
            failing = action


def check_rules(
    rules: Sequence[checked_rule.CheckedRule],
) -> checked_rule.MistakesOfRules:
    """Find rules that no machine reaches, because an earlier rule fails.

    The failing rule runs earlier in the same phase, and has only conditions
    that the later rule also has. It fails the inspection of every machine that
    the later rule would match.
    """
    by_uuid = {rule.rule.uuid: rule for rule in rules}
    # The failing rules among the rules so far.
    failing_rules: list[_FailingRule] = []
    # Visit the rules in the order in which inspections run them.
    for stored_rule in repository.order(rule.rule for rule in rules):
        rule = by_uuid[stored_rule.uuid]
        # Compared conditions are equal if they mean the same.
        conditions = set(map(exclusion.ComparedCondition, rule.conditions))
        earlier = None
        for failing in failing_rules:
            if failing.stops(rule, conditions):
                earlier = failing.rule
                break
        if earlier is not None:
            yield rule, '', _message_of_unreached(rule, earlier)
            continue
        # A rule that is only audited or switched off changes nothing and fails
        # nothing.
        if rule.rule.mode != model.ENFORCE:
            continue
        for failing in failing_rules:
            failing.note_actions(rule.actions)
        if any(map(postcondition.fails, rule.actions)):
            failing_rules.append(_FailingRule(rule, conditions))


def _message_of_unreached(
    rule: checked_rule.CheckedRule, earlier: checked_rule.CheckedRule
) -> str:
    """Return the message about a rule that follows a failing rule.

    :param earlier: the rule that fails the inspection.
    """
    label = earlier.written.label
    # If the option "default_scope" is set, a failing rule without a scope only
    # runs on nodes with that scope, and the later rule on nodes with its own
    # scope.
    default_scope_matters = not earlier.rule.scope and rule.rule.scope
    if default_scope_matters:
        return _(
            'this rule is never reached, unless '
            '[inspection_rules]default_scope is set to another scope than '
            '"%(scope)s": on each machine that meets its conditions, rule '
            '%(label)s, which has no scope, fails the inspection before'
        ) % {'scope': rule.rule.scope, 'label': label}
    return (
        _(
            'this rule is never reached: on each machine that meets its '
            'conditions, rule %s fails the inspection before'
        )
        % label
    )


class _FailingRule:
    """A rule that fails the inspection of every machine that it matches.

    It is compared with the rules that run after it. Each of them may change
    data that the conditions of the failing rule read.

    :param rule: the rule.
    :param conditions: the conditions of the rule.
    """

    def __init__(
        self,
        rule: checked_rule.CheckedRule,
        conditions: set[exclusion.ComparedCondition],
    ) -> None:
        self.rule = rule
        self._conditions = conditions
        self._decides_first = postcondition.decides_first(rule)
        self._reads_vars = effects.mentions(model.VARS, rule.rule.conditions)
        # The fields that decide whether the conditions hold. If a condition
        # reads any variable, the fields in all variables are included.
        self._fields: list[interpolation.Field] = []
        # Whether an op reads data that its arguments do not name.
        self._reads_anything = False
        for condition in postcondition.list_all_conditions(rule.conditions):
            self._fields += effects.fields_of_operation(condition)
            if condition.op.plugin.NEEDS_VIEW:
                self._reads_anything = True
        if self._reads_vars:
            self._fields += effects.fields(rule.rule.vars)
        # Whether a later rule may change the data that the conditions read.
        # The same conditions may then hold for a later rule although they did
        # not hold for this rule.
        self._may_match_later = False

    def stops(
        self,
        later: checked_rule.CheckedRule,
        conditions: set[exclusion.ComparedCondition],
    ) -> bool:
        """Return whether this rule fails whenever a later rule would match.

        It does if the later rule has all conditions of this rule, and both
        rules read the same data. The phases, the scopes, the data, the secrets
        that they see, and the variables are compared in this order.

        :param conditions: the conditions of the later rule.
        """
        rule = self.rule.rule
        if rule.phase != later.rule.phase:
            return False
        # A rule without a scope runs on the nodes of all scopes.
        if rule.scope and rule.scope != later.rule.scope:
            return False
        if self._may_match_later:
            return False
        # If only one of the rules is decided before any rule acts, other rules
        # may change the data between the two decisions.
        if self._decides_first != postcondition.decides_first(later):
            return False
        if not secrets.see_same_values(rule, later.rule, self._fields):
            return False
        # With other variables, an equally written condition means something
        # else.
        if self._reads_vars and not model.is_same_value(
            model.VARS, rule.vars, later.rule.vars
        ):
            return False
        # Both rules see the same data, so the conditions decide.
        return self._conditions <= conditions

    def note_actions(self, actions: Sequence[file_rule.Operation]) -> None:
        """Record whether a later rule may change the data of the conditions.

        :param actions: the actions of the later rule.
        """
        if self._decides_first:
            # Like this rule, the rules that it stops are decided before any
            # rule acts, so changes by rules do not matter.
            return
        for action in actions:
            if self._reads_anything or effects.may_change(
                action, self._fields
            ):
                self._may_match_later = True


Broken = tuple[str, tuple[int, int], str]
"""The path of a file that cannot be read, the line and column, and the
reason."""


class Tried(typing.NamedTuple):
    """The result of trying rules on machines.

    :param unmatched: rules that match no machine, with a message.
    :param broken: files that cannot be read.
    """

    unmatched: list[tuple[checked_rule.CheckedRule, str]]
    broken: list[Broken]


def check_machines(
    rules: Sequence[checked_rule.CheckedRule],
    paths: Sequence[str],
    advance: file_work.Advance,
    tables: table.Tables = machine_test.NO_TABLES,
) -> Tried:
    """Find rules that match none of the machines, using all processors.

    Every machine is tried both as a new node and as a newly discovered node.
    Scopes and the mode ``audit`` are ignored, and rules in mode ``off`` are
    skipped. Rules after a rule that fails are tried separately.

    :param advance: called with the number of files of each finished chunk.
    :param tables: the tables that the rules read.
    :returns: no unmatched rules if no file can be read.
    """
    active = [
        dataclasses.replace(rule.rule, scope=None, mode=model.ENFORCE)
        for rule in rules
        if rule.rule.mode != model.OFF
    ]
    # The UUIDs of rules that have not matched any machine so far. Worker
    # processes each try a chunk of the files.
    unmatched = {rule.uuid for rule in active}
    broken: list[Broken] = []
    for matched, problems in file_work.in_chunks(
        paths, functools.partial(_MachineTrials, active, tables), advance
    ):
        unmatched -= matched
        broken += problems
    count = len(paths) - len(broken)
    if not count:
        return Tried([], broken)
    message = _P(
        'this rule does not match the inventory',
        'this rule matches none of the %(count)d inventories',
        count,
    ) % {'count': count}
    unmatched_rules = [
        (rule, message) for rule in rules if rule.rule.uuid in unmatched
    ]
    return Tried(unmatched_rules, broken)


class _MachineTrials:
    """Try rules on chunks of machines, in a worker process.

    All rules are tried together first. If one of them fails, the rules that
    have not matched are tried separately.
    """

    def __init__(
        self, rules: Sequence[model.Rule], tables: table.Tables
    ) -> None:
        self._together = machine_test.compile_rules(rules, tables=tables)
        # One rule set per rule, by its UUID, because rules after a rule that
        # fails must be tried separately.
        self._alone = {
            rule.uuid: machine_test.compile_rules([rule], tables=tables)
            for rule in rules
        }
        self._node = machine_test.load_node(None)
        # The UUIDs of rules that have matched in any chunk so far. These rules
        # are not tried separately again.
        self._matched: set[str] = set()

    def __call__(self, paths: Sequence[str]) -> tuple[set[str], list[Broken]]:
        """Try the rules on the machines of some files.

        :returns: the UUIDs of all rules that have matched in this process so
            far, and the files that cannot be read.
        """
        broken: list[Broken] = []
        for path in paths:
            try:
                facts = machine_test.load_facts(path, self._node)
            except exceptions.InvalidDocument as exc:
                broken.append((path, exc.place or (1, 1), exc.reason))
                continue
            for discovered in (False, True):
                node = {**self._node.fields, 'auto_discovered': discovered}
                self._try_machine(dataclasses.replace(facts, node=node))
        return self._matched, broken

    def _try_machine(self, machine: working_copy.Facts) -> None:
        """Record which rules match a machine.

        A rule that fails ends the inspection. Rules that have not matched so
        far are then tried separately, because they may come after it.
        """
        if self._note_matches(self._together, machine):
            for uuid in self._alone.keys() - self._matched:
                self._note_matches(self._alone[uuid], machine)

    def _note_matches(
        self, plans: machine_test.Plans, machine: working_copy.Facts
    ) -> bool:
        """Record the rules that match; return whether the inspection fails."""
        outcome = evaluation.evaluate(plans, machine, explain=False)
        for traced in outcome.traces:
            if traced.matched:
                self._matched.add(traced.rule.uuid)
        return outcome.error is not None

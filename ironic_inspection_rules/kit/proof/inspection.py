# SPDX-License-Identifier: Apache-2.0

"""Rules carried out on all machines at once."""

from collections.abc import Iterable, Sequence
import dataclasses
import json
import typing

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import action as actions
from ironic_inspection_rules.kit.proof import condition
from ironic_inspection_rules.kit.proof import expression
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import search
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.traits import names as trait_names

Value = values.Value
State = states.State
RulePass = states.RulePass

_ROOTS = ('inventory', 'plugin_data', 'node', 'ports')
_UNKNOWN = ('port_groups', 'previous')  # Roots of which nothing is followed.


def texts(rules: Iterable[model.Rule]) -> set[str]:
    """Return all texts of rules, names of fields among them."""
    words: set[str] = set()
    ahead: list[typing.Any] = []
    for rule in rules:
        ahead += [rule.conditions, rule.actions, rule.vars, rule.scope]
    while ahead:
        value = ahead.pop()
        if isinstance(value, str):
            words.add(value)
        elif isinstance(value, typing.Mapping):
            words.update(value)
            ahead += value.values()
        elif isinstance(value, list | tuple):
            ahead += value
    return words


def _prefixes(rules: Iterable[model.Rule]) -> set[str]:
    """Return the prefixes of the traits that ``set-traits`` replaces."""
    op = registry.installed().actions['set-traits']
    prefixes = set()
    for rule in rules:
        for action in rule.actions:
            if action['op'].strip() == op.name:
                bound, _problems = op.signature.bind(action.get('args'))
                prefixes.add(str(bound.get('prefix', '')))
    return prefixes


class SymbolicInspection:
    """Inspections of all machines at once, by some of the rules.

    :param deadline: of the proof, looked at before every rule and action.
    :param rules: all rules that may run.
    """

    def __init__(
        self,
        machine: machines.SymbolicMachine,
        deadline: search.Deadline,
        rules: Sequence[model.Rule],
    ) -> None:
        self.machine = machine
        self._deadline = deadline
        self._messages = pair.Messages()
        self._truths: dict[typing.Any, condition.Truth] = {}
        self._conditions: list[typing.Any] = []
        # By id(), which another object has once a rule is gone: so the rules
        # are kept.
        self._plans: dict[int, compiler.CompiledRule] = {}
        self._kept: list[model.Rule] = []
        # Traits are known by their names, wherever rules have them; one more
        # stands for all others of a prefix.
        self._traits = set(filter(trait_names.is_good, texts(rules)))
        self._traits |= {f'{prefix}*' for prefix in ('', *_prefixes(rules))}

    def decides_first(self, rule: model.Rule) -> bool:
        """Return whether a rule is decided before any rule of its phase acts.

        An error of its conditions then ends the inspection before other rules
        have written.
        """
        return self._plan(rule).decides_first

    def _undoes(self, rule: model.Rule) -> bool:
        """Return whether a rule may undo what it did in the past."""
        return any(action.reverts for action in self._plan(rule).actions)

    def _plan(self, rule: model.Rule) -> compiler.CompiledRule:
        key = id(rule)
        if key not in self._plans:
            ops = registry.installed()
            self._plans[key] = compiler.compile_rule(rule, ops)
            self._kept.append(rule)
        return self._plans[key]

    def run(
        self,
        rules: Sequence[model.Rule],
        state: State | None = None,
        notes: list[RulePass] | None = None,
    ) -> State:
        """Run rules that are in order, phase by phase.

        :param state: the machines before the first of these rules; None for
            the machines at the begin of an inspection.
        :param notes: a list to which what every rule did is appended.
        """
        if state is None:
            state = self._first_state()
        for phase in model.PHASES:
            in_phase = [
                rule
                for rule in rules
                if rule.phase == phase and rule.mode != model.OFF
            ]
            if not in_phase:
                continue
            inside = state
            if phase == model.EARLY:
                # The node is not known yet.
                no_node = dict.fromkeys(interpolation.OF_NODE, values.NOTHING)
                inside = state.having(**no_node)
            state = self._run_phase(in_phase, state, inside, phase, notes)
        return state

    def _first_state(self) -> State:
        """Return the machines as inspection finds them."""
        roots = {name: self.machine.root(name) for name in _ROOTS}
        for name in _UNKNOWN:
            roots[name] = values.unknown(f'what is in {name}')
        return State(roots)

    def resume(
        self, passed: RulePass, others: Sequence[model.Rule], number: int
    ) -> State:
        """Run the rules after a rule again, as if that one had not run.

        :param others: all rules without that one, in order.
        :param number: the index in them of the first that runs again.
        """
        phase = passed.rule.phase
        in_phase = [rule for rule in others if rule.phase == phase]
        if any(map(self.decides_first, (passed.rule, *in_phase))):
            # Such rules are decided, and undo what they did, before the first
            # rule of the phase: there is no state in between to begin from.
            return self.run(others)
        rules = others[number:]
        in_this_phase = [rule for rule in rules if rule.phase == phase]
        in_later_phases = [rule for rule in rules if rule.phase != phase]
        state = self._run_phase(
            in_this_phase, passed.begin, passed.before, phase, None
        )
        return self.run(in_later_phases, state)

    def _run_phase(
        self,
        rules: Sequence[model.Rule],
        begin: State,
        state: State,
        phase: str,
        notes: list[RulePass] | None,
    ) -> State:
        """Run the rules of a phase.

        :param begin: the machines before the phase, which an error in it
            leaves as they were.
        :param state: the machines as the first of the rules finds them.
        """
        scope = values.step(
            begin.roots['node'], 'properties', model.SCOPE_PROPERTY
        )
        first = state
        # A rule in mode audit undoes nothing, and ends nothing.
        decided = [
            rule
            for rule in rules
            if rule.mode != model.AUDIT and self.decides_first(rule)
        ]
        if decided:
            state = self._after_decisions(decided, begin, state)
        for rule in rules:
            as_decided = state
            if self.decides_first(rule):
                # It was decided above, on the data before the first rule.
                as_decided = first
            passed, state = self._pass(rule, state, begin, scope, as_decided)
            if notes is not None:
                notes.append(passed)
        return self._after_phase(begin, state, phase)

    def _after_decisions(
        self, decided: Sequence[model.Rule], begin: State, state: State
    ) -> State:
        """Return the machines after rules that are decided before any acts.

        A decision may be an error, and a rule that does not match may undo
        what it did in an earlier inspection. What that was, neither the rules
        nor the machine say: so all data are unknown then.

        :param decided: the rules.
        :param begin: the machines before the phase.
        """
        written = []
        for rule in decided:
            written.append(
                [rule.scope, rule.conditions, rule.actions, dict(rule.vars)]
            )
        about = (
            *begin.roots.values(),
            *state.roots.values(),
            json.dumps(written, default=str),
        )
        reason = 'what is decided before rules act'
        if any(map(self._undoes, decided)):
            reason = 'what rules undo where they do not match'
            lost = {}
            for name in ('node', 'plugin_data', 'ports'):
                lost[name] = states.lost((name,), reason, name, *about)
            state = state.having(**lost)
        return state.ended(self.machine.guess(reason, 'ends', *about))

    @staticmethod
    def _after_phase(begin: State, state: State, phase: str) -> State:
        """Return the machines after a phase.

        They are as before the phase where it met an error, and an early phase
        does not change the node, which is not known then.
        """
        # An error of an earlier phase has already undone that phase.
        broken = logic.settled(
            logic.conj(begin.going, state.result == states.ERROR)
        )
        roots = {}
        for name, value in state.roots.items():
            if phase == model.EARLY and name in interpolation.OF_NODE:
                roots[name] = begin.roots[name]
            else:
                roots[name] = values.choose(broken, begin.roots[name], value)
        return dataclasses.replace(state, roots=roots)

    def _pass(
        self,
        rule: model.Rule,
        state: State,
        begin: State,
        scope: Value,
        as_decided: State,
    ) -> tuple[RulePass, State]:
        """Run one rule.

        :param state: the machines before the rule.
        :param begin: the machines before its phase.
        :param scope: the scope of the node, to compare with that of the rule.
        :param as_decided: the machines on which conditions are decided.
        """
        self._deadline.left()
        applies = self._applies(rule, scope)
        data = expression.Scope(self.machine, as_decided.roots)
        # Variables are computed before the conditions, and an error of one is
        # an error of the rule, also where no condition reads it.
        made: dict[str, Value] = {}
        broken = logic.FALSE
        for name, written in rule.vars.items():
            made[name] = expression.evaluate(written, data)
            broken = logic.disj(
                broken,
                values.failed(made[name]),
                self.machine.may_fail(made[name]),
            )
            # A variable sees those before it.
            made_so_far = values.Mapping(None, dict(made))
            data = data.within(vars=values.only(made_so_far))
        truth = self._holds(rule.conditions, data)
        # A rule is not asked where the inspection ended before it, or where
        # the node is of another scope.
        asked = logic.conj(state.going, applies)
        matched = logic.conj(
            asked,
            logic.negated(broken),
            logic.negated(truth.fails),
            truth.holds,
        )
        passed = RulePass(rule, matched, state, begin)
        if rule.mode == model.AUDIT:
            return passed, state
        passed.ends = logic.conj(asked, logic.disj(broken, truth.fails))
        doing = actions.Actions(
            passed,
            state.ended(passed.ends),
            data,
            self._messages,
            self._traits,
            self._deadline,
        )
        for action in rule.actions:
            doing.act(action)
        return passed, doing.state

    def _applies(self, rule: model.Rule, scope: Value) -> logic.Formula:
        """Return when a node is in the scope of a rule."""
        if not rule.scope:
            return logic.TRUE
        parts = []
        for guard, alternative in scope:
            is_same = logic.FALSE
            if isinstance(alternative, values.UnknownValue):
                is_same = self.machine.guess(
                    alternative.reason, 'scope', alternative, rule.scope
                )
            elif isinstance(alternative, values.Const):
                is_same = logic.known(alternative.value == rule.scope)
            elif (
                isinstance(alternative, values.SolverTerm)
                and alternative.is_text
            ):
                self.machine.note(alternative.term, rule.scope)
                is_same = alternative.term == logic.constant(rule.scope)
            parts.append(logic.conj(guard, is_same))
        return logic.disj(*parts)

    def _holds(
        self, conditions: Sequence[typing.Any], scope: expression.Scope
    ) -> condition.Truth:
        """Return when the conditions of a rule hold, from a cache.

        A question may run the rules again, on data that are mostly the same.
        """
        text = json.dumps(conditions, default=str)
        # Some ops read data that their arguments do not name.
        reads_all = False
        for name, op in registry.installed().conditions.items():
            if name in text and op.plugin.NEEDS_VIEW:
                reads_all = True
        # Only roots that the conditions read are part of the key. Any text
        # with the name of a root counts as a read: at worst the conditions
        # are translated again although nothing that they read has changed.
        data = []
        for name, value in scope.roots.items():
            is_of_machine = name in (*_ROOTS, *_UNKNOWN)
            if reads_all or not is_of_machine or name in text:
                data.append((name, values.fingerprint(value)))
        key = id(conditions), tuple(data)
        if key not in self._truths:
            # Kept, so that no other object gets an id that is in the key.
            self._conditions.append((conditions, scope))
            self._truths[key] = condition.all_hold(conditions, scope)
        return self._truths[key]

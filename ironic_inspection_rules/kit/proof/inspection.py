# SPDX-License-Identifier: Apache-2.0

"""Run rules on all possible machines at once: phases, order, undoing.

Data are *symbolic*: a value is a list of alternatives, and every alternative
has a formula, called its guard, that holds on the machines that have it. A
:class:`.state.State` represents all machines at one moment. ``prove`` runs
rules this way, and asks the solver whether there is a machine for which two
rules conflict, or a rule has no effect.

The *pass* of a rule is what the rule does in such a run: the formula that it
matches, what it writes, and the state before it. A *guess* is a truth value
that the solver chooses for something that a proof cannot compute.
"""

from collections.abc import Iterable, Sequence
import dataclasses
import json
import re
import typing

from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.kit.proof import action as actions
from ironic_inspection_rules.kit.proof import condition
from ironic_inspection_rules.kit.proof import expression
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import search
from ironic_inspection_rules.kit.proof import secret
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values

Value = values.Value
State = states.State
RulePass = states.RulePass

_ROOTS = ('inventory', 'plugin_data', 'node', 'ports')
_TRAIT_LIKE = re.compile('[A-Z0-9_]+')
_UNKNOWN_ROOTS = ('port_groups', 'previous')


def collect_texts(rules: Iterable[model.Rule]) -> set[str]:
    """Return all texts in rules, including the keys of mappings.

    A proof builds the texts of machines from the characters in these texts.
    """
    texts: set[str] = set()
    values_ahead: list[typing.Any] = []
    for rule in rules:
        values_ahead += [rule.conditions, rule.actions, rule.vars, rule.scope]
    while values_ahead:
        value = values_ahead.pop()
        if isinstance(value, str):
            texts.add(value)
        elif isinstance(value, typing.Mapping):
            # Iterating over a mapping adds its keys, which are texts.
            texts.update(value)
            values_ahead += value.values()
        elif isinstance(value, list | tuple):
            values_ahead += value
    return texts


def _list_traits(texts: Iterable[str]) -> set[str]:
    """Return the names of traits in texts, also in the filters of a field.

    ``{vars.size | tier([[0, 'CUSTOM_SMALL']])}`` has one.
    """
    names: set[str] = set()
    for text in texts:
        names.update(filter(trait_names.is_good, _TRAIT_LIKE.findall(text)))
    return names


def _list_trait_prefixes(rules: Iterable[model.Rule]) -> set[str]:
    """Return the prefixes of traits that rules pass to ``set-traits``.

    The action replaces all traits with the prefix, e.g. ``CUSTOM_A``. If a
    rule passes no prefix, it replaces all traits, and the prefix is an empty
    text.
    """
    op = registry.installed().actions['set-traits']
    prefixes = set()
    for rule in rules:
        for action in rule.actions:
            if action['op'].strip() == op.name:
                arguments, _problems = op.signature.bind(action.get('args'))
                prefixes.add(str(arguments.get('prefix', '')))
    return prefixes


class SymbolicInspection:
    """Runs rules on all machines at once.

    Compiled rules and translated conditions are cached, because the same rules
    run many times, without one of them or in another order.

    :param machine: the data of all machines before any rule.
    :param deadline: the deadline of the proof, which is checked before every
        rule and action.
    :param rules: all rules that may run.
    :param texts: all texts in these rules and in their tables.
    """

    def __init__(
        self,
        machine: machines.SymbolicMachine,
        deadline: search.Deadline,
        rules: Sequence[model.Rule],
        texts: Iterable[str],
    ) -> None:
        self.machine = machine
        self._deadline = deadline
        self._messages = pair.Messages()
        # Two caches have the id() of objects in their keys: truths of
        # conditions, see _translate_conditions(), and compiled rules. The
        # objects must be kept alive, because the id of a deleted object may be
        # used for another one.
        self._truths: dict[typing.Any, condition.Truth] = {}
        self._kept_conditions: list[typing.Any] = []
        self._plans: dict[int, compiler.CompiledRule] = {}
        self._kept_rules: list[model.Rule] = []
        machine.traits |= _list_traits(texts)
        for prefix in _list_trait_prefixes(rules):
            machine.traits.add(f'{prefix}*')

    def decides_first(self, rule: model.Rule) -> bool:
        """Return whether a rule is decided before any rule of its phase acts.

        This applies to rules of ironic-inspector, and to rules that may undo
        their earlier changes.
        """
        return self._compile(rule).decides_first

    def _compile(self, rule: model.Rule) -> compiler.CompiledRule:
        """Return the compiled form of a rule, cached after the first call."""
        key = id(rule)
        if key not in self._plans:
            ops = registry.installed()
            self._plans[key] = compiler.compile_rule(rule, ops)
            # Keep the rule alive, so that no other rule gets its id.
            self._kept_rules.append(rule)
        return self._plans[key]

    def run(
        self,
        rules: Sequence[model.Rule],
        state: State | None = None,
        notes: list[RulePass] | None = None,
    ) -> State:
        """Run rules on all machines, phase by phase, as an inspection does.

        Rules in mode ``off`` are skipped.

        :param rules: in the order in which they run.
        :param state: the machines before the first of these rules. None means
            the machines at the start of an inspection.
        :param notes: a list to which the pass of every rule is appended, or
            None.
        :returns: the machines after the last rule.
        """
        if state is None:
            roots = {name: self.machine.root(name) for name in _ROOTS}
            # A rule may read any value in these, e.g. in "previous", the data
            # of the last inspection.
            for name in _UNKNOWN_ROOTS:
                roots[name] = values.unknown(f'what is in {name}')
            state = State(roots)
        for phase in model.PHASES:
            in_phase = [
                rule
                for rule in rules
                if rule.phase == phase and rule.mode != model.OFF
            ]
            if not in_phase:
                continue
            first_state = state
            if phase == model.EARLY:
                # The node is not known yet in this phase.
                no_node = dict.fromkeys(interpolation.OF_NODE, values.NOTHING)
                first_state = state.having(**no_node)
            state = self._run_phase(
                in_phase,
                begin=state,
                state=first_state,
                phase=phase,
                notes=notes,
            )
        return state

    def resume(
        self, rule_pass: RulePass, others: Sequence[model.Rule], number: int
    ) -> State:
        """Return the machines after an inspection without a certain rule.

        The proof uses it to find the final effect of the rule. Only later
        rules run again, from the state before the rule, because the rule does
        not affect earlier ones. For the second of the rules A, B and C, only C
        runs again, on the machines after A. If the rule, or another one of its
        phase, is decided first, all other rules run again.

        :param rule_pass: the pass of the rule in a run of all rules.
        :param others: all other rules, in order.
        :param number: the index in ``others`` of the rule after it.
        """
        phase = rule_pass.rule.phase
        all_of_phase = [rule for rule in others if rule.phase == phase]
        if any(map(self.decides_first, (rule_pass.rule, *all_of_phase))):
            # Rules that are decided first also undo their changes first. The
            # state before the rule depends on all of them, so run all again.
            return self.run(others)
        rules_after = others[number:]
        rest_of_phase = [rule for rule in rules_after if rule.phase == phase]
        of_later_phases = [rule for rule in rules_after if rule.phase != phase]
        state = self._run_phase(
            rest_of_phase,
            begin=rule_pass.begin,
            state=rule_pass.before,
            phase=phase,
            notes=None,
        )
        return self.run(of_later_phases, state)

    def _run_phase(
        self,
        rules: Sequence[model.Rule],
        begin: State,
        state: State,
        phase: str,
        notes: list[RulePass] | None,
    ) -> State:
        """Run the rules of a phase on all machines.

        Rules of ironic-inspector, and rules that may undo their changes, are
        decided before any rule of the phase acts: their conditions read the
        machines as they are at that moment. The conditions of any other rule
        read the machines after the rules before it.

        :param begin: the machines before the phase. If an error ends the phase
            on a machine, the machine keeps this state.
        :param state: the machines as the first of the rules reads them.
        :param notes: a list to which the pass of every rule is appended, or
            None.
        :returns: the machines after the phase.
        """
        scope = values.step(
            begin.roots['node'], 'properties', model.SCOPE_PROPERTY
        )
        before_all_rules = state
        # A rule in mode audit neither undoes changes nor ends inspections.
        decided_first = [
            rule
            for rule in rules
            if rule.mode != model.AUDIT and self.decides_first(rule)
        ]
        if decided_first:
            state = self._decide_first(decided_first, begin, state)
        for rule in rules:
            # The machines as the conditions of the rule read them.
            decided_on = state
            if self.decides_first(rule):
                decided_on = before_all_rules
            rule_pass, state = self._run_rule(
                rule,
                state=state,
                begin=begin,
                scope=scope,
                decided_on=decided_on,
            )
            if notes is not None:
                notes.append(rule_pass)
        return self._end_phase(begin, state, phase)

    def _decide_first(
        self, decided: Sequence[model.Rule], begin: State, state: State
    ) -> State:
        """Return the machines after some rules are decided, before any acts.

        A decision has two effects that a proof does not know:

        * It may be an error that ends the inspection. On which machines is a
          guess.
        * A rule that does not match may undo its changes of an earlier
          inspection. If one of the rules can undo, node, plugin data and ports
          therefore become unknown.

        :param decided: the rules that are decided first.
        :param begin: the machines before the phase.
        :param state: the machines as the first rule of the phase reads them.
            In the early phase, they have no node.
        """
        raw_rules = []
        may_undo = False
        for rule in decided:
            raw_rules.append(
                [rule.scope, rule.conditions, rule.actions, dict(rule.vars)]
            )
            for action in self._compile(rule).actions:
                if action.reverts:
                    may_undo = True
        # The unknown data depend on these, so that equal rules on equal data
        # lead to the same unknown data.
        about = (
            *begin.roots.values(),
            *state.roots.values(),
            json.dumps(raw_rules, default=str),
        )
        reason = 'what is decided before rules act'
        if may_undo:
            reason = 'what rules undo where they do not match'
            unknown_roots = {}
            for name in ('node', 'plugin_data', 'ports'):
                unknown_roots[name] = states.lose_value(
                    (name,), reason, name, *about
                )
            state = state.having(**unknown_roots)
        is_error = self.machine.guess(reason, 'ends', *about)
        return state.ended(is_error)

    @staticmethod
    def _end_phase(begin: State, state: State, phase: str) -> State:
        """Return the machines after a phase, which saves all or nothing.

        If an error ended the phase on a machine, the machine has the data from
        before the phase. All other machines have the changes of the rules.

        :param begin: all machines before the phase.
        :param state: all machines after the last of its rules.
        :param phase: the name of the phase. The early phase does not save the
            node and its ports.
        """
        # The formula holds on the machines on which this phase, and no earlier
        # phase, ended with an error. If it holds on all or on no machines,
        # settled() makes it a constant, and choose() needs no alternatives.
        where_ended_with_error = logic.settled(
            logic.conj(begin.going, state.result == states.ERROR)
        )
        roots = {}
        for name, value in state.roots.items():
            if phase == model.EARLY and name in interpolation.OF_NODE:
                # An early phase does not know the node, and does not save
                # {node}, {ports} and the like.
                roots[name] = begin.roots[name]
            else:
                roots[name] = values.choose(
                    where_ended_with_error,
                    chosen=begin.roots[name],
                    otherwise=value,
                )
        return dataclasses.replace(state, roots=roots)

    def _run_rule(
        self,
        rule: model.Rule,
        state: State,
        begin: State,
        scope: Value,
        decided_on: State,
    ) -> tuple[RulePass, State]:
        """Run one rule on all machines: its vars, conditions and actions.

        The rule matches if a formula holds. On all other machines, the rule
        changes nothing. The formula is::

            the inspection goes on, and the rule has the scope of the node,
            and no variable and no condition is an error,
            and the conditions hold

        A rule in mode ``audit`` only matches. In any other mode, an error in
        its vars or conditions ends the inspection of a machine.

        :param state: the machines before the rule.
        :param begin: the machines before its phase.
        :param scope: the scope of the node, to compare with that of the rule.
        :param decided_on: the machines as vars and conditions read them:
            ``state``, or the machines before all rules of the phase.
        :returns: the pass of the rule, and the machines after it.
        :raises: :class:`.search.Exhausted` after the deadline of the proof.
        """
        # This raises after the deadline.
        self._deadline.left()
        in_scope = self._where_in_scope(rule, scope)
        # Variables are computed before the conditions. An error in a variable
        # is an error of the rule, even if no condition reads the variable.
        data, vars_fail = self._compute_vars(rule, decided_on)
        conditions = self._translate_conditions(rule.conditions, data)
        # A rule does not run if the inspection ended before it, or if the node
        # has another scope.
        runs = logic.conj(state.going, in_scope)
        matched = logic.conj(
            runs,
            logic.negated(vars_fail),
            logic.negated(conditions.fails),
            conditions.holds,
        )
        rule_pass = RulePass(rule, matched, before=state, begin=begin)
        if rule.mode == model.AUDIT:
            return rule_pass, state
        has_error = logic.disj(vars_fail, conditions.fails)
        rule_pass.ends = logic.conj(runs, has_error)
        # Run the actions, which change the machines that the rule matches.
        rule_actions = actions.Actions(
            rule_pass,
            state=state.ended(rule_pass.ends),
            scope=data,
            messages=self._messages,
            deadline=self._deadline,
        )
        for action in rule.actions:
            rule_actions.act(action)
        return rule_pass, rule_actions.state

    def _compute_vars(
        self, rule: model.Rule, state: State
    ) -> tuple[expression.Scope, logic.Formula]:
        """Compute the vars of a rule, one after another.

        For ``{half: '{inventory.cpu.count | divide(2)}'}``, the returned data
        have ``vars.half``, and the formula is that the count exists but is not
        a number.

        :param state: the machines on which the vars are computed.
        :returns: the data that conditions and actions read, including the
            vars, and the formula that a variable is an error.
        """
        data = expression.Scope(
            self.machine, state.roots, secret.reads_columns(rule)
        )
        own_vars: dict[str, Value] = {}
        fails = logic.FALSE
        for name, raw in rule.vars.items():
            value = expression.evaluate(raw, data)
            fails = logic.disj(
                fails, values.where_failed(value), self.machine.may_fail(value)
            )
            own_vars[name] = value
            # A variable can read those before it.
            vars_so_far = values.Mapping(cell=None, entries=dict(own_vars))
            data = data.within(vars=values.only(vars_so_far))
        return data, fails

    def _where_in_scope(self, rule: model.Rule, scope: Value) -> logic.Formula:
        """Return the formula that a rule has the scope of the node.

        A rule without a scope applies to all nodes. A rule with the scope
        "edge" applies to nodes that have this text as their property
        ``inspection_scope``. By the kind of the property, the formula is::

            a text                                → property == "edge"
            unknown                               → a guess
            missing, a number, a list, a mapping  → false

        :param scope: the scope of the node, with its alternatives.
        """
        if not rule.scope:
            return logic.TRUE
        parts = []
        # The property may be a text on one machine and missing on another. The
        # guard of an alternative holds on the machines that have it.
        for guard, alternative in scope:
            # A list, a mapping or a number never equals a scope.
            is_same = logic.FALSE
            if isinstance(alternative, values.UnknownValue):
                # Let the solver choose whether it equals the scope.
                is_same = self.machine.guess(
                    alternative.reason, 'scope', alternative, rule.scope
                )
            elif isinstance(alternative, values.Const):
                is_same = logic.of_bool(alternative.value == rule.scope)
            elif (
                isinstance(alternative, values.SolverTerm)
                and alternative.is_text
            ):
                # The search must try this text for the term.
                self.machine.note_text(alternative.term, rule.scope)
                is_same = alternative.term == logic.text_term(rule.scope)
            parts.append(logic.conj(guard, is_same))
        return logic.disj(*parts)

    def _translate_conditions(
        self, conditions: Sequence[typing.Any], scope: expression.Scope
    ) -> condition.Truth:
        """Return the formulas that all conditions of a rule hold, or fail.

        They are cached, because a proof runs the same rules many times, mostly
        on the same data. The key of the cache is the conditions and the data
        that they read.

        :param conditions: the conditions as the rule has them.
        :param scope: the data that conditions read, including the rule's vars.
        """
        written = json.dumps(conditions, default=str)
        # The key of a table may be made from any data. And some ops read data
        # that are not in their arguments.
        reads_all_roots = interpolation.TABLES in written
        for name, op in registry.installed().conditions.items():
            if name in written and op.plugin.NEEDS_VIEW:
                reads_all_roots = True
        # The key has the roots that the conditions read, and the rule's own
        # values. Any text that contains the name of a root counts as reading
        # it. At worst, conditions are translated again without need.
        data_of_key = []
        for name, value in scope.roots.items():
            is_of_machine = name in (*_ROOTS, *_UNKNOWN_ROOTS)
            is_read = not is_of_machine or name in written
            if reads_all_roots or is_read:
                data_of_key.append((name, values.fingerprint(value)))
        key = id(conditions), tuple(data_of_key)
        if key not in self._truths:
            # Keep both alive, so that no other object gets an id in the key.
            self._kept_conditions.append((conditions, scope))
            self._truths[key] = condition.all_hold(conditions, scope)
        return self._truths[key]

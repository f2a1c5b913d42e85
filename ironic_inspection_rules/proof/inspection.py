# SPDX-License-Identifier: Apache-2.0

"""Rules carried out on all machines at once."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import functools
import json
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.proof import condition
from ironic_inspection_rules.proof import expression
from ironic_inspection_rules.proof import machine as machines
from ironic_inspection_rules.proof import value as values
from ironic_inspection_rules.traits import names as trait_names

Value = values.Value

_ROOTS = ('inventory', 'plugin_data', 'node', 'ports')
_OF_NODE = ('node', 'ports', 'port_groups', 'previous')
_UNKNOWN = ('port_groups', 'previous')
_CAPABILITIES = machines.CAPABILITIES[1:]
_TEXT = 'a string'
TOLD = ('log', 'api-call')
"""The actions that nothing takes back."""


@dataclasses.dataclass(frozen=True)
class State:
    """All machines at one moment.

    ``going`` holds for those whose inspection goes on; ``result`` is the
    number of what it ended with, 0 where it goes on, -1 for an error.
    """

    roots: typing.Mapping[str, Value]
    going: values.Formula = values.TRUE
    result: typing.Any = dataclasses.field(
        default_factory=lambda: z3.IntVal(0))


@dataclasses.dataclass(frozen=True)
class Write:
    """What a rule leaves at one place, and when."""

    place: data_path.Path
    when: values.Formula
    value: Value
    extends: bool = False


@dataclasses.dataclass
class Passed:
    """How one rule went: when it matched, and what it wrote.

    ``before`` are the machines as it found them, ``begin`` as its phase did.

    ``told`` says when it wrote a log or called somebody, which nothing takes
    back.
    """

    rule: model.Rule
    matched: values.Formula
    before: State
    begin: State
    writes: list[Write] = dataclasses.field(default_factory=list)
    told: values.Formula = values.FALSE
    ends: values.Formula = values.FALSE


class Inspection:
    """Rules on the machines of a solver.

    :param machine: the fields that are looked at.
    """

    def __init__(self, machine: machines.Machine) -> None:
        self.machine = machine
        self._traits: set[str] = set()
        self._messages: dict[str, int] = {}
        self._truths: dict[typing.Any, condition.Truth] = {}
        self._conditions: list[typing.Any] = []

    def learn(self, rules: Iterable[model.Rule]) -> None:
        """Take note of the traits that rules speak of."""
        ops = registry.installed().actions
        for rule in rules:
            for action in rule.actions:
                bound, _problems = ops[action['op'].strip()].signature.bind(
                    action.get('args'))
                for each in (bound.get('name'), *(
                        names if isinstance(names := bound.get('names'), list)
                        else ())):
                    if isinstance(each, str) and 'trait' in action['op']:
                        self._traits.add(each)

    def start(self) -> State:
        """Return the machines before the first rule."""
        return State({
            **{name: self.machine.root(name) for name in _ROOTS},
            **{name: values.only(values.Unknown(f'what is in {name}'))
               for name in _UNKNOWN}})

    def run(self, rules: Sequence[model.Rule], state: State | None = None,
            notes: list[Passed] | None = None) -> State:
        """Run rules that are in order, phase by phase.

        :param state: the machines as the first of these rules finds them.
        :param notes: takes how each rule went.
        """
        state = state or self.start()
        for phase in model.PHASES:
            chosen = [rule for rule in rules if rule.phase == phase
                      and rule.mode != model.OFF]
            if chosen:
                inside = state
                if phase == model.EARLY:
                    inside = dataclasses.replace(state, roots={
                        name: values.NOTHING if name in _OF_NODE else each
                        for name, each in state.roots.items()})
                state = self._run_phase(chosen, state, inside, phase, notes)
        return state

    def resume(self, state: State, begin: State,
               rules: Sequence[model.Rule], phase: str) -> State:
        """Run rules from somewhere in a phase on.

        :param state: the machines as the first of these rules finds them.
        :param begin: the machines as the phase found them.
        """
        rest = [rule for rule in rules if rule.phase == phase]
        state = self._run_phase(rest, begin, state, phase, None)
        return self.run([rule for rule in rules if rule.phase != phase],
                        state)

    def _run_phase(self, rules: Sequence[model.Rule], begin: State,
                   state: State, phase: str, notes: list[Passed] | None
                   ) -> State:
        scope = values.step(values.step(begin.roots['node'], 'properties',
                                        False), model.SCOPE_PROPERTY, False)
        if any(compiler.compile_rule(rule, registry.installed()
                                     ).decides_first for rule in rules):
            reason = 'what rules undo where they do not match'
            lost = values.only(values.Unknown(reason))
            state = _ended(dataclasses.replace(state, roots={
                name: each if name == 'inventory' else lost
                for name, each in state.roots.items()}),
                self.machine.guess(reason, (phase, reason)), -1)
        for rule in rules:
            passed, state = self._pass(rule, state, begin, scope)
            if notes is not None:
                notes.append(passed)
        broken = values.simplified(
            values.conj(begin.going, state.result == -1))
        return dataclasses.replace(state, roots={
            name: begin.roots[name] if phase == model.EARLY
            and name in _OF_NODE
            else values.choose(broken, begin.roots[name], each)
            for name, each in state.roots.items()})

    def _pass(self, rule: model.Rule, state: State, begin: State,
              scope: Value) -> tuple[Passed, State]:
        looked = expression.Scope(self.machine, state.roots, True)
        applies = values.TRUE
        if rule.scope:
            applies = values.disj(*(
                values.conj(guard, self._is(each, rule.scope))
                for guard, each in scope))
        looked, broken = self._with_vars(rule, looked)
        truth = self._holds(rule.conditions, looked)
        asked = values.conj(state.going, applies)
        fails = values.conj(asked, values.disj(
            broken, truth.fails))
        matched = values.conj(asked, values.negated(broken),
                              values.negated(truth.fails), truth.holds)
        passed = Passed(rule, matched, state, begin)
        if rule.mode == model.AUDIT:
            return passed, state
        state = _ended(state, fails, -1)
        doing = _Doing(self, passed, state, looked)
        for action in rule.actions:
            doing.act(action)
        passed.ends = values.disj(fails, doing.ended)
        return passed, doing.state

    def _is(self, alternative: values.Alternative,
            text: str) -> values.Formula:
        if isinstance(alternative, values.Const):
            return values.known(alternative.value == text)
        if isinstance(alternative, values.Term) and alternative.is_text:
            self.machine.note(alternative.term, text)
            return alternative.term == text
        return values.FALSE

    def _with_vars(self, rule: model.Rule, looked: expression.Scope
                   ) -> tuple[expression.Scope, values.Formula]:
        made: dict[str, Value] = {}
        broken = values.FALSE
        for name, written in rule.vars.items():
            value = expression.evaluate(written, looked)
            broken = values.disj(broken, values.when(
                value, lambda each: isinstance(each, values.Failed)))
            made[name] = value
            looked = looked.within(vars=values.only(
                values.Mapping(None, dict(made))))
        return looked, broken

    def _holds(self, conditions: Sequence[typing.Any],
               scope: expression.Scope) -> condition.Truth:
        """Translate the conditions of a rule once for the same data."""
        key = id(conditions), tuple(id(each) for name, each
                                    in scope.roots.items()
                                    if name not in self._unread(conditions))
        if key not in self._truths:
            # What has an id has to stay.
            self._conditions.append((conditions, scope))
            self._truths[key] = condition.all_hold(conditions, scope)
        return self._truths[key]

    def _unread(self, conditions: Sequence[typing.Any]) -> set[str]:
        text = json.dumps(conditions, default=str)
        return {name for name in (*_ROOTS, *_UNKNOWN) if name not in text}

    def message(self, text: str) -> int:
        """Return the number of a message that an inspection ends with."""
        return self._messages.setdefault(text, len(self._messages) + 1)

    def named(self, prefix: str) -> list[str]:
        """Return the known traits that begin with a prefix."""
        return sorted(name for name in self._traits
                      if name.startswith(prefix))


def _ended(state: State, ends: values.Formula, result: int) -> State:
    if ends is values.FALSE:
        return state
    return dataclasses.replace(
        state, going=values.conj(state.going, values.negated(ends)),
        result=z3.If(ends, z3.IntVal(result), state.result))


class _Doing:
    """The actions of a rule where it matches."""

    def __init__(self, inspection: Inspection, passed: Passed, state: State,
                 looked: expression.Scope) -> None:
        self._inspection = inspection
        self._machine = inspection.machine
        self._passed = passed
        self.state = state
        self._looked = looked
        self.ended = values.FALSE

    def act(self, action: typing.Mapping[str, typing.Any]) -> None:
        """Carry out an action, for each item of its loop."""
        scope = dataclasses.replace(self._looked, roots={
            **self._looked.roots, **self.state.roots})
        if action.get('loop') is None:
            self._once(action, scope, self._passed.matched)
            return
        found = condition.looped_over(action['loop'], scope)
        for guard, alternative in found:
            when = values.conj(self._passed.matched, guard)
            if isinstance(alternative, values.Const) and not isinstance(
                    alternative.value, list | dict):
                if alternative.value is not None:
                    self._end(when, -1)
                continue
            if isinstance(alternative, values.Term | values.Failed):
                self._end(when, -1)
                continue
            if isinstance(alternative, values.Unknown | values.Names):
                self._lose(when, 'a loop over what nobody knows')
                continue
            for there, item in condition.listed(alternative):
                self._once(action, scope.within(item=item),
                           values.conj(when, there))
            if isinstance(alternative, values.Items):
                more = values.simplified(
                    values.conj(when, alternative.is_longer))
                alternative.uses.add(action['op'])
                if more is not values.FALSE:
                    self._lose(more, f'an action for more than '
                               f'{machines.LONGEST} items of '
                               f'{alternative.name}')

    def _once(self, action: typing.Mapping[str, typing.Any],
              scope: expression.Scope, when: values.Formula) -> None:
        scope = dataclasses.replace(
            scope, roots={**scope.roots, **self.state.roots})
        if action.get('when'):
            truth = condition.all_hold(action['when'], scope)
            self._end(values.conj(when, truth.fails), -1)
            when = values.conj(when, truth.holds,
                               values.negated(truth.fails))
        when = values.conj(when, values.negated(self.ended))
        if when is values.FALSE:
            return
        name = action['op'].strip()
        op = registry.installed().actions[name]
        bound, _problems = op.signature.bind(action.get('args'))
        if op.plugin.FAILS:
            number = self._inspection.message(json.dumps(bound, default=str))
            self._end(when, number)
            return
        if name in TOLD:
            self._passed.told = values.disj(self._passed.told, when)
            return
        carry_out = getattr(self, '_' + name.replace('-', '_'), None)
        if carry_out is None:
            self._lose(when, f'there is no translation of {name}')
            return
        given = {name: expression.evaluate(each, scope)
                 for name, each in bound.items()}
        for each in given.values():
            broken = values.disj(values.absent(each), values.when(
                each, lambda one: isinstance(one, values.Failed)))
            self._end(values.conj(when, broken), -1)
            when = values.conj(when, values.negated(broken))
        carry_out(when, given)

    def _end(self, when: values.Formula, result: int) -> None:
        when = values.conj(when, values.negated(self.ended))
        if values.simplified(when) is values.FALSE:
            return
        self.ended = values.disj(self.ended, when)
        self.state = _ended(self.state, when, result)

    def _lose(self, when: values.Formula, reason: str) -> None:
        """Know nothing more of what rules may change."""
        lost = values.only(values.Unknown(reason))
        self.state = dataclasses.replace(self.state, roots={
            name: each if name == 'inventory' else values.choose(
                when, lost, each)
            for name, each in self.state.roots.items()})
        guess = self._machine.guess(reason, object())
        self._end(values.conj(when, guess), -1)

    def _put(self, when: values.Formula, path: data_path.Path, value: Value,
             creates: bool = True, extends: bool = False) -> None:
        """Write at a path from the name of a root."""
        root = self.state.roots[path[0]]
        made, broken = values.put(root, path[1:], value, creates)
        self._end(values.conj(when, broken), -1)
        when = values.conj(when, values.negated(broken))
        self._passed.writes.append(Write(path, when, value, extends))
        self.state = dataclasses.replace(self.state, roots={
            **self.state.roots, path[0]: values.choose(when, made, root)})

    def _paths(self, when: values.Formula, value: Value) -> Iterator[
            tuple[values.Formula, data_path.Path]]:
        """Yield the paths that an argument may be."""
        for guard, each in value:
            both = values.conj(when, guard)
            if isinstance(each, values.Const) and isinstance(each.value, str):
                try:
                    yield both, data_path.parse(each.value)
                except exceptions.OperationError:
                    self._end(both, -1)
            else:
                self._lose(both, 'a path out of the data of a machine')

    def _attributes(self, when: values.Formula, value: Value) -> Iterator[
            tuple[values.Formula, data_path.Path]]:
        for guard, path in self._paths(when, value):
            try:
                schema.check_path(path, schema.NODE)
            except exceptions.OperationError:
                self._end(guard, -1)
            else:
                yield guard, path

    def _set_attribute(self, when: values.Formula,
                       given: dict[str, Value]) -> None:
        for guard, path in self._attributes(when, given['path']):
            made = values.each(given['value'],
                               functools.partial(_read, path))
            broken = values.when(made, lambda each: isinstance(
                each, values.Failed))
            self._end(values.conj(guard, broken), -1)
            self._put(values.conj(guard, values.negated(broken)),
                      ('node', *path), made)
            if path == ('properties', 'capabilities'):
                self._put(guard, ('node', *_CAPABILITIES), values.only(
                    values.Unknown('capabilities as a text')))

    def _del_attribute(self, when: values.Formula,
                       given: dict[str, Value]) -> None:
        for guard, path in self._attributes(when, given['path']):
            if len(path) == 1:
                self._set_attribute(guard, {
                    'path': given['path'], 'value': values.const(None)})
            else:
                self._put(guard, ('node', *path), values.NOTHING, False)
                if path == ('properties', 'capabilities'):
                    self._put(guard, ('node', *_CAPABILITIES),
                              values.NOTHING, False)

    def _extend_attribute(self, when: values.Formula,
                          given: dict[str, Value]) -> None:
        for guard, path in self._attributes(when, given['path']):
            self._extend(guard, ('node', *path), given)

    def _extend_plugin_data(self, when: values.Formula,
                            given: dict[str, Value]) -> None:
        for guard, path in self._paths(when, given['path']):
            self._extend(guard, ('plugin_data', *path), given)

    def _extend(self, when: values.Formula, path: data_path.Path,
                given: dict[str, Value]) -> None:
        there = self.state.roots[path[0]]
        for name in path[1:]:
            there = values.step(there, name, False)
        unique = given.get('unique', values.const(False))
        parts = []
        for guard, (old, new, once) in values.product(
                [there, given['value'], unique]):
            parts.append((guard, _extended(old, new, once)))
        made = values.join(parts)
        broken = values.when(made, lambda each: isinstance(
            each, values.Failed))
        self._end(values.conj(when, broken), -1)
        self._put(values.conj(when, values.negated(broken)), path, made,
                  extends=True)

    def _set_plugin_data(self, when: values.Formula,
                         given: dict[str, Value]) -> None:
        for guard, path in self._paths(when, given['path']):
            self._put(guard, ('plugin_data', *path), given['value'])

    def _unset_plugin_data(self, when: values.Formula,
                           given: dict[str, Value]) -> None:
        for guard, path in self._paths(when, given['path']):
            self._put(guard, ('plugin_data', *path), values.NOTHING, False)

    def _set_capability(self, when: values.Formula,
                        given: dict[str, Value]) -> None:
        texts = values.each(given['value'], _capability)
        for guard, name in given['name']:
            both = values.conj(when, guard)
            if not isinstance(name, values.Const):
                self._lose(both, 'the name of a capability out of data')
                continue
            broken = values.when(texts, lambda each: isinstance(
                each, values.Failed))
            self._end(values.conj(both, broken), -1)
            self._put(values.conj(both, values.negated(broken)), (
                'node', *_CAPABILITIES, str(name.value)), texts)

    def _unset_capability(self, when: values.Formula,
                          given: dict[str, Value]) -> None:
        for guard, name in given['name']:
            both = values.conj(when, guard)
            if isinstance(name, values.Const):
                self._put(both, ('node', *_CAPABILITIES, str(name.value)),
                          values.NOTHING, False)
            else:
                self._lose(both, 'the name of a capability out of data')

    def _add_trait(self, when: values.Formula,
                   given: dict[str, Value]) -> None:
        self._traits_named(when, given['name'], True)

    def _remove_trait(self, when: values.Formula,
                      given: dict[str, Value]) -> None:
        self._traits_named(when, given['name'], False)

    def _set_traits(self, when: values.Formula,
                    given: dict[str, Value]) -> None:
        names, prefix = given['names'], given.get('prefix',
                                                  values.const(''))
        for guard, (listed, begins) in values.product([names, prefix]):
            both = values.conj(when, guard)
            if not isinstance(begins, values.Const) or not isinstance(
                    listed, values.Const | values.Items):
                self._lose(both, 'set-traits with what nobody knows')
                continue
            for name in self._inspection.named(begins.value):
                self._put(both, ('node', machines.TRAITS[1], name),
                          values.const(False))
            # Those that no rule speaks of.
            self._put(both, ('node', machines.TRAITS[1],
                             f'{begins.value}*'), values.const(False))
            for there, item in condition.listed(listed):
                self._traits_named(values.conj(both, there), item, True)

    def _traits_named(self, when: values.Formula, names: Value,
                      present: bool) -> None:
        for guard, each in names:
            both = values.conj(when, guard)
            if isinstance(each, values.Const):
                if present and trait_names.problem(each.value):
                    self._end(both, -1)
                    continue
                self._put(both, ('node', machines.TRAITS[1],
                                 str(each.value)), values.const(present))
            else:
                self._lose(both, 'a trait out of the data of a machine')


def _read(path: data_path.Path, each: values.Alternative) -> Value:
    """Return a value as an attribute of a node keeps it."""
    if isinstance(each, values.Const):
        try:
            return values.const(schema.read_value(path, each.value,
                                                  schema.NODE))
        except exceptions.OperationError:
            return values.only(values.Failed())
    if len(path) > 1 or isinstance(each, values.Unknown | values.Failed):
        return values.only(each)
    attribute = schema.NODE[path[0]]
    if attribute.kind == _TEXT and isinstance(each, values.Term) and (
            not each.is_boolean):
        text = expression.as_text(each)
        if text is not None:
            return values.choose(
                z3.Length(text) <= attribute.longest,
                values.only(values.Term(text)), values.only(values.Failed()))
    if attribute.kind == 'a mapping':
        return values.only(each if isinstance(each, values.Mapping)
                           else values.Failed())
    if attribute.kind == 'true or false' and isinstance(
            each, values.Term) and each.is_boolean:
        return values.only(each)
    if attribute.kind == _TEXT and isinstance(
            each, values.Mapping | values.Items | values.Names) or (
            isinstance(each, values.Term) and each.is_boolean):
        return values.only(values.Failed())
    return values.only(values.Unknown(f'{path[0]} out of the data'))


def _extended(old: values.Alternative, new: values.Alternative,
              once: values.Alternative) -> Value:
    if isinstance(old, values.Failed | values.Term | values.Mapping):
        return values.only(values.Failed())
    if isinstance(old, values.Const) and isinstance(
            new, values.Const) and isinstance(once, values.Const):
        items = [] if old.value in (None, data_path.ABSENT) else old.value
        if not isinstance(items, list):
            return values.only(values.Failed())
        if once.value and any(data_path.same(each, new.value)
                              for each in items):
            return values.const(items)
        return values.const([*items, new.value])
    return values.only(values.Unknown('a list that rules extend'))


def _capability(each: values.Alternative) -> Value:
    """Return the value of a capability, which is text without commas."""
    if isinstance(each, values.Const):
        text = str(each.value)
        return values.const(text) if text and ',' not in text and not (
            isinstance(each.value, list | dict)) else values.only(
            values.Failed())
    if isinstance(each, values.Term):
        text = expression.as_text(each)
        if text is not None:
            return values.choose(
                z3.Or(text == '', z3.Contains(text, ',')),
                values.only(values.Failed()), values.only(values.Term(text)))
    return values.only(values.Unknown('the value of a capability'))


def differ(machine: machines.Machine, one: Value,
           other: Value) -> values.Formula:
    """Return when two values are not the same."""
    if one is other:
        return values.FALSE
    return values.disj(*(
        values.conj(guard, _different(machine, *pair))
        for guard, pair in values.product([one, other])))


def _different(machine: machines.Machine, one: values.Alternative,
               other: values.Alternative) -> values.Formula:
    if one is other:
        return values.FALSE
    one, other = (_plain(each) for each in (one, other))
    if isinstance(one, values.Const) and isinstance(other, values.Const):
        return values.known(not data_path.same(one.value, other.value))
    if isinstance(one, values.Mapping) and isinstance(other, values.Mapping):
        if one.cell is other.cell:
            return values.disj(*(
                differ(machine, one.entry(name), other.entry(name))
                for name in {*one.entries, *other.entries}))
    terms: list[typing.Any] = [each.term if isinstance(each, values.Term) else
             condition.raw(each) if isinstance(each, values.Const)
             and isinstance(each.value, str | bool | int | float) else None
             for each in (one, other)]
    if None not in terms:
        if terms[0].sort() != terms[1].sort():
            return values.TRUE
        return terms[0] != terms[1]
    if any(isinstance(each, values.Unknown | values.Items | values.Mapping)
           for each in (one, other)):
        if type(one) is type(other) or any(
                isinstance(each, values.Unknown) for each in (one, other)):
            return machine.guess('whether two values are the same',
                                 frozenset((id(one), id(other))), one, other)
    return values.TRUE


def _plain(each: values.Alternative) -> values.Alternative:
    """Return a mapping that is known as one with entries."""
    if isinstance(each, values.Const) and isinstance(each.value, dict):
        return values.Mapping(None, {name: values.const(inner)
                                     for name, inner in each.value.items()})
    return each

# SPDX-License-Identifier: Apache-2.0

"""Actions of rules on all machines at once."""

import dataclasses
import functools
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import origin
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import condition
from ironic_inspection_rules.kit.proof import expression
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import pair
from ironic_inspection_rules.kit.proof import search
from ironic_inspection_rules.kit.proof import secret
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.traits import names as trait_names

Formula = logic.Formula
Value = values.Value
Given = dict[str, Value]

LASTING = ('log', 'api-call')  # Nothing takes them back.


class Actions:
    """The actions of a rule where it matches.

    :param deadline: looked at before each item of a loop.
    """

    def __init__(self, passed: states.RulePass, state: states.State,
                 scope: expression.Scope, messages: pair.Messages,
                 traits: set[str], deadline: search.Deadline) -> None:
        self._machine = scope.machine
        self._passed = passed
        self._scope = scope
        self._messages = messages
        self._traits = traits
        self._deadline = deadline
        self.state = state

    def act(self, action: typing.Mapping[str, typing.Any]) -> None:
        """Carry out an action, for each item of its loop."""
        self._op = registry.installed().actions[action['op'].strip()]
        self._given, _problems = self._op.signature.bind(action.get('args'))
        if action.get('loop') is None:
            self._once(action, self._scope, self._passed.matched)
            return
        loop = condition.looped_over(
            action['loop'], self._scope.within(**self.state.roots))
        for guard, alternative in loop:
            when = logic.conj(self._passed.matched, guard)
            if isinstance(alternative, values.Const) and (
                    alternative.value is None):
                continue
            if isinstance(alternative,
                          values.UnknownValue | values.TraitNames):
                self._lose(when, 'a loop over what nobody knows',
                           self._scope, str(action), alternative)
                continue
            if isinstance(alternative, values.SolverTerm | values.Failed) or (
                    isinstance(alternative, values.Const)
                    and not isinstance(alternative.value, list | dict)):
                self._end(when)
                continue
            for number, (there, item) in enumerate(
                    alternative.items_of_loop()):
                literal = action['loop']
                if isinstance(literal, list):
                    literal = literal[number]
                self._once(action, self._scope.within(item=item),
                           logic.conj(when, there), literal)
            if isinstance(alternative, values.ItemList):
                alternative.uses.add(action['op'])
                more = logic.settled(logic.conj(when,
                                                   alternative.is_longer))
                if more is not logic.FALSE:
                    self._lose(
                        more, f'an action for more than {cells.LONGEST} '
                        f'items of {alternative.name}', self._scope,
                        str(action), alternative)

    def _once(self, action: typing.Mapping[str, typing.Any],
              scope: expression.Scope, when: Formula,
              literal: typing.Any = None) -> None:
        """Carry out an action for one item.

        :param literal: the item as the rule has it, if that is not a text
            with fields.
        """
        self._deadline.left()
        scope = scope.within(**self.state.roots)
        if action.get('when'):
            truth = condition.all_hold(action['when'], scope)
            when = logic.conj(self._unless(when, truth.fails), truth.holds)
        when = logic.conj(when, logic.negated(self._passed.ends))
        name = self._op.name
        if when is logic.FALSE:
            return
        if self._op.plugin.FAILS or name in LASTING:
            when = self._unless(when, self._cannot_be_told(action, scope))
        if self._op.plugin.FAILS:
            self._end(when, self._messages.number_of(
                self._given, self._passed.rule, scope.roots))
        elif name in LASTING:
            self._passed.lasts = logic.disj(self._passed.lasts, when)
        elif name not in _TRANSLATIONS:
            self._lose(when, f'there is no translation of {name}', scope,
                       str(action))
        else:
            given = {key: self._path(each, scope, literal)
                     if key == 'path' else expression.argument(
                         self._op.signature.by_name[key], each, scope)
                     for key, each in self._given.items()}
            for each in given.values():
                when = self._unless(when, values.absent(each))
                # An action cannot do without a value.
                when = self._unless(when, logic.disj(
                    values.failed(each), self._machine.may_fail(each),
                    self._machine.may_lack(each)))
            when = self._unless(when, self._reads_secret(action, scope))
            _TRANSLATIONS[name](self, when, given)

    def _cannot_be_told(self, action: typing.Mapping[str, typing.Any],
                        scope: expression.Scope) -> Formula:
        """Return when an argument of an action that changes nothing is wrong.

        In a message, what is missing reads so, and a secret is masked.
        """
        broken = logic.FALSE
        tells = self._op.plugin.TELLS
        for name, written in self._given.items():
            fields = interpolation.fields(written)
            if name in tells:
                for field in fields:
                    found = expression.evaluate_field(field, scope)
                    broken = logic.disj(broken, values.failed(found),
                                        self._machine.may_fail(found))
            elif fields:
                found = expression.evaluate(written, scope)
                broken = logic.disj(
                    broken, values.absent(found), values.failed(found),
                    self._machine.guess(f'the argument {name}', 'fails',
                                        self._op.name, name, found))
        if not tells:
            broken = logic.disj(broken, self._reads_secret(action, scope))
        return broken

    def _reads_secret(self, action: typing.Mapping[str, typing.Any],
                      scope: expression.Scope) -> Formula:
        made = origin.Origins(self._passed.rule.vars, action.get('loop'))
        return secret.read_in(self._machine, action.get('args'), scope.roots,
                              made)

    @staticmethod
    def _path(written: typing.Any, scope: expression.Scope,
              literal: typing.Any) -> Value:
        """Return a path, as the engine splits it into tokens."""
        if not isinstance(written, str):
            return expression.evaluate(written, scope)
        if literal is not None and not isinstance(literal, str):
            written = interpolation.fill_item(written, literal)
        elif literal is not None and not literal.startswith('{'):
            written = interpolation.fill_item(written, literal)
        return expression.path(written, scope)

    def _end(self, when: Formula, result: int = states.ERROR) -> None:
        passed = self._passed
        when = logic.conj(when, logic.negated(passed.ends))
        if logic.settled(when) is logic.FALSE:
            return
        passed.ends = logic.disj(passed.ends, when)
        if result != states.ERROR:
            passed.fails = logic.disj(passed.fails, when)
        self.state = self.state.ended(when, result)

    def _unless(self, when: Formula, broken: Formula) -> Formula:
        """End where something is broken, and return where it is not."""
        self._end(logic.conj(when, broken))
        return logic.conj(when, logic.negated(broken))

    def _lose(self, when: Formula, reason: str, *about: typing.Any,
              may_fail: bool = True, extends: bool = False) -> None:
        """Make unknown all that an action may change.

        :param about: all that its effect depends on, besides what is there.
        """
        about = (self._op.name, *about)
        try:
            places = tuple(states.places(self._op, self._given))
        except exceptions.PluginFailed as exc:
            places = states.EVERYWHERE
            reason = f'{self._op.name}: {exc}'
        if may_fail:
            self._end(logic.conj(when, self._machine.guess(
                reason, 'fails', *about, *self.state.roots.values())))
        for place in dict.fromkeys(places):
            root, *steps = place[:1] if place[0] == 'ports' else place
            there = self.state.roots[root]
            lost = states.lost(place, reason, *about, place,
                               values.step(there, *steps))
            self._passed.writes.append(states.SymbolicWrite(place, when, lost,
                                                    extends))
            made, broken = states.put(self._machine, there, tuple(steps),
                                      lost)
            self._end(logic.conj(when, broken))
            self.state = self.state.having(
                **{root: values.choose(when, made, there)})

    def _put(self, when: Formula, path: data_path.Path, value: Value,
             creates: bool = True, extends: bool = False) -> None:
        root = self.state.roots[path[0]]
        made, broken = states.put(self._machine, root, path[1:], value,
                                  creates)
        when = self._unless(when, broken)
        self._passed.writes.append(
            states.SymbolicWrite(path, when, value, extends))
        self.state = self.state.having(
            **{path[0]: values.choose(when, made, root)})

    def _paths(self, when: Formula, given: Given,
               table: typing.Mapping[str, schema.Attribute] | None = None
               ) -> typing.Iterator[tuple[Formula, data_path.Path]]:
        for guard, each in given['path']:
            both = logic.conj(when, guard)
            if each.is_missing or isinstance(each, values.Failed):
                # The rule has ended with an error.
                continue
            if not isinstance(each, values.Const):
                self._lose(both, 'a path out of the data of a machine',
                           *given.values())
                continue
            try:
                path = each.value
                if not isinstance(path, tuple):
                    path = data_path.parse(path)
                if table is not None:
                    schema.check_path(path, table)
            except exceptions.OperationError:
                self._end(both)
            else:
                yield both, path

    def attribute(self, when: Formula, given: Given) -> None:
        """Set an attribute of the node or of a port, or delete a part of it.

        What is deleted as a whole becomes its default.
        """
        table = schema.PORT if 'port_id' in given else schema.NODE
        for guard, path in self._paths(when, given, table):
            sets = 'value' in given or len(path) == 1
            made = values.transform(
                given.get('value', values.const(None)), functools.partial(
                    states.read, self._machine, path, table)
            ) if sets else values.NOTHING
            guard = self._unless(guard, logic.disj(
                values.failed(made), self._machine.may_fail(made)))
            if table is schema.NODE and 'value' in given:
                guard = self._unless(guard, states.no_capabilities(
                    self._machine, path, made))
            if table is schema.PORT:
                self._put_in_port(guard, given['port_id'], path, made)
                continue
            self._put(guard, ('node', *path), made, sets)
            names = cells.CAPABILITY_TEXT[1:]
            if path == names[:len(path)]:
                gone = values.absent(values.step(made, *names[len(path):]))
                if path == names or gone is not logic.TRUE:
                    text = values.unknown('capabilities as a text', made)
                    self._put(guard, cells.CAPABILITIES, values.choose(
                        gone, values.NOTHING, text), sets)

    def _put_in_port(self, when: Formula, port_id: Value,
                     path: data_path.Path, value: Value) -> None:
        """Write in the port that a MAC address names."""
        for guard, each in port_id:
            both = logic.conj(when, guard)
            address = states.address(each)
            if address is None:
                self._lose(both, 'a port that no MAC address names', path,
                           port_id, value)
                continue
            parts, there = [], []
            for inner, ports in self.state.roots['ports']:
                if isinstance(ports, values.ItemList):
                    ports.uses.add('port')
                    items = []
                    for present, item in ports.items_of_loop():
                        found = logic.conj(present, states.is_at(
                            self._machine, item, address))
                        there.append(logic.conj(inner, found))
                        made, broken = states.put(self._machine, item, path,
                                                  value)
                        self._end(logic.conj(both, inner, found, broken))
                        items.append(values.WrittenItem(values.choose(
                            logic.conj(both, found), made, item)))
                    ports = dataclasses.replace(ports, items=tuple(items))
                else:
                    there.append(logic.conj(inner, self._machine.guess(
                        'the ports after a change', 'port', address, ports)))
                parts.append((inner, values.only(ports)))
            exists = logic.disj(*there)
            self._passed.writes.append(states.SymbolicWrite(
                ('ports', states.shown(each), *path),
                self._unless(both, logic.negated(exists)), value,
                port=address))
            self.state = self.state.having(ports=values.join(parts))

    def extend(self, when: Formula, given: Given) -> None:
        """Append to a list of the node, or of plugin data."""
        root, table = ('node', schema.NODE) if (
            self._op.name == 'extend-attribute') else ('plugin_data', None)
        for guard, path in self._paths(when, given, table):
            if table and path[:2] == cells.CAPABILITY_TEXT[1:]:
                self._end(guard)
                continue
            old = values.step(self.state.roots[root], *path)
            is_crowded = len(old) > states.MOST
            made = values.join(
                (inner, states.extended(self._machine, is_crowded, *each))
                for inner, each in values.product([
                    old, given['value'],
                    given.get('unique', values.const(False))]))
            self._put(self._unless(guard, values.failed(made)),
                      (root, *path), made, extends=True)

    def plugin_data(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given):
            self._put(guard, ('plugin_data', *path),
                      given.get('value', values.NOTHING), 'value' in given)

    def capability(self, when: Formula, given: Given) -> None:
        """Set or remove a capability, and forget the text that has them."""
        sets = 'value' in given
        node = self.state.roots['node']
        if any('capabilities' in each.entries
               for _guard, each in values.step(node, 'properties')
               if isinstance(each, values.Mapping)):
            lost = values.unknown(
                'capabilities as a text', *given.values(), values.step(
                    node, *cells.CAPABILITY_TEXT[1:]))
            new, _error = states.put(
                self._machine, node, cells.CAPABILITY_TEXT[1:], lost,
                creates=False)
            self.state = self.state.having(node=values.choose(when, new, node))
        text = values.transform(given['value'], functools.partial(
            states.capability_text, self._machine)) if (
                sets) else values.NOTHING
        for guard, name in given['name']:
            both = logic.conj(when, guard)
            if name.is_missing or isinstance(name, values.Failed):
                # The rule has ended with an error.
                continue
            if isinstance(name, values.Const):
                constant = str(name.value).strip()
                both = self._unless(both, logic.disj(
                    logic.known(sets and not _names_capability(constant)),
                    values.failed(text), self._machine.may_fail(text)))
                self._put(both, (*cells.CAPABILITIES, constant), text, sets)
            else:
                self._lose(both, 'the name of a capability out of data',
                           *given.values())

    def trait(self, when: Formula, given: Given) -> None:
        adds = self._op.name != 'remove-trait'
        for guard, name in given['name']:
            both = logic.conj(when, guard)
            if not isinstance(name, values.Const):
                self._some_trait(both, name, adds)
            elif adds and not trait_names.is_good(name.value):
                self._end(both)
            else:
                self._put(both, (*cells.TRAITS, str(name.value)),
                          values.const(adds), extends=adds)

    def _some_trait(self, when: Formula, name: values.Alternative,
                    adds: bool) -> None:
        """Add or remove a trait whose name is not known."""
        reason = 'a trait out of the data of a machine'
        valid = states.is_trait(self._machine, name)
        if valid is None:
            valid = self._machine.guess(reason, 'is a trait', name)
        if adds:
            when = self._unless(when, logic.negated(valid))
        for known in sorted(self._traits):
            place = (*cells.TRAITS, known)
            old = values.step(self.state.roots['node'], *place[1:])
            if known.endswith('*'):
                new = values.unknown(reason, name, adds, old)
            else:
                is_it = self._machine.guess(reason, 'is', known, name)
                if isinstance(name, values.SolverTerm) and name.is_text:
                    self._machine.note(name.term, known)
                    is_it = name.term == logic.constant(known)
                new = values.choose(is_it, values.const(adds), old)
            made, _broken = states.put(
                self._machine, self.state.roots['node'], place[1:], new)
            self.state = self.state.having(node=values.choose(
                when, made, self.state.roots['node']))
        self._passed.writes.append(states.SymbolicWrite(
            cells.TRAITS, when, values.unknown(reason, name), adds))

    def traits(self, when: Formula, given: Given) -> None:
        """Replace the traits that begin with a prefix."""
        for guard, (listed, begins) in values.product([
                given['names'], given.get('prefix', values.const(''))]):
            both = logic.conj(when, guard)
            if not isinstance(begins, values.Const) or not isinstance(
                    listed, values.Const | values.ItemList):
                self._lose(both, 'set-traits with what nobody knows',
                           *given.values())
                continue
            if isinstance(listed, values.Const) and not isinstance(
                    listed.value, list):
                self._end(both)
                continue
            # Names that end in a star stand for those that no rule names.
            for name in sorted(self._traits):
                if not name.startswith(str(begins.value)):
                    continue
                self._put(both, (*cells.TRAITS, name), values.const(False))
            for there, item in listed.items_of_loop():
                self._end(logic.conj(both, there, self._is_outside(
                    item, str(begins.value))))
                self.trait(logic.conj(both, there), {'name': item})

    def _is_outside(self, names: Value, prefix: str) -> Formula:
        """Return when a trait does not begin with a prefix."""
        if not prefix:
            return logic.FALSE
        outside = []
        for guard, name in names:
            begins = logic.FALSE
            if isinstance(name, values.Const):
                begins = logic.known(str(name.value).startswith(prefix))
            elif isinstance(name, values.SolverTerm) and name.is_text:
                begins = z3.PrefixOf(logic.constant(prefix), name.term)
            elif isinstance(name, values.UnknownValue):
                begins = self._machine.guess(name.reason, 'begins', prefix,
                                             name)
            outside.append(logic.conj(guard, logic.negated(begins)))
        return logic.disj(*outside)


def _names_capability(text: str) -> bool:
    """Return whether a text can be the name of a capability."""
    return bool(text) and ',' not in text and ':' not in text


_TRANSLATIONS: dict[str, typing.Callable[[Actions, Formula, Given], None]] = {
    **dict.fromkeys(('set-attribute', 'del-attribute', 'set-port-attribute',
                     'del-port-attribute'), Actions.attribute),
    **dict.fromkeys(('set-plugin-data', 'unset-plugin-data'),
                    Actions.plugin_data),
    **dict.fromkeys(('extend-attribute', 'extend-plugin-data'),
                    Actions.extend),
    **dict.fromkeys(('set-capability', 'unset-capability'),
                    Actions.capability),
    **dict.fromkeys(('add-trait', 'remove-trait'), Actions.trait),
    'set-traits': Actions.traits,
}

# SPDX-License-Identifier: Apache-2.0

"""Actions of rules on all machines at once."""

from collections.abc import Iterator
import dataclasses
import functools
import json
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.proof import attribute as attributes
from ironic_inspection_rules.proof import condition
from ironic_inspection_rules.proof import expression
from ironic_inspection_rules.proof import machine as machines
from ironic_inspection_rules.proof import state as states
from ironic_inspection_rules.proof import value as values
from ironic_inspection_rules.traits import names as trait_names

Formula = values.Formula
Value = values.Value
Given = dict[str, Value]

LASTING = ('log', 'api-call')
"""The actions that nothing takes back."""

_CAPABILITIES = machines.CAPABILITIES[1:]


class Actions:
    """The actions of a rule where it matches.

    :param messages: the numbers of messages that inspections fail with.
    :param traits: the traits that rules name.
    """

    def __init__(self, machine: machines.Machine, passed: states.Passed,
                 state: states.State, scope: expression.Scope,
                 messages: dict[str, int], traits: set[str]) -> None:
        self._machine = machine
        self._passed = passed
        self._scope = scope
        self._messages = messages
        self._traits = traits
        self.state = state

    def act(self, action: typing.Mapping[str, typing.Any]) -> None:
        """Carry out an action, for each item of its loop."""
        name = action['op'].strip()
        self._op = registry.installed().actions[name]
        self._given, _problems = self._op.signature.bind(action.get('args'))
        scope = self._scope.within(**self.state.roots)
        if action.get('loop') is None:
            self._once(action, scope, self._passed.matched)
            return
        for guard, alternative in condition.looped_over(action['loop'],
                                                        scope):
            when = values.conj(self._passed.matched, guard)
            if isinstance(alternative, values.Const) and not isinstance(
                    alternative.value, list | dict):
                if alternative.value is not None:
                    self._end(when)
                continue
            if isinstance(alternative, values.Term | values.Failed):
                self._end(when)
                continue
            if isinstance(alternative, values.Unknown | values.Names):
                self._lose(when, 'a loop over what nobody knows')
                continue
            for there, item in values.listed(alternative):
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
              scope: expression.Scope, when: Formula) -> None:
        scope = scope.within(**self.state.roots)
        if action.get('when'):
            truth = condition.all_hold(action['when'], scope)
            self._end(values.conj(when, truth.fails))
            when = values.conj(when, truth.holds,
                               values.negated(truth.fails))
        when = values.conj(when, values.negated(self._passed.ends))
        if when is values.FALSE:
            return
        op = self._op
        if op.plugin.FAILS:
            text = json.dumps(self._given, default=str)
            self._end(when, self._messages.setdefault(
                text, len(self._messages) + 1))
            return
        if op.name in LASTING:
            self._passed.lasts = values.disj(self._passed.lasts, when)
            return
        carry_out = getattr(self, '_' + op.name.replace('-', '_'), None)
        if carry_out is None:
            self._lose(when, f'there is no translation of {op.name}')
            return
        given = {name: expression.evaluate(each, scope)
                 for name, each in self._given.items()}
        for each in given.values():
            broken = values.absent(each)
            self._end(values.conj(when, broken))
            when = self._unless_failed(
                values.conj(when, values.negated(broken)), each)
        carry_out(when, given)

    def _end(self, when: Formula, result: int = states.ERROR) -> None:
        passed = self._passed
        when = values.conj(when, values.negated(passed.ends))
        if values.simplified(when) is values.FALSE:
            return
        passed.ends = values.disj(passed.ends, when)
        if result != states.ERROR:
            passed.fails = values.disj(passed.fails, when)
        self.state = self.state.ended(when, result)

    def _unless_failed(self, when: Formula,
                       value: Value) -> Formula:
        """End where a value cannot be computed, and return where it can."""
        failed = values.when(value, lambda each: isinstance(
            each, values.Failed))
        self._end(values.conj(when, failed))
        return values.conj(when, values.negated(failed))

    def _lose(self, when: Formula, reason: str,
              may_fail: bool = True, extends: bool = False) -> None:
        """Know nothing more of what an action may change."""
        lost = values.only(values.Unknown(reason))
        if may_fail:
            self._end(values.conj(when, self._machine.guess(reason,
                                                            object())))
        for place in dict.fromkeys(attributes.places(self._op, self._given)):
            self._passed.writes.append(
                states.Write(place, when, lost, extends))
            root, *steps = place[:1] if place[0] == 'ports' else place
            there = self.state.roots[root]
            made, _broken = values.put(there, tuple(steps), lost)
            self.state = self.state.having(**{
                root: values.choose(when, made, there)})

    def _put(self, when: Formula, path: data_path.Path, value: Value,
             creates: bool = True, extends: bool = False) -> None:
        """Write at a path from the name of a root."""
        root = self.state.roots[path[0]]
        made, broken = values.put(root, path[1:], value, creates)
        self._end(values.conj(when, broken))
        when = values.conj(when, values.negated(broken))
        self._passed.writes.append(states.Write(path, when, value, extends))
        self.state = self.state.having(**{
            path[0]: values.choose(when, made, root)})

    def _paths(self, when: Formula, value: Value,
               table: typing.Mapping[str, schema.Attribute] | None = None
               ) -> Iterator[tuple[Formula, data_path.Path]]:
        """Yield the paths that an argument may be."""
        for guard, each in value:
            both = values.conj(when, guard)
            if not isinstance(each, values.Const) or not isinstance(
                    each.value, str):
                self._lose(both, 'a path out of the data of a machine')
                continue
            try:
                path = data_path.parse(each.value)
                if table is not None:
                    schema.check_path(path, table)
            except exceptions.OperationError:
                self._end(both)
            else:
                yield both, path

    def _set_attribute(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path'], schema.NODE):
            made = values.each(given['value'], functools.partial(
                attributes.read, path, schema.NODE))
            self._put(self._unless_failed(guard, made), ('node', *path), made)
            if path == ('properties', 'capabilities'):
                self._put(guard, ('node', *_CAPABILITIES), values.only(
                    values.Unknown('capabilities as a text')))

    def _del_attribute(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path'], schema.NODE):
            if len(path) == 1:
                self._set_attribute(guard, {
                    'path': given['path'], 'value': values.const(None)})
            else:
                self._put(guard, ('node', *path), values.NOTHING, False)
                if path == ('properties', 'capabilities'):
                    self._put(guard, ('node', *_CAPABILITIES),
                              values.NOTHING, False)

    def _set_port_attribute(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path'], schema.PORT):
            made = values.each(given['value'], functools.partial(
                attributes.read, path, schema.PORT))
            self._put_in_port(self._unless_failed(guard, made),
                              given['port_id'], path, made)

    def _del_port_attribute(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path'], schema.PORT):
            self._put_in_port(guard, given['port_id'], path, (
                values.NOTHING if len(path) > 1 else attributes.read(
                    path, schema.PORT, values.Const(None))))

    def _put_in_port(self, when: Formula, port_id: Value,
                     path: data_path.Path, value: Value) -> None:
        """Write in the port that a MAC address names."""
        for guard, each in port_id:
            both = values.conj(when, guard)
            address = attributes.address(each)
            if address is None:
                self._lose(both, 'a port that no MAC address names')
                continue
            parts, there = [], []
            for inner, ports in self.state.roots['ports']:
                if not isinstance(ports, values.Items):
                    parts.append((inner, values.only(ports)))
                    there.append(values.conj(inner, self._machine.guess(
                        'the ports after a change', ('port', address.get_id(),
                                                     id(ports)), ports)))
                    continue
                ports.uses.add('port')
                items = []
                for present, item in values.listed(ports):
                    found = values.conj(present, self._is_at(item, address))
                    there.append(values.conj(inner, found))
                    made, broken = values.put(item, path, value)
                    self._end(values.conj(both, inner, found, broken))
                    items.append(values.Written(values.choose(
                        values.conj(both, found), made, item)))
                parts.append((inner, values.only(dataclasses.replace(
                    ports, items=tuple(items)))))
            exists = values.disj(*there)
            self._end(values.conj(both, values.negated(exists)))
            self._passed.writes.append(states.Write(
                ('ports', attributes.shown(each), *path),
                values.conj(both, exists), value, port=address))
            self.state = self.state.having(ports=values.join(parts))

    def _is_at(self, port: Value, address: typing.Any) -> Formula:
        """Return when a port has a MAC address."""
        parts = []
        for guard, found in values.step(port, 'address', False):
            if isinstance(found, values.Term) and found.is_text:
                if z3.is_string_value(address):
                    self._machine.note(found.term, address.as_string())
                parts.append(values.conj(guard, found.term == address))
        return values.disj(*parts)

    def _extend_attribute(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path'], schema.NODE):
            self._extend(guard, ('node', *path), given)

    def _extend_plugin_data(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path']):
            self._extend(guard, ('plugin_data', *path), given)

    def _extend(self, when: Formula, path: data_path.Path,
                given: Given) -> None:
        there = self.state.roots[path[0]]
        for name in path[1:]:
            there = values.step(there, name, False)
        unique = given.get('unique', values.const(False))
        made = values.join(
            (guard, attributes.extended(*each)) for guard, each
            in values.product([there, given['value'], unique]))
        self._put(self._unless_failed(when, made), path, made, extends=True)

    def _set_plugin_data(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path']):
            self._put(guard, ('plugin_data', *path), given['value'])

    def _unset_plugin_data(self, when: Formula, given: Given) -> None:
        for guard, path in self._paths(when, given['path']):
            self._put(guard, ('plugin_data', *path), values.NOTHING, False)

    def _set_capability(self, when: Formula, given: Given) -> None:
        texts = values.each(given['value'], attributes.capability_text)
        for guard, name in self._capabilities(when, given):
            self._put(self._unless_failed(guard, texts),
                      ('node', *_CAPABILITIES, name), texts)

    def _unset_capability(self, when: Formula, given: Given) -> None:
        for guard, name in self._capabilities(when, given):
            self._put(guard, ('node', *_CAPABILITIES, name), values.NOTHING,
                      False)

    def _capabilities(self, when: Formula, given: Given
                      ) -> Iterator[tuple[Formula, str]]:
        """Yield the names of capabilities that an argument may be."""
        for guard, name in given['name']:
            both = values.conj(when, guard)
            if isinstance(name, values.Const):
                yield both, str(name.value)
            else:
                self._lose(both, 'the name of a capability out of data')

    def _add_trait(self, when: Formula, given: Given) -> None:
        self._put_trait(when, given['name'], True)

    def _remove_trait(self, when: Formula, given: Given) -> None:
        self._put_trait(when, given['name'], False)

    def _set_traits(self, when: Formula, given: Given) -> None:
        prefix = given.get('prefix', values.const(''))
        for guard, (listed, begins) in values.product([given['names'],
                                                       prefix]):
            both = values.conj(when, guard)
            if not isinstance(begins, values.Const) or not isinstance(
                    listed, values.Const | values.Items):
                self._lose(both, 'set-traits with what nobody knows')
                continue
            # The last stands for those that no rule names.
            for name in (*sorted(each for each in self._traits
                                 if each.startswith(begins.value)),
                         f'{begins.value}*'):
                self._put(both, ('node', machines.TRAITS[1], name),
                          values.const(False))
            for there, item in values.listed(listed):
                self._put_trait(values.conj(both, there), item, True)

    def _put_trait(self, when: Formula, names: Value,
                   present: bool) -> None:
        for guard, each in names:
            both = values.conj(when, guard)
            if not isinstance(each, values.Const):
                valid = attributes.is_trait(self._machine, each)
                if valid is not None:
                    self._end(values.conj(both, values.negated(valid)))
                    both = values.conj(both, valid)
                self._lose(both, 'a trait out of the data of a machine',
                           may_fail=valid is None, extends=present)
            elif present and trait_names.problem(each.value):
                self._end(both)
            else:
                self._put(both, (*machines.TRAITS, str(each.value)),
                          values.const(present), extends=present)

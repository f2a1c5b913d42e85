# SPDX-License-Identifier: Apache-2.0

"""Compute what actions write on all possible machines at once.

The machines are in a *state*: every field is a list of alternatives, and the
guard of an alternative is a formula that holds on the machines that have it.
If an action sets the name of the node to "a" on the machines where a rule
matches, the name is afterwards::

    the rule matched                                → "a"
    the rule did not match, and the name was null   → null
    the rule did not match, and the name was a text → that text

If an action cannot be followed, the places that it may change become
*unknown*. Whether the action fails is then a *guess*: a truth value that the
solver chooses.
"""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import functools
import re
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.kit.proof import attribute as attributes
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import state as states
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema

Formula = logic.Formula
Value = values.Value
Arguments = dict[str, Value]


@dataclasses.dataclass(frozen=True)
class ActionCall:
    """An action of a rule: its op and the arguments that the rule gives it.

    :ivar bound: the arguments by name, before their fields are filled.
    """

    op: registry.Op
    bound: dict[str, typing.Any]


@dataclasses.dataclass(frozen=True)
class _WrittenPorts:
    """The ports of all machines after a write to one of them.

    :ivar has_port: holds if there is a port with the address of the write. On
        all other machines, nothing is written.
    """

    ports: Value
    has_port: Formula


class SymbolicEffects:
    """Applies the actions of one rule, one after another, to all machines.

    Methods take a formula ``when``, which holds on the machines on which the
    action runs, and change :attr:`state` only on these machines. If an action
    fails on a machine, the inspection of this machine *ends* with an error,
    and later actions do not change it.

    :param rule_pass: collects the writes of the rule and the formula that the
        rule ends the inspection.
    :param state: the machines before the first action.
    """

    def __init__(
        self,
        machine: machines.SymbolicMachine,
        rule_pass: states.RulePass,
        state: states.State,
    ) -> None:
        self._machine = machine
        self._rule_pass = rule_pass
        self.state = state

    def end(self, when: Formula, result: int = states.ERROR) -> None:
        """End inspections, by an error or by the action ``fail``.

        If this rule has already ended an inspection, its first result is kept.

        :param when: holds on the machines whose inspection ends here.
        :param result: the number of the message of ``fail``, or ``ERROR``.
        """
        rule_pass = self._rule_pass
        # Skip machines whose inspection an earlier action of the rule ended.
        ends_now = logic.conj(when, logic.negated(rule_pass.ends))
        if logic.settled(ends_now) is logic.FALSE:
            # The inspection ends here on no machine.
            return
        rule_pass.ends = logic.disj(rule_pass.ends, ends_now)
        if result != states.ERROR:
            rule_pass.fails = logic.disj(rule_pass.fails, ends_now)
        self.state = self.state.ended(ends_now, result)

    def end_where(self, when: Formula, broken: Formula) -> Formula:
        """End inspections with an error on the machines where something fails.

        For example, an action that reads a missing field continues only on
        machines that have the field. On all others the inspection ends.

        :param when: holds on the machines on which the action runs.
        :param broken: holds on the machines on which the action fails.
        :returns: the formula that the action continues: ``when`` holds and
            ``broken`` does not.
        """
        self.end(logic.conj(when, broken))
        return logic.conj(when, logic.negated(broken))

    def make_unknown(
        self, call: ActionCall, when: Formula, reason: str, *about: typing.Any
    ) -> None:
        """Make every place unknown that an action may change.

        This lets a proof continue after an action that it cannot follow. The
        solver guesses whether the action fails and whether it does anything.
        If the action may write to the name of the node, the name is then::

            the action runs, and the guess that it writes is true → unknown
            otherwise                                             → as before

        :param when: holds on the machines on which the action runs.
        :param reason: why the action cannot be followed.
        :param about: everything that the effect of the action depends on,
            except the values at the places.
        """
        depends_on = (call.op.name, *about)
        try:
            places = tuple(states.places_changed(call.op, call.bound))
        except exceptions.PluginFailed as exc:
            places = states.EVERYWHERE
            reason = f'{call.op.name}: {exc}'
        fails = self._machine.guess(
            reason, 'fails', *depends_on, *self.state.roots.values()
        )
        self.end(logic.conj(when, fails))
        # Visit a place only once: an action may write to it twice.
        for place in dict.fromkeys(places):
            root, *steps = place
            if root == 'ports':
                # The proof cannot tell which port it is: all become unknown.
                steps = []
            data_of_root = self.state.roots[root]
            old = values.step(data_of_root, *steps)
            lost = states.lose_value(place, reason, *depends_on, place, old)
            write = states.SymbolicWrite(place, when, lost)
            self._rule_pass.writes.append(write)
            changed = states.put(
                self._machine, data_of_root, tuple(steps), lost
            )
            # The action may do nothing, e.g. for an empty list. It then does
            # not create the mappings above the place either, and a text or a
            # number above the place is no error.
            does_write = self._machine.guess(
                reason, 'writes', *depends_on, place, data_of_root
            )
            # The search first assumes that the action writes: most do.
            self._machine.likely[does_write.get_id()] = does_write
            where_written = logic.conj(when, does_write)
            # "broken" holds if the place is below a text or a number.
            self.end(logic.conj(where_written, changed.broken))
            self._replace_root(root, where_written, changed.value)

    def _replace_root(self, root: str, when: Formula, value: Value) -> None:
        """Replace all data under a root on the machines where an action runs.

        On all other machines the data do not change.

        :param when: holds on the machines on which the action runs.
        :param value: all data under the root, e.g. the whole node with its
            new name.
        """
        before = self.state.roots[root]
        after = values.choose(when, value, before)
        self.state = self.state.having(**{root: after})

    def _write(
        self,
        when: Formula,
        path: data_path.Path,
        value: Value,
        creates: bool = True,
        extends: bool = False,
    ) -> None:
        """Write a value at a place, and record that the rule writes there.

        The value changes in :attr:`state`. The record, in the writes of the
        rule, is for the question whether two rules conflict.

        If a value on the way to the place is a text or a number, nothing can
        be set below it, and the inspection ends with an error.

        :param when: holds on the machines on which the action runs.
        :param path: the path including the root, e.g. ``('node', 'name')``.
        :param creates: whether to create mappings that are missing on the way
            to the place. False if the value is deleted.
        :param extends: True if the action appends to a list or adds a trait.
            Two rules that both append do not conflict; two rules that both
            set a value may.
        """
        root = path[0]
        changed = states.put(
            self._machine,
            value=self.state.roots[root],
            path=path[1:],
            new=value,
            creates=creates,
        )
        # The inspection ends here on machines with a text on the way. On all
        # other machines on which the action runs, the value is written.
        where_written = self.end_where(when, broken=changed.broken)
        write = states.SymbolicWrite(
            path, when=where_written, value=value, extends=extends
        )
        self._rule_pass.writes.append(write)
        self._replace_root(root, when=where_written, value=changed.value)

    def _known_paths(
        self,
        call: ActionCall,
        when: Formula,
        args: Arguments,
        table: Mapping[str, schema.Attribute] | None = None,
    ) -> Iterator[tuple[Formula, data_path.Path]]:
        """Yield the paths of an action that are known, with their guards.

        The path ``/extra/rack`` yields one pair. A path with a field, such as
        ``/extra/{vars.place}``, may yield several, because the variable may be
        "rack" on one machine and "row" on another.

        All other alternatives are handled here: an invalid path ends the
        inspection with an error, and for an unknown path everything that the
        action may write becomes unknown.

        :param when: holds on the machines on which the action runs.
        :param table: the attributes that a path may begin with. None allows
            any name.
        :returns: pairs of a formula that the action has this path, and the
            path, e.g. ``('extra', 'rack')``.
        """
        for guard, alternative in args['path']:
            has_path = logic.conj(when, guard)
            if values.has_no_value(alternative):
                # The rule ended with an error when it read this argument.
                continue
            if not isinstance(alternative, values.Const):
                self.make_unknown(
                    call,
                    has_path,
                    'a path out of the data of a machine',
                    *args.values(),
                )
                continue
            try:
                path = alternative.value
                if not isinstance(path, tuple):
                    path = data_path.parse(path)
                if table is not None:
                    schema.check_path(path, table)
            except exceptions.OperationError:
                self.end(has_path)
            else:
                yield has_path, path

    def write_attribute(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Set or delete an attribute of the node or a port, or part of one.

        If a whole attribute is deleted, it is set to its default. A value that
        the attribute cannot hold ends the inspection with an error. If a rule
        writes a text ``serial`` to the name of the node, the new name is::

            the rule matches, and serial is a valid name → serial
            the rule matches, and serial is not valid    → an error
            the rule does not match                      → the old name

        :param when: holds on the machines on which the action runs.
        """
        # Only actions on ports have this argument.
        is_on_port = 'port_id' in args
        table = schema.NODE
        if is_on_port:
            table = schema.PORT
        for guard, path in self._known_paths(call, when, args, table):
            # A missing value deletes what is at the path.
            value = values.NOTHING
            # A whole attribute cannot be deleted: it is set to its default.
            has_value = 'value' in args or len(path) == 1
            if has_value:
                # Null sets an attribute to its default.
                written = args.get('value', values.const(None))
                convert = functools.partial(
                    attributes.convert_to_attribute, self._machine, path, table
                )
                value = values.transform(written, convert)
            is_written = self.end_where(guard, self._where_broken(value))
            if is_on_port:
                self._write_to_port(
                    call, is_written, args['port_id'], path, value
                )
                continue
            if 'value' in args:
                are_spoilt = attributes.where_capabilities_spoilt(
                    self._machine, path, value
                )
                is_written = self.end_where(is_written, are_spoilt)
            self._write(is_written, ('node', *path), value, creates=has_value)
            self._forget_named_capabilities(is_written, path, value, has_value)

    def _where_broken(self, value: Value) -> Formula:
        """Return the formula that a value is an error or may be one.

        If the value is unknown, the solver guesses whether it is an error.
        """
        return logic.disj(
            values.where_failed(value), self._machine.may_fail(value)
        )

    def _forget_named_capabilities(
        self,
        when: Formula,
        path: data_path.Path,
        value: Value,
        has_value: bool,
    ) -> None:
        """Update the capabilities by name after a write to their text.

        A proof keeps capabilities in two forms: in the text
        ``properties/capabilities``, as on a node, and by name, as rules change
        them. After a rule has written the text, or all ``properties``, the
        capabilities by name are missing if the text is missing. Otherwise they
        are unknown, because no proof parses the text.

        :param when: holds on the machines on which the value was written.
        :param path: the place of the value, without the root ``node``. Only a
            write to the text or to ``properties`` has an effect.
        :param has_value: True if a value was set, False if it was deleted.
        """
        path_of_text = cells.CAPABILITY_TEXT[1:]
        if path != path_of_text[: len(path)]:
            # The write was neither to the text nor to the mapping around it.
            return
        steps_to_text = path_of_text[len(path) :]
        is_gone = values.where_absent(values.step(value, *steps_to_text))
        if path != path_of_text and is_gone is logic.TRUE:
            # The new ``properties`` have capabilities in neither form.
            return
        unknown = values.unknown('capabilities as a text', value)
        by_name = values.choose(
            is_gone, chosen=values.NOTHING, otherwise=unknown
        )
        self._write(when, cells.CAPABILITIES, by_name, creates=has_value)

    def _write_to_port(
        self,
        call: ActionCall,
        when: Formula,
        port_id: Value,
        path: data_path.Path,
        value: Value,
    ) -> None:
        """Write a value to the port that has a MAC address.

        If a machine has no such port, its inspection ends with an error.

        :param when: holds on the machines on which the action runs.
        :param port_id: identifies the port, e.g. the constant
            "52:54:00:12:34:01" or the text of ``{item.mac_address}``.
        :param path: the place in the port, e.g. ``('extra', 'rack')``.
        """
        # The address may differ between machines. The guard of an alternative
        # holds on the machines that have it.
        for guard, alternative in port_id:
            has_this_id = logic.conj(when, guard)
            address = states.address_term(alternative)
            if address is None:
                # It may be a UUID. A proof does not know the UUIDs of ports,
                # so any port may have changed.
                self.make_unknown(
                    call,
                    has_this_id,
                    'a port that no MAC address names',
                    path,
                    port_id,
                    value,
                )
                continue
            written = self._write_to_ports(has_this_id, address, path, value)
            is_written = self.end_where(
                has_this_id, logic.negated(written.has_port)
            )
            place = ('ports', states.known_address(alternative), *path)
            write = states.SymbolicWrite(
                place, when=is_written, value=value, port=address
            )
            self._rule_pass.writes.append(write)
            self.state = self.state.having(ports=written.ports)

    def _write_to_ports(
        self,
        when: Formula,
        address: logic.Term,
        path: data_path.Path,
        value: Value,
    ) -> _WrittenPorts:
        """Write a value to the port that has an address; return all ports.

        Ports are a list. If the proof could not follow an earlier change on
        some machines, the ports have two alternatives: the list, and an
        unknown value on these machines.

        :param when: holds on the machines on which the action runs.
        :param address: the MAC address as a term of the solver.
        :param path: the place in the port, e.g. ``('extra', 'rack')``.
        """
        all_ports_after: list[tuple[Formula, Value]] = []
        cases_with_port = []
        for guard, ports in self.state.roots['ports']:
            if isinstance(ports, values.ItemList):
                written = self._write_to_item(
                    when=when,
                    guard=guard,
                    ports=ports,
                    address=address,
                    path=path,
                    value=value,
                )
            else:
                # Unknown ports stay unknown. The solver guesses whether one of
                # them has the address.
                has_port = self._machine.guess(
                    'the ports after a change', 'port', address, ports
                )
                written = _WrittenPorts(values.only(ports), has_port)
            cases_with_port.append(logic.conj(guard, written.has_port))
            all_ports_after.append((guard, written.ports))
        return _WrittenPorts(
            values.join(all_ports_after), logic.disj(*cases_with_port)
        )

    def _write_to_item(
        self,
        when: Formula,
        guard: Formula,
        ports: values.ItemList,
        address: logic.Term,
        path: data_path.Path,
        value: Value,
    ) -> _WrittenPorts:
        """Write a value to the port that has an address, in one list of ports.

        The position of the port in the list differs between machines, so any
        item may get the value. If a rule writes "a" to the name of a port, the
        name of the first port is then::

            there is a first port, and it has the address → "a"
            otherwise                                     → the old name

        The solver guesses whether the port is one of those after the first
        five, which have no formulas. A path below a text or a number is an
        error.

        :param when: holds on the machines on which the action runs.
        :param guard: holds if the ports of a machine are this list.
        """
        items = []
        ports_found = []
        ports_broken = []
        # "exists" holds if the list is long enough to have this port.
        for position, (exists, item) in enumerate(ports.items_of_loop()):
            has_address = states.where_at(
                self._machine, item, position, address
            )
            is_port = logic.conj(exists, has_address)
            ports_found.append(is_port)
            changed = states.put(self._machine, item, path, value)
            ports_broken.append(changed.broken)
            self.end(logic.conj(when, guard, is_port, changed.broken))
            is_written = logic.conj(when, is_port)
            item_after = values.choose(is_written, changed.value, item)
            items.append(values.WrittenItem(item_after))
        # The port may also be one after the first five. All of those share one
        # value, "rest", which becomes unknown.
        is_in_rest = self._where_in_rest(ports, address)
        ports_found.append(is_in_rest)
        reason = f'more than {cells.LONGEST} items of {ports.name}'
        lost = values.unknown(reason, address, path, value, ports.rest)
        rest_after = values.choose(
            logic.conj(when, is_in_rest), lost, ports.rest
        )
        if logic.disj(*ports_broken) is not logic.FALSE:
            # An error that is possible for the first ports is also possible
            # for the rest.
            fails = self._machine.guess(
                reason, 'fails', address, path, value, ports
            )
            self.end(logic.conj(when, guard, is_in_rest, fails))
        ports_after = dataclasses.replace(
            ports, items=tuple(items), rest=rest_after
        )
        return _WrittenPorts(
            values.only(ports_after), logic.disj(*ports_found)
        )

    def _where_in_rest(
        self, ports: values.ItemList, address: logic.Term
    ) -> Formula:
        """Return the guess that a port is not among the first five.

        Only the first five ports of a machine have formulas.

        :param address: the address of the port.
        """
        # A rule that has changed the address of one of the first five ports
        # may have changed the others too, so the guess depends on all five.
        addresses = []
        for _exists, item in ports.items_of_loop():
            for guard, port in item:
                # If a rule may have written to the port, the guard is true on
                # all machines, but it is a different formula: "matched or did
                # not match". logic.settled() makes both the same formula.
                settled_guard = logic.settled(guard)
                addresses.append((settled_guard, port.step('address')))
        is_in_rest = self._machine.guess_beyond(
            ports, 'port', ports.length, addresses, address
        )
        return logic.conj(ports.where_longer, is_in_rest)

    def extend_list(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Append a value to a list of the node or of plugin data.

        A value that is not a list ends the inspection with an error. If a rule
        appends 2 to a list that is missing or ``[1]``, the new list is::

            the list is missing → [2]
            the list is [1]     → [1, 2]

        A list with too many alternatives becomes unknown.

        :param when: holds on the machines on which the action runs.
        :param args: ``path``, ``value``, and ``unique`` if the rule gives it:
            whether a value that the list already has is not appended again.
        """
        root = 'plugin_data'
        table = None
        if call.op.name == 'extend-attribute':
            root = 'node'
            table = schema.NODE
        unique = args.get('unique', values.const(False))
        for guard, path in self._known_paths(call, when, args, table):
            if root == 'node' and path[:2] == cells.CAPABILITY_TEXT[1:]:
                # Capabilities are a text, so appending to them is an error.
                self.end(guard)
                continue
            old = values.step(self.state.roots[root], *path)
            is_crowded = len(old) > attributes.MOST_LISTS
            combinations = values.product([old, args['value'], unique])
            new_lists = []
            # A combination has one alternative of the list, one of the value
            # to append, and one of ``unique``.
            for guard_of_all, (old_list, item, is_unique) in combinations:
                new_list = attributes.extend_list(
                    self._machine,
                    is_crowded=is_crowded,
                    old=old_list,
                    new=item,
                    unique=is_unique,
                )
                new_lists.append((guard_of_all, new_list))
            new = values.join(new_lists)
            # It is an error if the old value is not a list.
            is_written = self.end_where(guard, values.where_failed(new))
            self._write(is_written, (root, *path), new, extends=True)

    def write_plugin_data(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Set or delete a value in plugin data.

        :param when: holds on the machines on which the action runs.
        :param args: ``path``, and ``value`` if the action sets a value.
        """
        # "unset-plugin-data" has no value: it deletes the value at the path.
        has_value = 'value' in args
        value = args.get('value', values.NOTHING)
        for has_path, path in self._known_paths(call, when, args):
            self._write(
                has_path, ('plugin_data', *path), value, creates=has_value
            )

    def write_capability(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Set or remove a capability by its name.

        A proof keeps capabilities by name, e.g. ``boot_mode``, and in the text
        that a node has, e.g. ``boot_mode:uefi,gpu:yes``. The proof does not
        follow how the text changes: the text becomes unknown.

        :param when: holds on the machines on which the action runs.
        :param args: ``name``, and ``value`` if the action sets a capability.
        """
        has_value = 'value' in args
        self._forget_capability_text(when, args)
        text = values.NOTHING
        if has_value:
            as_text = functools.partial(
                attributes.convert_to_capability, self._machine
            )
            text = values.transform(args['value'], as_text)
        # The guard of a name holds on the machines on which the rule uses it.
        for guard, name in args['name']:
            has_name = logic.conj(when, guard)
            if values.has_no_value(name):
                # The rule has ended with an error.
                continue
            if not isinstance(name, values.Const):
                self.make_unknown(
                    call,
                    has_name,
                    'the name of a capability out of data',
                    *args.values(),
                )
                continue
            known_name = str(name.value).strip()
            # In "boot_mode:uefi,gpu:yes" a colon ends a name, and a comma ends
            # a capability, so a name has neither.
            is_name = bool(known_name) and not re.search('[:,]', known_name)
            is_bad_name = has_value and not is_name
            is_broken = logic.disj(
                logic.of_bool(is_bad_name), self._where_broken(text)
            )
            is_written = self.end_where(has_name, is_broken)
            place = (*cells.CAPABILITIES, known_name)
            self._write(is_written, place, text, creates=has_value)

    def _forget_capability_text(self, when: Formula, args: Arguments) -> None:
        """Make the text of all capabilities unknown if a rule has written it.

        If no rule has written it, the proof has no text that could become
        wrong, only the capabilities by name.

        :param when: holds if a capability is set or removed by its name.
        """
        node = self.state.roots['node']
        properties = values.step(node, 'properties')
        has_text = False
        for _guard, alternative in properties:
            if not isinstance(alternative, values.Mapping):
                continue
            # The entries of the mapping are those that rules have written.
            if 'capabilities' in alternative.entries:
                has_text = True
        if not has_text:
            return
        text = values.step(node, *cells.CAPABILITY_TEXT[1:])
        lost = values.unknown('capabilities as a text', *args.values(), text)
        # changed.broken is not needed, because write_capability() finds the
        # same errors when it writes the capability by name.
        changed = states.put(
            self._machine, node, cells.CAPABILITY_TEXT[1:], lost, creates=False
        )
        self._replace_root('node', when, changed.value)

    def write_trait(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Add or remove a trait, for ``add-trait`` and ``remove-trait``.

        :param when: holds on the machines on which the action runs.
        """
        adds = call.op.name != 'remove-trait'
        self._write_trait(when, args['name'], adds)

    def _write_trait(self, when: Formula, name: Value, adds: bool) -> None:
        """Add or remove the trait that has a name.

        Adding a trait with an invalid name, e.g. "fast cpu", ends the
        inspection with an error.

        :param when: holds on the machines on which the action runs.
        :param name: the name on all machines. It is usually a constant, but a
            field may have a different value on every machine.
        :param adds: False to remove the trait.
        """
        # The guard of an alternative holds on the machines that have it.
        for guard, alternative in name:
            has_name = logic.conj(when, guard)
            if not isinstance(alternative, values.Const):
                self._write_computed_trait(has_name, alternative, adds)
            elif not trait_names.is_good(alternative.value):
                # No node has such a trait, so there is nothing to remove. The
                # name may even be "CUSTOM_*", which stands for other traits.
                if adds:
                    self.end(has_name)
            elif alternative.value not in self._machine.traits:
                # A name such as "CUSTOM_{vars.site}" is in no text of a rule.
                self._write_computed_trait(has_name, alternative, adds)
            else:
                place = (*cells.TRAITS, str(alternative.value))
                # Two rules that add the same trait do not conflict.
                self._write(has_name, place, values.const(adds), extends=adds)

    def _write_computed_trait(
        self, when: Formula, name: values.Alternative, adds: bool
    ) -> None:
        """Add or remove a trait whose name no rule contains.

        If the name is the field ``vendor``, and a rule names the trait
        ``CUSTOM_DELL``, then the node has this trait afterwards::

            vendor == "CUSTOM_DELL" → true
            otherwise               → as before

        Traits that no rule names, such as ``CUSTOM_*``, become unknown.

        :param name: the name of the trait, e.g. a text of the machine, or a
            constant that a rule makes from several texts.
        :param adds: False to remove the trait.
        """
        reason = 'a trait that no rule names'
        is_trait = attributes.where_trait_name(self._machine, name)
        if is_trait is None:
            is_trait = self._machine.guess(reason, 'is a trait', name)
        where_written = when
        if adds:
            where_written = self.end_where(when, logic.negated(is_trait))
        for trait in sorted(self._machine.traits):
            has_trait = self._value_of_trait(trait)
            if trait.endswith('*'):
                has_trait = values.unknown(reason, name, adds, has_trait)
            else:
                is_named = self._where_named(name, trait, reason)
                has_trait = values.choose(
                    is_named, values.const(adds), has_trait
                )
            self._put_trait(where_written, trait, has_trait)
        # It is not known which trait it is, so record a write to all traits.
        write = states.SymbolicWrite(
            cells.TRAITS,
            when=where_written,
            value=values.unknown(reason, name),
            extends=adds,
        )
        self._rule_pass.writes.append(write)

    def _value_of_trait(self, trait: str) -> Value:
        """Return the value of a trait: true on machines that have the trait.

        :param trait: a name, or e.g. ``CUSTOM_*`` for all traits with the
            prefix that no rule names.
        """
        return values.step(self.state.roots['node'], *cells.TRAITS[1:], trait)

    def _put_trait(self, when: Formula, trait: str, has_trait: Value) -> None:
        """Set whether the node has a trait, without recording a write.

        :param when: holds on the machines on which the action runs.
        """
        changed = states.put(
            self._machine,
            value=self.state.roots['node'],
            path=(*cells.TRAITS[1:], trait),
            new=has_trait,
        )
        self._replace_root('node', when, changed.value)

    def _where_named(
        self, name: values.Alternative, known: str, reason: str
    ) -> Formula:
        """Return the formula that a name is the name of a known trait.

        For a text ``vendor`` of the machine, and a trait that rules name, the
        formula is ``vendor == "CUSTOM_DELL"``. The trait is also noted as a
        value that the search should try for the text.

        :param known: a trait that rules name, e.g. ``CUSTOM_GPU``.
        """
        if isinstance(name, values.Const):
            return logic.of_bool(name.value == known)
        if isinstance(name, values.SolverTerm) and name.is_text:
            self._machine.note_text(name.term, known)
            return name.term == logic.text_term(known)
        return self._machine.guess(reason, 'is', known, name)

    def replace_traits(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Replace the traits that begin with a prefix by the traits of a list.

        With the prefix ``CUSTOM_A`` and the list ``[CUSTOM_A1]``, the node
        loses ``CUSTOM_A2`` and gets ``CUSTOM_A1``. A value that is not a list,
        or a trait without the prefix, ends the inspection with an error.

        :param when: holds on the machines on which the action runs.
        """
        prefixes = args.get('prefix', values.const(''))
        for guard, (names, prefix) in values.product(
            [args['names'], prefixes]
        ):
            has_these = logic.conj(when, guard)
            has_known_items = isinstance(names, values.Const | values.ItemList)
            if not has_known_items or not isinstance(prefix, values.Const):
                self.make_unknown(
                    call,
                    has_these,
                    'set-traits with what nobody knows',
                    *args.values(),
                )
                continue
            if not names.is_list:
                # "set-traits" accepts only a list.
                self.end(has_these)
                continue
            # Remove all traits with the prefix, then add those of the list.
            beginning = str(prefix.value)
            self._remove_traits(has_these, beginning)
            for exists, item in names.items_of_loop():
                is_named = logic.conj(has_these, exists)
                is_outside = self._where_outside(item, beginning)
                self.end(logic.conj(is_named, is_outside))
                self._write_trait(is_named, item, adds=True)
            if isinstance(names, values.ItemList):
                # A list may have more items than items_of_loop() returns.
                self._add_traits_of_later_items(has_these, names, beginning)

    def _remove_traits(self, when: Formula, prefix: str) -> None:
        """Remove all traits that begin with a prefix.

        A proof knows the traits that rules name, e.g. ``CUSTOM_A1``. For every
        prefix in ``set-traits`` it has a name such as ``CUSTOM_*``, which
        stands for all other traits with this prefix. For the prefix
        ``CUSTOM_A``, whether the node has a trait is afterwards::

            CUSTOM_A1  → false
            CUSTOM_B1  → as before
            CUSTOM_A*  → false
            CUSTOM_*   → as before if there is also a name CUSTOM_A*, otherwise
                         unknown, because some of these traits are removed

        A prefix that a rule computes from a field may have no name.

        :param when: holds on the machines on which the action runs.
        """
        is_written_out = f'{prefix}*' in self._machine.traits
        for name in sorted(self._machine.traits):
            place = (*cells.TRAITS, name)
            if name.startswith(prefix):
                self._write(when, place, values.const(False))
                continue
            includes_some = name.endswith('*') and prefix.startswith(name[:-1])
            if includes_some and not is_written_out:
                has_left = values.unknown(
                    'a prefix that has a field',
                    prefix,
                    self._value_of_trait(name),
                )
                self._write(when, place, has_left)

    def _add_traits_of_later_items(
        self, when: Formula, names: values.ItemList, prefix: str
    ) -> None:
        """Add the traits that later items of a list name, for ``set-traits``.

        These are the items after the first :data:`.cell.LONGEST`, which have
        no formulas. The solver therefore guesses whether one of them is an
        error, and whether one of them names a known trait. If rules name the
        trait ``CUSTOM_GPU``, then the node has it afterwards::

            the list is longer, and the guess is true → true
            otherwise                                 → as before

        :param when: holds on the machines on which the action runs.
        :param names: the list, of whose items the first are already written.
        :param prefix: a later item without this prefix is an error.
        """
        is_longer = logic.settled(names.where_longer)
        if is_longer is logic.FALSE:
            return
        reason = f'more than {cells.LONGEST} items of {names.name}'
        fails = self._machine.guess_beyond(names, 'fails', names, prefix)
        where_written = self.end_where(logic.conj(when, is_longer), fails)
        for trait in sorted(self._machine.traits):
            has_trait = self._value_of_trait(trait)
            if trait.endswith('*'):
                has_trait = values.unknown(reason, names, has_trait)
            else:
                # A condition "one-of" that looks for the trait in the list has
                # the same guess.
                is_in_rest = self._machine.guess_beyond(
                    names, 'among', names, values.Const(trait)
                )
                has_trait = values.choose(
                    is_in_rest, values.const(True), has_trait
                )
            self._put_trait(where_written, trait, has_trait)
        # It is not known which traits these are, so record a write to all.
        write = states.SymbolicWrite(
            cells.TRAITS,
            when=where_written,
            value=values.unknown(reason, names),
            extends=True,
        )
        self._rule_pass.writes.append(write)

    def _where_outside(self, item: Value, prefix: str) -> Formula:
        """Return the formula that an item of ``set-traits`` lacks the prefix.

        Such an item is an error of the action. For a text ``vendor`` the
        formula is ``not vendor begins with "CUSTOM_"``.

        :param prefix: the prefix; every trait begins with the empty text.
        """
        if not prefix:
            return logic.FALSE
        outside = []
        # The guard of a name holds on the machines that have it.
        for guard, name in item:
            # A list or a number never begins with a prefix.
            begins = logic.FALSE
            if isinstance(name, values.Const):
                begins = logic.of_bool(str(name.value).startswith(prefix))
            elif isinstance(name, values.SolverTerm) and name.is_text:
                begins = z3.PrefixOf(logic.text_term(prefix), name.term)
            elif isinstance(name, values.UnknownValue):
                begins = self._machine.guess(
                    name.reason, 'begins', prefix, name
                )
            outside.append(logic.conj(guard, logic.negated(begins)))
        return logic.disj(*outside)


Translation = Callable[[SymbolicEffects, ActionCall, Formula, Arguments], None]

TRANSLATIONS: dict[str, Translation] = {
    'set-attribute': SymbolicEffects.write_attribute,
    'del-attribute': SymbolicEffects.write_attribute,
    'set-port-attribute': SymbolicEffects.write_attribute,
    'del-port-attribute': SymbolicEffects.write_attribute,
    'set-plugin-data': SymbolicEffects.write_plugin_data,
    'unset-plugin-data': SymbolicEffects.write_plugin_data,
    'extend-attribute': SymbolicEffects.extend_list,
    'extend-plugin-data': SymbolicEffects.extend_list,
    'set-capability': SymbolicEffects.write_capability,
    'unset-capability': SymbolicEffects.write_capability,
    'add-trait': SymbolicEffects.write_trait,
    'remove-trait': SymbolicEffects.write_trait,
    'set-traits': SymbolicEffects.replace_traits,
}

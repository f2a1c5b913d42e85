# SPDX-License-Identifier: Apache-2.0

"""What each kind of action writes, on all possible machines at once."""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import functools
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
    """An op of an action with the arguments that a rule writes.

    :ivar bound: the arguments by name, as they are written.
    """

    op: registry.Op
    bound: dict[str, typing.Any]


class SymbolicEffects:
    """Applies the actions of one rule, one after another, to all machines.

    Methods take a formula ``when``, which holds on the machines on which an
    action is carried out, and change :attr:`state` only there.

    :param rule_pass: gets the writes of the rule, and the formula that it ends
        the inspection.
    :param state: the machines before the first action.
    :param traits: all names of traits in the rules; ``CUSTOM_*`` stands for
        all others with the prefix.
    """

    def __init__(
        self,
        machine: machines.SymbolicMachine,
        rule_pass: states.RulePass,
        state: states.State,
        traits: set[str],
    ) -> None:
        self._machine = machine
        self._rule_pass = rule_pass
        self._traits = traits
        self.state = state

    def end(self, when: Formula, result: int = states.ERROR) -> None:
        """End inspections, by an error or with a message of ``fail``.

        An inspection that this rule has ended before keeps its result.

        :param when: holds on the machines whose inspection ends here.
        :param result: the number of the message, or ``ERROR``.
        """
        rule_pass = self._rule_pass
        # Not where an earlier action of the rule has ended it.
        ends_now = logic.conj(when, logic.negated(rule_pass.ends))
        if logic.settled(ends_now) is logic.FALSE:
            # There is no machine whose inspection ends here.
            return
        rule_pass.ends = logic.disj(rule_pass.ends, ends_now)
        if result != states.ERROR:
            rule_pass.fails = logic.disj(rule_pass.fails, ends_now)
        self.state = self.state.ended(ends_now, result)

    def end_where(self, when: Formula, broken: Formula) -> Formula:
        """End inspections with an error where something is broken.

        An action that reads a missing field, for example, goes on only on
        machines that have the field: on all others the inspection has ended.

        :param when: holds on the machines on which the action is carried out.
        :param broken: holds where the action is an error.
        :returns: the formula that the action goes on: ``when``, and not
            ``broken``.
        """
        self.end(logic.conj(when, broken))
        return logic.conj(when, logic.negated(broken))

    def make_unknown(
        self, call: ActionCall, when: Formula, reason: str, *about: typing.Any
    ) -> None:
        """Make all places unknown that an action may change.

        So a proof goes on after an action that it cannot follow. Whether the
        action is an error, and whether it does anything at all, the solver
        chooses: these are guesses.

        :param reason: why the action cannot be followed.
        :param about: all that its effect depends on, besides the values at
            the places.
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
        # Each place once: two writes of an action may be to the same place.
        for place in dict.fromkeys(places):
            root, *steps = place
            if root == 'ports':
                # Which port it is, is not known: all ports become unknown.
                steps = []
            data_of_root = self.state.roots[root]
            old = values.step(data_of_root, *steps)
            lost = states.lose_value(place, reason, *depends_on, place, old)
            write = states.SymbolicWrite(place, when, lost)
            self._rule_pass.writes.append(write)
            changed = states.put(
                self._machine, data_of_root, tuple(steps), lost
            )
            # The action may do nothing, for a list without items or by its own
            # decision. Then it does not make the mappings above the place
            # either, and a value in their place is no error.
            does_write = self._machine.guess(
                reason, 'writes', *depends_on, place, data_of_root
            )
            # The search first takes it that the action writes: most do.
            self._machine.likely[does_write.get_id()] = does_write
            where_written = logic.conj(when, does_write)
            # "broken" holds where the place is below a text or a number.
            self.end(logic.conj(where_written, changed.broken))
            self._replace_root(root, where_written, changed.value)

    def _replace_root(self, root: str, when: Formula, value: Value) -> None:
        """Replace all data under a root where an action is carried out.

        On all other machines the data stay as they were.

        :param when: holds on the machines on which it is.
        :param value: all data under the root, such as the whole node with the
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
        """Write a value at a place, and note that the rule writes there.

        Where a value on the way to the place is a text or a number, nothing
        can be set below it: there the inspection ends with an error.

        :param when: holds on the machines on which the action is carried out.
        :param path: from the name of a root on, as ``('node', 'name')``.
        :param creates: whether mappings that are missing on the way to the
            place are made. They are not where the value is deleted.
        :param extends: True for one more item of a list, or one more trait.
            Rules that both add an item do not conflict; rules that both set
            a value may.
        """
        root = path[0]
        changed = states.put(
            self._machine,
            value=self.state.roots[root],
            path=path[1:],
            new=value,
            creates=creates,
        )
        # On a machine with a text on the way, the inspection ends here; on all
        # others with the action, the value is written.
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
        """Yield the known paths of an action with their guards.

        The path ``/extra/rack`` gives one pair. A path with a field, such as
        ``/extra/{vars.place}``, may give several: the variable may be "rack"
        on one machine and "row" on another.

        Other alternatives need no more work by the caller: an invalid path
        ends the inspection with an error, and an unknown path makes unknown
        whatever the action may write.

        :param when: holds on the machines on which the action is carried out.
        :param table: the attributes that a path may begin with, None for any
            name.
        :returns: pairs of the formula that the action has a path, and the
            path, such as ``('extra', 'rack')``.
        """
        for guard, alternative in args['path']:
            has_path = logic.conj(when, guard)
            if values.has_no_value(alternative):
                # The rule has ended already, as it has read this argument.
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
        """Set or delete an attribute of the node or a port, or a part of it.

        A whole attribute that is deleted gets its default. Values that the
        attribute cannot hold end the inspection with an error. If a rule
        writes a text ``serial`` to the name of the node::

            the rule matches, and serial is a valid name → serial
            the rule matches, and serial is none         → an error
            the rule does not match                      → as it was before

        :param when: holds on the machines on which the action is carried out.
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
                # Null in an attribute is its default.
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
        """Return the formula that a value is an error, or perhaps is one.

        Of an unknown value the solver chooses whether it is an error.
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
        """Forget the capabilities by name after a write to their text.

        A proof keeps capabilities in two forms: as the node has them, the text
        ``properties/capabilities``, and by name, as rules change them. After a
        write of the text, or of all ``properties``, those by name are gone
        where the text is gone, and unknown elsewhere: no proof reads the text.

        :param when: holds on the machines on which the value was written.
        :param path: the place of the value, from the node on. Nothing is to
            be done elsewhere than at the text or around it.
        :param has_value: whether a value was set, and not removed.
        """
        path_of_text = cells.CAPABILITY_TEXT[1:]
        if path != path_of_text[: len(path)]:
            # The write was neither at the text nor around it.
            return
        steps_to_text = path_of_text[len(path) :]
        is_gone = values.where_absent(values.step(value, *steps_to_text))
        if path != path_of_text and is_gone is logic.TRUE:
            # A new mapping has replaced ``properties``, and has neither form.
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
        """Write a value in the port that a MAC address names.

        The inspection of a machine without such a port ends with an error.

        :param when: holds on the machines on which the action is carried out.
        :param port_id: what the rule names the port by, such as the constant
            "52:54:00:12:34:01" or the text of ``{item.mac_address}``.
        :param path: the place in the port, such as ``('extra', 'rack')``.
        """
        # The address may differ from machine to machine. The guard of an
        # alternative holds on the machines that have it.
        for guard, alternative in port_id:
            has_this_id = logic.conj(when, guard)
            address = states.address_term(alternative)
            if address is None:
                # It may be a UUID. A proof does not know the ports by it, so
                # any of them may have changed.
                self.make_unknown(
                    call,
                    has_this_id,
                    'a port that no MAC address names',
                    path,
                    port_id,
                    value,
                )
                continue
            ports_after, has_port = self._write_to_ports(
                has_this_id, address, path, value
            )
            is_written = self.end_where(has_this_id, logic.negated(has_port))
            place = ('ports', states.known_address(alternative), *path)
            write = states.SymbolicWrite(
                place, when=is_written, value=value, port=address
            )
            self._rule_pass.writes.append(write)
            self.state = self.state.having(ports=ports_after)

    def _write_to_ports(
        self,
        when: Formula,
        address: logic.Term,
        path: data_path.Path,
        value: Value,
    ) -> tuple[Value, Formula]:
        """Write a value in the port that has an address; return all ports.

        The ports are a list. After a change that a proof could not follow
        they are unknown on the machines with this change, and have two
        alternatives.

        :param when: holds on the machines on which the action is carried out.
        :param path: the place in the port.
        :returns: the ports, and the formula that one has the address.
        """
        all_ports_after: list[tuple[Formula, Value]] = []
        cases_with_port = []
        for guard, ports in self.state.roots['ports']:
            ports_after = ports
            if isinstance(ports, values.ItemList):
                ports_after, has_port = self._write_to_item(
                    when=when,
                    guard=guard,
                    ports=ports,
                    address=address,
                    path=path,
                    value=value,
                )
            else:
                # Unknown ports stay unknown, and so does whether one has the
                # address: the solver chooses.
                has_port = self._machine.guess(
                    'the ports after a change', 'port', address, ports
                )
            cases_with_port.append(logic.conj(guard, has_port))
            all_ports_after.append((guard, values.only(ports_after)))
        return values.join(all_ports_after), logic.disj(*cases_with_port)

    def _write_to_item(
        self,
        when: Formula,
        guard: Formula,
        ports: values.ItemList,
        address: logic.Term,
        path: data_path.Path,
        value: Value,
    ) -> tuple[values.ItemList, Formula]:
        """Write a value in the port of an address, in one list of ports.

        Which item of the list is the port differs from machine to machine. So
        every item may get the value. After a rule has written "a" to the name
        of a port, the name of the first is::

            the list has a first port, with the address → "a"
            else                                        → as it was before

        The port may also be one of those that are not looked at: whether it
        is, the solver chooses. A path below a text or a number is an error.

        :param when: holds on the machines on which the action is carried out.
        :param guard: holds where the ports of a machine are this list.
        :returns: the list with the value, and the formula that it has such a
            port.
        """
        items = []
        ports_found = []
        ports_broken = []
        for exists, item in ports.items_of_loop():
            has_address = states.where_at(self._machine, item, address)
            is_port = logic.conj(exists, has_address)
            ports_found.append(is_port)
            changed = states.put(self._machine, item, path, value)
            ports_broken.append(changed.broken)
            self.end(logic.conj(when, guard, is_port, changed.broken))
            is_written = logic.conj(when, is_port)
            item_after = values.choose(is_written, changed.value, item)
            items.append(values.WrittenItem(item_after))
        is_in_rest = self._where_in_rest(ports, address)
        ports_found.append(is_in_rest)
        reason = f'more than {cells.LONGEST} items of {ports.name}'
        lost = values.unknown(reason, address, path, value, ports.rest)
        rest_after = values.choose(
            logic.conj(when, is_in_rest), lost, ports.rest
        )
        if logic.disj(*ports_broken) is not logic.FALSE:
            # What can be an error for the first ports can be for the others.
            fails = self._machine.guess(
                reason, 'fails', address, path, value, ports
            )
            self.end(logic.conj(when, guard, is_in_rest, fails))
        ports_after = dataclasses.replace(
            ports, items=tuple(items), rest=rest_after
        )
        return ports_after, logic.disj(*ports_found)

    def _where_in_rest(
        self, ports: values.ItemList, address: logic.Term
    ) -> Formula:
        """Return the guess that a port is none of those that are looked at.

        These are the first five. The guess is noted as those of loops are: one
        more port may matter.

        :param address: that of the port.
        """
        # A rule that has changed the address of one of the five may have
        # changed those of others: the guess depends on the five addresses.
        addresses = []
        for _exists, item in ports.items_of_loop():
            for guard, port in item:
                # Where a rule has written to the port or not, the guard is
                # true on all machines, but another formula: "matched or not
                # matched". Settled, both are one.
                settled_guard = logic.settled(guard)
                addresses.append((settled_guard, port.step('address')))
        is_in_rest = self._machine.guess(
            f'more than {cells.LONGEST} items of {ports.name}',
            'port',
            ports.length,
            addresses,
            address,
        )
        guesses = self._machine.loops.setdefault(ports.name, set())
        guesses.add(str(is_in_rest))
        return logic.conj(ports.where_longer, is_in_rest)

    def extend_list(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Append a value to a list of the node, or of plugin data.

        A place that is no list ends the inspection with an error. If a rule
        appends 2 to a list that may be missing or ``[1]``, the new list is::

            it was missing → [2]
            it was [1]     → [1, 2]

        A list with too many alternatives becomes unknown.

        :param when: holds on the machines on which the action is carried out.
        """
        root = 'plugin_data'
        table = None
        if call.op.name == 'extend-attribute':
            root = 'node'
            table = schema.NODE
        unique = args.get('unique', values.const(False))
        for guard, path in self._known_paths(call, when, args, table):
            if root == 'node' and path[:2] == cells.CAPABILITY_TEXT[1:]:
                # Capabilities are one text: to append to it is an error.
                self.end(guard)
                continue
            old = values.step(self.state.roots[root], *path)
            is_crowded = len(old) > attributes.MOST_LISTS
            combinations = values.product([old, args['value'], unique])
            new_lists = []
            # An alternative of the list, of the value to append, and of
            # whether it is appended only once.
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
            # An error where the old value was no list.
            is_written = self.end_where(guard, values.where_failed(new))
            self._write(is_written, (root, *path), new, extends=True)

    def write_plugin_data(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Follow an action that sets or deletes a value in plugin data.

        :param when: holds on the machines on which the action is carried out.
        :param args: ``path``, and ``value`` of an action that sets it.
        """
        # "unset-plugin-data" has no value: it leaves nothing at the place.
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

        A proof keeps capabilities by name, as ``boot_mode``, and as the text
        that the node has, ``boot_mode:uefi,gpu:yes``. How the text changes is
        not followed: it becomes unknown.

        :param when: holds on the machines on which the action is carried out.
        :param args: ``name``, and ``value`` of an action that sets it.
        """
        has_value = 'value' in args
        self._forget_capability_text(when, args)
        text = values.NOTHING
        if has_value:
            as_text = functools.partial(
                attributes.convert_to_capability, self._machine
            )
            text = values.transform(args['value'], as_text)
        # The guard of a name holds on the machines where the rule has it.
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
            is_bad_name = has_value and not _may_name_capability(known_name)
            is_broken = logic.disj(
                logic.of_bool(is_bad_name), self._where_broken(text)
            )
            is_written = self.end_where(has_name, is_broken)
            place = (*cells.CAPABILITIES, known_name)
            self._write(is_written, place, text, creates=has_value)

    def _forget_capability_text(self, when: Formula, args: Arguments) -> None:
        """Make the text of all capabilities unknown, if a rule has set it.

        If no rule has, the proof has the capabilities only by name.

        :param when: holds where a capability is set or removed by its name.
        """
        node = self.state.roots['node']
        properties = values.step(node, 'properties')
        has_text = False
        for _guard, alternative in properties:
            if not isinstance(alternative, values.Mapping):
                continue
            # Its entries are those that rules have written.
            if 'capabilities' in alternative.entries:
                has_text = True
        if not has_text:
            return
        text = values.step(node, *cells.CAPABILITY_TEXT[1:])
        lost = values.unknown('capabilities as a text', *args.values(), text)
        # Its "broken" is not asked: write_capability() finds the same errors
        # when it writes the capability by name.
        changed = states.put(
            self._machine, node, cells.CAPABILITY_TEXT[1:], lost, creates=False
        )
        self._replace_root('node', when, changed.value)

    def write_trait(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Add a trait, or remove it, as ``add-trait`` and ``remove-trait`` do.

        :param when: holds on the machines on which the action is carried out.
        """
        adds = call.op.name != 'remove-trait'
        self._write_trait(when, args['name'], adds)

    def _write_trait(self, when: Formula, name: Value, adds: bool) -> None:
        """Add or remove the trait of a name.

        A bad name, such as "fast cpu", cannot be added: it ends the inspection
        with an error.

        :param when: holds on the machines on which the action is carried out.
        :param name: the name on all machines: mostly a constant, but a field
            may give another one on every machine.
        :param adds: False to remove the trait.
        """
        # The guard of an alternative holds on the machines that have it.
        for guard, alternative in name:
            has_name = logic.conj(when, guard)
            if not isinstance(alternative, values.Const):
                self._write_computed_trait(has_name, alternative, adds)
            elif adds and not trait_names.is_good(alternative.value):
                self.end(has_name)
            else:
                place = (*cells.TRAITS, str(alternative.value))
                # Two rules that add the same trait do not clash.
                self._write(has_name, place, values.const(adds), extends=adds)

    def _write_computed_trait(
        self, when: Formula, name: values.Alternative, adds: bool
    ) -> None:
        """Add or remove a trait whose name is read from the machine.

        After the trait ``vendor`` is added, and rules name the trait
        ``CUSTOM_DELL``, whether the node has that is::

            vendor == "CUSTOM_DELL" → true
            else                    → as it was before

        Traits that no rule names, such as ``CUSTOM_*``, become unknown.

        :param name: the name of the trait, such as a text of the machine.
        :param adds: False to remove the trait.
        """
        reason = 'a trait out of the data of a machine'
        is_trait = attributes.where_trait_name(self._machine, name)
        if is_trait is None:
            is_trait = self._machine.guess(reason, 'is a trait', name)
        acts = when
        if adds:
            acts = self.end_where(when, logic.negated(is_trait))
        for trait in sorted(self._traits):
            place = (*cells.TRAITS, trait)
            old = values.step(self.state.roots['node'], *place[1:])
            if trait.endswith('*'):
                new = values.unknown(reason, name, adds, old)
            else:
                is_named = self._where_named(name, trait, reason)
                new = values.choose(is_named, values.const(adds), old)
            node = states.put(
                self._machine, self.state.roots['node'], place[1:], new
            )
            self._replace_root('node', acts, node.value)
        # Which trait it is, is not known: the write is one to all of them.
        write = states.SymbolicWrite(
            cells.TRAITS,
            when=acts,
            value=values.unknown(reason, name),
            extends=adds,
        )
        self._rule_pass.writes.append(write)

    def _where_named(
        self, name: values.Alternative, known: str, reason: str
    ) -> Formula:
        """Return the formula that a name is that of a known trait.

        For a text ``vendor`` of the machine, and a trait that rules name, it
        is ``vendor == "CUSTOM_DELL"``. The search is to try the trait.

        :param known: a trait that rules name, such as ``CUSTOM_GPU``.
        """
        if isinstance(name, values.SolverTerm) and name.is_text:
            self._machine.note_text(name.term, known)
            return name.term == logic.text_term(known)
        return self._machine.guess(reason, 'is', known, name)

    def replace_traits(
        self, call: ActionCall, when: Formula, args: Arguments
    ) -> None:
        """Replace the traits that begin with a prefix by those of a list.

        With the prefix ``CUSTOM_A`` and the list ``[CUSTOM_A1]``, the node
        loses ``CUSTOM_A2`` and gets ``CUSTOM_A1``. A value that is no list,
        and a trait without the prefix, end the inspection with an error.

        :param when: holds on the machines on which the action is carried out.
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
                # "set-traits" takes a list only.
                self.end(has_these)
                continue
            beginning = str(prefix.value)
            # First all traits with the prefix go, also those that no rule
            # names. Then the traits of the list come.
            for name in sorted(self._traits):
                if name.startswith(beginning):
                    place = (*cells.TRAITS, name)
                    self._write(has_these, place, values.const(False))
            for exists, item in names.items_of_loop():
                is_named = logic.conj(has_these, exists)
                is_outside = self._where_outside(item, beginning)
                self.end(logic.conj(is_named, is_outside))
                self._write_trait(is_named, item, adds=True)

    def _where_outside(self, item: Value, prefix: str) -> Formula:
        """Return the formula that an item of ``set-traits`` lacks the prefix.

        Such an item is an error of the action. For a text ``vendor`` it is
        ``not vendor begins with "CUSTOM_"``.

        :param prefix: an empty text is the prefix of every trait.
        """
        if not prefix:
            return logic.FALSE
        outside = []
        # The guard of a name holds on the machines that have it.
        for guard, name in item:
            # No list and no number begins with a prefix.
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


def _may_name_capability(text: str) -> bool:
    """Return whether a text can be the name of a capability.

    In the text ``boot_mode:uefi,gpu:yes`` a colon ends a name, and a comma
    ends a capability.
    """
    return bool(text) and ',' not in text and ':' not in text


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

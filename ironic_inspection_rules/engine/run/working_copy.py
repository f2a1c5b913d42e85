# SPDX-License-Identifier: Apache-2.0

"""The data that the rules of a phase read and their actions change.

All rules of a phase share one target: later rules see the changes of earlier
ones. Nothing else changes until the caller saves the result, which a dry run
does not.
"""

import collections
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.engine.run.secrecy import journal
from ironic_inspection_rules.engine.run.secrecy import masked_views
from ironic_inspection_rules.i18n import _

NODE = views.NODE
PORTS = views.PORTS
PLUGIN_DATA = views.PLUGIN_DATA
TRAITS = engine_change.TRAITS

Facts = views.Facts
GetRequest = plugin.GetRequest


class Effects:
    """The side effects of actions, such as log lines; this class has none."""

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""

    def call(self, request: GetRequest, seconds: float) -> None:
        """Send a GET request.

        :param seconds: how long it may take: what is left of the phase.
        :raises: :class:`.exceptions.OperationError` if it fails.
        """


class WorkingCopy:
    """The data of one machine during one phase.

    :ivar roots: the data now, by root name such as ``node``.
    :ivar before: the data before the phase, by root name.
    :ivar journal: the changes of the phase.
    :param facts: the data before the phase, which are never changed.
    :param effects: carries out actions that change no data, such as ``log``;
        None for a dry run, in which these do nothing.
    """

    def __init__(self, facts: Facts, effects: Effects | None = None) -> None:
        self.roots = budget.View(facts.roots())
        self.journal = journal.Journal(facts.ports)
        # What the rules see, with secrets and without.
        self._views = masked_views.Views(self.roots, facts.mask_once)
        # The paths of changed values, cut to two tokens, by root and first
        # token. A change at /extra/disks/0 of the node is kept as
        # {('node', 'extra'): {('extra', 'disks')}}. No caller needs more than
        # two tokens.
        self._touched: dict[tuple[str, str], set[data_path.Path]] = (
            collections.defaultdict(set)
        )
        self._effects = effects or Effects()
        # The same values as in the roots: an action copies what it changes.
        self.before = facts.roots()

    def paid_by(self, allowance: budget.Budget) -> budget.PaidBy:
        """Have a budget pay for the work in a ``with`` block.

        The views get it in place of the budget that they have outside of the
        block.
        """
        return budget.PaidBy(allowance, self.roots, self._views.masked)

    def view(self, masked: bool) -> budget.View:
        """Return the data by root name, with or without its secrets."""
        if masked:
            return self._views.masked
        return self.roots

    def release(self, value: typing.Any) -> None:
        """Note that a value of the data is kept somewhere else, too.

        It is copied before it changes, so that the value there stays.
        """
        self._views.release(value)

    def get(self, root: str, path: data_path.Path) -> typing.Any:
        """Return the unmasked value at a path, or :data:`.path.ABSENT`."""
        return data_path.get(self.roots[root], path)

    def set(
        self,
        root: str,
        path: data_path.Path,
        value: typing.Any,
        part: data_path.Path = (),
    ) -> None:
        """Set a value; missing parents are created.

        A value that is there already is no change; the journal has it among
        those that are confirmed.

        :param root: ``node``, ``ports`` or ``plugin_data``.
        :param path: the path below the root; for a port, its index comes
            first, as in ``('0', 'extra', 'rack')``.
        :param part: the path of the part that the rule has set, if it is only
            a part of the value: ``('boot_mode',)`` for one capability in the
            text of all.
        :raises: :class:`.exceptions.OperationError` if the path leads through
            a plain value.
        """
        before = data_path.get(self.roots[root], path)
        self.roots.budget.write(value, path, before)
        op = 'replace'
        if before is data_path.ABSENT:
            op = 'add'
            before = None
        elif data_path.same(before, value):
            self.journal.confirm(root, path, value)
            return
        self._write(root, path, value)
        self.journal.record(
            op, self.roots[root], root, path, value, before, part
        )

    def extend(
        self,
        root: str,
        path: data_path.Path,
        value: typing.Any,
        unique: bool = False,
    ) -> None:
        """Append a value to a list.

        The list is created if nothing or null is at the path.

        :param unique: do nothing if the list has an equal item.
        :raises: :class:`.exceptions.OperationError` if the value at the path
            is not a list.
        """
        items = data_path.get(self.roots[root], path)
        if items is data_path.ABSENT or items is None:
            items = []
        if not isinstance(items, list):
            raise exceptions.OperationError(
                _('%s is not a list') % data_path.pointer(path)
            )
        place = (*path, data_path.APPEND)
        self.roots.budget.write(value, place)
        if unique and self._views.has_member(root, path, value):
            return
        self._views.append(root, path, value)
        self._touch(root, path)
        self.journal.record('add', self.roots[root], root, place, value)

    def unset(self, root: str, path: data_path.Path) -> None:
        """Remove the value at a path, if there is one."""
        before = data_path.get(self.roots[root], path)
        if before is data_path.ABSENT:
            return
        self.roots.budget.spend()
        # The journal has the path of the change, which takes memory.
        self.roots.budget.write(None, path)
        self._views.remove(root, path)
        self._touch(root, path)
        self.journal.record(
            'remove', self.roots[root], root, path, before=before
        )

    def discard(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Remove the last item that equals a value from a list.

        If there is no such item, or no list, nothing happens.
        """
        items = data_path.get(self.roots[root], path)
        if not isinstance(items, list):
            return
        # To compare is cheap: 16 items cost one operation of the budget.
        operations = len(items) // 16
        self.roots.budget.spend(operations)
        # From the end, so that the last equal item is removed.
        for index in reversed(range(len(items))):
            if data_path.same(items[index], value):
                path_of_item = (*path, str(index))
                self.unset(root, path_of_item)
                return

    def port(self, port_id: str) -> data_path.Path:
        """Find a port by MAC address in any case, or by UUID.

        :returns: the path of the port below the root ``ports``: ``('0',)`` for
            the first port.
        :raises: :class:`.exceptions.OperationError` if there is none.
        """
        index = self._port_index(port_id)
        if index is None:
            raise exceptions.OperationError(
                _('the node has no port %s') % port_id
            )
        return (str(index),)

    def has_port(self, port_id: str) -> bool:
        """Return whether the node has a port with this MAC address or UUID."""
        return self._port_index(port_id) is not None

    def _port_index(self, port_id: str) -> int | None:
        """Return the index of a port, None if there is no such port."""
        if data_path.index(port_id) is not None:
            # Fields may name a port by its number, actions may not.
            return None
        return rendering.find_port(
            self.roots[PORTS], port_id, self.roots.budget
        )

    @property
    def traits(self) -> list[str]:
        """The names of the node's traits."""
        return list(self.roots[NODE].get(TRAITS) or ())

    def set_traits(self, names: typing.Iterable[str]) -> None:
        """Replace all traits of the node by others.

        If they are the same in another order, nothing changes.
        """
        before = self.traits
        # Every name once, in the order given.
        after = list(dict.fromkeys(names))
        self.roots.budget.write(after, (TRAITS,), before)
        self.journal.record_traits(before, after)
        if set(before) != set(after):
            self._write(NODE, (TRAITS,), after)

    def changed(self, root: str) -> dict[str, typing.Any]:
        """Return the values directly below a root in which rules have written.

        After a rule has set ``/extra/rack`` of the node, that is ``{'extra':
        {'rack': 'r1', …}}``. A value that was changed twice may be the same as
        before the phase.

        :returns: the values now, by name; :data:`.path.ABSENT` for a value
            that was removed.
        """
        names = [name for touched, name in self._touched if touched == root]
        return {
            name: data_path.get(self.roots[root], (name,))
            for name in sorted(names)
        }

    def changed_of_port(self, index: int) -> dict[str, typing.Any]:
        """Return the attributes of a port in which rules have written.

        :param index: the index of the port in the list of ports.
        :returns: the values now, by name; :data:`.path.ABSENT` for an
            attribute that was removed.
        """
        token = str(index)
        paths = self._touched.get((PORTS, token), set())
        names = {path[-1] for path in paths}
        if (token,) in paths:
            # The port itself was set or removed: these are all attributes that
            # it had before, or has now.
            names = set()
            for ports in (self.before[PORTS], self.roots[PORTS]):
                port = data_path.get(ports, (token,))
                if isinstance(port, dict):
                    names.update(port)
        return {
            name: data_path.get(self.roots[PORTS], (token, name))
            for name in sorted(names)
        }

    def final_values(self) -> list[tuple[str, data_path.Path, typing.Any]]:
        """Return all changed places with the values that they have now.

        After actions have set the ``driver`` of the node to ``ipmi``, and the
        rack in its attribute ``extra`` to ``r1``::

            [('node', ('driver',), 'ipmi'), ('node', ('extra', 'rack'), 'r1')]

        Another copy of the same facts has the same node and ports once these
        values are written to it, as the attributes of a node that rules
        change in part are mappings. Its plugin data may differ: they may have
        a list at their top, whose item at ``('disks', '-')`` has no value
        here once it is appended.

        :returns: root, path of one or two tokens, and the value;
            :data:`.path.ABSENT` where it was removed.
        """
        final_values = []
        for (root, name), paths in sorted(self._touched.items()):
            if (name,) in paths:
                # The value as a whole was changed: its parts are in it.
                paths = {(name,)}
            for path in sorted(paths):
                value = data_path.get(self.roots[root], path)
                final_values.append((root, path, value))
        return final_values

    def confirm(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Record that a value that a rule sets is already there."""
        self.journal.confirm(root, path, value)

    def confirm_traits(self, names: typing.Iterable[str]) -> None:
        """Record the traits that a rule sets, but that the node has already.

        So the record of a run names this rule for such a trait, too.

        :param names: all traits that the rule sets.
        """
        present = set(self.traits)
        for name in names:
            if name in present:
                self.journal.confirm(TRAITS, (name,), name)

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service, and to the journal."""
        # The record of the run has the message, too, so it is paid for.
        self.roots.budget.pay_for_result(message)
        self._effects.log(level, self.journal.log(level, message))

    def call(self, request: GetRequest) -> None:
        """Send a GET request, and note it in the journal.

        :raises: :class:`.exceptions.OperationError` if it fails. The message
            names the request without the secrets in its URL.
        """
        request_text = self.journal.note_request(request.url)
        seconds_left = self.roots.budget.remaining()
        try:
            self._effects.call(request, seconds_left)
        except exceptions.OperationError as exc:
            raise exceptions.OperationError(
                _('%(request)s failed: %(error)s')
                % {'request': request_text, 'error': exc}
            ) from exc

    def _write(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Set a value in both views, and remember that its place changed."""
        self._views.assign(root, path, value)
        self._touch(root, path)

    def _touch(self, root: str, path: data_path.Path) -> None:
        """Remember that a value was changed.

        Only the first two tokens of its path are kept, see ``_touched``.
        """
        # A plugin may have given the path as a list.
        self._touched[root, path[0]].add(tuple(path[:2]))

    def fork(self) -> 'WorkingCopy':
        """Return a copy of the data for a rule in mode ``audit``.

        The rule changes the copy only, and neither logs nor calls anything.
        """
        # Both share their values: from here on, this one copies a value before
        # it changes it. The new one does so in any case.
        self._views.release_all()
        facts = Facts(
            inventory=self.roots['inventory'],
            plugin_data=self.roots[PLUGIN_DATA],
            node=self.roots.get(NODE),
            ports=tuple(self.roots.get(PORTS, ())),
            port_groups=tuple(self.roots.get('port_groups', ())),
            previous=self.roots.get('previous'),
        )
        fork = WorkingCopy(facts)
        fork.journal = self.journal.fork()
        # To mask a root takes long: those that are masked already are taken
        # over.
        fork._views.masked.update(self._views.masked)
        return fork

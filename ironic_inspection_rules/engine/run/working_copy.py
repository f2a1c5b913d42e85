# SPDX-License-Identifier: Apache-2.0

"""The data that the rules of a phase read and that their actions change.

All rules of a phase share one target, so later rules see the changes of
earlier rules. Nothing else changes until the caller saves the result. A dry
run does not save it.
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
    """Side effects of actions, e.g. log lines. This class has no effects."""

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""

    def call(self, request: GetRequest, seconds: float) -> None:
        """Send a GET request.

        :param seconds: maximum duration, which is the time left in the phase.
        :raises: :class:`.exceptions.OperationError` if the request fails.
        """


class WorkingCopy:
    """The data of one machine during one phase.

    :ivar roots: the current data, by root name such as ``node``.
    :ivar before: the data before the phase, by root name.
    :ivar journal: the changes of the phase.
    :param facts: the data before the phase, which are never changed.
    :param effects: runs the actions that do not change data, e.g. ``log``.
        None for a dry run, in which they have no effect.
    """

    def __init__(self, facts: Facts, effects: Effects | None = None) -> None:
        self.roots = budget.View(facts.roots())
        self.journal = journal.Journal(facts.ports)
        # The data as the rules see them, with secrets and without secrets.
        self._views = masked_views.Views(self.roots, facts.mask_once)
        # The paths of changed values, cut to two tokens because no caller
        # needs more. The keys are pairs of root and first token: a change of
        # the node at /extra/disks/0 is stored as
        # {('node', 'extra'): {('extra', 'disks')}}.
        self._changed_paths: dict[tuple[str, str], set[data_path.Path]] = (
            collections.defaultdict(set)
        )
        self._effects = effects or Effects()
        # These share their values with the roots, because an action copies a
        # value before it changes it.
        self.before = facts.roots()

    def paid_by(self, allowance: budget.Budget) -> budget.PaidBy:
        """Make a budget pay for the work in a ``with`` block.

        During the block, the budget replaces the budget of both views.
        """
        return budget.PaidBy(allowance, self.roots, self._views.masked)

    def view(self, masked: bool) -> budget.View:
        """Return the data by root name, with or without its secrets."""
        if masked:
            return self._views.masked
        return self.roots

    def release(self, value: typing.Any) -> None:
        """Note that a value of the data is also kept somewhere else.

        It will be copied before it changes, so that the kept value does not
        change.
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
        """Set a value, and create missing parents.

        If the value is already there, this is not a change. The journal
        records it as confirmed.

        :param root: ``node``, ``ports`` or ``plugin_data``.
        :param path: the path below the root. For a port, it begins with its
            index, e.g. ``('0', 'extra', 'rack')``.
        :param part: the path of the part that the rule has set, if it has set
            only a part of the value: ``('boot_mode',)`` for one capability in
            the text of all capabilities.
        :raises: :class:`.exceptions.OperationError` if the path leads through
            a plain value.
        """
        before = data_path.get(self.roots[root], path)
        self.roots.budget.write(value, path, before)
        op = 'replace'
        if before is data_path.ABSENT:
            op = 'add'
            before = None
        elif data_path.is_same(before, value):
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
        """Append a value to the list at a path.

        If there is nothing or null at the path, a list is created there.

        :param root: the root of the path, as for :meth:`set`.
        :param unique: whether to do nothing if the list has an equal item.
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
        path_of_item = (*path, data_path.APPEND)
        # Pay even if the list has the item, because the search takes time too.
        self.roots.budget.write(value, path_of_item)
        if unique and self._views.has_member(root, path, value):
            return
        self._views.append(root, path, value)
        self._remember_change(root, path)
        self.journal.record('add', self.roots[root], root, path_of_item, value)

    def unset(self, root: str, path: data_path.Path) -> None:
        """Remove the value at a path; do nothing if there is none.

        In a list, the items after the value move up.
        """
        before = data_path.get(self.roots[root], path)
        if before is data_path.ABSENT:
            return
        self.roots.budget.spend()
        # Pay for the path, which the journal keeps in memory.
        self.roots.budget.write(None, path)
        self._views.remove(root, path)
        self._remember_change(root, path)
        self.journal.record(
            'remove', self.roots[root], root, path, before=before
        )

    def discard(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Remove the last item that equals a value from a list.

        Nothing happens if there is no such item or no list.
        """
        items = data_path.get(self.roots[root], path)
        if not isinstance(items, list):
            return
        # Comparing is cheap: 16 items cost one operation of the budget.
        operations = len(items) // 16
        self.roots.budget.spend(operations)
        # Search from the end, because the last equal item is removed.
        for index in reversed(range(len(items))):
            if data_path.is_same(items[index], value):
                path_of_item = (*path, str(index))
                self.unset(root, path_of_item)
                return

    def port(self, port_id: str) -> data_path.Path:
        """Find a port by its MAC address (in any case) or UUID.

        :returns: the path of the port below the root ``ports``, e.g.
            ``('0',)`` for the first port.
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
        """Return the index of a port, or None if there is no such port."""
        if data_path.index(port_id) is not None:
            # Fields may refer to a port by its index, but actions may not.
            return None
        return rendering.find_port(
            self.roots[PORTS], port_id, self.roots.budget
        )

    @property
    def traits(self) -> list[str]:
        """The names of the node's traits."""
        return list(self.roots[NODE].get(TRAITS) or ())

    def set_traits(self, names: typing.Iterable[str]) -> None:
        """Replace all traits of the node.

        If the traits are the same in another order, nothing changes.
        """
        before = self.traits
        # Keep each name once, in the given order.
        after = list(dict.fromkeys(names))
        self.roots.budget.write(after, (TRAITS,), before)
        self.journal.record_traits(before, after)
        if set(before) != set(after):
            self._write(NODE, (TRAITS,), after)

    def changed(self, root: str) -> dict[str, typing.Any]:
        """Return the values directly below a root that rules have written to.

        For example, after a rule has set ``/extra/rack`` of the node, this is
        ``{'extra': {'rack': 'r1', …}}``. A value that was changed twice may be
        the same as before the phase.

        :returns: the current values, by name; :data:`.path.ABSENT` for a value
            that was removed.
        """
        names = [
            name
            for changed_root, name in self._changed_paths
            if changed_root == root
        ]
        return {
            name: data_path.get(self.roots[root], (name,))
            for name in sorted(names)
        }

    def changed_of_port(self, index: int) -> dict[str, typing.Any]:
        """Return the attributes of a port that rules have written to.

        Only these are saved after the phase.

        :param index: the index of the port in the list of ports.
        :returns: the current values, by name; :data:`.path.ABSENT` for an
            attribute that was removed.
        """
        token = str(index)
        paths = self._changed_paths.get((PORTS, token), set())
        names: set[str] = set()
        if (token,) in paths:
            # The port itself was set or removed. So return all attributes that
            # it had before or has now.
            for ports in (self.before[PORTS], self.roots[PORTS]):
                port = data_path.get(ports, (token,))
                if isinstance(port, dict):
                    names.update(port)
        else:
            names.update(name for _token, name in paths)
        return {
            name: data_path.get(self.roots[PORTS], (token, name))
            for name in sorted(names)
        }

    def final_values(self) -> list[tuple[str, data_path.Path, typing.Any]]:
        """Return all changed places with their current values.

        A checkpoint of durable inspection stores them, so that a later attempt
        need not run the rules again.

        For example, after actions have set the ``driver`` of the node to
        ``ipmi``, and ``rack`` in its attribute ``extra`` to ``r1``::

            [('node', ('driver',), 'ipmi'), ('node', ('extra', 'rack'), 'r1')]

        If these values are written to another copy of the same facts, its node
        and ports become the same, because node attributes that rules change in
        part are mappings. Its plugin data may differ: a rule may append an
        item to a list at the top level, and the item at ``('disks', '-')`` has
        no value here.

        :returns: triples of the root, a path of one or two tokens, and the
            value, which is :data:`.path.ABSENT` if it was removed.
        """
        final_values = []
        for (root, name), paths in sorted(self._changed_paths.items()):
            if (name,) in paths:
                # The whole value was changed, and it includes its parts.
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
        """Record the traits that a rule sets, but that the node already has.

        The record of a run then names the rule for such a trait too.

        :param names: all traits that the rule sets.
        """
        present = set(self.traits)
        for name in names:
            if name in present:
                self.journal.confirm(TRAITS, (name,), name)

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service, and to the journal."""
        # Pay for the message, because the record of the run keeps it too.
        self.roots.budget.pay_for_result(message)
        self._effects.log(level, self.journal.log(level, message))

    def call(self, request: GetRequest) -> None:
        """Note a GET request in the journal, and send it.

        A request of a sensitive rule is not noted. A dry run, or a rule in
        mode ``audit``, sends none.

        :raises: :class:`.exceptions.OperationError` if the request fails. The
            message names the request without the secrets in its URL.
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
        self._remember_change(root, path)

    def _remember_change(self, root: str, path: data_path.Path) -> None:
        """Remember that a value was changed.

        Only the first two tokens of its path are kept, see ``_changed_paths``.
        """
        # Make a tuple, because a plugin may have passed a list.
        self._changed_paths[root, path[0]].add(tuple(path[:2]))

    def fork(self) -> 'WorkingCopy':
        """Return a copy of the data for a rule in mode ``audit``.

        The rule changes only the copy, and its log lines and requests have no
        effect.
        """
        # The two copies share their values. So from now on, this one copies a
        # value before it changes it. The new one always does.
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
        # Masking a root is slow, so take over the roots that are masked.
        fork._views.masked.update(self._views.masked)
        return fork

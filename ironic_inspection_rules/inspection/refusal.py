# SPDX-License-Identifier: Apache-2.0

"""Finds changes that Ironic would refuse, without saving them.

A dry run of rules saves nothing, but must show the error that saving would
raise: a name or an address that another object already has, a driver that no
conductor has, or the UUID of an object that does not exist. The checks here
query the database for this.
"""

from collections.abc import Collection, Iterator
import contextlib
import functools
import importlib.metadata
from typing import Any

from ironic import objects
from ironic.common import exception as ironic_exception
from ironic.db import api as db_api
from oslo_log import log

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.engine.run.secrecy import journal
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import saving
from ironic_inspection_rules.objects import machine as machine_object

LOG = log.getLogger(__name__)

NODE, PORTS = working_copy.NODE, working_copy.PORTS


class Refusals:
    """Finds the change of a phase that Ironic would refuse.

    Only changed attributes are checked. If it is uncertain whether Ironic
    would refuse a change, the change is accepted.

    :param context: context of the request.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        # The names of nodes within assuming(), where they are collected and
        # not checked; None outside of it.
        self._collected_names: set[str] | None = None

    @contextlib.contextmanager
    def assuming(self) -> Iterator[set[str]]:
        """Accept all new names of nodes in the block, and collect them.

        After the block, the caller checks all collected names together with
        :meth:`find_taken`. For many machines, this takes one query instead of
        one per name.

        :returns: the set to which the names are added.
        """
        self._collected_names = set()
        try:
            yield self._collected_names
        finally:
            self._collected_names = None

    def find_taken(self, names: Collection[str]) -> set[str]:
        """Return the names that a node has, regardless of their case."""
        lower_names = {name.lower() for _uuid, name in self._list_named(names)}
        return {name for name in names if name.lower() in lower_names}

    def _list_named(self, names: Collection[str]) -> list[tuple[str, str]]:
        """Return UUID and name of the nodes that have one of the names."""
        if not names:
            return []
        return list(
            machine_object.InspectedMachine.identify(
                self._context, sorted(names)
            )
        )

    def find(
        self, target: working_copy.WorkingCopy
    ) -> exceptions.RuleError | None:
        """Return the error that saving a phase would raise, or None.

        :param target: the data with the changes of the phase.
        """
        has_node = NODE in target.roots
        if not has_node:
            # This is the early phase, which saves nothing.
            return None
        try:
            self._check_node(target)
            self._check_ports(target)
        except exceptions.RuleError as exc:
            return exc
        return None

    def _check_node(self, target: working_copy.WorkingCopy) -> None:
        """Check the changed attributes of the node.

        :raises: :class:`.exceptions.RuleError` if Ironic would refuse one. It
            names the rule that made the change.
        """
        changes = target.journal
        attributes = target.changed(NODE)
        # The node with all changes of the phase.
        node = target.roots[NODE]
        # Check attributes that name other objects, e.g. "chassis_uuid".
        self._check_references(
            attributes, saving.NODE_REFERENCES, changes, NODE
        )
        # Check the driver and its interfaces, e.g. {'bios_interface':
        # 'redfish'}. An interface that was set to None is left out, because
        # Ironic sets it to the default of the driver.
        interfaces = {
            name: attributes[name]
            for name in saving.INTERFACES
            if attributes.get(name)
        }
        if interfaces or 'driver' in attributes:
            with saving.blame_rule_for_errors(
                changes, NODE, 'driver', *saving.INTERFACES
            ):
                self._check_driver(node.get('driver'), interfaces)
        # Check values that can be checked without a query.
        saving.check_node_values(attributes, changes)
        # Check values that must be unique.
        uuid = node.get('uuid')
        if not uuid:
            # Without its UUID, this node could not be distinguished from
            # another node that has the name.
            return
        name = attributes.get('name')
        instance_uuid = attributes.get('instance_uuid')
        with saving.blame_rule_for_errors(changes, NODE, *saving.UNIQUE):
            if name:
                self._check_name(name, uuid)
            if instance_uuid:
                # The UUID of the node that already has the instance.
                holder = self._find_holder(
                    objects.Node.get_by_instance_uuid, instance_uuid
                )
                if holder not in (None, uuid):
                    raise ironic_exception.InstanceAssociated(
                        instance_uuid=instance_uuid, node=uuid
                    )

    def _check_name(self, name: str, uuid: str) -> None:
        """Check that no other node has a name.

        Within :meth:`assuming`, the name is collected and not checked.

        :param uuid: the UUID of the node that gets the name.
        :raises: DuplicateName if another node has it.
        """
        if self._collected_names is not None:
            self._collected_names.add(name)
            return
        for uuid_of_holder, _name in self._list_named([name]):
            if uuid_of_holder != uuid:
                raise ironic_exception.DuplicateName(name=name)

    def _check_references(
        self,
        attributes: dict[str, Any],
        references: saving.References,
        changes: journal.Journal,
        label: str,
    ) -> None:
        """Check that the objects exist that attributes name by UUID.

        For example, ``chassis_uuid`` must be the UUID of a chassis.

        :param attributes: the changed attributes of a node or a port.
        :param references: all attributes of this kind of object that name
            another object.
        :param changes: the changes of the phase, with the rules that made
            them.
        :param label: the name of the node or port, e.g. ``port <MAC>``.
        :raises: :class:`.exceptions.RuleError` if an object does not exist.
        """
        for name, reference in references.items():
            uuid = attributes.get(name)
            if uuid:
                with saving.blame_rule_for_errors(changes, label, name):
                    reference.find(self._context, uuid)

    @functools.cached_property
    def _conductors(self) -> list[Any]:
        return objects.Conductor.list(self._context)

    def _check_driver(
        self, driver: str | None, interfaces: dict[str, str]
    ) -> None:
        """Check that some conductor has the driver and the interfaces.

        Nothing is checked if Ironic knows no conductor. The interfaces are not
        checked if a conductor with the driver has stopped. Ironic still knows
        which drivers such a conductor had, but not which interfaces.

        :param driver: the driver of the node after the phase.
        :param interfaces: interfaces that rules have set, by attribute, e.g.
            ``{'bios_interface': 'redfish'}``.
        :raises: IronicException if no conductor has the driver; ValueError if
            none has an interface.
        """
        if driver is None or not self._conductors:
            return
        # These hosts include conductors that have stopped.
        hosts_with_driver = {
            conductor.hostname
            for conductor in self._conductors
            if driver in conductor.drivers
        }
        if not hosts_with_driver:
            raise ironic_exception.DriverNotFound(driver_name=driver)
        if not interfaces:
            return
        database = db_api.get_instance()
        running_hosts = database.get_active_hardware_type_dict().get(
            driver, set()
        )
        are_all_running = hosts_with_driver <= running_hosts
        if not are_all_running:
            return
        enabled = _list_enabled_interfaces(driver)
        for attribute, name in interfaces.items():
            known = enabled.get(attribute, ())
            if name not in known and not _accepts_any_interface(driver):
                raise ValueError(
                    _(
                        'no conductor has the %(attribute)s "%(name)s" for '
                        'the driver %(driver)s; there are: %(known)s'
                    )
                    % {
                        'attribute': attribute,
                        'name': name,
                        'driver': driver,
                        'known': ', '.join(sorted(known)),
                    }
                )

    def _check_ports(self, target: working_copy.WorkingCopy) -> None:
        """Check the changed ports in the order in which they are saved.

        An address or a name is refused if a port of another node has it, or if
        another port of this node has it at the time when the port is saved.

        :raises: :class:`.exceptions.RuleError` if Ironic would refuse one.
        """
        changes = target.journal
        if not target.changed(PORTS):
            return
        before = target.before[PORTS]
        uuids_of_node = {port.get('uuid') for port in before}
        new_values = [
            target.changed_of_port(index) for index, _port in enumerate(before)
        ]
        # Which port of the node has an address. Ports are saved one by one, so
        # a port has its old address until it is saved.
        index_by_address = {
            port.get('address'): index for index, port in enumerate(before)
        }
        # Which port has a name. A port that changes its name no longer has the
        # old one: if another port gets the old name, saving removes it first,
        # so that two ports can swap their names.
        index_by_name = {
            port.get('name'): index
            for index, port in enumerate(before)
            if 'name' not in new_values[index]
        }
        # The label is the name of a port in messages, e.g. "port <MAC>".
        labelled = zip(before, new_values, changes.port_names, strict=True)
        for index, (port, values, label) in enumerate(labelled):
            self._check_references(
                values, saving.PORT_REFERENCES, changes, label
            )
            address = values.get('address')
            name = values.get('name')
            with saving.blame_rule_for_errors(changes, label, *saving.UNIQUE):
                if address:
                    # The port takes the address, unless another port of the
                    # node has it.
                    index_of_holder = index_by_address.setdefault(
                        address, index
                    )
                    is_elsewhere = self._has_other_node(
                        objects.Port.get_by_address, address, uuids_of_node
                    )
                    if index_of_holder != index or is_elsewhere:
                        raise ironic_exception.MACAlreadyExists(mac=address)
                if name:
                    # The port takes the name in the same way.
                    index_of_holder = index_by_name.setdefault(name, index)
                    is_elsewhere = self._has_other_node(
                        objects.Port.get_by_name, name, uuids_of_node
                    )
                    if index_of_holder != index or is_elsewhere:
                        raise ironic_exception.PortDuplicateName(name=name)
            old_address = port.get('address')
            if address and address != old_address:
                # After this port is saved, its old address is free for the
                # ports that are saved later.
                del index_by_address[old_address]

    def _has_other_node(
        self, find: Any, value: Any, uuids_of_node: Collection[str | None]
    ) -> bool:
        """Return whether a port of another node has an address or a name.

        A port of this node may give up the value in this phase.

        :param find: Ironic's method that reads a port by the value.
        :param uuids_of_node: the UUIDs of the ports of this node.
        """
        holder = self._find_holder(find, value)
        return holder is not None and holder not in uuids_of_node

    def _find_holder(self, find: Any, value: Any) -> str | None:
        """Return the UUID of the object that has a unique value, or None.

        :param find: Ironic's method that reads an object by this value, e.g.
            ``Port.get_by_address``.
        """
        try:
            return find(self._context, value).uuid
        except ironic_exception.NotFound:
            return None


def _list_enabled_interfaces(driver: str) -> dict[str, set[str]]:
    """Return the interfaces that running conductors have for a driver.

    :returns: names of interfaces by attribute of the node, e.g.
        ``{'bios_interface': {'no-bios', 'redfish'}}``.
    """
    enabled: dict[str, set[str]] = {}
    rows = db_api.get_instance().list_hardware_type_interfaces([driver])
    for row in rows:
        attribute = f'{row["interface_type"]}_interface'
        enabled.setdefault(attribute, set()).add(row['interface_name'])
    return enabled


@functools.cache
def _accepts_any_interface(driver: str) -> bool:
    """Return whether a hardware type may accept interfaces it does not list.

    Most types accept only interfaces that they list, and conductors store
    these lists. There are three exceptions:

    - Ironic's fake hardware and its subclasses accept any enabled interface.
    - A type that is installed on conductors only, and not here, may do so.
    - A type that cannot be loaded here may do so.

    :param driver: the name of the hardware type.
    """
    # Import this late, because it imports many drivers.
    from ironic.drivers import fake_hardware

    entry_points = importlib.metadata.entry_points(
        group='ironic.hardware.types', name=driver
    )
    try:
        for entry_point in entry_points:
            if issubclass(entry_point.load(), fake_hardware.FakeHardware):
                return True
        is_installed_here = bool(entry_points)
        return not is_installed_here
    # Catch everything: third-party code may raise any error when it is loaded.
    except Exception:
        LOG.warning(
            'The hardware type %s cannot be loaded here', driver, exc_info=True
        )
        return True

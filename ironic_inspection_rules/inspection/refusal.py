# SPDX-License-Identifier: Apache-2.0

"""Finds changes that Ironic would refuse, without saving them."""

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
    """Finds changes that Ironic's database would refuse.

    Only changed attributes are checked, and doubtful changes are accepted.

    :param context: context of the request.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        # Names of nodes that assuming() collects; None outside of it.
        self._assumed: set[str] | None = None

    @contextlib.contextmanager
    def assuming(self) -> Iterator[set[str]]:
        """Assume that names of nodes are free, and collect them.

        For many machines, a single query for all names then replaces a query
        per name.

        :returns: the names, which :meth:`taken` can check together.
        """
        self._assumed = set()
        try:
            yield self._assumed
        finally:
            self._assumed = None

    def taken(self, names: Collection[str]) -> set[str]:
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

        :param target: the data with the changes.
        """
        if NODE not in target.roots:
            # The early phase has no node and saves nothing.
            return None
        try:
            self._check_node(target)
            self._check_ports(target)
        except exceptions.RuleError as exc:
            return exc
        return None

    def _check_node(self, target: working_copy.WorkingCopy) -> None:
        """Check the changed attributes of the node.

        :raises: :class:`.exceptions.RuleError` if Ironic would refuse one.
        """
        changes = target.journal
        attributes = target.changed(NODE)
        node = target.roots[NODE]
        self._check_references(
            attributes, saving.NODE_REFERENCES, changes, NODE
        )
        # For example, {'bios_interface': 'redfish'}.
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
        saving.check_node_values(attributes, changes)
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

        Within :meth:`assuming`, the name is only collected, so that one query
        can check the names of many nodes.

        :param uuid: the UUID of the node that gets the name.
        :raises: DuplicateName if another node has it.
        """
        if self._assumed is not None:
            self._assumed.add(name)
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

        :param references: the references of a node or a port.
        :param label: the name of the node or port, as in a change.
        :raises: :class:`.exceptions.RuleError` if an object does not exist.
        """
        for name, reference in references.items():
            value = attributes.get(name)
            if value:
                with saving.blame_rule_for_errors(changes, label, name):
                    reference.find(self._context, value)

    @functools.cached_property
    def _conductors(self) -> list[Any]:
        return objects.Conductor.list(self._context)

    def _check_driver(
        self, driver: str | None, interfaces: dict[str, str]
    ) -> None:
        """Check that conductors have a driver and interfaces.

        The interfaces are not checked if a conductor with the driver has
        stopped, because Ironic then knows its hardware types, but not its
        interfaces.

        :param interfaces: interfaces that rules have set, by attribute.
        :raises: IronicException or ValueError if no conductor has them.
        """
        if driver is None or not self._conductors:
            return
        # This includes conductors that have stopped.
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
        if not hosts_with_driver <= running_hosts:
            # A conductor that has stopped may have had the interfaces.
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
        """Check the ports in the order in which they would be saved.

        :raises: :class:`.exceptions.RuleError` if Ironic would refuse one.
        """
        changes = target.journal
        if not target.changed(PORTS):
            return
        before = target.before[PORTS]
        # An address or a name may belong to a port of this node, or to no port
        # (None).
        allowed_holders = {None, *(port.get('uuid') for port in before)}
        changed = [
            target.changed_of_port(index) for index, _port in enumerate(before)
        ]
        # Ports are saved one by one. The two mappings below have the index of
        # the port that currently has an address or a name. An address is taken
        # until its port is saved. The names of ports that get another name are
        # free from the beginning, because saving removes these names first, so
        # that ports can swap them.
        addresses = {
            port.get('address'): index for index, port in enumerate(before)
        }
        names = {
            port.get('name'): index
            for index, port in enumerate(before)
            if 'name' not in changed[index]
        }
        labelled = zip(before, changed, changes.port_names, strict=True)
        for index, (port, values, label) in enumerate(labelled):
            self._check_references(
                values, saving.PORT_REFERENCES, changes, label
            )
            address = values.get('address')
            name = values.get('name')
            with saving.blame_rule_for_errors(changes, label, *saving.UNIQUE):
                if address:
                    # This port gets the address, unless another port of the
                    # node has it.
                    index_of_holder = addresses.setdefault(address, index)
                    holder = self._find_holder(
                        objects.Port.get_by_address, address
                    )
                    is_free = holder in allowed_holders
                    if index_of_holder != index or not is_free:
                        raise ironic_exception.MACAlreadyExists(mac=address)
                if name:
                    index_of_holder = names.setdefault(name, index)
                    holder = self._find_holder(objects.Port.get_by_name, name)
                    is_free = holder in allowed_holders
                    if index_of_holder != index or not is_free:
                        raise ironic_exception.PortDuplicateName(name=name)
            address_before = port.get('address')
            if address and address != address_before:
                # This port is saved now, so a later port may get its old
                # address.
                del addresses[address_before]

    def _find_holder(self, find: Any, value: Any) -> str | None:
        """Return the UUID of the object with a value; None if there is none.

        :param find: Ironic's method that finds an object by such a value, e.g.
            a port by its address.
        """
        try:
            return find(self._context, value).uuid
        except ironic_exception.NotFound:
            return None


def _list_enabled_interfaces(driver: str) -> dict[str, set[str]]:
    """Return the interfaces that running conductors have for a driver.

    For example, ``{'bios_interface': {'no-bios', 'redfish'}}``.
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

    Conductors store the interfaces that a type lists as supported. But
    Ironic's fake hardware and its subclasses accept any enabled interface. A
    type that is installed only with conductors, and not here, may do so too.
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

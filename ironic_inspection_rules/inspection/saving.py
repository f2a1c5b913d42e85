# SPDX-License-Identifier: Apache-2.0

"""Saves the changes of a phase, once for every object.

While rules run, their changes are made only in a working copy of the data,
the *target*. The target also has a journal: the list of all changes, with the
rules that made them. At the end of the phase the changes are saved in one
transaction. If Ironic refuses one of them, the journal says which rule is to
blame, and the error names this rule.
"""

from collections.abc import Callable, Iterator, Mapping
import contextlib
import copy
import dataclasses
from typing import Any

from ironic import objects
from ironic.common import driver_factory
from ironic.common import exception as ironic_exception
from ironic.common import utils
from ironic.drivers import base as driver_base
from ironic.objects import node as ironic_node
from oslo_db import exception as db_exc
from oslo_utils import uuidutils
import sqlalchemy as sa

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.engine.run.secrecy import journal
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import database

InTransaction = Callable[[Any], None]
"""Saves something else in the transaction that saves a phase.

It is called with the SQLAlchemy session of that transaction.
"""

INTERFACES = tuple(
    f'{name}_interface' for name in sorted(driver_base.ALL_INTERFACES)
)


@dataclasses.dataclass(frozen=True)
class Reference:
    """An attribute of a node or a port that names another object by UUID.

    ``kind`` is the name of the other object's class, e.g. ``Chassis``. Rules
    set a UUID, but Ironic stores most references as an integer: the ``id`` of
    the other object, in ``id_attribute``. This is None if Ironic stores the
    UUID itself.
    """

    kind: str
    id_attribute: str | None = None

    def find(self, context: Any, uuid: Any) -> Any:
        """Return the other object by its UUID.

        :raises: Ironic's NotFound or Invalid if there is no such object.
        """
        return getattr(objects, self.kind).get_by_uuid(context, uuid)


References = Mapping[str, Reference]
"""References by the names of the attributes that rules set."""

NODE_REFERENCES: References = {
    'chassis_uuid': Reference('Chassis', 'chassis_id'),
    'parent_node': Reference('Node'),
}
PORT_REFERENCES: References = {
    'portgroup_uuid': Reference('Portgroup', 'portgroup_id')
}

UNIQUE = ('address', 'instance_uuid', 'name')
"""Attributes with a unique constraint in the database."""


@transaction.retried_on_lock_conflict
def save(
    task,
    target: working_copy.WorkingCopy,
    more: Mapping[str, Any] | None = None,
    in_transaction: InTransaction | None = None,
) -> None:
    """Save the changes that a phase made to the node, its ports and traits.

    All objects are saved in one transaction, so that a crash leaves either all
    changes of the phase or none. It is retried after a conflict. If there is
    nothing to save, no transaction is opened.

    :param task: a TaskManager instance with an exclusive lock.
    :param target: the data with the changes of the phase.
    :param more: further attributes of the node to save, e.g.
        ``{'maintenance': True}``.
    :param in_transaction: saves something else in the same transaction. It is
        called again if the transaction is retried. None if nothing else must
        be saved.
    :raises: :class:`.exceptions.RuleError` if Ironic refuses a change.
    """
    # The new values by name, e.g. {'driver': 'ipmi'}.
    attributes = target.changed(working_copy.NODE)
    # Traits are stored in a table of their own. None if they have not changed.
    traits = attributes.pop(working_copy.TRAITS, None)
    attributes.update(more or {})
    are_ports_changed = bool(target.changed(working_copy.PORTS))
    has_changes = attributes or are_ports_changed or traits is not None
    if not has_changes and in_transaction is None:
        return
    try:
        with transaction.values_hidden(), database.transaction() as session:
            if attributes:
                _update_node(task, attributes, target.journal)
            if are_ports_changed:
                _write_ports(task, target)
            if traits is not None:
                with blame_rule_for_errors(
                    target.journal, working_copy.TRAITS
                ):
                    task.node.traits = objects.TraitList.create(
                        task.context, task.node.id, traits
                    )
                    # The traits are stored now. Reset the change, because
                    # Ironic's next save() would refuse changed traits.
                    task.node.obj_reset_changes(['traits'])
            if in_transaction is not None:
                # Call this last: all transactions change the node first, so
                # that two of them cannot deadlock.
                in_transaction(session)
    # After any error the transaction is rolled back, so the objects must get
    # their old values again.
    except Exception:
        for changed in [task.node, *task.ports]:
            changed.refresh()
        raise


def update_plugin_data(
    target: working_copy.WorkingCopy, plugin_data: dict
) -> None:
    """Make the changes of a phase in the plugin data of the inspection.

    :param target: the data with the changes of the phase.
    :param plugin_data: changed in place.
    """
    for name, value in target.changed(working_copy.PLUGIN_DATA).items():
        if value is data_path.ABSENT:
            plugin_data.pop(name, None)
        else:
            plugin_data[name] = copy.deepcopy(value)


def _write_ports(task, target: working_copy.WorkingCopy) -> None:
    """Save the ports that have changed.

    Ports may swap their names, but the database never accepts two ports with
    one name. Therefore a port whose name goes to another port is saved twice:
    first without a name, and then with its new values.

    :raises: :class:`.exceptions.RuleError` if Ironic refuses a change.
    """
    # The label is the name of a port in changes and messages, e.g.
    # "port 52:54:00:00:00:01".
    changed = []
    labelled = zip(task.ports, target.journal.port_names, strict=True)
    for index, (port, label) in enumerate(labelled):
        values = target.changed_of_port(index)
        if values:
            changed.append((port, values, label))
    new_names = {values.get('name') for _port, values, _label in changed}
    # Many ports may have the name None, which is no name.
    new_names.discard(None)
    # Remove the names that go to another port.
    for port, values, _label in changed:
        is_renamed = 'name' in values and values['name'] != port.name
        if is_renamed and port.name in new_names:
            port.name = None
            port.save()
    # Save all ports with their new values.
    for port, values, label in changed:
        _set_attributes(
            port, values, PORT_REFERENCES, task.context, target.journal, label
        )
        # The database refuses an address or a name that another port has.
        with (
            blame_rule_for_errors(target.journal, label, *UNIQUE),
            _blame_rule_for_text(target.journal, label, values),
        ):
            port.save()


@contextlib.contextmanager
def blame_rule_for_errors(
    changes: journal.Journal, name: str, *attributes: str
) -> Iterator[None]:
    """Convert an error of Ironic in the block to an error of a rule.

    The last rule that changed one of the attributes is to blame. If no rule
    has changed any of them, the last rule that changed the object is to blame.
    For example, with the arguments ``changes, 'node', 'driver'``, the error
    names the last rule that set the driver.

    :param changes: the changes of the phase, with the rules that made them.
    :param name: the object, as in a change: ``node``, ``port <MAC>`` or
        ``traits``.
    :param attributes: names of attributes, or paths to parts of them, that
        Ironic may refuse.
    :raises: :class:`.exceptions.RuleError`; the error of Ironic if no rule has
        changed the object.
    """
    try:
        yield
    except (ironic_exception.IronicException, ValueError) as exc:
        error = changes.blame(name, attributes, exc)
        if error is None:
            raise
        # The error of a sensitive rule has no cause. Raising it "from None"
        # keeps Ironic's error, whose text may be secret, out of tracebacks.
        raise error from error.__cause__


@contextlib.contextmanager
def _blame_rule_for_text(
    changes: journal.Journal, name: str, values: Mapping[str, Any]
) -> Iterator[None]:
    """Convert an error of the database about a text to an error of a rule.

    For example, MySQL refuses an emoji if ``[database]connection`` lacks
    ``charset=utf8mb4``. The error of the database has all values of the
    statement, which may be secrets, so the new error has only its reason.

    :param changes: the changes of the phase, with the rules that made them.
    :param name: the object, as in a change: ``node`` or ``port <MAC>``.
    :param values: the values that are saved, by attribute.
    :raises: :class:`.exceptions.RuleError`; ValueError if no rule has changed
        the object; the error of the database if it is not about a value.
    """
    try:
        yield
    except db_exc.DBError as exc:
        if not isinstance(exc.inner_exception, sa.exc.DataError):
            raise
        refused = []
        for attribute, value in values.items():
            if (
                isinstance(value, str)
                and exceptions.make_storable(value) != value
            ):
                refused.append(attribute)
        with blame_rule_for_errors(changes, name, *refused):
            raise ValueError(
                _('the database cannot store this value: %s')
                % exc.inner_exception.orig
            ) from None


def _set_attributes(
    changed,
    values: Mapping[str, Any],
    references: References,
    context,
    changes: journal.Journal,
    label: str,
) -> None:
    """Set attributes of a node or a port, without saving it.

    :param changed: Ironic's object of the node or the port.
    :param values: the new values by name.
    :param references: the attributes of this kind of object that name another
        object.
    :param changes: the changes of the phase, with the rules that made them.
    :param label: the name of the object, as in a change.
    :raises: :class:`.exceptions.RuleError` if Ironic refuses a value.
    """
    for name, value in values.items():
        with blame_rule_for_errors(changes, label, name):
            if label == working_copy.NODE and name == 'name':
                _check_node_name(value)
            if name in references:
                _set_reference(changed, name, value, references[name], context)
            else:
                # Use a copy, because Ironic's object may change the value.
                setattr(changed, name, copy.deepcopy(value))


def _set_reference(
    changed, name: str, uuid: Any, reference: Reference, context
) -> None:
    """Set an attribute of a node or a port that names another object.

    If Ironic stores the ``id`` of the other object, e.g. in ``chassis_id``,
    this attribute is set instead.

    :param changed: Ironic's object of the node or the port.
    :param name: the name of the attribute, e.g. ``chassis_uuid``.
    :param uuid: the UUID of the other object; None or an empty text to remove
        the reference.
    :raises: Ironic's NotFound or Invalid if there is no such object.
    """
    if not uuid:
        setattr(changed, reference.id_attribute or name, uuid)
        return
    other_object = reference.find(context, uuid)
    if reference.id_attribute is None:
        setattr(changed, name, uuid)
    else:
        setattr(changed, reference.id_attribute, other_object.id)


def _check_node_name(name: Any) -> None:
    """Check that a name of a node is valid.

    Ironic's API does the same check, but Ironic's objects do not.

    :param name: the name; None, which removes the name, is allowed.
    :raises: ValueError if the name is not valid.
    """
    if name is None:
        return
    is_valid = utils.is_valid_logical_name(name)
    # The API finds a node by its name or by its UUID, so a name that looks
    # like a UUID could mean another node.
    if not is_valid or uuidutils.is_uuid_like(name):
        raise ValueError(_('"%s" is not a valid name of a node') % name)


def _update_node(
    task, attributes: Mapping[str, Any], changes: journal.Journal
) -> None:
    """Set attributes of the node, and save it.

    If the driver has changed, it may not support all interfaces of the node.
    They then become the default interfaces of the driver. But an unsupported
    interface that a rule has set is an error.

    :param attributes: the new values by name.
    :param changes: the changes of the phase, with the rules that made them.
    :raises: :class:`.exceptions.RuleError` if Ironic refuses a change.
    """
    node = task.node
    _set_attributes(
        node,
        attributes,
        NODE_REFERENCES,
        task.context,
        changes,
        working_copy.NODE,
    )
    has_other_interfaces = not set(attributes).isdisjoint(INTERFACES)
    if 'driver' in attributes or has_other_interfaces:
        with blame_rule_for_errors(
            changes, working_copy.NODE, 'driver', *INTERFACES
        ):
            hardware_type = driver_factory.get_hardware_type(node.driver)
            _remove_unsupported_interfaces(node, hardware_type, attributes)
            # This sets every interface that is None to the driver's default.
            driver_factory.check_and_update_node_interfaces(
                node, hardware_type
            )
    check_node_values(attributes, changes)
    with (
        blame_rule_for_errors(changes, working_copy.NODE, *UNIQUE),
        _blame_rule_for_text(changes, working_copy.NODE, attributes),
    ):
        node.save()


def _remove_unsupported_interfaces(
    node, hardware_type, attributes: Mapping[str, Any]
) -> None:
    """Reset the interfaces of a node that its driver does not support to None.

    For example, after ``driver`` was set to ``ipmi``, a ``bios_interface``
    that is ``redfish`` becomes None.

    :param hardware_type: the hardware type of the driver.
    :param attributes: attributes that rules have set. Interfaces among them
        are kept, because an unsupported one is an error of the rule.
    """
    for field in INTERFACES:
        name = getattr(node, field)
        if name is None or attributes.get(field):
            continue
        try:
            driver_factory.get_interface(
                hardware_type, field.removesuffix('_interface'), name
            )
        except (
            ironic_exception.IncompatibleInterface,
            ironic_exception.InterfaceNotFoundInEntrypoint,
        ):
            setattr(node, field, None)


def check_node_values(
    attributes: Mapping[str, Any], changes: journal.Journal
) -> None:
    """Check values that Ironic would otherwise check when it saves the node.

    These are the sizes in ``properties`` and the ``conductor_group``. If
    Ironic refuses to save a node, it does not say because of which value. Here
    every value is checked alone, so the rule that set it is known. A dry run,
    which saves nothing, calls this as well.

    :param attributes: the attributes of the node that have changed, by name.
    :param changes: the changes of the phase, with the rules that made them.
    :raises: :class:`.exceptions.RuleError` if Ironic will refuse a value.
    """
    properties = attributes.get('properties') or {}
    # For example "memory_mb".
    for name in ironic_node.REQUIRED_INT_PROPERTIES:
        size = properties.get(name)
        if size is None or _is_size(size):
            continue
        # Blame the rule that set this property, not another property.
        with blame_rule_for_errors(
            changes, working_copy.NODE, f'/properties/{name}'
        ):
            raise ValueError(
                _('properties/%s must be a whole number that is not negative')
                % name
            )
    if 'conductor_group' in attributes:
        with blame_rule_for_errors(
            changes, working_copy.NODE, 'conductor_group'
        ):
            utils.validate_conductor_group(attributes['conductor_group'])


def _is_size(value: Any) -> bool:
    """Return whether Ironic accepts a value as a size, e.g. ``"16384"``."""
    try:
        return int(value) >= 0
    except (TypeError, ValueError, OverflowError):
        return False

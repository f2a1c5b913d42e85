# SPDX-License-Identifier: Apache-2.0

"""Saving the changes of a phase, each object once."""

from collections.abc import Callable, Iterator, Mapping
import contextlib
import copy
from typing import Any

from ironic import objects
from ironic.common import driver_factory
from ironic.common import exception as ironic_exception
from ironic.common import utils
from ironic.drivers import base as driver_base
from oslo_utils import uuidutils

from ironic_inspection_rules.db import transaction
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.engine.run.secrecy import journal
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.patches import database

Together = Callable[[Any], None]
"""Saves something else in the transaction of a phase, by its session."""

INTERFACES = tuple(f'{name}_interface'
                   for name in sorted(driver_base.ALL_INTERFACES))
References = Mapping[str, tuple[str | None, str]]

NODE_REFERENCES: References = {
    'chassis_uuid': ('chassis_id', 'Chassis'), 'parent_node': (None, 'Node')}
PORT_REFERENCES: References = {'portgroup_uuid': ('portgroup_id', 'Portgroup')}
"""Attributes that name another object by UUID; each with the attribute that
stores its ``id``, None if the UUID is stored, and the class of the object."""

UNIQUE = ('address', 'instance_uuid', 'name')
"""Attributes with a unique constraint in the database."""


@transaction.retried
def save(task, target: working_copy.WorkingCopy,
         more: Mapping[str, Any] | None = None,
         together: Together | None = None) -> None:
    """Save a phase's changes of the node, its ports and traits.

    All objects are saved in one transaction, which is retried if it conflicts
    with another one.

    :param task: a TaskManager instance with an exclusive lock.
    :param target: has the changes.
    :param more: further attributes of the node to save.
    :param together: called in the same transaction.
    :raises: :class:`.exceptions.RuleError` if Ironic refuses a change.
    """
    try:
        _write(task, target, more or {}, together)
    # Whatever it was, nothing is saved, and the objects are to say so.
    except Exception:
        for saved in [task.node, *task.ports]:
            saved.refresh()
        raise


def update_plugin_data(target: working_copy.WorkingCopy,
                       plugin_data: dict) -> None:
    """Apply a phase's changes to plugin data, in place."""
    for name, value in target.changed(working_copy.PLUGIN_DATA).items():
        if value is data_path.ABSENT:
            plugin_data.pop(name, None)
        else:
            plugin_data[name] = copy.deepcopy(value)


def _write(task, target: working_copy.WorkingCopy, more: Mapping[str, Any],
           together: Together | None) -> None:
    attributes = target.changed(working_copy.NODE)
    traits = attributes.pop(working_copy.TRAITS, None)
    with database.transaction() as session:
        if attributes or more:
            _update_node(task, {**attributes, **more}, target.journal)
        _write_ports(task, target)
        if traits is not None:
            with blaming(target.journal, working_copy.TRAITS):
                task.node.traits = objects.TraitList.create(
                    task.context, task.node.id, traits)
                task.node.obj_reset_changes(['traits'])
        if together is not None:
            # After the node: all transactions lock the node first, else
            # two of them could deadlock.
            together(session)


def _write_ports(task, target: working_copy.WorkingCopy) -> None:
    labeled_ports = zip(task.ports, target.journal.port_names, strict=True)
    changed = []
    for index, (port, label) in enumerate(labeled_ports):
        values = target.changed(working_copy.PORTS, str(index))
        if values:
            changed.append((port, values, label))
    port_of_new_name = {values.get('name'): port
                        for port, values, _label in changed}
    for port, values, _label in changed:
        next_owner = port_of_new_name.get(port.name, port)
        if 'name' in values and next_owner is not port:
            # Names are unique, also while ports swap theirs.
            port.name = None
            port.save()
    for port, values, label in changed:
        _update(port, values, PORT_REFERENCES, task.context, target.journal,
                label)
        with blaming(target.journal, label, *UNIQUE):
            port.save()


@contextlib.contextmanager
def blaming(made: journal.Journal, name: str, *attributes: str
            ) -> Iterator[None]:
    """Convert an error of Ironic to one of the rule that caused it.

    An error that no rule caused is raised as it is.

    :param name: ``node``, ``port <MAC>`` or ``traits``, as in a change.
    :param attributes: those that Ironic may have refused.
    :raises: :class:`.exceptions.RuleError`
    """
    try:
        yield
    except (ironic_exception.IronicException, ValueError) as exc:
        error = made.blame(name, attributes, exc)
        if error is None:
            raise
        raise error from error.__cause__


def _update(saved, values: Mapping[str, Any],
            references: References, context, made: journal.Journal,
            label: str) -> None:
    """Set attributes of a node or a port, without saving it.

    :param saved: the node or the port.
    :param references: those of its attributes that name another object.
    :param label: the name of ``saved`` in changes.
    :raises: :class:`.exceptions.RuleError` where a value cannot be saved.
    """
    for name, value in values.items():
        with blaming(made, label, name):
            if label == working_copy.NODE and name == 'name':
                _check_node_name(value)
            if name not in references:
                setattr(saved, name, copy.deepcopy(value))
                continue
            id_field, class_name = references[name]
            # None removes the reference.
            referenced_id = value
            if value:
                # Also where only the UUID is stored: it raises an error if
                # there is no such object.
                referenced = getattr(objects, class_name).get_by_uuid(
                    context, value)
                referenced_id = referenced.id
            if id_field is None:
                setattr(saved, name, copy.deepcopy(value))
            else:
                setattr(saved, id_field, referenced_id)


def _check_node_name(name: Any) -> None:
    if name is None:
        return
    # As in Ironic's API: what looks like a UUID is always taken for one.
    if not utils.is_valid_logical_name(name) or uuidutils.is_uuid_like(name):
        raise ValueError(_('"%s" is not a valid name of a node') % name)


def _update_node(task, attributes: Mapping[str, Any],
                 made: journal.Journal) -> None:
    """Set and save attributes of the node.

    Interfaces that the driver does not support are reset to its defaults,
    except those that a rule has set, which are an error.
    """
    node = task.node
    _update(node, attributes, NODE_REFERENCES, task.context, made,
            working_copy.NODE)
    if 'driver' in attributes or set(attributes) & set(INTERFACES):
        with blaming(made, working_copy.NODE, 'driver', *INTERFACES):
            hardware_type = driver_factory.get_hardware_type(node.driver)
            for field in INTERFACES:
                name = getattr(node, field)
                if name is None or attributes.get(field):
                    continue
                try:
                    driver_factory.get_interface(
                        hardware_type, field.removesuffix('_interface'), name)
                except (ironic_exception.IncompatibleInterface,
                        ironic_exception.InterfaceNotFoundInEntrypoint):
                    setattr(node, field, None)
            driver_factory.check_and_update_node_interfaces(node,
                                                            hardware_type)
    with blaming(made, working_copy.NODE, *UNIQUE):
        node.save()

# SPDX-License-Identifier: Apache-2.0

"""Machines on which rules of stock Ironic are tried."""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
import uuid

from ironic import objects
from ironic.common import context as ironic_context

from ironic_inspection_rules.db import machine as db_machine
from ironic_inspection_rules.inspection import stock_trial
from ironic_inspection_rules.trial import machine_test

_TOGETHER = 100
"""How many nodes are read at a time."""

context = ironic_context.get_admin_context


def find(directory: str | None) -> Iterator[stock_trial.Machine]:
    """Return all machines with a stored inventory, then those of files.

    :param directory: with inventories, each of a new node.
    :raises: :class:`.exceptions.InvalidDocument` where it has none.
    """
    objects.register_all()
    marker = None
    while nodes := objects.Node.list(context(), limit=_TOGETHER,
                                     marker=marker):
        yield from _stored(nodes)
        marker = nodes[-1]
    if directory:
        node = machine_test.load_node(None)
        for path in machine_test.find_inventories([directory]):
            yield _of_file(path, node)


def _stored(nodes: list[Any]) -> Iterator[stock_trial.Machine]:
    by_id = {node.id: node for node in nodes}
    for row in db_machine.list_inventories(by_id):
        node = by_id[row['node_id']]
        yield stock_trial.Machine(
            node.name or node.uuid, node,
            objects.Port.list_by_node_id(context(), node.id),
            objects.Portgroup.list_by_node_id(context(), node.id),
            row['inventory_data'] or {}, row['plugin_data'] or {})


def _of_file(path: str, node: machine_test.Node) -> stock_trial.Machine:
    facts = machine_test.load_facts(path, node)
    made = _object(objects.Node, 0, facts.node or {})
    made.traits = objects.TraitList(context(), objects=[])
    ports = [_object(objects.Port, number, port)
             for number, port in enumerate(facts.ports, 1)]
    return stock_trial.Machine(path, made, ports, [], facts.inventory,
                               facts.plugin_data)


def _object(kind: Any, number: int, given: Mapping[str, Any]) -> Any:
    """Make an object of Ironic that is in no database, all of it known."""
    return kind(context(), **{
        **{name: None if field.nullable else False
           for name, field in kind.fields.items()},
        **{name: value for name, value in given.items()
           if name in kind.fields and name != 'traits'},
        'id': number, 'uuid': str(uuid.UUID(int=number))})

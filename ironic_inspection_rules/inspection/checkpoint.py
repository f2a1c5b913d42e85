# SPDX-License-Identifier: Apache-2.0

"""Checkpoints: what a later attempt needs to repeat a phase.

A request is delivered at least once, but the changes of a phase must be made
once. So a later attempt does not run the rules of a phase again, but repeats
what they did.
"""

from collections.abc import Mapping
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import working_copy

Checkpoint = Mapping[str, Any]
"""What a phase did, as JSON data; :func:`of_phase` has an example.

It has the ``changes`` of the node and its ports, the difference of
``plugin_data``, ``more`` attributes of the node, the ``error`` that a rule
asked for, if any, and the data of the ``run`` that a later attempt needs. The
checkpoint of the early phase, which has no node, has ``set`` and ``unset``,
the two parts of the difference, and ``run``.
"""

Difference = Mapping[str, Any]
"""A difference of plugin data: values to ``set``, names to ``unset``."""


def of_phase(
    target: working_copy.WorkingCopy,
    plugin_data: Difference,
    more: Mapping[str, Any],
    error: Exception | None,
    run: Mapping[str, Any],
) -> Checkpoint:
    """Return the checkpoint of a phase.

    For example, if rules have removed a value of the node, set another one,
    and changed a port::

        {'changes': [['node', ('extra', 'old')],
                     ['node', ('extra', 'rack'), 'r1'],
                     ['ports', (UUID, 'pxe_enabled'), False]],
         'plugin_data': {'set': {'b': 2}, 'unset': ['a']},
         'more': {}, 'error': None, 'run': {…}}

    :param target: the data with the changes of the phase.
    :param plugin_data: the changes of the phase in plugin data, as
        :func:`difference` returns them.
    :param more: further changed attributes of the node.
    :param error: the failure that a rule requested, if any.
    :param run: the data of the run that a later attempt needs: the
        ``revision`` of the rules, the ``record`` of this phase, the records of
        ``earlier`` phases by phase, and the ``places`` that sensitive rules
        set.
    """
    changes: list[list[Any]] = []
    # For example ('ports', (0, 'pxe_enabled'), False).
    for root, path, value in target.final_values():
        # "plugin_data" has the changes of plugin data.
        if root == working_copy.PLUGIN_DATA:
            continue
        if root == working_copy.PORTS:
            # Name the port by its UUID instead of its index, because hooks may
            # create and remove ports before a later attempt.
            port = target.get(root, path[:1])
            path = (port['uuid'], *path[1:])
        if value is data_path.ABSENT:
            # A change without a value means that the value was removed.
            changes.append([root, path])
        else:
            changes.append([root, path, value])
    error_text = None
    if error is not None:
        error_text = str(error)
    return {
        'changes': changes,
        'plugin_data': plugin_data,
        'more': more,
        'error': error_text,
        'run': run,
    }


def of_early_phase(
    posted: Mapping[str, Any],
    plugin_data: Mapping[str, Any],
    kept: Mapping[str, Any] | None,
) -> dict[str, Checkpoint]:
    """Return the checkpoints with which a request is stored.

    For example, if early rules have set one value::

        {'early': {'set': {'rack': 'r1'}, 'unset': [], 'run': None}}

    :param posted: plugin data as the ramdisk posted them.
    :param plugin_data: plugin data after the early rules.
    :param kept: the data of the early phase for the run: ``record``,
        ``places`` and ``found``, see :mod:`.early_phase`; None for none.
    """
    return {model.EARLY: {**difference(posted, plugin_data), 'run': kept}}


def repeat(checkpoint: Checkpoint, target: working_copy.WorkingCopy) -> None:
    """Make the changes of a phase to the node and its ports again.

    Hooks run in every attempt, and may have overwritten the changes. The
    caller handles the rest of the checkpoint, e.g. the difference of plugin
    data and the error.

    :param target: gets the changes; the caller saves them.
    """
    for change in checkpoint['changes']:
        # For example ['node', ['extra', 'rack'], 'r1'], or for a port
        # ['ports', [UUID, 'pxe_enabled'], False].
        root = change[0]
        path = tuple(change[1])
        if root == working_copy.PORTS:
            uuid, *inner = path
            try:
                # The path of the port in this attempt.
                path = (*target.port(uuid), *inner)
            except exceptions.OperationError:
                # The port was removed meanwhile.
                continue
        has_value = len(change) == 3
        if has_value:
            target.set(root, path, change[2])
        else:
            target.unset(root, path)


def difference(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Difference:
    """Return the difference of plugin data, by top-level names.

    For example, from ``{'a': 1, 'b': 1}`` to ``{'b': 2}`` it is
    ``{'set': {'b': 2}, 'unset': ['a']}``.
    """
    changed = {}
    for name, value in after.items():
        if name not in before or not data_path.same(before[name], value):
            changed[name] = value
    removed = [name for name in before if name not in after]
    return {'set': changed, 'unset': removed}


def apply(changes: Difference, plugin_data: dict) -> None:
    """Apply a difference to plugin data, in place."""
    plugin_data.update(changes['set'])
    for name in changes['unset']:
        plugin_data.pop(name, None)

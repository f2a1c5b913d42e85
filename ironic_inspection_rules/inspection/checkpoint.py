# SPDX-License-Identifier: Apache-2.0

"""Checkpoints, from which a later attempt repeats the changes of a phase.

If a worker crashes during an inspection, another worker attempts the same
inspection again. The second attempt must not run the rules of a phase that has
already ended, because this could make a change twice. Instead it reads the
checkpoint of the phase, which is a list of the changes that the rules made,
and makes these changes again.
"""

from collections.abc import Mapping
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import working_copy

Checkpoint = Mapping[str, Any]
"""What a phase did, as JSON data; :func:`build_for_phase` has an example.

It has the ``changes`` of the node and its ports, the difference of
``plugin_data``, ``more`` attributes of the node, the ``error`` with which the
action ``fail`` ended the phase, if any, and the data of the ``run`` that a
later attempt needs. The early phase has no node. Its checkpoint has the
difference of plugin data as ``set`` and ``unset``, and ``run``.
"""

Difference = Mapping[str, Any]
"""A difference of plugin data: values to ``set`` and names to ``unset``, e.g.
``{'set': {'b': 2}, 'unset': ['a']}``."""


def build_for_phase(
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
    :param plugin_data: the changes of the phase in plugin data, from
        :func:`difference`.
    :param more: attributes of the node that were not changed by a rule, but
        are saved with the phase, e.g. ``{'maintenance': True}``.
    :param error: the failure from the action ``fail``; None if it did not run.
    :param run: the data of the run that a later attempt needs: the
        ``revision`` of the rules, the ``record`` of this phase, the records of
        ``earlier`` phases by phase, and the ``places`` that sensitive rules
        set.
    """
    changes: list[list[Any]] = []
    # For example 'ports', (0, 'pxe_enabled') and False.
    for object_name, path, value in target.final_values():
        if object_name == working_copy.PLUGIN_DATA:
            # The parameter plugin_data has these changes.
            continue
        if object_name == working_copy.PORTS:
            # Name the port by its UUID instead of its index, because hooks may
            # create and remove ports before a later attempt.
            port = target.get(object_name, path[:1])
            path = (port['uuid'], *path[1:])
        if value is data_path.ABSENT:
            # A change without a value means that the value was removed.
            changes.append([object_name, path])
        else:
            changes.append([object_name, path, value])
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


def build_for_early_phase(
    posted: Mapping[str, Any],
    plugin_data: Mapping[str, Any],
    kept: Mapping[str, Any] | None,
) -> dict[str, Checkpoint]:
    """Return the checkpoints of a new request: only the early phase has run.

    For example, if early rules have set one value::

        {'early': {'set': {'rack': 'r1'}, 'unset': [], 'run': None}}

    :param posted: the plugin data that the ramdisk posted.
    :param plugin_data: the plugin data after the early rules.
    :param kept: what early rules did, see :mod:`.early_phase`; None if there
        is nothing to keep.
    """
    return {model.EARLY: {**difference(posted, plugin_data), 'run': kept}}


def repeat(checkpoint: Checkpoint, target: working_copy.WorkingCopy) -> None:
    """Make the changes of a phase to the node and its ports again.

    This is necessary even if the first attempt has saved them, because hooks
    run in every attempt and may have overwritten them. The caller handles the
    rest of the checkpoint: the difference of plugin data and the error.

    :param target: the data of this attempt, in which the changes are made. The
        caller saves them.
    """
    for change in checkpoint['changes']:
        # For example ['node', ['extra', 'rack'], 'r1'], or for a port
        # ['ports', [UUID, 'pxe_enabled'], False]. A change without a value
        # means that the value was removed.
        object_name, tokens, *value_if_any = change
        path = tuple(tokens)
        if object_name == working_copy.PORTS:
            port_uuid, *path_in_port = path
            try:
                # The index of the port may differ from the first attempt.
                path = (*target.port(port_uuid), *path_in_port)
            except exceptions.OperationError:
                # The port was removed meanwhile.
                continue
        if value_if_any:
            [value] = value_if_any
            target.set(object_name, path, value)
        else:
            target.unset(object_name, path)


def difference(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Difference:
    """Return the difference between two states of plugin data.

    Values are compared as a whole, by their names at the top level. For
    example, the difference from ``{'a': 1, 'b': 1}`` to ``{'b': 2}`` is
    ``{'set': {'b': 2}, 'unset': ['a']}``.
    """
    changed = {}
    for name, value in after.items():
        if name not in before or not data_path.is_same(before[name], value):
            changed[name] = value
    removed = [name for name in before if name not in after]
    return {'set': changed, 'unset': removed}


def apply(changes: Difference, plugin_data: dict) -> None:
    """Apply a difference to plugin data, in place."""
    plugin_data.update(changes['set'])
    for name in changes['unset']:
        plugin_data.pop(name, None)

# SPDX-License-Identifier: Apache-2.0

"""An action of a rule, with its conditions, its loop, and how to undo it."""

import functools
import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import call as engine_call
from ironic_inspection_rules.engine.language import (
    condition as engine_condition,  # noqa: H301
)
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language.secrecy import masked_field
from ironic_inspection_rules.i18n import _

Operation = typing.Mapping[str, typing.Any]
"""An action as its author wrote it: ``{'op': 'log', 'args': ['Hello']}``."""

Target = plugin.Target

Note = typing.Callable[[int, bool, budget.View], None]
"""Takes the index of an action's condition, its result, and the data."""

CLEANUP = 'cleanup'
"""The argument whose value is set to undo an action."""

_NO_ITEMS = reasons.NotRun(reasons.EMPTY_LOOP, engine_loop.NO_ITEMS)
_NO_MATCH = reasons.NotRun(reasons.WHEN, _('its conditions do not hold'))
_NO_MATCHING_ITEM = reasons.NotRun(
    reasons.WHEN, _('its conditions hold for no item')
)

_Step = typing.Callable[[Target, budget.View], reasons.NotRun | None]
"""Runs or undoes an action for the loop item in the data.

It returns None, or the reason why it did nothing.
"""


def _note_nothing(_number: int, _holds: bool, _roots: budget.View) -> None:
    """Ignore the result of a condition."""


class CompiledAction:
    """An action of a rule, ready to run or to be undone on machines.

    ``name`` is its op. ``reverts`` is whether it is undone if its rule does
    not match (blueprint 000 "Plugins"). ``when`` are its own conditions.
    """

    __slots__ = (
        '_call',
        '_carry_out',
        '_items',
        '_operation',
        '_own_vars',
        '_revert_call',
        '_secret_checks',
        '_undo',
        'name',
        'reverts',
        'when',
    )

    def __init__(
        self,
        operation: Operation,
        ops: registry.Registry,
        when: tuple[engine_condition.CompiledCondition, ...] = (),
        own_vars: typing.Mapping[str, typing.Any] | None = None,
    ) -> None:
        """Compile an action.

        :param operation: an action that passed validation.
        :param when: its own conditions, compiled.
        :param own_vars: the ``vars`` of its rule as they are written.
        """
        self.name = operation['op']
        self.when = when
        self._operation = operation
        self._own_vars = own_vars or {}
        # The check that no field of a call reads a secret, for each call.
        self._secret_checks: dict[
            engine_call.Call, masked_field.MaskedFields
        ] = {}
        op = ops.action(self.name.strip())
        loop = engine_loop.Loop.of(operation.get('loop'))
        # The function that runs the action, and its arguments.
        self._carry_out = op.wrap_for_machines(op.plugin)
        self._call = engine_call.Call(op, operation.get('args'), loop=loop)
        self.reverts = reverts(operation, op)
        if self.reverts:
            # The function that undoes the action may take fewer arguments.
            self._undo = op.wrap_for_machines(op.plugin.revert, 'revert')
            self._revert_call = _build_revert_call(
                op, operation.get('args'), loop
            )
        # The function that returns the items of the loop, or None.
        self._items: engine_loop.Items | None = None
        if loop is not None:
            self._items = engine_loop.compile_items(operation['loop'])

    def apply(
        self, target: Target, roots: budget.View, note: Note = _note_nothing
    ) -> reasons.NotRun | None:
        """Run the action; if it has a loop, run it for each item.

        :param target: the target that the action writes to.
        :param roots: the data that the rule sees, by root name.
        :param note: called for each condition of the action that is checked.
        :returns: None if the action was run, for at least one item of its
            loop; otherwise the reason why it was not.
        :raises: :class:`.exceptions.OperationError` if the action fails, e.g.
            because a field is missing.
        """
        # The function that runs the action for one item of the loop.
        step: _Step = self._apply_once
        if self.when:
            step = functools.partial(self._apply_if_matching, note=note)
        if self._items is None:
            return step(target, roots)
        items = self._items(roots)
        if isinstance(items, rendering.Missing):
            # The loop is a field, e.g. {inventory.disks}, which is missing on
            # this machine.
            raise exceptions.MissingField(items.field)
        return _take_step_for_items(items, step, target, roots)

    def revert(
        self, target: Target, roots: budget.View
    ) -> reasons.NotRun | None:
        """Undo the action on the target, unless a field is missing.

        The conditions in ``when`` are not checked, because the action is
        undone if its rule does not match.

        :param target: the target that the action writes to.
        :param roots: the data that the rule sees, by root name.
        :returns: None if the action was undone, for at least one item of its
            loop; otherwise the reason why it was not.
        :raises: :class:`.exceptions.OperationError` if undoing fails.
        """
        if self._items is None:
            return self._revert_once(target, roots)
        items = self._items(roots)
        if isinstance(items, rendering.Missing):
            return _not_run_as_field_is_missing(items)
        return _take_step_for_items(items, self._revert_once, target, roots)

    def _apply_if_matching(
        self, target: Target, roots: budget.View, note: Note
    ) -> reasons.NotRun | None:
        """Run the action once if all its conditions hold.

        :param roots: the data of the machine by root name, with the current
            item of the loop.
        :param note: called for each condition that is checked, with its index,
            its result and the data.
        :returns: None, or the reason why the action was not run.
        """
        # In a loop, the reason is only shown if no item matches at all.
        reason = _NO_MATCH
        if self._items is not None:
            reason = _NO_MATCHING_ITEM
        for number, condition in enumerate(self.when):
            holds = engine_condition.check_part(condition, roots)
            note(number, holds, roots)
            if not holds:
                return reason
        self._apply_once(target, roots)
        return None

    def _apply_once(self, target: Target, roots: budget.View) -> None:
        """Run the action once; in a loop, for the current item.

        :raises: :class:`.exceptions.MissingField` if an argument has a field
            that the data lack, :class:`.exceptions.MaskedField` if the action
            would write a masked secret, or the error of the action.
        """
        call = self._call
        values = call.literals
        # Add the arguments with fields.
        if call.varying:
            # Check this before the fields are rendered. A filter or an
            # argument may reject "******", with an error that does not name
            # the secret.
            self._refuse_masked(call, target, roots)
            rendered = call.render(roots)
            if isinstance(rendered, rendering.Missing):
                raise exceptions.MissingField(rendered.field)
            values = {**values, **rendered}
        engine_arguments = call.op.engine_arguments(roots)
        self._carry_out(target, *engine_arguments, **values)

    def _revert_once(
        self, target: Target, roots: budget.View
    ) -> reasons.NotRun | None:
        """Undo the action once; in a loop, for the current item.

        :returns: None if the action was undone. Otherwise the reason, which is
            a missing field.
        :raises: :class:`.exceptions.MaskedField` if it would write a masked
            secret, or the error of undoing it.
        """
        call = self._revert_call
        rendered = call.render(roots)
        # Check this first, because an action that is not undone cannot write
        # secrets.
        if isinstance(rendered, rendering.Missing):
            return _not_run_as_field_is_missing(rendered)
        self._refuse_masked(call, target, roots)
        engine_arguments = call.op.engine_arguments(roots)
        self._undo(target, *engine_arguments, **call.literals, **rendered)
        return None

    def _refuse_masked(
        self, call: engine_call.Call, target: Target, roots: budget.View
    ) -> None:
        """Check that no masked value is written or is part of a path.

        :param call: the call that is about to run or undo the action.
        :raises: :class:`.exceptions.MaskedField` if there is one.
        """
        if roots is target.roots and not masked_field.hides_columns(roots):
            # The rule sees the secrets of the machine and of its tables, so
            # there are no masked values.
            return
        # Find the fields now instead of at compile time, because most rules of
        # a set do not act on any machine.
        if call not in self._secret_checks:
            self._secret_checks[call] = self._build_secret_check(call)
        self._secret_checks[call].refuse(roots, target.roots)

    def _build_secret_check(
        self, call: engine_call.Call
    ) -> masked_field.MaskedFields:
        """Build the check that no field of a call reads a masked secret.

        A rule that must not see a secret reads ``******``. This is fine in a
        message to people, but it must not be stored as a value of a node.
        """
        op = call.op
        bound = op.signature.bind(self._operation.get('args'))
        # The arguments of the call that have fields, except messages.
        written = {}
        for name, value in bound.values.items():
            is_message = name in op.plugin.TELLS
            if name in call.varying and not is_message:
                written[name] = value
        return masked_field.MaskedFields(
            written, self._own_vars, self._operation.get('loop')
        )


def _take_step_for_items(
    items: list[typing.Any], step: _Step, target: Target, roots: budget.View
) -> reasons.NotRun | None:
    """Run or undo an action for each item of its loop.

    :param step: runs or undoes the action for the current item.
    :returns: None if this was done for at least one item. Otherwise the reason
        of the last item, or that there are no items.
    """
    if not items:
        return _NO_ITEMS
    # The steps may change the list that the loop is over. For example, a loop
    # over {node.extra.disks} that appends to /extra/disks would not end.
    # Released values are copied before they change, so the items stay.
    target.release(items)
    has_acted = False
    last_reason = None
    with engine_loop.ItemsInTurn(items, roots) as items_in_turn:
        for _item in items_in_turn:
            not_run = step(target, roots)
            if not_run is None:
                has_acted = True
            else:
                last_reason = not_run
    if has_acted:
        return None
    return last_reason


def _not_run_as_field_is_missing(missing: rendering.Missing) -> reasons.NotRun:
    """Return the missing field as the reason why an action is not undone."""
    error = exceptions.MissingField(missing.field)
    return reasons.NotRun(reasons.ERROR, str(error))


def reverts(operation: Operation, op: registry.Op) -> bool:
    """Return whether an action is undone if its rule does not match.

    The key ``revert`` of the action determines this. Without this key, the
    action is undone if it has a cleanup value.
    """
    if operation.get('revert') is None:
        return has_cleanup(operation, op)
    return strutils.bool_from_string(operation['revert'])


def has_cleanup(operation: Operation, op: registry.Op) -> bool:
    """Return whether an action has a cleanup value, which undoing it sets."""
    bound = op.signature.bind(operation.get('args'))
    return bound.values.get(CLEANUP) is not None


def _build_revert_call(
    op: registry.Op, args: typing.Any, loop: engine_loop.Loop | None
) -> engine_call.Call:
    """Build the call that undoes an action.

    The method ``revert`` of a plugin may take fewer arguments than the action.
    For example, undoing ``set-attribute`` needs its ``path``, but not its
    ``value``. The call has only the arguments that the method takes.
    """
    call = engine_call.Call(op, args, loop=loop)
    # Skip the parameters that are not arguments of a rule: the target, and
    # the view and the budget if the plugin requests them.
    engine_arguments = 1
    if op.plugin.NEEDS_VIEW:
        engine_arguments += 1
    if op.plugin.PAYS:
        engine_arguments += 1
    signature = arguments.Signature(op.plugin.revert, engine_arguments)
    for values in (call.literals, call.varying):
        for name in values.keys() - signature.by_name.keys():
            del values[name]
    return call

# SPDX-License-Identifier: Apache-2.0

"""An action of a rule: its conditions, its loop, and how it is undone."""

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
Target = plugin.Target

Note = typing.Callable[[int, bool, budget.View], None]
"""Takes the number of a condition of an action, its result, and the data."""

CLEANUP = 'cleanup'
"""The argument with the value that is set to undo an action."""

_NO_ITEMS = reasons.NotRun(reasons.EMPTY_LOOP, engine_loop.NO_ITEMS)
_NO_MATCH = reasons.NotRun(reasons.WHEN, _('its conditions do not hold'))
_NO_MATCHING_ITEM = reasons.NotRun(
    reasons.WHEN, _('its conditions hold for no item')
)

_Step = typing.Callable[[Target, budget.View], reasons.NotRun | None]
"""Carries an action out, or undoes it, for the loop's item in the data.

It returns why it did not, None if it did.
"""


def _note_nothing(_number: int, _holds: bool, _roots: budget.View) -> None:
    """Ignore the result of a condition."""


class CompiledAction:
    """An action of a rule, ready to be carried out or undone on machines.

    ``name`` is its op. ``reverts``: it is undone if its rule does not match
    (blueprint 000 "Plugins"). ``when`` are its own conditions.
    """

    __slots__ = (
        '_call',
        '_carry_out',
        '_items',
        '_masked',
        '_operation',
        '_own_vars',
        '_revert_call',
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
        # The fields that must not read a secret, by the call that has them.
        self._masked: dict[engine_call.Call, masked_field.MaskedFields] = {}
        op = ops.action(self.name.strip())
        loop = engine_loop.Loop.of(operation.get('loop'))
        # The function that carries the action out, and its arguments.
        self._carry_out = op.for_machines(op.plugin)
        self._call = engine_call.Call(op, operation.get('args'), loop=loop)
        # The function that undoes the action may take fewer arguments.
        self.reverts = reverts(operation, op)
        self._revert_call = self._call
        if self.reverts:
            self._undo = op.for_machines(op.plugin.revert, 'revert')
            self._revert_call = _build_revert_call(
                op, operation.get('args'), loop
            )
        # The function that returns the items of the loop; None without a loop.
        self._items: engine_loop.Items | None = None
        if loop is not None:
            self._items = engine_loop.compile_items(operation['loop'])

    def apply(
        self, target: Target, roots: budget.View, note: Note = _note_nothing
    ) -> reasons.NotRun | None:
        """Carry the action out; with a loop, for every item.

        :param target: what the action writes to.
        :param roots: the data that the rule sees, by root name.
        :param note: called for every condition of the action that is checked.
        :returns: None if the action was carried out, in a loop for one item at
            least; else why it was not.
        :raises: :class:`.exceptions.OperationError` if it cannot be carried
            out, also because a field is missing.
        """
        step: _Step = self._apply_once
        if self.when:
            step = functools.partial(self._apply_if_matching, note=note)
        if self._items is None:
            return step(target, roots)
        items = self._items(roots)
        if isinstance(items, rendering.Missing):
            # The loop is a field, such as {inventory.disks}, that the data of
            # this machine do not have.
            raise exceptions.MissingField(items.field)
        return _take_step_for_items(items, step, target, roots)

    def revert(
        self, target: Target, roots: budget.View
    ) -> reasons.NotRun | None:
        """Undo the action on the target, unless a field is missing.

        The conditions in ``when`` are not checked: the action is undone
        because its rule does not match.

        :param target: what the action writes to.
        :param roots: the data that the rule sees, by root name.
        :returns: None if the action was undone, in a loop for one item at
            least; else why it was not.
        :raises: :class:`.exceptions.OperationError` if it cannot be undone.
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
        """Carry the action out once, if all its conditions hold.

        :param roots: the data of the machine by root name, with the present
            item of the loop.
        :param note: called for every condition that is checked, with its
            number, its result and the data.
        :returns: the reason if it was not carried out, else None.
        """
        # In a loop, the reason is only shown if no other item matches, either.
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
        """Carry the action out once; in a loop, for its present item.

        :raises: :class:`.exceptions.MissingField` if an argument has a field
            that the data lack, :class:`.exceptions.MaskedField` if it would
            write a masked secret, or the error of carrying it out.
        """
        call = self._call
        values = call.literals
        # The arguments with fields.
        if call.varying:
            # Before the fields are rendered: a filter or an argument may
            # refuse "******", and the error would not name the secret.
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
        """Undo the action once; in a loop, for its present item.

        :returns: the missing field for which it was not undone; None if it
            was undone.
        :raises: :class:`.exceptions.MaskedField` if it would write a masked
            secret, or the error of undoing it.
        """
        call = self._revert_call
        rendered = call.render(roots)
        # Checked first: an action that is not undone writes no secrets.
        if isinstance(rendered, rendering.Missing):
            return _not_run_as_field_is_missing(rendered)
        self._refuse_masked(call, target, roots)
        engine_arguments = call.op.engine_arguments(roots)
        self._undo(target, *engine_arguments, **call.literals, **rendered)
        return None

    def _refuse_masked(
        self, call: engine_call.Call, target: Target, roots: budget.View
    ) -> None:
        """Check that no masked value is written or part of a path.

        :param call: the call that is about to be made, which carries the
            action out or undoes it.
        :raises: :class:`.exceptions.MaskedField` if there is one.
        """
        if roots is target.roots and not masked_field.hides_columns(roots):
            # The rule sees all secrets: nothing is masked in its data.
            return
        # They are found here, and not when the rule is compiled: most rules of
        # a set act on no machine.
        if call not in self._masked:
            self._masked[call] = self._find_masked_fields(call)
        self._masked[call].refuse(roots, target.roots)

    def _find_masked_fields(
        self, call: engine_call.Call
    ) -> masked_field.MaskedFields:
        """Find the fields of a call that must not read a masked secret.

        A secret reads ``******`` to a rule that does not see it. That is fine
        in a message for people, but no node may get it as a value.
        """
        op = call.op
        bound = op.signature.bind(self._operation.get('args'))
        # The arguments of the call that have fields, without messages.
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
    """Carry an action out, or undo it, for every item of its loop.

    :param step: carries the action out, or undoes it, for the present item.
    :returns: None if this was done for one item at least. Else why it was not
        done: the reason of the last item, or that there are no items.
    """
    if not items:
        return _NO_ITEMS
    # The steps may change the list of the loop itself: a loop over
    # {node.extra.disks} that appends to /extra/disks would not end.
    # Shared values are copied before they change, so the items stay.
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
    """Return that an action is not undone because a field is missing."""
    error = exceptions.MissingField(missing.field)
    return reasons.NotRun(reasons.ERROR, str(error))


def reverts(operation: Operation, op: registry.Op) -> bool:
    """Return whether an action is undone if its rule does not match.

    Its key ``revert`` says so. Without this key, an action that has a cleanup
    value is undone.
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

    The method ``revert`` of a plugin may take fewer arguments than the action:
    to undo ``set-attribute`` takes its ``path``, but not its ``value``. The
    call has only those that the method takes.
    """
    call = engine_call.Call(op, args, loop=loop)
    # Parameters that are no arguments of a rule: the target, then the view
    # and the budget if the plugin asks for them.
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

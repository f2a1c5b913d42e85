# SPDX-License-Identifier: Apache-2.0

"""Compiled actions."""

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
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.engine.language.secrecy import masked_field
from ironic_inspection_rules.i18n import _

Operation = typing.Mapping[str, typing.Any]
Target = plugin.Target

Asked = typing.Callable[[int, bool, budget.View], None]
"""Takes the number of a condition of an action, its result, and the data."""

CLEANUP = 'cleanup'  # The argument with the value that is set to undo it.
_NO_ITEMS = reasons.Idle(reasons.EMPTY_LOOP, engine_loop.NO_ITEMS)


class Action:
    """An action of a rule.

    ``name`` is its op. ``reverts``: it is undone if its rule does not match
    (blueprint 000 "Plugins"). ``when`` are its conditions.

    :param operation: an action that passed validation.
    :param own_vars: the ``vars`` of its rule as they are written.
    """

    __slots__ = ('_call', '_carry_out', '_items', '_masked', '_operation',
                 '_own_vars', '_take_back', '_undo', 'name', 'reverts',
                 'when')

    def __init__(self, operation: Operation, ops: registry.Registry,
                 when: tuple[engine_condition.Condition, ...] = (),
                 own_vars: typing.Mapping[str, typing.Any] | None = None
                 ) -> None:
        self.name = operation['op']
        self.when = when
        self._operation = operation
        self._own_vars = own_vars or {}
        self._masked: dict[bool, masked_field.MaskedFields] | None = None
        op = ops.action(self.name.strip())
        self.reverts = reverts(operation, op)
        self._carry_out = op.run(op.plugin)
        loop = engine_loop.Loop.of(operation.get('loop'))
        self._call = engine_call.Call(op, operation.get('args'), loop=loop)
        self._undo = self._call
        if self.reverts:
            self._undo = _undo(op, operation.get('args'), loop)
            self._take_back = op.run(op.plugin.revert, 'revert')
        self._items = None if loop is None else (
            engine_loop.compile_items(operation['loop']))

    def apply(self, target: Target, roots: budget.View,
              asked: Asked = lambda number, holds, roots: None
              ) -> reasons.Idle | None:
        """Carry the action out on the target where its conditions hold.

        :param asked: called for each of its conditions that is checked.
        :returns: why it was carried out for no item, None if it was for one.
        :raises: :class:`.exceptions.OperationError` if it cannot be.
        """
        if self._items is None and not self.when:
            self._apply_once(target, roots)
            return None
        holds_once = False

        def step(target: Target, roots: budget.View) -> None:
            nonlocal holds_once
            for number, condition in enumerate(self.when):
                holds = engine_condition.check_part(condition, roots)
                asked(number, holds, roots)
                if not holds:
                    return
            holds_once = True
            self._apply_once(target, roots)

        items = self._items and self._items(roots)
        if isinstance(items, rendering.Missing):
            raise exceptions.MissingField(items.field)
        if items is not None and not items:
            return _NO_ITEMS
        self._for_each(items, step if self.when else self._apply_once,
                       target, roots)
        if self.when and not holds_once:
            return reasons.Idle(
                reasons.WHEN, _('its conditions do not hold') if items is None
                else _('its conditions hold for no item'))
        return None

    def revert(self, target: Target,
               roots: budget.View) -> reasons.Idle | None:
        """Undo the action on the target, unless a field is missing.

        :returns: why it was undone for no item, None if it was for one.
        """
        missing: rendering.Missing | None = None
        undone = False

        def step(target: Target, roots: budget.View) -> None:
            nonlocal missing, undone
            rendered = self._undo.render(roots)
            if isinstance(rendered, rendering.Missing):
                missing = rendered
                return
            undone = True
            self._refuse_masked(target, roots, undoes=True)
            self._take_back(target, *self._call.op.context(roots),
                            **self._undo.literals, **rendered)

        items = self._items and self._items(roots)
        if isinstance(items, rendering.Missing):
            missing = items
        elif items is not None and not items:
            return _NO_ITEMS
        else:
            self._for_each(items, step, target, roots)
        if missing is not None and not undone:
            error = exceptions.MissingField(missing.field)
            return reasons.Idle(reasons.ERROR, str(error))
        return None

    @staticmethod
    def _for_each(items: list[typing.Any] | None,
                  step: typing.Callable[[Target, budget.View], None],
                  target: Target, roots: budget.View) -> None:
        if items is None:
            step(target, roots)
            return
        # The steps may change the list of the loop itself: a loop over
        # {node.extra.disks} that appends to /extra/disks would not end.
        # Shared values are copied before they change, so the items stay.
        target.release(items)
        with engine_loop.iterate(items, roots) as each:
            for _item in each:
                step(target, roots)

    def _apply_once(self, target: Target, roots: budget.View) -> None:
        # A masked value may be of no use for a filter or an argument, which
        # would be another error.
        self._refuse_masked(target, roots)
        rendered = self._call.render(roots)
        if isinstance(rendered, rendering.Missing):
            raise exceptions.MissingField(rendered.field)
        self._carry_out(target, *self._call.op.context(roots),
                        **self._call.literals, **rendered)

    def _refuse_masked(self, target: Target, roots: budget.View,
                       undoes: bool = False) -> None:
        """Check that no masked value is written or part of a path."""
        if roots is target.roots and not masked_field.hides_columns(roots):
            return
        # Most rules of a set never act on a machine.
        if self._masked is None:
            self._masked = {}
        if undoes not in self._masked:
            self._masked[undoes] = self._find_fields(undoes)
        self._masked[undoes].refuse(roots, target.roots)

    def _find_fields(self, undoes: bool) -> masked_field.MaskedFields:
        """Find the fields in arguments that are no messages for people."""
        op = self._call.op
        bound, _problems = op.signature.bind(self._operation.get('args'))
        written = {name: value for name, value in bound.items()
                   if name not in op.plugin.TELLS | op.plugin.LITERAL
                   and (not undoes or name in self._undo.varying)}
        return masked_field.MaskedFields(written, self._own_vars,
                                         self._operation.get('loop'),
                                         template.compile_field,
                                         template.compile_value)


def reverts(operation: Operation, op: registry.Op) -> bool:
    """Return whether an action is undone if its rule does not match.

    It is if it has ``revert`` or a cleanup value.
    """
    if operation.get('revert') is None:
        return has_cleanup(operation, op)
    return strutils.bool_from_string(operation['revert'])


def has_cleanup(operation: Operation, op: registry.Op) -> bool:
    """Return whether an action has a cleanup value."""
    bound, _problems = op.signature.bind(operation.get('args'))
    return bound.get(CLEANUP) is not None


def _undo(op: registry.Op, args: typing.Any,
          loop: engine_loop.Loop | None) -> engine_call.Call:
    """Build the call that undoes an action, with the arguments it takes."""
    call = engine_call.Call(op, args, loop=loop)
    names = arguments.Signature(
        op.plugin.revert,
        skip=1 + bool(op.plugin.NEEDS_VIEW) + bool(op.plugin.PAYS)).by_name
    for given in (call.literals, call.varying):
        for name in given.keys() - names.keys():
            del given[name]
    return call

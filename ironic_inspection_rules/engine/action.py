# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Compiled actions."""

import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import working_copy

Operation = typing.Mapping[str, typing.Any]
Roots = dict[str, typing.Any]
WorkingCopy = working_copy.WorkingCopy

CLEANUP = 'cleanup'
"""The argument with the value that undoing an action sets."""


class Action:
    """An action of a rule.

    ``name`` is its op, ``reverts`` tells whether it is undone where its rule
    does not match (blueprint 000 "Plugins").

    :param operation: an action that passed validation.
    :param ops: the actions there are.
    """

    __slots__ = ('_call', '_items', '_plugin', '_undo', 'name', 'reverts')

    def __init__(self, operation: Operation,
                 ops: registry.Registry) -> None:
        self.name = operation['op']
        op = ops.actions[self.name.strip()]
        self.reverts = reverts(operation, op)
        self._plugin = op.plugin
        loop = engine_loop.Loop.of(operation.get('loop'))
        self._call = engine_call.Call(op, operation.get('args'), loop=loop)
        self._undo = (_undo(op, operation.get('args'), loop)
                      if self.reverts else self._call)
        self._items = None if loop is None else (
            engine_loop.compile_items(operation['loop']))

    def apply(self, target: WorkingCopy, roots: Roots) -> None:
        """Carry the action out on the target.

        :param roots: the data by root name.
        :raises: :class:`.exceptions.OperationError` where it cannot be.
        """
        items = self._items and self._items(roots)
        if isinstance(items, template.Missing):
            raise exceptions.MissingField(items.field)
        self._for_each(items, self._apply_once, target, roots)

    def revert(self, target: WorkingCopy, roots: Roots) -> None:
        """Undo the action on the target; what is missing is fine."""
        items = self._items and self._items(roots)
        if not isinstance(items, template.Missing):
            self._for_each(items, self._revert_once, target, roots)

    @staticmethod
    def _for_each(items: list[typing.Any] | None,
                  step: typing.Callable[[WorkingCopy, Roots], None],
                  target: WorkingCopy, roots: Roots) -> None:
        if items is None:
            step(target, roots)
            return
        # What is gone through stays as it is, whatever the steps change.
        target.release(items)
        with engine_loop.iterate(items, roots) as each:
            for _item in each:
                step(target, roots)

    def _apply_once(self, target: WorkingCopy, roots: Roots) -> None:
        rendered = self._call.render(roots)
        if isinstance(rendered, template.Missing):
            raise exceptions.MissingField(rendered.field)
        view = [roots] if self._plugin.NEEDS_VIEW else []
        self._plugin(target, *view, **self._call.literals, **rendered)

    def _revert_once(self, target: WorkingCopy, roots: Roots) -> None:
        rendered = self._undo.render(roots)
        if not isinstance(rendered, template.Missing):
            view = [roots] if self._plugin.NEEDS_VIEW else []
            self._plugin.revert(target, *view, **self._undo.literals,
                                **rendered)


def reverts(operation: Operation, op: registry.Op) -> bool:
    """Tell whether an action is undone where its rule does not match.

    It is if it says so, or says what to go back to.
    """
    if operation.get('revert') is None:
        return has_cleanup(operation, op)
    return strutils.bool_from_string(operation['revert'])


def has_cleanup(operation: Operation, op: registry.Op) -> bool:
    """Tell whether an action says what to go back to."""
    bound, _problems = op.signature.bind(operation.get('args'))
    return bound.get(CLEANUP) is not None


def _undo(op: registry.Op, args: typing.Any,
          loop: engine_loop.Loop | None) -> engine_call.Call:
    """Make the call that undoes an action, with some of its arguments."""
    call = engine_call.Call(op, args, loop=loop)
    names = arguments.Signature(
        op.plugin.revert, skip=2 if op.plugin.NEEDS_VIEW else 1).by_name
    for given in (call.literals, call.varying):
        for name in given.keys() - names.keys():
            del given[name]
    return call

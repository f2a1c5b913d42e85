# SPDX-License-Identifier: Apache-2.0

"""Compiled actions."""

import typing

from oslo_utils import strutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import arguments
from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import condition as engine_condition
from ironic_inspection_rules.engine import hiding
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _

Operation = typing.Mapping[str, typing.Any]
WorkingCopy = working_copy.WorkingCopy

Asked = typing.Callable[[int, bool, budget.View], None]
"""Takes the number of a condition of an action, its result, and the data."""

CLEANUP = 'cleanup'  # The argument with the value that is set to undo it.
_NO_ITEMS = trace.Idle(trace.EMPTY_LOOP, engine_loop.NO_ITEMS)
_WRITTEN = frozenset(('value', 'names', CLEANUP))
"""Arguments that are written, as opposed to places."""


class Action:
    """An action of a rule.

    ``name`` is its op. ``reverts``: it is undone if its rule does not match
    (blueprint 000 "Plugins"). ``when`` are its conditions.

    :param operation: an action that passed validation.
    """

    __slots__ = ('_call', '_fields', '_items', '_operation', '_plugin',
                 '_reads', '_undo', 'name', 'reverts', 'when')

    def __init__(self, operation: Operation, ops: registry.Registry,
                 when: tuple[engine_condition.Condition, ...] = ()) -> None:
        self.name = operation['op']
        self.when = when
        self._operation = operation
        self._reads: tuple[hiding.Place, ...] | None = None
        self._fields: list[interpolation.Field] | None = None
        op = ops.actions[self.name.strip()]
        self.reverts = reverts(operation, op)
        self._plugin = op.plugin
        loop = engine_loop.Loop.of(operation.get('loop'))
        self._call = engine_call.Call(op, operation.get('args'), loop=loop)
        self._undo = (_undo(op, operation.get('args'), loop)
                      if self.reverts else self._call)
        self._items = None if loop is None else (
            engine_loop.compile_items(operation['loop']))

    @property
    def reads(self) -> tuple[hiding.Place, ...]:
        """The places that it reads, found when first asked for."""
        if self._reads is None:
            self._reads = hiding.reads(self._operation)
            if self._plugin.NEEDS_VIEW:
                self._reads = ((hiding.EVERYTHING, ()),)
        return self._reads

    @property
    def writes(self) -> tuple[hiding.Place, ...]:
        """Return the places that it may write to, whatever the data are.

        Which port it is is not known: places of ports begin below it. If the
        plugin does not declare what it writes, they are all roots.
        """
        signature = self._call.op.signature
        bound, _problems = signature.bind(self._operation.get('args'))
        given = {each.name: each.default for each in signature.arguments
                 if not each.required} | bound
        if type(self._plugin).writes is plugin.Action.writes and not (
                self._plugin.TELLS):
            return hiding.ANYWHERE
        try:
            return tuple(place for write in self._plugin.writes(given)
                         if write.value is not data_path.ABSENT
                         for place in _places(write))
        except Exception:
            # A plugin of others may fail on arguments with fields in them.
            return hiding.ANYWHERE

    def hides_path(self, hidden: hiding.Hidden) -> bool:
        """Return whether a hidden value may be part of where it writes."""
        bound, _problems = self._call.op.signature.bind(
            self._operation.get('args'))
        places = hiding.reads([value for name, value in bound.items()
                               if name not in _WRITTEN])
        if any(root == interpolation.ITEM for root, _path in places):
            places += hiding.reads(self._operation.get('loop'))
        return self._plugin.NEEDS_VIEW or hidden.shows_any(places)

    def apply(self, target: WorkingCopy, roots: budget.View,
              asked: Asked = lambda number, holds, roots: None
              ) -> trace.Idle | None:
        """Carry the action out on the target where its conditions hold.

        :param asked: called for each of its conditions that is checked.
        :returns: why it was carried out for no item, None if it was for one.
        :raises: :class:`.exceptions.OperationError` if it cannot be.
        """
        if self._items is None and not self.when:
            self._apply_once(target, roots)
            return None
        holds_once = False

        def step(target: WorkingCopy, roots: budget.View) -> None:
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
            return trace.Idle(
                trace.WHEN, _('its conditions do not hold') if items is None
                else _('its conditions hold for no item'))
        return None

    def revert(self, target: WorkingCopy,
               roots: budget.View) -> trace.Idle | None:
        """Undo the action on the target, unless a field is missing.

        :returns: why it was undone for no item, None if it was for one.
        """
        missing: rendering.Missing | None = None
        undone = False

        def step(target: WorkingCopy, roots: budget.View) -> None:
            nonlocal missing, undone
            rendered = self._undo.render(roots)
            if isinstance(rendered, rendering.Missing):
                missing = rendered
                return
            undone = True
            self._refuse_masked(target, roots)
            self._plugin.revert(target, *self._call.op.context(roots),
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
            return trace.Idle(trace.ERROR, str(error))
        return None

    @staticmethod
    def _for_each(items: list[typing.Any] | None,
                  step: typing.Callable[[WorkingCopy, budget.View], None],
                  target: WorkingCopy, roots: budget.View) -> None:
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

    def _apply_once(self, target: WorkingCopy, roots: budget.View) -> None:
        rendered = self._call.render(roots)
        if isinstance(rendered, rendering.Missing):
            raise exceptions.MissingField(rendered.field)
        if not self._plugin.TELLS:
            self._refuse_masked(target, roots)
        elif target.journal.copies:
            rendered.update({name: self._shown(name, target, roots)
                             for name in self._plugin.TELLS
                             if name in rendered})
        self._plugin(target, *self._call.op.context(roots),
                     **self._call.literals, **rendered)

    def _refuse_masked(self, target: WorkingCopy, roots: budget.View) -> None:
        """Check that no masked value is written or part of a path."""
        if roots is target.roots:
            return
        if self._fields is None:
            self._fields = hiding.fields(self._operation.get('args'))
        for field in self._fields:
            path = field.steps
            if field.root in rendering.PORT_ROOTS and path:
                index = rendering.find_port(roots[field.root], path[0],
                                            roots.budget)
                path = (str(index), *path[1:])
            if field.root and masking.is_masked(field.root, path, roots,
                                                target.roots):
                raise exceptions.OperationError(
                    _('field {%s} is or has a secret that is hidden from the '
                      'rule') % field.text)

    def _shown(self, name: str, target: WorkingCopy,
               roots: budget.View) -> typing.Any:
        """Return a message argument without values of sensitive rules."""
        if self._items is not None:
            return masking.MASK
        view = hiding.shown(roots, self.reads, target.journal.hidden)
        try:
            value = self._call.varying[name].render(view)
        except Exception:
            return masking.MASK
        return masking.MASK if isinstance(value, rendering.Missing) else value


def _places(write: plugin.Write) -> typing.Iterator[hiding.Place]:
    """Yield the places of a write, as far as the rule knows the path."""
    if write.kind in _TRAITS:
        names = write.value if write.kind == 'traits' else [write.name]
        for name in names if isinstance(names, list) else ['{}']:
            yield hiding.NODE, (working_copy.TRAITS, *_written_out([[name]]))
    elif write.kind == 'capability':
        yield hiding.NODE, ('properties', 'capabilities',
                            *_written_out([[write.name]]))
    else:
        tokens = engine_call.split(interpolation.parse(str(write.name)))
        yield _ROOTS[write.kind], _written_out(tokens)


_TRAITS = ('trait', 'traits')
_ROOTS = {'node': hiding.NODE, 'port': hiding.PORTS,
          'plugin_data': hiding.PLUGIN_DATA}


def _written_out(tokens: typing.Iterable[list[typing.Any]]) -> data_path.Path:
    """Return the tokens before the first field or index of a list."""
    path = []
    for token in tokens:
        text = ''.join(map(str, token))
        if not all(isinstance(piece, str) for piece in token) or (
                '{' in text or text == data_path.APPEND
                or data_path.index(text) is not None):
            break
        path.append(text)
    return tuple(path)


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

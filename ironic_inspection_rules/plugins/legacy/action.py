# SPDX-License-Identifier: Apache-2.0

"""The actions of ironic-inspector's rules.

They are ops like the others, with the words of ironic-inspector as their
arguments, and with ``Inspector`` in the names of their classes. They fail if
a field in ``{data[…]}`` does not exist.
"""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.engine.language.secrecy import masked_field
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.actions import capability
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.plugins.actions import trait
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.plugins.legacy import text

Target = plugin.Target

_NODE = plugin.NODE
_DRIVER = ('driver',)
_INTERFACES = tuple(
    name for name in schema.NODE if name.endswith('_interface')
)


class FormattedAction(plugin.Action):
    """An action whose value may hold ``{data[…]}``."""

    FORMATTED = frozenset({'value'})
    LITERAL = frozenset({'path', 'name', 'value', 'cleanup'})
    NEEDS_VIEW = True


class PathAction(FormattedAction):
    """An action at a path of the node."""

    EXTENDS: typing.ClassVar[bool] = False

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield why no rule may change what is at the path."""
        try:
            # That a path is missing is said of all ops alike.
            _read_path(arguments.get('path', '/extra'))
        except exceptions.OperationError as exc:
            yield 'path', str(exc)

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write at the path.

        A value without fields is declared as it is on the node afterwards.
        """
        path = arguments['path']
        if not isinstance(path, str):
            return
        pointer = _as_pointer(path)
        value = arguments['value']
        has_fields = bool(list(text.fields(value)))
        if not self.EXTENDS and not has_fields:
            value = schema.value_afterwards(pointer, value, schema.NODE)
        yield plugin.Write('node', pointer, value, self.EXTENDS)


class InspectorSetAttribute(PathAction):
    """``inspector-set-attribute``: set an attribute, or a value in one.

    With a new driver the node gets that driver's default interfaces, unless
    ``reset_interfaces`` is false.
    """

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the write at the path; that of a driver resets interfaces."""
        yield from super().writes(arguments)
        path = arguments['path']
        is_driver = isinstance(path, str) and (
            data_path.parse(_as_pointer(path)) == _DRIVER
        )
        if is_driver and arguments['reset_interfaces']:
            for name in _INTERFACES:
                yield plugin.Write('node', f'/{name}', None)

    def __call__(
        self,
        target: Target,
        view: budget.View,
        path: str,
        value: typing.Any,
        reset_interfaces: bool = True,
        cleanup: typing.Any = None,
    ) -> None:
        """Set the value; in a list it is inserted, as by a JSON patch.

        :param reset_interfaces: whether a new driver gives the node its
            default interfaces.
        :raises: :class:`.exceptions.OperationError` if a field in the value
            does not exist or is masked, the path may not be changed, its
            parent does not exist, or the attribute cannot hold the value.
        """
        where = _read_path(path)
        if where == _DRIVER and reset_interfaces:
            for name in _INTERFACES:
                # Null gives an interface the default of the new driver.
                if isinstance(target.get(_NODE, (name,)), str):
                    target.set(_NODE, (name,), None)
        _add(target, where, _fill(target, view, value))

    def revert(
        self,
        target: Target,
        view: budget.View,
        path: str,
        cleanup: typing.Any = None,
    ) -> None:
        """Undo what the action set when its rule matched earlier.

        :param cleanup: the value to set; None to remove the present value, or
            to set the default of a whole attribute. The driver stays then, as
            a node needs one.
        """
        where = _read_path(path)
        if cleanup is not None:
            _add(target, where, cleanup)
        elif len(where) > 1:
            target.unset(_NODE, where)
        elif where != _DRIVER:
            target.set(
                _NODE, where, schema.read_value(where, None, schema.NODE)
            )


class InspectorExtendAttribute(PathAction):
    """``inspector-extend-attribute``: append to a list in an attribute."""

    EXTENDS = True

    def __call__(
        self,
        target: Target,
        view: budget.View,
        path: str,
        value: typing.Any,
        unique: bool = False,
    ) -> None:
        """Append the value to the list at a path, or make a new list.

        At a path of three steps or more, a new list replaces any value.

        :param unique: whether a list that has the value stays as it is.
        :raises: OperationError if the value at the path is no list.
        """
        steps = _read_path(path)
        items: typing.Any = data_path.ABSENT
        # As ironic-inspector did, which replaced a list that is more than two
        # steps deep by a new one.
        if len(steps) <= 2:
            items = target.get(_NODE, steps)
        if items is data_path.ABSENT:
            items = []
        if not isinstance(items, list):
            raise exceptions.OperationError(
                _('%s is not a list') % data_path.pointer(steps)
            )
        new_item = _fill(target, view, value)
        if not unique or new_item not in items:
            _add(target, steps, [*items, new_item])

    def revert(
        self, target: Target, view: budget.View, path: str, value: typing.Any
    ) -> None:
        """Undo what the action appended when its rule matched earlier.

        Which value that was is not known where a field in it is missing now:
        then the list stays.
        """
        try:
            value = _fill(target, view, value)
        except exceptions.MissingField:
            return
        target.discard(_NODE, _read_path(path), value)


class InspectorSetCapability(FormattedAction):
    """``inspector-set-capability``: set a capability; null removes it."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the capability that is set or removed, as a rule has it.

        For the name ``a`` and the value ``1,b:2`` these are two, ``a`` of the
        value ``1`` and ``b`` of the value ``2``: a comma ends a value.
        """
        name = arguments['name']
        value = arguments['value']
        if value is None:
            yield plugin.Write(
                'capability', name, data_path.ABSENT, argument='name'
            )
            return
        if list(text.fields(value)):
            # The value is known on a machine only. It cannot have a comma
            # there: __call__ refuses that.
            yield plugin.Write('capability', name, value, argument='name')
            return
        for item in f'{name}:{value}'.split(','):
            item_name, _colon, item_value = item.partition(':')
            if item_name.strip():
                yield capability.declare(item_name, item_value)

    def __call__(
        self,
        target: Target,
        view: budget.View,
        name: str,
        value: typing.Any = None,
    ) -> None:
        """Write the text of all capabilities with this one set or removed."""
        formatted = _fill(target, view, value)
        if str(formatted).count(',') > str(value).count(','):
            # A comma out of the data would add capabilities that the rule
            # does not name.
            raise exceptions.OperationError(
                _('the data has a comma, which cannot be part of a capability')
            )
        capabilities = {
            **capability.read_capabilities(target),
            name: formatted,
        }
        items = []
        for name_in_text, value_in_text in capabilities.items():
            # This action removes a capability by setting it to null.
            if value_in_text is not None:
                items.append(f'{name_in_text}:{value_in_text}')
        _add(target, capability.PATH, ','.join(items))

    def revert(self, target: Target, view: budget.View, name: str) -> None:
        """Remove the capability."""
        capability.UnsetCapability()(target, name)


class InspectorAddTrait(trait.AddTrait):
    """``inspector-add-trait``: give the node a trait."""

    LITERAL = frozenset({'name'})


class InspectorRemoveTrait(trait.RemoveTrait):
    """``inspector-remove-trait``: take a trait from the node."""

    LITERAL = frozenset({'name'})


class InspectorFail(plugin.Action):
    """``inspector-fail``: the inspection fails with this message."""

    FAILS = True

    LITERAL = frozenset({'message'})

    def __call__(
        self, target: Target, message: typing.Any, maintenance: bool = False
    ) -> None:
        """Fail the inspection.

        :param maintenance: whether the node is also put into maintenance.
        :raises: :class:`.exceptions.FailRequested` always.
        """
        raise exceptions.FailRequested(str(message), maintenance)


def _fill(target: Target, view: budget.View, value: typing.Any) -> typing.Any:
    """Return a value with its fields filled in.

    :raises: :class:`.exceptions.MaskedField` if one is or has a secret that
        the rule does not see; another :class:`.exceptions.OperationError` as
        :func:`.text.render` does.
    """
    seen = document.InspectorData(view)
    # Else the rule sees all secrets.
    if view is not target.roots:
        _refuse_masked(target, view, seen, list(text.fields(value)))
    return text.render(value, seen)


def _refuse_masked(
    target: Target,
    view: budget.View,
    seen: document.InspectorData,
    fields: list[tuple[str, text.Steps]],
) -> None:
    """Refuse a text that reads a secret which is masked for this rule.

    The rule would write the mask in place of the secret.

    :param view: the same data as ``seen``, with the budget.
    :param seen: the data as the rule sees them, with masks.
    :param fields: the fields of the text: their texts, and paths in the data.
    :raises: :class:`.exceptions.MaskedField`.
    """
    if not fields:
        return
    real = document.InspectorData(target.roots)
    for name, steps in fields:
        # The last name in the field tells whether its value is a secret.
        key = None
        if steps:
            key = steps[-1]
        masked_field.refuse(
            text=name,
            key=key,
            value=_find_value(seen, steps),
            real=_find_value(real, steps),
            allowance=view.budget,
        )


def _find_value(data: typing.Any, steps: text.Steps) -> typing.Any:
    """Return the value of a field, or :data:`.path.ABSENT`."""
    try:
        for step in steps:
            data = data[step]
    except (LookupError, TypeError):
        return data_path.ABSENT
    return data


def _read_path(path: typing.Any) -> data_path.Path:
    """Return the path of an action.

    :raises: :class:`.exceptions.OperationError` if it is none, or leads to no
        attribute that may be changed.
    """
    if not isinstance(path, str):
        raise exceptions.OperationError(_('must be a string'))
    return _parse_path(_as_pointer(path))


def _as_pointer(path: str) -> str:
    """Return a path with the slash that ironic-inspector did not ask for."""
    if path.startswith('/'):
        return path
    return f'/{path}'


@text_cache.cache_short_texts(maxsize=1024, longest=256)
def _parse_path(text: str) -> data_path.Path:
    """Read a path of a rule, which holds no data of a machine."""
    path = data_path.parse(text)
    schema.check_path(path, schema.NODE)
    return path


def _add(target: Target, path: data_path.Path, value: typing.Any) -> None:
    """Apply ``add`` of a JSON patch, as ironic-inspector sent it.

    In a mapping, or as a whole attribute, the value replaces what is there;
    in a list it is inserted.

    :raises: :class:`.exceptions.OperationError` if the parent does not
        exist, or the attribute cannot hold the value.
    """
    parent = target.get(_NODE, path[:-1])
    if len(path) == 2 and parent in (None, data_path.ABSENT):
        # A node has all attributes, but the data may lack one, or have null
        # in place of an empty mapping.
        parent = {}
    if isinstance(parent, list):
        index = data_path.index(path[-1])
        if path[-1] == data_path.APPEND:
            index = len(parent)
        if index is None or index > len(parent):
            raise exceptions.OperationError(
                _('there is no place %s') % data_path.pointer(path)
            )
        target.set(_NODE, path[:-1], [*parent[:index], value, *parent[index:]])
    elif isinstance(parent, dict):
        target.set(_NODE, path, schema.read_value(path, value, schema.NODE))
    else:
        raise exceptions.OperationError(
            _('%s does not exist, so nothing can be set in it')
            % data_path.pointer(path[:-1])
        )

# SPDX-License-Identifier: Apache-2.0

"""The actions of ironic-inspector's rules.

They are ops like all others. Their arguments have the names that
ironic-inspector used, and the names of their classes begin with
``Inspector``::

    {'op': 'inspector-set-attribute',
     'args': {'path': '/extra/cpus', 'value': '{data[cpus]}'}}

The fields of a value, e.g. ``{data[cpus]}``, are filled in with the data of
the machine in the form of ironic-inspector. An action fails if a field does
not exist. An action changes the target, which is the data of the machine; the
view has the same data as the rule sees them, perhaps with masked secrets.
``writes`` declares what an action changes, for tools such as ``lint``, and
``revert`` undoes an action when its rule no longer matches.
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
    """An action whose value may contain ``{data[…]}``."""

    FORMATTED = frozenset({'value'})
    LITERAL = frozenset({'path', 'name', 'value', 'cleanup'})
    NEEDS_VIEW = True


class PathAction(FormattedAction):
    """An action at a path of the node."""

    EXTENDS: typing.ClassVar[bool] = False

    def problems(self, arguments: plugin.Arguments) -> plugin.Problems:
        """Yield the reason why rules must not change this path, if any."""
        try:
            # Another check reports a missing path. The default is any path
            # without a problem.
            _read_path(arguments.get('path', '/extra'))
        except exceptions.OperationError as exc:
            yield 'path', str(exc)

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the declaration that the action writes at the path.

        A value without fields is declared as the node will have it, e.g. "yes"
        at ``/retired`` is declared as true.

        :param arguments: all arguments as the rule has them, by name.
        """
        path = arguments['path']
        if not isinstance(path, str):
            # The rule is wrong, which its validation reports.
            return
        pointer = _as_pointer(path)
        value = arguments['value']
        has_fields = bool(list(text.fields(value)))
        if not self.EXTENDS and not has_fields:
            value = schema.value_afterwards(pointer, value, schema.NODE)
        yield plugin.Write('node', pointer, value, self.EXTENDS)


class InspectorSetAttribute(PathAction):
    """``inspector-set-attribute``: set an attribute, or a value in one.

    If the driver changes, the node gets the default interfaces of the new
    driver, unless ``reset_interfaces`` is false.
    """

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the declaration that the action writes at the path.

        If it sets the driver, also yield that it resets all interfaces.

        :param arguments: all arguments as the rule has them, by name.
        """
        yield from super().writes(arguments)
        path = arguments['path']
        is_driver = isinstance(path, str) and (
            data_path.parse(_as_pointer(path)) == _DRIVER
        )
        if is_driver and arguments['reset_interfaces']:
            # Null stands for the default interface of the new driver.
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
        """Set the value at a path.

        In a list, the value is inserted at the index, like ``add`` of a JSON
        patch.

        :param value: the value in the rule, whose fields are filled in.
        :param reset_interfaces: whether to reset the interfaces to their
            defaults if the driver is set.
        :raises: :class:`.exceptions.OperationError` if a field in the value
            does not exist or is masked, if rules must not change the path, if
            its parent does not exist, or if the attribute cannot hold the
            value.
        """
        tokens = _read_path(path)
        if tokens == _DRIVER and reset_interfaces:
            for name in _INTERFACES:
                # Null stands for the default interface of the new driver.
                if isinstance(target.get(_NODE, (name,)), str):
                    target.set(_NODE, (name,), None)
        value_to_set = _fill_in(target, view, value)
        _add(target, tokens, value_to_set)

    def revert(
        self,
        target: Target,
        view: budget.View,
        path: str,
        cleanup: typing.Any = None,
    ) -> None:
        """Undo what the action set when its rule matched earlier.

        * If there is a cleanup value, it is set.
        * Otherwise, a value inside an attribute is removed.
        * Otherwise, a whole attribute is set to its default. Only the driver
          is kept, because a node needs a driver.

        :param cleanup: the cleanup value; None if there is none.
        """
        tokens = _read_path(path)
        is_inside_attribute = len(tokens) > 1
        if cleanup is not None:
            _add(target, tokens, cleanup)
        elif is_inside_attribute:
            target.unset(_NODE, tokens)
        elif tokens != _DRIVER:
            # Reading null gives the default of a whole attribute.
            default = schema.read_value(tokens, None, schema.NODE)
            target.set(_NODE, tokens, default)


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
        """Append the value to the list at a path, or create a new list.

        If the path has three or more steps, a new list replaces any value
        there, as ironic-inspector did.

        :param value: the value in the rule, whose fields are filled in.
        :param unique: whether to leave the list unchanged if it already has
            the value.
        :raises: :class:`.exceptions.OperationError` if the value at the path
            is not a list.
        """
        tokens = _read_path(path)
        items = _find_list(target, tokens)
        new_item = _fill_in(target, view, value)
        if not unique or new_item not in items:
            _add(target, tokens, [*items, new_item])

    def revert(
        self, target: Target, view: budget.View, path: str, value: typing.Any
    ) -> None:
        """Undo what the action appended when its rule matched earlier.

        If a field in the value is missing now, it is unknown which value was
        appended, and the list is left unchanged.
        """
        try:
            appended_item = _fill_in(target, view, value)
        except exceptions.MissingField:
            return
        target.discard(_NODE, _read_path(path), appended_item)


class InspectorSetCapability(FormattedAction):
    """``inspector-set-capability``: set a capability; null removes it."""

    def writes(self, arguments: plugin.Arguments) -> plugin.Writes:
        """Yield the declarations of the capabilities that are set or removed.

        * The value null removes the capability.
        * A value with fields is declared as it is, because it is only known on
          a machine.
        * Any other value may set several capabilities, because a comma ends a
          value. For the name ``a`` and the value ``1,b:2``, they are ``a``
          with ``1``, and ``b`` with ``2``.

        :param arguments: all arguments as the rule has them, by name.
        """
        name = arguments['name']
        value = arguments['value']
        if value is None:
            yield plugin.Write(
                'capability', name, data_path.ABSENT, argument='name'
            )
            return
        has_fields = bool(list(text.fields(value)))
        if has_fields:
            # This is a single capability: __call__ rejects a comma that comes
            # from the data of a machine.
            yield plugin.Write('capability', name, value, argument='name')
            return
        for one_capability in f'{name}:{value}'.split(','):
            one_name, _colon, one_value = one_capability.partition(':')
            # There may be nothing between two commas.
            if one_name.strip():
                yield capability.declare(one_name, one_value)

    def __call__(
        self,
        target: Target,
        view: budget.View,
        name: str,
        value: typing.Any = None,
    ) -> None:
        """Set or remove the capability in the text of all capabilities.

        :param value: the value in the rule, whose fields are filled in; None
            to remove the capability.
        :raises: :class:`.exceptions.OperationError` if a field does not exist
            or is masked, or if its value contains a comma.
        """
        formatted = _fill_in(target, view, value)
        commas_in_rule = str(value).count(',')
        commas_in_result = str(formatted).count(',')
        if commas_in_result > commas_in_rule:
            # A comma from the data would add capabilities that the rule does
            # not name.
            raise exceptions.OperationError(
                _('the data has a comma, which cannot be part of a capability')
            )
        capabilities = {
            **capability.read_capabilities(target),
            name: formatted,
        }
        texts = []
        for each_name, each_value in capabilities.items():
            # None means that the capability is removed.
            if each_value is not None:
                texts.append(f'{each_name}:{each_value}')
        _add(target, capability.PATH, ','.join(texts))

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

        :param maintenance: whether to put the node into maintenance too.
        :raises: :class:`.exceptions.FailRequested` always.
        """
        raise exceptions.FailRequested(str(message), maintenance)


def _fill_in(
    target: Target, view: budget.View, value: typing.Any
) -> typing.Any:
    """Return a value with its fields filled in.

    For example, ``{data[inventory][cpu][count]} cores`` gives ``8 cores``.

    :param target: the data of the machine, with all secrets.
    :param view: the data by root name as the rule sees them.
    :param value: the value in the rule.
    :raises: :class:`.exceptions.MaskedField` if the value of a field contains
        a secret that the rule must not see; another
        :class:`.exceptions.OperationError` like :func:`.text.render`.
    """
    visible_data = document.InspectorData(view)
    # If no secret is masked for this rule, the view is the data of the target
    # itself.
    is_masked = view is not target.roots
    if is_masked:
        fields = list(text.fields(value))
        _refuse_masked_fields(target, view, visible_data, fields)
    return text.render(value, visible_data)


def _refuse_masked_fields(
    target: Target,
    view: budget.View,
    visible_data: document.InspectorData,
    fields: list[tuple[str, text.Steps]],
) -> None:
    """Raise an error if a field reads a secret that is masked for this rule.

    Otherwise the rule would write ``******`` instead of the secret. A field is
    checked by comparing the value that the rule sees with the real value.

    :param target: the data of the machine, with all secrets.
    :param view: the data by root name as the rule sees them, with the budget.
    :param visible_data: the same data in the form of ironic-inspector.
    :param fields: pairs of the text of a field and its keys and indexes.
    :raises: :class:`.exceptions.MaskedField` for the first such field.
    """
    if not fields:
        return
    real_data = document.InspectorData(target.roots)
    for name, steps in fields:
        # The last name in the field, e.g. "ipmi_password", only matters if the
        # secret itself reads "******". The field "{data}" has no such name.
        key = None
        if steps:
            key = steps[-1]
        masked_field.refuse(
            text=name,
            key=key,
            value=_find_value(visible_data, steps),
            real=_find_value(real_data, steps),
            allowance=view.budget,
        )


def _find_value(data: typing.Any, steps: text.Steps) -> typing.Any:
    """Return the value of a field, or :data:`.path.ABSENT`.

    :param data: the data in the form of ironic-inspector.
    :param steps: the keys and indexes of the field, e.g. ``('disks', 0)``.
    """
    value = data
    try:
        for step in steps:
            value = value[step]
    except (LookupError, TypeError):
        return data_path.ABSENT
    return value


def _find_list(target: Target, path: data_path.Path) -> list[typing.Any]:
    """Return the list to which an action appends; empty if there is none.

    ironic-inspector only looked for a list at ``/extra`` or ``/extra/a``, not
    deeper.

    :raises: :class:`.exceptions.OperationError` if the value at the path is
        not a list.
    """
    if len(path) > 2:
        return []
    value = target.get(_NODE, path)
    if value is data_path.ABSENT:
        return []
    if not isinstance(value, list):
        raise exceptions.OperationError(
            _('%s is not a list') % data_path.pointer(path)
        )
    return value


def _read_path(path: typing.Any) -> data_path.Path:
    """Read the path of an action: ``extra/rack`` gives ``('extra', 'rack')``.

    :raises: :class:`.exceptions.OperationError` if it is not a path, or if
        rules must not change the attribute.
    """
    if not isinstance(path, str):
        raise exceptions.OperationError(_('must be a string'))
    return _parse_path(_as_pointer(path))


def _as_pointer(path: str) -> str:
    """Return a path with the leading slash, which rules may omit."""
    if path.startswith('/'):
        return path
    return f'/{path}'


@text_cache.cache_short_texts(maxsize=1024, longest=256)
def _parse_path(text: str) -> data_path.Path:
    """Parse a path that is written in a rule; it contains no machine data."""
    path = data_path.parse(text)
    schema.check_path(path, schema.NODE)
    return path


def _add(target: Target, path: data_path.Path, value: typing.Any) -> None:
    """Apply the operation ``add`` of a JSON patch, as ironic-inspector did.

    The parent of ``/extra/a`` is the value at ``/extra``.

    * If the parent is a mapping, or the node itself, the value replaces the
      existing value.
    * If the parent is a list, the value is inserted: adding 2 at
      ``/extra/a/1`` changes ``[1, 3]`` to ``[1, 2, 3]``, and ``/extra/a/-``
      appends it.
    * Any other parent is an error, also if it does not exist.

    :param target: the data of the machine, to be changed.
    :param path: the path below the node.
    :raises: :class:`.exceptions.OperationError` if the parent is wrong, if a
        list has no such index, or if the attribute cannot have the value.
    """
    parent_path = path[:-1]
    last_token = path[-1]
    parent = target.get(_NODE, parent_path)
    is_parent_attribute = len(path) == 2
    if is_parent_attribute and parent in (None, data_path.ABSENT):
        # In Ironic an attribute always exists. But the data may lack it, or
        # have null instead of an empty mapping.
        parent = {}
    if isinstance(parent, list) and last_token == data_path.APPEND:
        target.set(_NODE, parent_path, [*parent, value])
    elif isinstance(parent, list):
        index = data_path.index(last_token)
        if index is None or index > len(parent):
            raise exceptions.OperationError(
                _('there is no place %s') % data_path.pointer(path)
            )
        extended = [*parent[:index], value, *parent[index:]]
        target.set(_NODE, parent_path, extended)
    elif isinstance(parent, dict):
        target.set(_NODE, path, schema.read_value(path, value, schema.NODE))
    else:
        raise exceptions.OperationError(
            _('%s does not exist, so nothing can be set in it')
            % data_path.pointer(parent_path)
        )

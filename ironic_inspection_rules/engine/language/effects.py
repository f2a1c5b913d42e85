# SPDX-License-Identifier: Apache-2.0

"""What a rule and its operations read and write.

A rule reads the fields in its text. It writes what its actions declare by
:meth:`.plugin.Action.writes`. This is the same for actions of this package and
of other packages. Lint, proofs, and the checks of secrets and tables need
this; nothing here reads the data of a machine.
"""

import collections.abc
import contextlib
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.i18n import _

_ROOTS = {
    'node': 'node',
    'capability': 'node',
    'trait': 'node',
    'traits': 'node',
    'port': 'ports',
    'plugin_data': 'plugin_data',
}
"""By the kind of a write, the root of the fields that read what it wrote."""

_PLACES_OF_NAMES = {
    'capability': ('node', 'properties', 'capabilities'),
    'trait': ('node', 'traits'),
    'traits': ('node', 'traits'),
}
"""The places that writes with a name change, by the kind of the write."""

_NAMES = {
    'node': _('node attribute'),
    'port': _('port attribute'),
    'plugin_data': _('plugin data'),
    'capability': _('capability'),
    'trait': _('trait'),
    'traits': _('traits with the prefix'),
}
"""The name of a place in messages, by the kind of the write."""

_WITH_PATHS = ('node', 'port', 'plugin_data')
"""The kinds of writes whose names are paths."""


class OperationLike(typing.Protocol):
    """A condition or an action of a rule.

    ``arguments`` are the arguments of the rule as written, and the defaults of
    the others, by name. ``loop`` is what the rule loops over, or None.
    """

    @property
    def op(self) -> registry.Op:
        """The op with its plugin."""

    @property
    def inverted(self) -> bool:
        """Whether it is a condition that must not hold."""

    @property
    def arguments(self) -> dict[str, typing.Any]:
        """The arguments by name."""

    @property
    def loop(self) -> typing.Any:
        """The loop as written."""


class Effect(typing.NamedTuple):
    """The result that an action leaves at a place.

    :param kind: the kind of the :class:`.plugin.Write`.
    :param place: ``('extra', 'rack')`` for a path of the node or of plugin
        data. For a port, the first item is its MAC address or UUID in lower
        case. For a capability or a trait, the only item is its name:
        ``('CUSTOM_GPU',)``. A path with fields is a single item:
        ``('/extra/{item.name}',)``.
    :param value: the new value, or :data:`.path.ABSENT` if it is removed.
    :param extends: whether the value is an item that is appended to a list.
    """

    kind: str
    place: data_path.Path
    value: typing.Any
    extends: bool = False

    def __str__(self) -> str:
        """Return the place for messages: ``node attribute /extra/rack``."""
        if self.kind in _WITH_PATHS:
            name = data_path.pointer(self.place)
        else:
            name = f'"{self.place[0]}"'
        return f'{_NAMES[self.kind]} {name}'

    @property
    def root(self) -> str:
        """The root of the fields that read the place."""
        return _ROOTS[self.kind]

    @property
    def place_in_data(self) -> data_path.Path:
        """The place as fields read it, with the root.

        For ``('extra', 'rack')`` of a node it is ``('node', 'extra',
        'rack')``. For the path ``/extra/{item.name}`` it is ``('node',
        'extra')``, because the fields may lead to any place in it. All traits
        are one place, and so are all capabilities. It is the root alone if
        only the root is known: the place of a port begins with its address,
        which is unlike the steps of fields.
        """
        place = self.place
        if self.kind in _PLACES_OF_NAMES:
            return _PLACES_OF_NAMES[self.kind]
        if self.kind == 'port':
            return (self.root,)
        if interpolation.fields(list(place)):
            # Only the steps before the first field are known. An item that is
            # appended may change all that reads the list.
            known = place[0].partition('{')[0].rpartition('/')[0]
            place = data_path.split_pointer(known)
            if data_path.APPEND in place[1:]:
                place = place[: place.index(data_path.APPEND, 1)]
        if place and place[-1].isdigit():
            # Removing or inserting an item moves the items after it, so the
            # whole list may change.
            place = place[:-1]
        return (self.root, *place)

    def may_be_read_by(self, operation: OperationLike) -> bool:
        """Return whether an operation may read the place."""
        return any(
            self.may_be_at(field) for field in fields_of_operation(operation)
        )

    def may_be_at(self, field: interpolation.Field) -> bool:
        """Return whether a field may read the place.

        For the place ``('extra', 'disks')``, this is true for
        ``{node.extra}``, which reads everything in ``extra``, and for
        ``{node.extra.disks[0]}``, which reads an item of the list.
        """
        return data_path.overlap(
            (str(field.root), *field.steps), self.place_in_data
        )


def fields(written: typing.Any) -> list[interpolation.Field]:
    """Return all fields in a value, including fields in filter arguments.

    ``{node.name | default(inventory.hostname)}`` has two fields. The last
    field of the value comes first.

    :param written: a value as the rule has it.
    """
    return _add_fields_in_filters(interpolation.fields(written))


def fields_of_field(field: interpolation.Field) -> list[interpolation.Field]:
    """Return a field, and the fields in the arguments of its filters."""
    return _add_fields_in_filters([field])


def fields_of_operation(operation: OperationLike) -> list[interpolation.Field]:
    """Return the fields in the arguments and the loop of an operation."""
    return fields([*operation.arguments.values(), operation.loop])


def reads_table(field: interpolation.Field) -> bool:
    """Return whether a field or one of its filters reads a table."""
    return any(
        read.root == interpolation.TABLES for read in fields_of_field(field)
    )


def tables_of(field: interpolation.Field) -> typing.Iterator[str]:
    """Yield the names of the tables that a field or its filters read."""
    for read in fields_of_field(field):
        if read.root == interpolation.TABLES and read.steps:
            yield read.steps[0]


def _add_fields_in_filters(
    outer_fields: list[interpolation.Field],
) -> list[interpolation.Field]:
    """Return fields, and the fields in the arguments of their filters.

    An argument may be a list with fields, and these may have filters with
    arguments too. The last field comes first.
    """
    all_fields = []
    # Fields, filters and arguments that are still to be searched for fields.
    ahead: list[typing.Any] = [*outer_fields]
    while ahead:
        part = ahead.pop()
        if isinstance(part, interpolation.Field):
            all_fields.append(part)
            ahead += part.filters
        elif isinstance(part, filter_syntax.FilterCall):
            ahead += [value for _name, value in part.arguments]
        elif isinstance(part, dict):
            ahead += part.values()
        elif isinstance(part, list):
            ahead += part
    return all_fields


def mentions(root: str, value: typing.Any) -> bool:
    """Return whether a value may contain a field that reads a root.

    With this quick test, callers do not parse most rules. It may return True
    for other text: for ``tables`` it does so for ``{vars.tables}``.
    """
    ahead = [value]
    while ahead:
        part = ahead.pop()
        if isinstance(part, str):
            if '{' in part and root in part:
                return True
        elif isinstance(part, list | tuple):
            ahead += part
        elif isinstance(part, collections.abc.Mapping):
            ahead += part
            ahead += part.values()
    return False


def facts(condition: OperationLike) -> list[plugin.Fact]:
    """Return the facts that a condition states.

    If ``eq`` of ``{inventory.cpu.count}`` and 8 holds, the fact is that this
    field has the value 8.

    :returns: an empty list if the facts depend on the data of the machine, or
        if the code of the condition's plugin fails.
    """
    try:
        return declared_facts(condition)
    except exceptions.OperationError:
        return []


def declared_facts(condition: OperationLike) -> list[plugin.Fact]:
    """Return the facts that a condition states, or raise an error.

    Unlike :func:`facts`, this does not hide errors.

    :raises: :class:`.exceptions.OperationError` if the facts depend on the
        data of the machine; :class:`.exceptions.PluginFailed` if the code of
        the plugin fails.
    """
    return condition.op.facts(condition.arguments, condition.inverted)


def writes(action: OperationLike) -> typing.Iterator[plugin.Write]:
    """Yield the writes of an action that are known without a machine.

    If the action has a loop whose items are written in the rule, this yields
    the writes for each item.
    """
    for arguments in _arguments_by_item(action):
        # Skip an item if its writes depend on the data of the machine.
        with contextlib.suppress(exceptions.OperationError):
            yield from action.op.writes(arguments)


def declared_writes(action: OperationLike) -> list[plugin.Write]:
    """Return the writes of an action for all items of its loop.

    Unlike :func:`writes`, this does not silently skip unknown writes.

    :raises: :class:`.exceptions.OperationError` if the writes depend on the
        data of the machine; :class:`.exceptions.PluginFailed` if the code of
        the plugin fails.
    """
    declared = []
    for arguments in _arguments_by_item(action):
        declared += action.op.writes(arguments)
    return declared


def writes_of_op(
    op: registry.Op, arguments: typing.Mapping[str, typing.Any]
) -> list[plugin.Write]:
    """Return the writes that an action op declares for some arguments.

    :param arguments: values by name. All other arguments have their defaults.
    :raises: :class:`.exceptions.PluginFailed` if the code of the plugin fails.
    """
    defaults = {
        argument.name: argument.default for argument in op.signature.arguments
    }
    return op.writes({**defaults, **arguments})


def writes_at_paths(
    action: OperationLike,
) -> typing.Iterator[tuple[plugin.Write, data_path.Path]]:
    """Yield the writes of an action at paths, with the steps of each path.

    A write at ``/extra/rack`` comes with ``('extra', 'rack')``. Writes of
    capabilities and traits are skipped, because they have no paths. A path
    with fields is skipped if it cannot be parsed.
    """
    for write in writes(action):
        if write.kind in _WITH_PATHS and isinstance(write.name, str):
            try:
                steps = data_path.parse(write.name)
            except exceptions.OperationError:
                # It may become a valid path with the values of its fields.
                continue
            yield write, steps


def names_of_plugin_data(
    actions: typing.Iterable[OperationLike],
) -> typing.Iterator[str]:
    """Yield the top-level names in plugin data that actions set.

    For example, ``set-plugin-data`` at ``/rack/row`` sets ``rack``.
    """
    for action in actions:
        for write, steps in writes_at_paths(action):
            is_removed = write.value is data_path.ABSENT
            if write.kind == 'plugin_data' and not is_removed:
                yield from steps[:1]


def effects(action: OperationLike) -> typing.Iterator[Effect]:
    """Yield the effects of an action that are known without a machine.

    A name or a path with fields is kept as text, e.g. the trait
    ``CUSTOM_{inventory.rack}``. Left out is a list of traits that is a field,
    e.g. ``set-traits`` of ``{inventory.tags}``, and an invalid path.
    """
    for write in writes(action):
        effect = _make_effect(write)
        if effect is not None:
            yield effect


def may_change(
    action: OperationLike, read: typing.Iterable[interpolation.Field]
) -> bool:
    """Return whether an action may change the values that fields read.

    When in doubt, return True.

    :param read: the fields. Fields in the arguments of their filters are not
        included.
    """
    changed = changed_places(action)
    for field in read:
        place = read_place(field)
        if any(data_path.overlap(place, other) for other in changed):
            return True
    return False


def changed_places(action: OperationLike) -> set[data_path.Path]:
    """Return the places that an action may change, each with its root.

    ``set-attribute`` of ``/extra/rack`` changes ``('node', 'extra',
    'rack')``. Of a path with fields, only the beginning is known, see
    :attr:`Effect.place_in_data`. The place is the root alone if the path
    cannot be parsed, and ``()``, which stands for all data, if the writes of
    the action are unknown.
    """
    try:
        declared = declared_writes(action)
    except exceptions.OperationError:
        # The writes of the action are only known on a machine.
        return {()}
    if not declared and not action.op.is_ours:
        # Actions of other packages need not declare their writes. An action of
        # this package without writes, e.g. "log", changes nothing.
        return {()}
    changed: set[data_path.Path] = set()
    for write in declared:
        effect = _make_effect(write)
        if effect is None:
            root = _ROOTS[write.kind]
            changed.add(_PLACES_OF_NAMES.get(write.kind, (root,)))
        else:
            changed.add(effect.place_in_data)
    return changed


def read_place(field: interpolation.Field) -> data_path.Path:
    """Return the place that a field reads, with its root.

    ``{node.extra | get('rack')}`` reads ``('node', 'extra', 'rack')``. It is
    ``()``, which stands for all data, if a filter of the field reads the data
    itself: ``row`` reads the data that form the key of a row.
    """
    filters = registry.filters()
    for call in field.filters:
        if filters[call.name].plugin.NEEDS_VIEW:
            return ()
    steps_of_get: data_path.Path = ()
    if field.filters:
        steps_of_get = _steps_of_get(field.filters[0])
    return (str(field.root), *field.steps, *steps_of_get)


def _steps_of_get(call: filter_syntax.FilterCall) -> data_path.Path:
    """Return the literal path of the filter ``get``; empty if it has none."""
    if call.name != 'get':
        return ()
    signature = registry.filters()[call.name].signature
    path = signature.bind_call(call.arguments).values.get('path')
    if not isinstance(path, str):
        return ()
    try:
        return data_path.parse(path)
    except exceptions.OperationError:
        # The filter is an error on every machine.
        return ()


def _make_effect(write: plugin.Write) -> Effect | None:
    """Build the effect of a write of an action.

    A name or a path with fields is kept as text.

    :returns: None if the name is not a text, if a field stands for a whole
        list of traits, or if the path cannot be parsed.
    """
    if not isinstance(write.name, str):
        return None
    if write.kind in _WITH_PATHS:
        return _make_effect_at_path(write, write.name)
    value = write.value
    if write.kind == 'traits':
        if not isinstance(value, list):
            return None
        # Sort the traits: they have no order, so equal sets must be equal.
        value = sorted(map(str, value))
    return Effect(write.kind, (write.name,), value, write.extends)


def _make_effect_at_path(
    write: plugin.Write, written_path: str
) -> Effect | None:
    """Build the effect of a write to the node, a port or plugin data.

    ``/extra/rack`` gives the place ``('extra', 'rack')``.

    :param written_path: the path as the rule has it, possibly with fields.
    :returns: None if the path cannot be parsed.
    """
    # A path with fields is kept as a single step, because the values of its
    # fields are not known here.
    path: data_path.Path = (written_path,)
    if not interpolation.fields(written_path):
        try:
            path = data_path.parse(written_path)
        except exceptions.OperationError:
            return None
    value = write.value
    extends = write.extends
    is_removal = value is data_path.ABSENT
    # The first step of a path is always a name, even if it is "-".
    if data_path.APPEND in path[1:] and not is_removal:
        # Setting 1 at "/l/-/a" appends {"a": 1} to the list "/l".
        position = path.index(data_path.APPEND, 1)
        steps_in_item = path[position + 1 :]
        path = path[:position]
        value = _nest(value, steps_in_item)
        extends = True
    if write.kind == 'port':
        # The written path begins inside the port.
        address_or_uuid = str(write.owner).lower()
        path = (address_or_uuid, *path)
    return Effect(write.kind, path, value, extends)


def _nest(value: typing.Any, steps: data_path.Path) -> typing.Any:
    """Return mappings with a value at a path in them.

    For 1 and ``('a', 'b')``, this is ``{'a': {'b': 1}}``.
    """
    if not steps:
        return value
    return {steps[0]: _nest(value, steps[1:])}


def _arguments_by_item(
    operation: OperationLike,
) -> list[dict[str, typing.Any]]:
    """Return the arguments of an operation for each item of its loop.

    With the loop ``['a', 'b']``, ``{'path': '/extra/{item}'}`` gives
    ``[{'path': '/extra/a'}, {'path': '/extra/b'}]``. If there is no loop, or
    if its items come from the data, the arguments are returned once, as they
    are written.
    """
    loop = operation.loop
    if isinstance(loop, list):
        items = loop
    elif isinstance(loop, dict):
        items = [loop]
    else:
        # There is no loop, or its items come from the machine.
        return [operation.arguments]
    arguments_by_item = []
    for item in items:
        fill_in = functools.partial(_fill_item, item)
        arguments_by_item.append(
            data_path.replace_texts(operation.arguments, fill_in)
        )
    return arguments_by_item


def _fill_item(item: typing.Any, text: str) -> typing.Any:
    """Fill an item of the loop into the fields of a text.

    With the item ``{'name': 'a', 'size': 480}``, ``{item.name}_x`` gives
    ``a_x``. If the whole text is one field, the value keeps its type:
    ``{item.size}`` gives the number 480. If the item has no such value, the
    field is kept.

    :param item: an item of a loop that is written in the rule.
    :param text: text of an argument. Fields over other roots are kept.
    """
    field = interpolation.sole_field(text)
    if field and field.root == interpolation.ITEM and field.is_plain:
        value = data_path.get(item, field.steps)
        if value is data_path.ABSENT:
            return text
        return value
    return interpolation.fill_item(text, item)

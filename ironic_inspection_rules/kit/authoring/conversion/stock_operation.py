# SPDX-License-Identifier: Apache-2.0

"""Convert actions of stock Ironic, and loops of actions and conditions.

Stock Ironic is Ironic without this project; "here" means this language and
this project. Differences are recorded in a :class:`.rule.Conversion`, called
notes, and ``convert`` and ``adopt`` show them to the operator.

The arguments of an action (``args``) have :class:`.stock_text.StockText` for
the texts that stock Ironic formats; ``written`` are the arguments of the new
action. If a field is missing, stock Ironic uses its text, but here the
inspection fails. Therefore it is recorded which fields exist for certain
(``existing``), e.g. ``node.extra.rack`` after a condition on it.

In stock Ironic, the items of a loop are always written out in the rule. An
operation with a loop is converted once per item. If the resulting operations
differ only in the item, they are combined into one operation with a loop.
"""

from collections.abc import Callable, Sequence
import functools
import re
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.conversion import rule
from ironic_inspection_rules.kit.authoring.conversion import stock_condition
from ironic_inspection_rules.kit.authoring.conversion import stock_text
from ironic_inspection_rules.plugins.actions import schema

Operation = rule.Operation
Text = stock_text.StockText

_LOG_LEVELS = frozenset({'debug', 'info', 'warning', 'error', 'critical'})
# During conversion, a mark such as "zqitem0qz" stands for an item of a loop,
# or for the first value of the item. It is unlikely to occur in a rule.
_ITEM_MARK = re.compile(r'zqitem(\d+)qz')
_ITEM_MARK_FORMAT = 'zqitem%dqz'
_NAME_IN_FIELD = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*')
_OF_OTHER_OBJECTS = frozenset({'chassis_uuid', 'portgroup_uuid'})
"""Attributes that Ironic's API derives from another object."""


def convert(
    op: str, args: Operation, existing: set[str], notes: rule.Conversion
) -> Operation | None:
    """Convert an action, or one iteration of its loop, to this language.

    :param args: the arguments by name, with :class:`.stock_text.StockText` for
        texts that stock Ironic formats.
    :param existing: fields that certainly have a value when the action runs.
        Fields that the action changes are removed from the set.
    :param notes: the conversion that records differences.
    :returns: the action with ``op`` and ``args``; None if stock Ironic does
        nothing.
    :raises: :class:`.stock_condition.Fails` if stock Ironic fails the
        inspection of every machine.
    :raises: :class:`.rule.Inconvertible` if this language cannot express the
        action.
    """
    if op == 'unset-plugin-data':
        # Stock Ironic only removes values from dicts, but its rules see plugin
        # data through a proxy.
        notes.record_hint(
            _('stock Ironic never unsets plugin data: the action is left out')
        )
        return None
    fill = functools.partial(_write_text, existing=existing, notes=notes)
    written = stock_text.write(args, fill)
    if 'unique' in written:
        # This language only accepts true and false.
        written['unique'] = bool(args['unique'])
    if 'path' in args:
        if op.endswith('plugin-data'):
            _write_data_path(args, written, existing, notes)
        else:
            _write_attribute(op, args, written, existing, notes)
    if op == 'unset-capability':
        # This project removes the whole field if the last capability is unset.
        existing.discard('node.properties.capabilities')
    _note_differences(op, args, notes)
    if op == 'log':
        level = written.get('level', 'info')
        if str(level).lower() not in _LOG_LEVELS:
            raise stock_condition.Fails(_('there is no level "%s"') % level)
    elif op == 'fail' and not isinstance(args['msg'], Text):
        # Stock Ironic converts any message to text.
        written['msg'] = rule.escape(str(_require_plain(args['msg'])))
    return {'op': op, 'args': written}


def _note_differences(
    op: str, args: Operation, notes: rule.Conversion
) -> None:
    """Record how an op behaves differently than in stock Ironic.

    These notes apply regardless of the arguments, except for the value of
    ``set-capability``.

    :raises: :class:`.stock_condition.Fails` if the value of a capability is
        not text.
    """
    if op.startswith('extend-'):
        notes.record_difference(
            _(
                'where something else than a list is there, such as '
                'null, the two differ: in plugin data stock Ironic '
                'takes what is empty for a list, in an attribute it '
                'fails the inspection'
            )
        )
    if op == 'set-capability':
        _check_capability(args['value'], notes)
    elif op == 'unset-capability':
        notes.record_difference(
            _(
                'where the node has no other capability, stock Ironic '
                'leaves an empty text in properties/capabilities, and '
                'fails the inspection where null is there; here '
                'properties/capabilities is removed, or stays'
            )
        )
    if op.endswith('-port-attribute'):
        notes.record_difference(
            _('stock Ironic knows a port by its UUID only')
        )


def _check_capability(value: typing.Any, notes: rule.Conversion) -> None:
    """Record how setting a capability behaves differently here.

    :raises: :class:`.stock_condition.Fails` if the value is not text.
    """
    if not isinstance(value, str | Text):
        raise stock_condition.Fails(
            _('the value of a capability must be text')
        )
    notes.record_difference(
        _(
            'where the node has the capability, stock Ironic adds '
            'it a second time; here it is replaced'
        )
    )
    if isinstance(value, Text) and value.fields:
        notes.record_difference(
            _(
                'where the value is empty or has a comma, stock '
                'Ironic adds it all the same; here it is an error'
            )
        )


def _write_data_path(
    args: Operation,
    written: Operation,
    existing: set[str],
    notes: rule.Conversion,
) -> None:
    """Convert the path of an action on plugin data to a JSON pointer.

    Stock Ironic accepts a list of tokens, or text with dots between them.
    ``place.rack`` and ``[place, rack]`` become ``/place/rack``.

    :param written: the arguments of the new action, to which the pointer is
        added as ``path``.
    :param existing: fields that certainly have a value when the action runs.
        Fields below the path are removed from the set.
    :param notes: the conversion that records differences for missing parents.
    """
    path = args['path']
    if not isinstance(path, list):
        path = _require_path_text(path).split('.')
    tokens = [_require_path_text(token) for token in path]
    written['path'] = rule.escape(data_path.pointer(tokens))
    # Plugin data always exist, but the value at the first token may be
    # missing.
    _note_missing_parents(tokens[1:], notes)
    _forget_fields_below('plugin_data', tokens, existing)


def _write_attribute(
    op: str,
    args: Operation,
    written: Operation,
    existing: set[str],
    notes: rule.Conversion,
) -> None:
    """Convert path and value of an action on an attribute of a node or port.

    ``extra.rack`` becomes ``/extra/rack``.

    :param args: the arguments of stock Ironic.
    :param written: the arguments of the new action. The path is added as a
        JSON pointer, and the value is converted if it replaces a whole
        attribute.
    :param existing: fields that certainly have a value when the action runs.
        Fields of the node below the path are removed from the set.
    :param notes: the conversion that records differences.
    :raises: :class:`.rule.Inconvertible` if the path has fields, if no rule
        may change the attribute of the node, or if this language cannot set
        the attribute to the value.
    :raises: :class:`.stock_condition.Fails` if there is no path.
    """
    text = _require_path_text(args['path'])
    # Stock Ironic accepts "extra/rack", "/extra/rack" and "extra.rack".
    if '/' in text:
        tokens = text.strip('/').split('/')
    else:
        tokens = text.split('.')
    written['path'] = rule.escape(data_path.pointer(tokens))
    attributes = schema.PORT
    if not op.endswith('port-attribute'):
        attributes = schema.NODE
        _check_attribute(op, tokens, notes)
        _forget_fields_below('node', tokens, existing)
    if 'value' not in args:
        return
    # The attribute always exists, but the value at the second token may be
    # missing.
    _note_missing_parents(tokens[2:], notes)
    replaces_attribute = len(tokens) == 1
    if replaces_attribute and tokens[0] in attributes:
        written['value'] = _convert_attribute_value(
            tokens[0],
            attributes[tokens[0]],
            value=args['value'],
            written=written['value'],
            notes=notes,
        )


def _check_attribute(
    op: str, tokens: list[str], notes: rule.Conversion
) -> None:
    """Record how an action on an attribute of the node behaves differently.

    :param tokens: the tokens of the path, which begin with the attribute.
    :raises: :class:`.rule.Inconvertible` if no rule may change the attribute.
    """
    if tokens[0] not in schema.NODE:
        raise rule.Inconvertible(
            _('the attribute "%s" of a node cannot be changed by a rule')
            % tokens[0]
        )
    if op == 'del-attribute' and len(tokens) == 1:
        notes.record_loss(
            _('stock Ironic does not save this; here "%s" becomes its default')
            % tokens[0]
        )
    elif op == 'del-attribute':
        notes.record_difference(
            _(
                'stock Ironic fails the inspection where there is '
                'nothing to delete; here that is fine'
            )
        )
    if tokens == ['driver']:
        notes.record_difference(
            _(
                'here interfaces that the new driver lacks become its '
                'defaults; stock Ironic leaves them'
            )
        )


def _forget_fields_below(
    root: str, path: list[str], existing: set[str]
) -> None:
    """Remove the fields below a changed value from the existing fields.

    For example, after a write to ``/extra/place``, ``node.extra.place.rack``
    may be missing, because the new value may not have a ``rack``.

    :param path: the steps to the changed value, below ``root``.
    :param existing: fields that certainly have a value, e.g.
        ``node.extra.rack``; modified in place.
    """
    try:
        changed_field = rule.write_field((root, *path))
    except rule.Inconvertible:
        # There are no fields for this value or for values below it.
        return
    changed = changed_field.removeprefix('{').removesuffix('}')
    below = (f'{changed}.', f'{changed}[')
    for field in list(existing):
        if field.startswith(below):
            existing.discard(field)


def _note_missing_parents(tokens: list[str], notes: rule.Conversion) -> None:
    """Record differences if null, a list or ``-`` is on a path.

    :param tokens: the steps of the path into values that may be missing. For
        ``/extra/place/rack`` of a node this is only ``rack``, because
        ``extra`` always exists, but ``place`` may not.
    """
    if tokens:
        notes.record_difference(
            _(
                'where null is on the way there, stock Ironic fails '
                'the inspection; here it becomes a mapping'
            )
        )
    for token in tokens:
        if data_path.is_append(token):
            notes.record_loss(
                _(
                    'to stock Ironic "-" is a name in a mapping; here '
                    'it is the end of a list'
                )
            )
        elif data_path.index(token) is not None:
            notes.record_difference(
                _(
                    'where a list is there, stock Ironic fails the '
                    'inspection; here "%s" is its item'
                )
                % token
            )


def _convert_attribute_value(
    name: str,
    attribute: schema.Attribute,
    *,
    value: typing.Any,
    written: typing.Any,
    notes: rule.Conversion,
) -> typing.Any:
    """Convert the value of an attribute that an action replaces as a whole.

    It is recorded if stock Ironic would set another value.

    :param value: the value in stock Ironic.
    :param written: the value as converted so far.
    :raises: :class:`.rule.Inconvertible` if stock Ironic does not set the
        attribute, or if a text with fields is the value of a boolean or a
        mapping.
    """
    varies = isinstance(value, Text) and bool(value.fields)
    # In the schema "..." means that there is no default. With the default {}
    # nothing differs, because stock Ironic also replaces null by {}.
    has_default = attribute.default not in (None, ..., {})
    if name in _OF_OTHER_OBJECTS:
        raise rule.Inconvertible(
            _('"%s" is no attribute in stock Ironic, which sets nothing')
            % name
        )
    if value is None:
        if has_default:
            notes.record_difference(
                _(
                    'stock Ironic fails the inspection or sets null; '
                    'here "%s" becomes its default'
                )
                % name
            )
        return written
    # The value is not null, so the kind of the attribute decides.
    if attribute.kind == 'true or false':
        if varies:
            raise rule.Inconvertible(
                _('to stock Ironic all text is true, also "False"')
            )
        return bool(_require_plain(value))
    if varies and attribute.kind == 'a mapping':
        raise rule.Inconvertible(_('text of a mapping cannot become one'))
    if varies and attribute.kind != 'a string':
        notes.record_difference(
            _(
                'stock Ironic sets "%(name)s" to any text; here what '
                'is not %(kind)s is an error'
            )
            % {'name': name, 'kind': attribute.kind}
        )
    return written


def _require_plain(value: typing.Any) -> typing.Any:
    """Return a value without fields in the form of stock Ironic.

    Its texts become plain text again, e.g. ``[1, 'a']``.

    :raises: :class:`.rule.Inconvertible` if the value has fields.
    """
    if stock_text.list_varying(value):
        raise rule.Inconvertible(
            _('a list or mapping with fields cannot become text')
        )
    return stock_text.make_plain(value)


def _require_path_text(value: typing.Any) -> str:
    """Return the text of a path, or of a step of a path.

    :raises: :class:`.rule.Inconvertible` if the text has fields, because a
        path cannot come from the data of a machine.
    :raises: :class:`.stock_condition.Fails` if the value is not a path,
        because stock Ironic then fails the inspection.
    """
    if isinstance(value, Text):
        if value.fields:
            raise rule.Inconvertible(
                _('data of a machine cannot become a path as a whole')
            )
        return value.literal
    if not isinstance(value, str) or not value.strip('/.'):
        raise stock_condition.Fails(_('there is no path'))
    return value


def _write_text(text: Text, existing: set[str], notes: rule.Conversion) -> str:
    """Write the text of an argument in this language, and record differences.

    If a field is missing, stock Ironic uses the text as it is written. To do
    the same, a single field gets its own text as its default. If there are
    several fields, the difference is recorded as lost.

    :param existing: fields that certainly have a value when the action runs.
    """
    for remark in text.remarks:
        notes.record_difference(remark)
    for name in text.secret_fields:
        notes.record_loss(
            _(
                '{%s} is hidden here where secrets are masked, and '
                'cannot be written'
            )
            % name
        )
    if existing.issuperset(text.uncertain_fields):
        return text.filled
    with_default = text.with_own_text_as_default()
    if with_default is None:
        notes.record_loss(
            _(
                'where a field of "%s" is missing, stock Ironic takes '
                'the text as it is written; here the inspection fails'
            )
            % text.literal
        )
        return text.filled
    return with_default


def convert_looped_condition(
    items: Sequence[typing.Any],
    convert_for_item: Callable[[typing.Any], Operation | bool],
    needs_all: bool,
) -> Operation | bool:
    """Convert a condition of stock Ironic that has a loop.

    :param convert_for_item: converts the condition for one item. It returns a
        boolean if the result is the same on all machines.
    :param needs_all: whether the condition must hold for all items, or for any
        item.
    :returns: a boolean if the result is the same on all machines; otherwise a
        condition. If only one item matters, it is the condition for this item.
        If the items differ only in values that ``{item}`` can replace, the
        condition has a loop. Otherwise it is a group, e.g. ``{'op': 'any-of',
        'conditions': [...]}``.
    """
    converted = [convert_for_item(item) for item in items]
    # If all must hold, a single result that is always false decides. If any
    # must hold, a single result that is always true decides.
    deciding_result = not needs_all
    if deciding_result in converted:
        return deciding_result
    conditions = [
        condition for condition in converted if not isinstance(condition, bool)
    ]
    if not conditions:
        # No result is the deciding one, so all of them are the opposite.
        return needs_all
    if len(conditions) == 1:
        return conditions[0]
    looped = _build_loop(items, converted, convert_for_item)
    if looped is None:
        # The conditions differ in more than the item, so a loop cannot replace
        # them.
        group = 'any-of'
        if needs_all:
            group = 'all-of'
        return {'op': group, 'conditions': conditions}
    if needs_all:
        looped['multiple'] = 'all'
    return looped


def convert_looped_action(
    items: Sequence[typing.Any],
    convert_for_item: Callable[[typing.Any], Operation | None],
) -> list[Operation]:
    """Convert an action with a loop.

    :param convert_for_item: converts the action for one item. It returns None
        if stock Ironic does nothing.
    :returns: a list with one action that has a loop. If no loop does the same,
        one action per item, without items for which stock Ironic does nothing.
    """
    actions = [convert_for_item(item) for item in items]
    if len(actions) > 1:
        looped = _build_loop(items, actions, convert_for_item)
        if looped is not None:
            return [looped]
    return [action for action in actions if action is not None]


def _build_loop(
    items: Sequence[typing.Any],
    operations: Sequence[typing.Any],
    convert_for_item: Callable[[typing.Any], typing.Any],
) -> Operation | None:
    """Build one operation with a loop that is equivalent to all operations.

    The operation is converted once more, for an item that consists of marks:
    instead of ``{'path': '/a', 'value': 1}``, the item is ``{'path':
    'zqitem0qz', 'value': 'zqitem1qz'}``. If replacing the marks by the values
    of each item gives the operation of that item, the marks can also be
    replaced by the fields ``item.path`` and ``item.value``.

    :param operations: the converted operations, in the order of the items.
    :returns: None if no loop is equivalent.
    """
    names = _list_keys_of_item(items[0])
    if names is None or any(
        _list_keys_of_item(item) != names for item in items
    ):
        return None
    # A mapping has one mark per value. A scalar has a single mark.
    mark_count = len(names) or 1
    marks = [_ITEM_MARK_FORMAT % number for number in range(mark_count)]
    marked_item: typing.Any = marks[0]
    if names:
        marked_item = dict(zip(names, marks, strict=True))
    try:
        marked = convert_for_item(marked_item)
    except (rule.Inconvertible, stock_condition.Fails):
        # A mark is not valid here, e.g. as the level of a log.
        return None
    if not isinstance(marked, dict):
        # Stock Ironic does nothing, or the result is a constant.
        return None
    values_by_item = [[item] for item in items]
    if names:
        values_by_item = [list(item.values()) for item in items]
    # Check every item: with its values instead of the marks, the marked
    # operation must equal the operation of the item.
    for values, operation in zip(values_by_item, operations, strict=True):
        texts = [rule.escape(str(value)) for value in values]
        if _replace_marks(marked, texts) != operation:
            return None
    fields = ['item']
    if names:
        fields = [f'item.{name}' for name in names]
    values_by_mark = list(zip(*values_by_item, strict=True))
    looped = _put_fields_for_marks(marked, fields, values_by_mark)
    return {**looped, 'loop': rule.escape(list(items))}


def _put_fields_for_marks(
    marked: Operation,
    fields: list[str],
    values_by_mark: list[tuple[typing.Any, ...]],
) -> Operation:
    """Replace the marks of an operation by fields over the item.

    :param fields: the fields, e.g. ``item.path``, by the number of the mark.
    :param values_by_mark: the values of all items, by the number of the mark.
    """
    texts = []
    texts_alone = []
    for field, values in zip(fields, values_by_mark, strict=True):
        text = f'{{{field}}}'
        texts.append(text)
        if all(isinstance(value, str) for value in values):
            texts_alone.append(text)
        else:
            # The result is text in stock Ironic, but a single field would keep
            # the type of a number here.
            texts_alone.append(f'{{{field}!s}}')
    operation: Operation = _replace_marks(marked, texts, texts_alone)
    return operation


def _list_keys_of_item(item: typing.Any) -> list[str] | None:
    """Return the keys of a loop's item, if fields can replace its values.

    :returns: the keys if the item is a mapping of texts and numbers; an empty
        list if it is a text or a number. None for any other item, if a value
        has braces, or if a field cannot name a key.
    """
    if not isinstance(item, dict):
        if _is_plain(item):
            return []
        return None
    if not item:
        return None
    for name, value in item.items():
        if not _NAME_IN_FIELD.fullmatch(name) or not _is_plain(value):
            return None
    return list(item)


def _is_plain(value: typing.Any) -> bool:
    """Return whether a value is a number, or a text without braces."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return not re.search(r'[{}]', str(value))


def _replace_marks(
    value: typing.Any,
    texts: Sequence[str],
    texts_alone: Sequence[str] | None = None,
    key: str | None = None,
) -> typing.Any:
    """Replace the marks in all texts of a value.

    ``zqitem0qz`` marks the first value of a loop's item.

    :param texts: the replacements of marks, by their number.
    :param texts_alone: the replacements of marks that are a whole text, by
        their number. For example, ``{item!s}`` is used because ``{item}``
        would keep the type of a number. None if they are the same as
        ``texts``.
    :param key: the key of the value in a mapping.
    """
    if isinstance(value, dict):
        return {
            name: _replace_marks(item, texts, texts_alone, key=name)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_replace_marks(item, texts, texts_alone) for item in value]
    if not isinstance(value, str):
        return value
    # A regular expression is always text, so its field needs no conversion.
    if texts_alone and key != 'regex':
        mark = _ITEM_MARK.fullmatch(value)
        if mark:
            return texts_alone[int(mark[1])]
    replaced = value
    for number, text in enumerate(texts):
        replaced = replaced.replace(_ITEM_MARK_FORMAT % number, text)
    return replaced

# SPDX-License-Identifier: Apache-2.0

"""Convert actions of stock Ironic, and loops of actions and conditions.

Stock Ironic is Ironic without this project; "here" means this language and
this project. Differences are recorded in a :class:`.rule.Conversion`, called
notes, and ``convert`` and ``adopt`` show them to the operator.

The arguments of an action (``args``) have :class:`.stock_text.StockText` for
the texts that stock Ironic formats; ``new_args`` are the arguments of the new
action. If a field is missing, stock Ironic uses its text, but here the
inspection fails. Therefore it is recorded which fields exist for certain
(``existing``), e.g. ``node.extra.rack`` after a condition on it.

In stock Ironic, the items of a loop are always written out in the rule. An
operation with a loop is converted once per item. If the resulting operations
differ only in the item, they are combined into one operation with a loop.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
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
_NAME_IN_FIELD = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*')
_OF_OTHER_OBJECTS = frozenset({'chassis_uuid', 'portgroup_uuid'})
"""Attributes that Ironic's API derives from another object."""


@dataclasses.dataclass(frozen=True)
class _Mark:
    """A text that stands for a value of a loop's item during conversion.

    :param text: e.g. ``zqitem0qz``, which is unlikely to occur in a rule.
    :param key: the key of the value in the item; None if the item is no
        mapping, so that the mark stands for the item itself.
    """

    text: str
    key: str | None

    @property
    def field(self) -> str:
        """The field for the value, without braces: ``item.path``."""
        if self.key is None:
            return 'item'
        return f'item.{self.key}'

    def value_in(self, item: typing.Any) -> typing.Any:
        """Return the value that the mark stands for in an item."""
        if self.key is None:
            return item
        return item[self.key]


def convert(
    op: str, args: Operation, existing: set[str], notes: rule.Conversion
) -> Operation | None:
    """Convert an action, or one iteration of its loop, to this language.

    :param args: the arguments by name, with :class:`.stock_text.StockText` for
        texts that stock Ironic formats.
    :param existing: fields that certainly have a value when the action runs.
        Those that may be missing afterwards are removed from the set.
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
    new_args = stock_text.write(args, fill)
    if 'unique' in new_args:
        # This language only accepts true and false.
        new_args['unique'] = bool(args['unique'])
    if 'path' in args and op.endswith('plugin-data'):
        new_args['path'] = _convert_data_path(args['path'], existing, notes)
    elif 'path' in args:
        tokens = _read_attribute_path(args['path'])
        new_args['path'] = rule.escape(data_path.pointer(tokens))
        is_of_node = not op.endswith('port-attribute')
        if is_of_node:
            _check_attribute_of_node(op, tokens, notes)
            _forget_fields('node', tokens, existing, op == 'del-attribute')
        if 'value' in args:
            new_args['value'] = _convert_value(
                tokens,
                is_of_node,
                stock_value=args['value'],
                new_value=new_args['value'],
                notes=notes,
            )
    if op == 'unset-capability':
        # This project removes the whole field if the last capability is unset.
        existing.discard('node.properties.capabilities')
    _note_differences(op, args, notes)
    if op == 'log':
        level = new_args.get('level', 'info')
        if str(level).lower() not in _LOG_LEVELS:
            raise stock_condition.Fails(_('there is no level "%s"') % level)
    elif op == 'fail' and not isinstance(args['msg'], Text):
        # Stock Ironic converts any message to text.
        new_args['msg'] = rule.escape(str(_require_plain(args['msg'])))
    return {'op': op, 'args': new_args}


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


def _convert_data_path(
    path: typing.Any, existing: set[str], notes: rule.Conversion
) -> str:
    """Convert the path of an action on plugin data to a JSON pointer.

    Stock Ironic accepts a list of tokens, or text with dots between them.
    ``place.rack`` and ``[place, rack]`` become ``/place/rack``.

    :param existing: fields that certainly have a value when the action runs.
        Fields below the path are removed from the set.
    :param notes: the conversion that records differences for missing parents.
    """
    if not isinstance(path, list):
        path = _require_path_text(path).split('.')
    tokens = [_require_path_text(token) for token in path]
    # Plugin data always exist, but the value at the first token may be
    # missing.
    _note_missing_parents(tokens[1:], notes)
    _forget_fields('plugin_data', tokens, existing)
    pointer: str = rule.escape(data_path.pointer(tokens))
    return pointer


def _read_attribute_path(path: typing.Any) -> list[str]:
    """Return the tokens of a path in a node or port.

    Stock Ironic accepts ``extra/rack``, ``/extra/rack`` and ``extra.rack``.
    """
    text = _require_path_text(path)
    if '/' in text:
        return text.strip('/').split('/')
    return text.split('.')


def _check_attribute_of_node(
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


def _forget_fields(
    root: str, path: list[str], existing: set[str], is_deleted: bool = False
) -> None:
    """Remove the fields from the existing ones that a change may take away.

    For example, after a write to ``/extra/place``, ``node.extra.place.rack``
    may be missing, because the new value may not have a ``rack``. The field
    ``node.extra.place`` itself is missing only if the value was deleted.

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
    if is_deleted:
        existing.discard(changed)
    below = (f'{changed}.', f'{changed}[')
    for field in list(existing):
        if field.startswith(below):
            existing.discard(field)


def _note_missing_parents(tokens: list[str], notes: rule.Conversion) -> None:
    """Record how paths through null, a list or ``-`` work differently.

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


def _convert_value(
    tokens: list[str],
    is_of_node: bool,
    *,
    stock_value: typing.Any,
    new_value: typing.Any,
    notes: rule.Conversion,
) -> typing.Any:
    """Convert the value that an action writes to a node or port.

    :param tokens: the path, which begins with an attribute.
    :param is_of_node: whether it is an attribute of the node, not of a port.
    :param stock_value: the value in stock Ironic.
    :param new_value: the value as converted so far.
    :param notes: the conversion that records differences.
    """
    # The attribute always exists, but the value at the second token may be
    # missing.
    _note_missing_parents(tokens[2:], notes)
    attributes = schema.PORT
    if is_of_node:
        attributes = schema.NODE
    name, *further_tokens = tokens
    if further_tokens or name not in attributes:
        return new_value
    return _convert_attribute_value(
        name,
        attributes[name],
        stock_value=stock_value,
        new_value=new_value,
        notes=notes,
    )


def _convert_attribute_value(
    name: str,
    attribute: schema.Attribute,
    *,
    stock_value: typing.Any,
    new_value: typing.Any,
    notes: rule.Conversion,
) -> typing.Any:
    """Convert the value of an attribute that an action replaces as a whole.

    It is recorded if stock Ironic would set another value.

    :param stock_value: the value in stock Ironic.
    :param new_value: the value as converted so far.
    :raises: :class:`.rule.Inconvertible` if stock Ironic does not set the
        attribute, or if a text with fields is the value of a boolean or a
        mapping.
    """
    if name in _OF_OTHER_OBJECTS:
        raise rule.Inconvertible(
            _('"%s" is no attribute in stock Ironic, which sets nothing')
            % name
        )
    if stock_value is None:
        # In the schema "..." means that there is no default. With the default
        # {} nothing differs, because stock Ironic also replaces null by {}.
        has_other_default = attribute.default not in (None, ..., {})
        if has_other_default:
            notes.record_difference(
                _(
                    'stock Ironic fails the inspection or sets null; '
                    'here "%s" becomes its default'
                )
                % name
            )
        return new_value
    # The value is not null, so the kind of the attribute decides.
    has_fields = isinstance(stock_value, Text) and bool(stock_value.fields)
    if attribute.kind == 'true or false':
        if has_fields:
            raise rule.Inconvertible(
                _('to stock Ironic all text is true, also "False"')
            )
        return bool(_require_plain(stock_value))
    if has_fields and attribute.kind == 'a mapping':
        raise rule.Inconvertible(_('text of a mapping cannot become one'))
    if has_fields and attribute.kind != 'a string':
        notes.record_difference(
            _(
                'stock Ironic sets "%(name)s" to any text; here what '
                'is not %(kind)s is an error'
            )
            % {'name': name, 'kind': attribute.kind}
        )
    return new_value


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
    looped = _combine_into_loop(items, converted, convert_for_item)
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
        looped = _combine_into_loop(items, actions, convert_for_item)
        if looped is not None:
            return [looped]
    return [action for action in actions if action is not None]


def _combine_into_loop(
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
    marks = _make_marks(items[0])
    if not marks or any(_make_marks(item) != marks for item in items):
        return None
    try:
        marked = convert_for_item(_make_marked_item(marks))
    except (rule.Inconvertible, stock_condition.Fails):
        # A mark is not valid here, e.g. as the level of a log.
        return None
    if not isinstance(marked, dict):
        # Stock Ironic does nothing, or the result is a constant.
        return None
    # Check every item: with its values instead of the marks, the marked
    # operation must equal the operation of the item.
    for item, operation in zip(items, operations, strict=True):
        values = {
            mark.text: rule.escape(str(mark.value_in(item))) for mark in marks
        }
        if _replace_marks(marked, values, values) != operation:
            return None
    looped = _put_fields_for_marks(marked, marks, items)
    return {**looped, 'loop': rule.escape(list(items))}


def _make_marks(item: typing.Any) -> list[_Mark]:
    """Return marks for the values of a loop's item, if fields can read them.

    They show where the values are in an operation after its conversion.

    :returns: a mark for each value of a mapping, or one mark for a text or
        number. There are none for any other item, if a value has braces, or if
        a field cannot name a key.
    """
    if _is_plain(item):
        return [_Mark('zqitem0qz', key=None)]
    if not isinstance(item, dict):
        return []
    marks = []
    for number, (key, value) in enumerate(item.items()):
        if not _NAME_IN_FIELD.fullmatch(key) or not _is_plain(value):
            return []
        marks.append(_Mark(f'zqitem{number}qz', key))
    return marks


def _make_marked_item(marks: Sequence[_Mark]) -> typing.Any:
    """Return an item of a loop that has marks instead of values."""
    if marks[0].key is None:
        return marks[0].text
    return {mark.key: mark.text for mark in marks}


def _put_fields_for_marks(
    marked: Operation, marks: Sequence[_Mark], items: Sequence[typing.Any]
) -> Operation:
    """Replace the marks of an operation by fields over the item.

    For example, the mark of the key ``path`` becomes ``{item.path}``.

    :param items: all items of the loop.
    """
    fields = {}
    fields_alone = {}
    for mark in marks:
        field = f'{{{mark.field}}}'
        fields[mark.text] = field
        fields_alone[mark.text] = field
        if not all(isinstance(mark.value_in(item), str) for item in items):
            # The result is text in stock Ironic, but a single field would keep
            # the type of a number here.
            fields_alone[mark.text] = rule.extend_field(field, '!s')
    operation: Operation = _replace_marks(marked, fields, fields_alone)
    return operation


def _is_plain(value: typing.Any) -> bool:
    """Return whether a value is a number, or a text without braces."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return not re.search(r'[{}]', str(value))


def _replace_marks(
    value: typing.Any,
    texts: Mapping[str, str],
    texts_alone: Mapping[str, str],
    key: str | None = None,
) -> typing.Any:
    """Replace the marks in all texts of a value.

    :param texts: the replacements by mark, e.g. ``{'zqitem0qz': '{item}'}``.
    :param texts_alone: the replacements of marks that are a whole text, e.g.
        ``{'zqitem0qz': '{item!s}'}``, because ``{item}`` alone would keep the
        type of a number.
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
    if value in texts_alone and key != 'regex':
        return texts_alone[value]
    replaced = value
    for mark, text in texts.items():
        replaced = replaced.replace(mark, text)
    return replaced

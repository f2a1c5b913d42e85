# SPDX-License-Identifier: Apache-2.0

"""Convert text of stock Ironic's rules to text of this language.

Stock Ironic is Ironic without this project; "here" means this project. Stock
Ironic formats text with ``str.format``. The result is always text. If a field
is missing, the whole text remains as it is written.

For example, the text ``{node.extra[rack]}`` becomes a :class:`StockText` with
``filled='{node.extra.rack!s}'``, ``literal='{node.extra[rack]}'`` and
``fields=('node.extra.rack',)``. Exceptions report two other results: a field
that has a value on no machine (:class:`_StaysText`), and a field that this
language cannot express (:class:`.rule.Inconvertible`).
"""

import dataclasses
import re
import string
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.conversion import rule

# A step in the syntax of str.format: ".name" is an attribute, "[key]" a key.
_STEP = re.compile(r'(\.)([^.\[\]]+)|\[([^\]]+)\]')
_NAME = re.compile(rf'(?P<root>[^.\[\]]+)(?P<steps>(?:{_STEP.pattern})*)')
_UNKNOWN = _('the format of {%s} is not known here')

# Attributes of a node whose text has another format here.
_TIMES = frozenset(
    {
        'created_at',
        'inspection_finished_at',
        'inspection_started_at',
        'provision_updated_at',
        'updated_at',
    }
)
_HOLDS_SECRETS = re.compile(
    r'inventory|plugin_data|node\.(?:driver_info|driver_internal_info|extra'
    r'|instance_info|properties)'
)
"""Pattern of fields that are whole mappings, which may contain secrets."""

# Attributes of Python's data types, which str.format finds.
_PYTHON_ATTRIBUTES = {
    *dir(dict),
    *dir(list),
    *dir(str),
    *dir(int),
    *dir(float),
    'set_mask_enabled',
}
_NO_FIELDS = re.compile(
    r'(?:_|obj_|OBJ_|get|set_|del_|do_|list|timestamp_|touch_).*|as_dict'
    r'|convert_to_version|create|dbapi|destroy|fields|indirection_api|items'
    r'|keys|refresh|release|reserve|save|supports_version|to_json_schema'
    r'|update|values|VERSION'
)
"""Pattern of attributes of stock Ironic's node that are not fields: methods,
and names of the class. ``str.format`` converts them to text as well."""


class _StaysText(Exception):
    """A field has a value on no machine, so stock Ironic keeps its text.

    This ends the conversion of a text: it is then used as it is written.
    """


class _MissingKey(_StaysText):
    """The field has no value because its key never exists."""


@dataclasses.dataclass(frozen=True)
class StockText:
    """A text in a rule of stock Ironic, which formats it for a machine.

    :param filled: the text in this language, for machines that have all its
        fields.
    :param literal: the text as it is written, which stock Ironic uses if one
        of the fields is missing.
    :param fields: the fields of the text in this language, without braces.
    :param source: the field as it is written, if it is the only field, and
        ``filled`` and ``literal`` differ only in it; otherwise None.
    :param has_format: whether one of the fields has a format, e.g. ``:>5``.
    :param is_formatted_twice: whether stock Ironic formats the result once
        more, as in a loop.
    :param is_key_missing: whether the text has no fields because the key of a
        field does not exist on any machine.
    """

    filled: str
    literal: str
    fields: tuple[str, ...] = ()
    source: str | None = None
    has_format: bool = False
    is_formatted_twice: bool = False
    is_key_missing: bool = False

    def with_own_text_as_default(self) -> str | None:
        """Return the text with a default for its only field: its own text.

        Stock Ironic leaves a missing field as it is written, so it is the
        default here.

        :returns: the same as :meth:`with_default`.
        """
        if self.source is None:
            return None
        return self.with_default(self.source)

    def with_default(self, default: str) -> str | None:
        """Return the text with a default for its only field.

        For example, ``rack-{node.extra.rack}`` with the default ``none``
        becomes ``rack-{node.extra.rack | default('none')!s}``.

        :returns: None if the text has several fields or a field with a format.
        """
        if self.source is None:
            return None
        # Quotes and backslashes are escaped in the argument of a filter.
        quoted = re.sub(r"([\\'])", r'\\\1', default).replace('\n', '\\n')
        # For example, "rack-", "{node.extra.rack" and "}".
        before, field, after = self.filled.partition(f'{{{self.fields[0]}')
        # If the field is the whole text, it already ends in "!s", but the
        # conversion must follow the filter.
        after = after.removeprefix('!s')
        return f"{before}{field} | default('{quoted}')!s{after}"

    @property
    def uncertain_fields(self) -> list[str]:
        """The fields that a machine may lack.

        Every machine has an inventory, plugin data and all attributes of its
        node.
        """
        return [
            name
            for name in self.fields
            if not re.fullmatch(r'inventory|plugin_data|node\.\w+', name)
        ]

    @property
    def secret_fields(self) -> list[str]:
        """The fields that read a secret, e.g. ``node.driver_info.password``.

        Stock Ironic fills in the secret. Here, rules read ``******`` instead.
        """
        secret_fields = []
        for name in self.fields:
            tokens = re.split(r'[.\[\]]', name)
            if disclosure.is_secret(tokens):
                secret_fields.append(name)
        return secret_fields

    @property
    def remarks(self) -> typing.Iterator[str]:
        """Sentences about machines for which stock Ironic's text differs.

        They are about plugin data from a BMC address, secrets, indexes of
        text, formats, and text that is formatted twice. The operator who
        converts or adopts the rule sees them.
        """
        for name in self.fields:
            if re.match(r'plugin_data(?:$|\.bmc_address\b)', name):
                yield _(
                    'here plugin data have "bmc_address", the address '
                    'that the machine sent of its BMC; stock Ironic has '
                    'it only where a hook sets it'
                )
            if _HOLDS_SECRETS.fullmatch(name):
                yield (
                    _(
                        'a secret in {%s} is hidden here where secrets are '
                        'masked, and text with one cannot be written'
                    )
                    % name
                )
            if re.search(r'\[\d+\]', name):
                yield (
                    _(
                        'where {%s} goes into text, stock Ironic takes one '
                        'character; here it is missing'
                    )
                    % name
                )
        if self.has_format:
            yield (
                _(
                    'where "%s" cannot be formatted, stock Ironic has it as '
                    'it is written; here it is an error'
                )
                % self.literal
            )
        if self.is_formatted_twice and self.fields:
            yield (
                _(
                    'where a machine sends text with braces, stock Ironic '
                    'fills in "%s" once more'
                )
                % self.literal
            )


def read(text: str, literal: str | None = None) -> StockText:
    """Convert a text that stock Ironic formats with ``str.format``.

    :param text: a format, e.g. ``rack-{node.extra[rack]}``. In a loop, the
        item has already been filled in.
    :param literal: the text as it is written in the rule, if it differs from
        ``text``.
    :returns: the converted text. It has no fields if ``str.format`` fails on
        every machine, because stock Ironic then uses the text as it is
        written.
    :raises: :class:`.rule.Inconvertible` if this language cannot express a
        field.
    """
    if literal is None:
        literal = text
    # The text in this language.
    filled = ''
    # The text without its fields. It is the whole text if there are none.
    text_around_fields = ''
    # The conversions and formats of all fields.
    endings = ''
    fields = []
    try:
        for piece in _split_into_pieces(text):
            text_around_fields += piece.before
            filled += rule.escape(piece.before)
            if piece.field is None:
                continue
            steps = _convert_steps(piece.field)
            field_in_braces = rule.write_field(steps)
            fields.append(field_in_braces[1:-1])
            filled += rule.write_field(steps, piece.field.ending)
            endings += piece.field.ending
    except _StaysText as exc:
        return _keep_text(literal, exc)
    if not fields:
        return StockText(filled, literal=text_around_fields)
    only_field = f'{{{fields[0]}}}'
    if filled == only_field:
        # A single field would keep the type of its value here, but the result
        # is text in stock Ironic.
        filled = rule.extend_field(only_field, '!s')
    source = None
    if literal == text and not endings:
        source = _find_single_field(text)
    return StockText(
        filled=filled,
        literal=literal,
        fields=tuple(fields),
        source=source,
        has_format=':' in endings,
    )


def _keep_text(text: str, reason: _StaysText) -> StockText:
    """Return a text that stock Ironic uses as it is written on every machine.

    :param reason: why ``str.format`` fails on every machine.
    """
    return StockText(
        rule.escape(text), text, is_key_missing=isinstance(reason, _MissingKey)
    )


def _find_single_field(text: str) -> str | None:
    """Return the only field of a text, or None if it has other braces.

    The only field of ``rack-{node.name}`` is ``{node.name}``.
    """
    if text.count('{') != 1 or text.count('}') != 1:
        return None
    return text[text.index('{') : text.index('}') + 1]


def write(
    value: typing.Any, fill: typing.Callable[[StockText], str]
) -> typing.Any:
    """Write a value, e.g. the arguments of an operation, in this language.

    The structure of lists and mappings is kept. Keys of mappings are written
    as well. Braces in texts that stock Ironic does not format are escaped.

    :param value: a value with :class:`StockText` for the texts that stock
        Ironic formats.
    :param fill: returns the text in this language for a :class:`StockText`.
    """
    if isinstance(value, StockText):
        return fill(value)
    if isinstance(value, list):
        return [write(item, fill) for item in value]
    if isinstance(value, dict):
        return {
            write(key, fill): write(item, fill) for key, item in value.items()
        }
    return rule.escape(value)


def list_varying(value: typing.Any) -> list[StockText]:
    """Return the texts in a value that have fields, at any depth.

    Their values may differ from machine to machine.
    """
    if isinstance(value, StockText) and value.fields:
        return [value]
    inner_values: list[typing.Any] = []
    if isinstance(value, list):
        inner_values = value
    elif isinstance(value, dict):
        for key, item in value.items():
            inner_values += [key, item]
    texts: list[StockText] = []
    for inner_value in inner_values:
        texts += list_varying(inner_value)
    return texts


def make_plain(value: typing.Any) -> typing.Any:
    """Return a value as stock Ironic uses it if all fields are missing.

    Each :class:`StockText` in the value becomes its literal text.
    """
    if isinstance(value, StockText):
        return value.literal
    if isinstance(value, list):
        return [make_plain(item) for item in value]
    if isinstance(value, dict):
        return {
            make_plain(key): make_plain(item) for key, item in value.items()
        }
    return value


@dataclasses.dataclass(frozen=True)
class _FieldStep:
    """One step of a field: the name of an attribute, or a key."""

    is_attribute: bool
    name: str

    @property
    def key(self) -> str | int:
        """The key that ``str.format`` looks up."""
        if self.name.isdecimal():
            return int(self.name)
        return self.name


@dataclasses.dataclass(frozen=True)
class _Field:
    """A field in the syntax of ``str.format``, e.g. ``{node.uuid!s:>5}``.

    :param name: the part before the conversion and the format, ``node.uuid``.
    :param root: the first name, ``node``.
    :param steps: the steps after the root.
    :param ending: the conversion and the format, ``!s:>5``, in the form of
        this language.
    """

    name: str
    root: str
    steps: tuple[_FieldStep, ...]
    ending: str


@dataclasses.dataclass(frozen=True)
class _Piece:
    """A field, and the text before it; the last piece may have no field."""

    before: str
    field: _Field | None


def _split_into_pieces(text: str) -> list[_Piece]:
    """Split a text into fields and the text before them, like ``str.format``.

    The braces in the text before a field are unescaped.

    :raises: :class:`_StaysText` if this is an error in ``str.format``.
    :raises: :class:`.rule.Inconvertible` if a format is unknown here.
    """
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as exc:
        raise _StaysText from exc
    pieces = []
    for before, name, spec, conversion in parsed:
        field = None
        # The text after the last field has no name.
        if name is not None:
            field = _parse_field(name, spec or '', conversion)
        pieces.append(_Piece(before, field))
    return pieces


def _parse_field(name: str, spec: str, conversion: str | None) -> _Field:
    """Parse a field into its root, its steps and its format.

    :raises: :class:`_StaysText` if the field is an error in ``str.format``.
    :raises: :class:`.rule.Inconvertible` if its format is unknown here.
    """
    match = _NAME.fullmatch(name)
    # Stock Ironic passes its data by name, so "{0}" has no value.
    if match is None or match['root'].isdecimal():
        raise _StaysText
    if conversion not in (None, 's', 'r', 'a'):
        raise _StaysText
    # Refuse a format that contains a field, as in "{node.uuid:{width}}", or
    # that is very long.
    if not rule.SPEC.fullmatch(spec):
        raise rule.Inconvertible(_UNKNOWN % name)
    steps = []
    for dot, dotted, bracketed in _STEP.findall(match['steps']):
        steps.append(_FieldStep(bool(dot), dotted or bracketed))
    return _Field(
        name, match['root'], tuple(steps), rule.write_ending(spec, conversion)
    )


def _convert_steps(field: _Field) -> tuple[str | int, ...]:
    """Return the root and the steps of the same field in this language.

    Both ``{node.extra[rack]}`` and ``{node.extra[0]}`` can be converted, and
    give ``('node', 'extra', 'rack')`` and ``('node', 'extra', 0)``. A dot
    before a key of data, as in ``{inventory.cpu}``, is refused: ``str.format``
    would look for an attribute.

    :raises: :class:`_StaysText` if the field has no value in stock Ironic.
    :raises: :class:`.rule.Inconvertible` if its text would differ here.
    """
    # Only the node is an object with attributes, as in {node.extra[rack]}.
    # Data have keys.
    data_steps = field.steps
    if field.root == 'node':
        _check_attribute_of_node(field)
        data_steps = field.steps[1:]
    elif field.root not in ('inventory', 'plugin_data'):
        # Stock Ironic formats text with these three names only.
        raise _MissingKey
    for step in data_steps:
        if step.is_attribute:
            _refuse_attribute(step.name, field.name)
    if field.ending.startswith('!a'):
        # This language has no "!a". A field over the item of a loop may have
        # it, because its text is computed during conversion.
        raise rule.Inconvertible(_UNKNOWN % field.name)
    return (field.root, *(step.key for step in field.steps))


def _check_attribute_of_node(field: _Field) -> None:
    """Check that a field over the node has the same text here.

    :raises: :class:`_StaysText` if the node has no such attribute, because
        stock Ironic then uses the text as it is written.
    :raises: :class:`.rule.Inconvertible` if the text differs here, or is the
        text of a Python object.
    """
    attribute = ''
    if field.steps:
        attribute = field.steps[0].name
    # The node itself and its list of traits are Python objects.
    is_object = not attribute or attribute == 'traits'
    if is_object or _NO_FIELDS.fullmatch(attribute):
        raise rule.Inconvertible(
            _('{%s} is the text of an object of Ironic') % field.name
        )
    # Only this project gives nodes the field "auto_discovered".
    if attribute not in names.NODE - {'auto_discovered'}:
        raise _StaysText
    if attribute in _TIMES:
        raise rule.Inconvertible(
            _('the time in {%s} is written otherwise here') % field.name
        )


def _refuse_attribute(step: str, name: str) -> typing.NoReturn:
    """Refuse a field that reads an attribute, ``.step``, of plain data.

    :param name: the text of the field.
    :raises: :class:`.rule.Inconvertible` if the attribute exists in Python,
        e.g. because ``{inventory.keys}`` is the text of a method.
    :raises: :class:`_StaysText` for any other attribute, because stock Ironic
        then uses the text as it is written.
    """
    if step in _PYTHON_ATTRIBUTES or step.startswith('_'):
        raise rule.Inconvertible(
            _('{%s} is the text of an object of Python') % name
        )
    raise _StaysText


def read_for_item(
    value: typing.Any, item: typing.Any, formats_twice: bool = True
) -> typing.Any:
    """Convert all texts in a value for one item of a loop.

    With the item ``eth0``, ``{item}-{node.uuid}`` is converted like the text
    ``eth0-{node.uuid}``.

    :param value: an argument as it is written; its texts become
        :class:`StockText`.
    :param formats_twice: whether stock Ironic formats the value, if it is a
        text, with the item, and then formats the result with the data of the
        machine. It does so for all texts except keys of mappings and items of
        lists.
    :raises: :class:`.rule.Inconvertible` if this language cannot express a
        text.
    """
    if isinstance(value, list):
        return [
            read_for_item(inner, item, formats_twice=False) for inner in value
        ]
    if isinstance(value, dict):
        converted = {}
        for key, inner in value.items():
            new_key = read_for_item(key, item, formats_twice=False)
            converted[new_key] = read_for_item(inner, item)
        return converted
    if not isinstance(value, str):
        return value
    try:
        return _read_text_for_item(value, item, formats_twice)
    except _StaysText as exc:
        return _keep_text(value, exc)


def _read_text_for_item(
    text: str, item: typing.Any, formats_twice: bool
) -> StockText:
    """Convert a text for one item of a loop.

    First the item is filled in; then the result is converted like a text
    outside of a loop.

    :param formats_twice: whether stock Ironic formats the result once more.
    :raises: :class:`_StaysText` if the text is an error in ``str.format``.
    :raises: :class:`.rule.Inconvertible` if this language cannot express it.
    """
    pieces = _split_into_pieces(text)
    with_item = ''
    for piece in pieces:
        with_item += _fill_in_item(piece, item, formats_twice)
    has_other_fields = any(
        piece.field is not None and piece.field.root != interpolation.ITEM
        for piece in pieces
    )
    has_escaped_braces = any(
        '{' in piece.before or '}' in piece.before for piece in pieces
    )
    # The second formatting would read escaped braces as fields. This cannot be
    # computed beforehand if there are fields that only a machine fills in.
    if formats_twice and has_other_fields and has_escaped_braces:
        raise rule.Inconvertible(
            _('"%s" is filled in twice by stock Ironic') % text
        )
    literal = None
    if has_other_fields and with_item != text:
        # If such a field is missing, stock Ironic does not fill in the item
        # either.
        literal = text
    stock_text = read(with_item, literal)
    return dataclasses.replace(stock_text, is_formatted_twice=formats_twice)


def _fill_in_item(piece: _Piece, item: typing.Any, formats_twice: bool) -> str:
    """Return the text of a piece with ``{item}`` filled in.

    The caller reads the result as a format once more.

    :param formats_twice: whether stock Ironic also formats the result once
        more. If it does not, braces in the result are escaped.
    :returns: the text before the field, and the text of the field. Fields that
        are not over the item remain fields.
    """
    before = piece.before
    if not formats_twice:
        before = rule.escape(before)
    field = piece.field
    if field is None:
        return before
    if field.root != interpolation.ITEM:
        return f'{before}{{{field.name}{field.ending}}}'
    text = _format_item(field, item)
    if not formats_twice:
        text = rule.escape(text)
    return before + text


def _format_item(field: _Field, item: typing.Any) -> str:
    """Format a field over an item, like ``str.format``.

    :raises: :class:`_StaysText` if this is an error; :class:`_MissingKey` if
        the item lacks a key.
    :raises: :class:`.rule.Inconvertible` for an attribute of a Python object.
    """
    value = item
    try:
        for step in field.steps:
            if step.is_attribute:
                _refuse_attribute(step.name, field.name)
            value = value[step.key]
        return f'{{0{field.ending}}}'.format(value)
    except KeyError as exc:
        raise _MissingKey from exc
    except (LookupError, TypeError, ValueError) as exc:
        raise _StaysText from exc

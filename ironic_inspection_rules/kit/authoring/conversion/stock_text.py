# SPDX-License-Identifier: Apache-2.0

"""Text of stock Ironic's rules as text of this language.

Stock Ironic formats text with ``str.format``: every result is text, and text
one of whose fields is missing stays as it is written.
"""

import dataclasses
import operator
import re
import string
import typing

from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.conversion import rule

# A step as str.format reads it: ".name" is an attribute, "[key]" a key.
_STEP = re.compile(r'(\.)([^.\[\]]+)|\[([^\]]+)\]')
_NAME = re.compile(rf'(?P<root>[^.\[\]]+)(?P<steps>(?:{_STEP.pattern})*)')
_UNKNOWN = _('the format of {%s} is not known here')

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
"""The fields that are whole mappings, which may have secrets in them."""

# Attributes that data have in Python, so that str.format finds them.
_ATTRIBUTES = {
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
"""Attributes of stock Ironic's node that are no fields of it: methods, and
names of the class. ``str.format`` makes text of them all the same."""


class _StaysText(Exception):
    """A field never has a value in stock Ironic."""


class _MissingKey(_StaysText):
    """Stock Ironic looks for a key that is never there."""


@dataclasses.dataclass(frozen=True)
class StockText:
    """One text.

    :param filled: as this language has it, where all its fields are there.
    :param literal: what stock Ironic has where one of them is missing.
    :param fields: its fields in this language, without braces.
    :param source: the single field as it is written, if ``filled`` is
        ``literal`` but for that field.
    :param formatted: whether one of its fields has a format, such as ``:>5``.
    :param twice: whether stock Ironic fills it in, and then once more.
    :param missing_key: whether it has no fields, since stock Ironic finds
        the key of one on no machine.
    """

    filled: str
    literal: str
    fields: tuple[str, ...] = ()
    source: str | None = None
    formatted: bool = False
    twice: bool = False
    missing_key: bool = False

    def or_else(self, text: str | None = None) -> str | None:
        """Return it with other text in place of a missing field.

        :param text: without it, the text of the field itself.
        :returns: None where this language has no words for it.
        """
        if self.source is None:
            return None
        if text is None:
            text = self.source
        quoted = re.sub(r"([\\'])", r'\\\1', text).replace('\n', '\\n')
        before, field, after = self.filled.partition(f'{{{self.fields[0]}')
        # A field alone has it already; it belongs behind the filter.
        after = after.removeprefix('!s')
        return f"{before}{field} | default('{quoted}')!s{after}"

    @property
    def uncertain(self) -> list[str]:
        """The fields that a machine may lack.

        It has an inventory, plugin data and all attributes of its node.
        """
        return [
            name
            for name in self.fields
            if not re.fullmatch(r'inventory|plugin_data|node\.\w+', name)
        ]

    @property
    def secrets(self) -> list[str]:
        """The fields that read as masked here."""
        secret_fields = []
        for name in self.fields:
            tokens = re.split(r'[.\[\]]', name)
            if disclosure.is_secret(tokens):
                secret_fields.append(name)
        return secret_fields

    @property
    def remarks(self) -> typing.Iterator[str]:
        """Why the text may differ from that of stock Ironic."""
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
        if self.formatted:
            yield (
                _(
                    'where "%s" cannot be formatted, stock Ironic has it as '
                    'it is written; here it is an error'
                )
                % self.literal
            )
        if self.twice and self.fields:
            yield (
                _(
                    'where a machine sends text with braces, stock Ironic '
                    'fills in "%s" once more'
                )
                % self.literal
            )


def read(text: str, literal: str | None = None) -> StockText:
    """Read text that stock Ironic formats.

    :param literal: what it was before a loop filled it in, if it was.
    :raises: :class:`.rule.Inconvertible`.
    """
    original = text
    if literal is not None:
        original = literal
    filled = ''
    unescaped = ''
    endings = ''
    fields = []
    try:
        for piece in _parse(text):
            unescaped += piece.before
            filled += rule.escape(piece.before)
            if piece.field is None:
                continue
            steps = _steps(piece.field)
            fields.append(rule.write_field(steps)[1:-1])
            filled += rule.write_field(steps, piece.field.ending)
            endings += piece.field.ending
    except _StaysText as exc:
        return _unfilled(original, exc)
    if not fields:
        return StockText(filled, unescaped)
    if filled == f'{{{fields[0]}}}':
        # Alone, a field would keep the type that its value has.
        filled = f'{{{fields[0]}!s}}'
    source = None
    if original == text and not endings:
        source = _single_field(text)
    return StockText(filled, original, tuple(fields), source, ':' in endings)


def _unfilled(text: str, reason: _StaysText) -> StockText:
    """Return text that stock Ironic never fills in."""
    return StockText(
        rule.escape(text), text, missing_key=isinstance(reason, _MissingKey)
    )


def _single_field(text: str) -> str | None:
    """Return the field of a text, None if it has other braces as well."""
    if text.count('{') != 1 or text.count('}') != 1:
        return None
    return text[text.index('{') : text.index('}') + 1]


def write(
    value: typing.Any,
    fill: typing.Callable[[StockText], typing.Any],
    literal: typing.Callable[[typing.Any], typing.Any] = rule.escape,
) -> typing.Any:
    """Replace all texts in a value.

    :param value: with :class:`StockText` for the texts that are formatted.
    :param fill: makes the replacement of a text.
    :param literal: makes the replacement of any other scalar.
    """
    if isinstance(value, StockText):
        return fill(value)
    if isinstance(value, list):
        return [write(item, fill, literal) for item in value]
    if isinstance(value, dict):
        return {
            write(key, fill, literal): write(item, fill, literal)
            for key, item in value.items()
        }
    return literal(value)


def varying(value: typing.Any) -> list[StockText]:
    """Return the texts in a value that have fields."""
    texts: list[StockText] = []
    write(value, texts.append)
    return [text for text in texts if text.fields]


def plain(value: typing.Any) -> typing.Any:
    """Return a value as stock Ironic has it where all fields are missing.

    It has no :class:`StockText` in it any more.
    """
    return write(value, operator.attrgetter('literal'), _as_it_is)


def _as_it_is(literal: typing.Any) -> typing.Any:
    """Return a value that has no fields."""
    return literal


@dataclasses.dataclass(frozen=True)
class _FieldStep:
    """One step of a field: the name of an attribute, or a key."""

    is_attribute: bool
    name: str

    @property
    def key(self) -> str | int:
        """The key that ``str.format`` looks for."""
        if self.name.isdecimal():
            return int(self.name)
        return self.name


@dataclasses.dataclass(frozen=True)
class _Field:
    """A field as ``str.format`` reads it.

    :param name: all of it before its format.
    :param ending: its format, with the ``!`` or ``:`` before it.
    """

    name: str
    root: str
    steps: tuple[_FieldStep, ...]
    ending: str


@dataclasses.dataclass(frozen=True)
class _Piece:
    """The text before a field, and the field; None behind the last one."""

    before: str
    field: _Field | None


def _parse(text: str) -> list[_Piece]:
    """Split text as ``str.format`` does.

    :raises: :class:`_StaysText` if that is an error to ``str.format``.
    :raises: :class:`.rule.Inconvertible` if a format is unknown here.
    """
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as exc:
        raise _StaysText from exc
    pieces = []
    for before, name, spec, conversion in parsed:
        field = None
        if name is not None:
            field = _parse_field(name, spec or '', conversion)
        pieces.append(_Piece(before, field))
    return pieces


def _parse_field(name: str, spec: str, conversion: str | None) -> _Field:
    """Read a field: its root, its steps, and its format.

    :raises: :class:`_StaysText` if it is an error to ``str.format``.
    :raises: :class:`.rule.Inconvertible` if its format is unknown here.
    """
    match = _NAME.fullmatch(name)
    if match is None or match['root'].isdecimal():
        raise _StaysText
    if conversion not in (None, 's', 'r', 'a'):
        raise _StaysText
    if not rule.SPEC.fullmatch(spec):
        raise rule.Inconvertible(_UNKNOWN % name)
    steps = []
    for dot, dotted, bracketed in _STEP.findall(match['steps']):
        steps.append(_FieldStep(bool(dot), dotted or bracketed))
    return _Field(
        name, match['root'], tuple(steps), rule.suffix(spec, conversion)
    )


def _steps(field: _Field) -> tuple[str | int, ...]:
    """Return the root of a field and its steps, as they are here.

    :raises: :class:`_StaysText` if it has no value in stock Ironic.
    :raises: :class:`.rule.Inconvertible` if its text would differ here.
    """
    data_steps = field.steps
    if field.root == 'node':
        _check_attribute_of_node(field)
        data_steps = field.steps[1:]
    elif field.root not in ('inventory', 'plugin_data'):
        raise _MissingKey
    for step in data_steps:
        if step.is_attribute:
            _refuse_attribute(step.name, field.name)
    if field.ending.startswith('!a'):
        # A field over an item may have it: that is filled in here.
        raise rule.Inconvertible(_UNKNOWN % field.name)
    return (field.root, *(step.key for step in field.steps))


def _check_attribute_of_node(field: _Field) -> None:
    """Check that a field over the node has the same value here.

    :raises: :class:`_StaysText` if the node has no such attribute.
    :raises: :class:`.rule.Inconvertible` if the value is another text here.
    """
    attribute = ''
    if field.steps:
        attribute = field.steps[0].name
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
    """Raise the result of a field with ``.step`` on data of a machine.

    :param name: of the field.
    :raises: :class:`.rule.Inconvertible` if Python has such an attribute.
    :raises: :class:`_StaysText` for any other one: data have keys only.
    """
    if step in _ATTRIBUTES or step.startswith('_'):
        raise rule.Inconvertible(
            _('{%s} is the text of an object of Python') % name
        )
    raise _StaysText


def read_turn(
    value: typing.Any, item: typing.Any, again: bool = True
) -> typing.Any:
    """Read all texts in a value, with the item of a loop filled in.

    :param again: whether stock Ironic formats the result once more, as it
        does with all texts but keys of mappings and items of lists.
    """
    if isinstance(value, list):
        return [
            read_turn(inner, item, not isinstance(inner, str))
            for inner in value
        ]
    if isinstance(value, dict):
        return {
            read_turn(key, item, False): read_turn(inner, item)
            for key, inner in value.items()
        }
    if not isinstance(value, str):
        return value
    try:
        return _read_turn(value, item, again)
    except _StaysText as exc:
        return _unfilled(value, exc)


def _read_turn(text: str, item: typing.Any, again: bool) -> StockText:
    """Read a text with the item of a loop filled in.

    :param again: whether stock Ironic formats the result once more.
    """
    pieces = _parse(text)
    filled = ''
    has_braces = False
    has_other_fields = False
    for piece in pieces:
        filled += _fill(piece, item, again)
        if '{' in piece.before or '}' in piece.before:
            has_braces = True
        if piece.field and piece.field.root != interpolation.ITEM:
            has_other_fields = True
    if again and has_other_fields and has_braces:
        raise rule.Inconvertible(
            _('"%s" is filled in twice by stock Ironic') % text
        )
    literal = None
    if has_other_fields and filled != text:
        # Where one of these is missing, not even the item is filled in.
        literal = text
    return dataclasses.replace(read(filled, literal), twice=again)


def _fill(piece: _Piece, item: typing.Any, again: bool) -> str:
    """Put an item into a field.

    :param again: whether stock Ironic formats the result once more.
    :returns: the text before the field, and that of the field. A field that
        is not over the item stays a field.
    """
    before = piece.before
    if not again:
        # The caller reads the result as a format, which it is no more.
        before = rule.escape(before)
    field = piece.field
    if field is None:
        return before
    if field.root != interpolation.ITEM:
        return f'{before}{{{field.name}{field.ending}}}'
    text = _format(field, item)
    if not again:
        text = rule.escape(text)
    return before + text


def _format(field: _Field, item: typing.Any) -> str:
    """Format a field over an item as ``str.format`` does.

    :raises: :class:`_StaysText` if that is an error.
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

# SPDX-License-Identifier: Apache-2.0

"""Text of stock Ironic's rules as text of this language.

Stock Ironic formats text with ``str.format``: every result is text, and text
one of whose fields is missing stays as it is written.
"""

import dataclasses
import re
import string
import typing

from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.conversion import rule

_STEP = re.compile(r'(\.)([^.\[\]]+)|\[([^\]]+)\]')
_NAME = re.compile(rf'(?P<root>[^.\[\]]+)(?P<steps>(?:{_STEP.pattern})*)')
_UNKNOWN = _('the format of {%s} is not known here')

_TIMES = frozenset({
    'created_at', 'inspection_finished_at', 'inspection_started_at',
    'provision_updated_at', 'updated_at'})
_HOLDS_SECRETS = re.compile(
    r'inventory|plugin_data|node\.(?:driver_info|driver_internal_info|extra'
    r'|instance_info|properties)')
"""The fields that are whole mappings, which may have secrets in them."""

_ATTRIBUTES = {*dir(dict), *dir(list), *dir(str), *dir(int), *dir(float),
               'set_mask_enabled'}
_NO_FIELDS = re.compile(
    r'(?:_|obj_|OBJ_|get|set_|del_|do_|list|timestamp_|touch_).*|as_dict'
    r'|convert_to_version|create|dbapi|destroy|fields|indirection_api|items'
    r'|keys|refresh|release|reserve|save|supports_version|to_json_schema'
    r'|update|values|VERSION')
"""The attributes of stock Ironic's node that hold none."""


class _StaysText(Exception):
    """A field never has a value in stock Ironic."""


class _MissingKey(_StaysText):
    """Stock Ironic looks for a key that is never there."""


@dataclasses.dataclass(frozen=True)
class Text:
    """One text.

    :param filled: as this language has it, where all its fields are there.
    :param literal: what stock Ironic has where one of them is missing.
    :param fields: its fields in this language, without braces.
    :param source: the single field as it is written, if ``filled`` is
        ``literal`` but for that field.
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
        quoted = re.sub(r"([\\'])", r'\\\1', self.source
                        if text is None else text).replace('\n', '\\n')
        before, begin, after = self.filled.partition(f'{{{self.fields[0]}')
        return (f"{before}{begin} | default('{quoted}')!s"
                + after.removeprefix('!s'))

    @property
    def uncertain(self) -> list[str]:
        """The fields that a machine may lack."""
        return [name for name in self.fields
                if not re.fullmatch(r'inventory|plugin_data|node\.\w+', name)]

    @property
    def secrets(self) -> list[str]:
        """The fields that are hidden from rules here."""
        return [name for name in self.fields
                if disclosure.is_secret(re.split(r'[.\[\]]', name))]

    @property
    def remarks(self) -> typing.Iterator[str]:
        """Yield where it may be other text than in stock Ironic."""
        for name in self.fields:
            if re.match(r'plugin_data(?:$|\.bmc_address\b)', name):
                yield _('here plugin data have "bmc_address", the address '
                        'that the machine sent of its BMC; stock Ironic has '
                        'it only where a hook sets it')
            if _HOLDS_SECRETS.fullmatch(name):
                yield _('a secret in {%s} is hidden here where secrets are '
                        'masked, and text with one cannot be written') % name
            if re.search(r'\[\d+\]', name):
                yield _('where {%s} goes into text, stock Ironic takes one '
                        'character; here it is missing') % name
        if self.formatted:
            yield _('where "%s" cannot be formatted, stock Ironic has it as '
                    'it is written; here it is an error') % self.literal
        if self.twice and self.fields:
            yield _('where a machine sends text with braces, stock Ironic '
                    'fills in "%s" once more') % self.literal


def read(text: str, literal: str | None = None) -> Text:
    """Read text that stock Ironic formats.

    :param literal: what it was before a loop filled it in, if it was.
    :raises: :class:`.rule.Inconvertible`.
    """
    original = text if literal is None else literal
    filled, fields, endings = '', [], ''
    try:
        pieces = _parse(text)
        for before, field in pieces:
            filled += rule.escape(before)
            if field is not None:
                steps = _steps(field)
                fields.append(rule.write_field(steps)[1:-1])
                filled += rule.write_field(steps, field.ending)
                endings += field.ending
    except _StaysText as exc:
        return Text(rule.escape(original), original,
                    missing_key=isinstance(exc, _MissingKey))
    if not fields:
        return Text(filled, ''.join(before for before, _none in pieces))
    if filled == f'{{{fields[0]}}}':
        # Alone, a field would keep the type that its value has.
        filled = f'{{{fields[0]}!s}}'
    source = None
    if len(fields) == 1 and not endings and original == text and (
            text.count('{') == text.count('}') == 1):
        source = text[text.index('{'):text.index('}') + 1]
    return Text(filled, original, tuple(fields), source, ':' in endings)


def write(value: typing.Any, fill: typing.Callable[[Text], typing.Any],
          literal: typing.Callable[[typing.Any], typing.Any] = rule.escape
          ) -> typing.Any:
    """Return a value with something in place of each text.

    :param literal: makes the rest of it.
    """
    if isinstance(value, Text):
        return fill(value)
    if isinstance(value, list):
        return [write(item, fill, literal) for item in value]
    if isinstance(value, dict):
        return {write(key, fill, literal): write(item, fill, literal)
                for key, item in value.items()}
    return literal(value)


def varying(value: typing.Any) -> list[Text]:
    """Return the texts in a value that have fields."""
    texts: list[Text] = []
    write(value, texts.append)
    return [text for text in texts if text.fields]


def plain(value: typing.Any) -> typing.Any:
    """Return a value as stock Ironic has it where fields are missing."""
    return write(value, lambda text: text.literal, lambda literal: literal)


class _Field(typing.NamedTuple):
    """A field as ``str.format`` reads it; a step may be an attribute."""

    name: str
    root: str
    steps: list[tuple[bool, str]]
    ending: str


def _parse(text: str) -> list[tuple[str, _Field | None]]:
    """Split text into fields, each with the text before it.

    :raises: :class:`_StaysText` where that is an error to ``str.format``.
    """
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as exc:
        raise _StaysText from exc
    found: list[tuple[str, _Field | None]] = []
    for before, name, spec, conversion in pieces:
        if name is None:
            found.append((before, None))
            continue
        match = _NAME.fullmatch(name)
        if match is None or match['root'].isdecimal() or (
                conversion not in (None, 's', 'r', 'a')):
            raise _StaysText
        if not rule.SPEC.fullmatch(spec or ''):
            raise rule.Inconvertible(_UNKNOWN % name)
        steps = [(bool(dot), dotted or bracketed) for dot, dotted, bracketed
                 in _STEP.findall(match['steps'])]
        found.append((before, _Field(name, match['root'], steps,
                                     rule.suffix(spec, conversion))))
    return found


def _steps(field: _Field) -> tuple[str | int, ...]:
    name, root, steps, ending = field
    if root == 'node':
        if not steps or steps[0][1] == 'traits' or _NO_FIELDS.fullmatch(
                steps[0][1]):
            raise rule.Inconvertible(
                _('{%s} is the text of an object of Ironic') % name)
        if steps[0][1] not in names.NODE - {'auto_discovered'}:
            raise _StaysText
        if steps[0][1] in _TIMES:
            raise rule.Inconvertible(
                _('the time in {%s} is written otherwise here') % name)
    elif root not in ('inventory', 'plugin_data'):
        raise _MissingKey
    for is_attribute, step in steps[root == 'node':]:
        if is_attribute:
            _refuse_attribute(step, name)
    if ending.startswith('!a'):
        raise rule.Inconvertible(_UNKNOWN % name)
    return (root, *(int(step) if step.isdecimal() else step
                    for _is_attribute, step in steps))


def _refuse_attribute(step: str, name: str) -> typing.NoReturn:
    """Refuse a field with an attribute, which no data has."""
    if step in _ATTRIBUTES or step.startswith('_'):
        raise rule.Inconvertible(
            _('{%s} is the text of an object of Python') % name)
    raise _StaysText


def read_turn(value: typing.Any, item: typing.Any,
              again: bool = True) -> typing.Any:
    """Read all texts in a value that a loop fills in.

    :param again: whether the result is formatted once more; it is but for
        what stands in a list.
    """
    if isinstance(value, list):
        return [read_turn(each, item, not isinstance(each, str))
                for each in value]
    if isinstance(value, dict):
        return {read_turn(key, item, False): read_turn(each, item)
                for key, each in value.items()}
    if not isinstance(value, str):
        return value
    try:
        pieces = _parse(value)
        filled = ''.join(_fill(before, field, item, again)
                         for before, field in pieces)
        others = any(field and field.root != interpolation.ITEM
                     for _before, field in pieces)
        if again and others and any(
                set(before) & set('{}') for before, _field in pieces):
            raise rule.Inconvertible(
                _('"%s" is filled in twice by stock Ironic') % value)
        return dataclasses.replace(read(
            filled, value if others and filled != value else None),
            twice=again)
    except _StaysText as exc:
        return Text(rule.escape(value), value,
                    missing_key=isinstance(exc, _MissingKey))


def _fill(before: str, field: _Field | None, item: typing.Any,
          again: bool) -> str:
    """Put an item into a field; ``again`` if it is formatted once more."""
    if not again:
        before = rule.escape(before)
    if field is None:
        return before
    if field.root != interpolation.ITEM:
        return f'{before}{{{field.name}{field.ending}}}'
    value = item
    try:
        for is_attribute, step in field.steps:
            if is_attribute:
                _refuse_attribute(step, field.name)
            value = value[int(step) if step.isdecimal() else step]
        shown = f'{{0{field.ending}}}'.format(value)
    except (LookupError, TypeError, ValueError) as exc:
        raise (_MissingKey if isinstance(exc, KeyError)
               else _StaysText) from exc
    return before + (shown if again else rule.escape(shown))

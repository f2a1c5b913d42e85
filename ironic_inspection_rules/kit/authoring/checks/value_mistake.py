# SPDX-License-Identifier: Apache-2.0

"""Find mistakes in compared values: case, notation, units and patterns.

A mistake is a value that a field never has, because its author probably meant
another value. For example, in ``eq: ["{inventory.cpu.architecture}", amd64]``
the value ``amd64`` is a mistake, because machines report ``x86_64``. The
intended value (``meant``) is ``x86_64``.

The kind of a field is the type of its value, e.g. ``number``. The relation of
the field to the value is the name of a condition, e.g. ``eq`` or ``lt``. The
functions ``_find_…`` return None if they find no mistake.
"""

import re
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.kit.authoring.checks import known_values

# A MAC address or its first pairs, with or without anchors.
_PART_OF_MAC = re.compile(
    r'\^?[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2})*'
    r'[:-]?\$?'
)
# An expression in the notation of other languages: /xeon/i
_REGEX_IN_SLASHES = re.compile(r'/([^/]+)/(?:i|gi|ig)')
_MAC = re.compile(r'(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}')
_VERSION = re.compile(r'[vV]?\d+(?:\.\d+)+')
_BOOLEAN_OF_WORD = {
    'true': True,
    'yes': True,
    'on': True,
    'false': False,
    'no': False,
    'off': False,
}
# A number with thousands separators: 262,144.
_GROUPED_DIGITS = re.compile(r'\d{1,3}(?:,\d{3})+')
# A date or the beginning of a date, with which text is compared.
_ISO_DATE = re.compile(r'\d{4}(?:-\d\d(?:-\d\d(?:T.*)?)?)?')
# Signs that are rare in text that is not a regular expression: ".*", "\d",
# "[ab]+", "(?i", "^…$", "(a|b)".
_SIGNS_OF_REGEX = re.compile(
    r'\.[*+](?!\.)|\\[dDwWsSb.]|\[[^\]\s]+\][*+?{]|'
    r'\(\?[a-z:]|^\^.*\$$|^\([^()]+\|[^()]+\)$'
)
# A word that ends in a star, as in patterns of file names: PowerEdge*
_WORD_WITH_STAR = re.compile(r'[\w. -]*[A-Za-z]{3}\*')
# Parentheses after a word that contain a space or an equals sign, but no sign
# of regular expressions: "(2 cores)" in "CPU (2 cores)".
_PARENTHESES_OF_TEXT = re.compile(
    r'(?<=[\w ])\((?!\?)(?P<inside>[^()|\\\[\]{}*+?]*[= ]'
    r'[^()|\\\[\]{}*+?]*)\)(?![*+?{])'
)

_ORDER_RELATIONS = frozenset(('lt', 'le', 'gt', 'ge'))
_EQUALITY_RELATIONS = frozenset(('eq', 'ne', 'one-of', 'none-of'))


class ComparedField(typing.NamedTuple):
    """The field with which a value is compared.

    :ivar text: the field as messages show it, without braces.
    :ivar value: what is known about its value, e.g. its type.
    """

    text: str
    value: field_value.FieldValue

    @property
    def steps(self) -> field_value.Steps:
        """The steps to the field in the data; empty if they are unknown."""
        return self.value.steps or ()


class ValueMistake(typing.NamedTuple):
    """A mistake in a value, and the intended value if that is clear."""

    message: str
    meant: typing.Any = None

    @classmethod
    def about_field(
        cls,
        text: str,
        compared_field: ComparedField,
        *,
        meant: typing.Any = None,
        **values: typing.Any,
    ) -> 'ValueMistake':
        """Return a mistake whose message names the field.

        :param text: the message with placeholders: ``%(field)s`` for the
            field, ``%(meant)s`` for the intended value, and others.
        :param compared_field: the field.
        :param meant: the intended value; None if it is not clear.
        :param values: the values of the other placeholders.
        """
        message = text % {
            'field': compared_field.text,
            'meant': meant,
            **values,
        }
        return cls(message, meant)


def find_in_value(
    compared_field: ComparedField, relation: str, value: typing.Any
) -> ValueMistake | None:
    """Find the mistake in a value with which a field is compared.

    No machine has this value in the field, e.g. ``amd64`` as the architecture,
    so the author probably meant another value. If all possible values of the
    field are known, any other value is a mistake. If not, the mistake depends
    on the type of the value: a text, a list or a number.

    :param relation: the relation of the field to the value, e.g. ``eq``.
    """
    if value is None:
        # Any field may be null.
        return None
    choices = compared_field.value.choices
    if choices is not None and relation in _EQUALITY_RELATIONS:
        return _find_mistake_in_choice(compared_field, choices, value)
    if isinstance(value, str):
        return _find_mistake_in_text(compared_field, relation, value)
    if isinstance(value, list):
        may_be_list = compared_field.value.type in (None, 'list')
        if may_be_list or relation not in ('eq', 'ne'):
            return None
        return ValueMistake.about_field(
            _('{%(field)s} is no list, and never equal to one; use one-of'),
            compared_field,
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        # Booleans and mappings are not checked.
        return None
    return _find_mistake_in_number(compared_field, relation, value)


def _find_mistake_in_choice(
    compared_field: ComparedField,
    choices: tuple[typing.Any, ...],
    value: typing.Any,
) -> ValueMistake | None:
    """Find the mistake in a value that is none of a field's possible values.

    :param choices: all values that the field may have.
    """
    # Choices are compared in the same way as by eq: 5 and "5" are equal.
    is_value = facts.Fact('', 'eq', value)
    if any(facts.may_be(choice, is_value) for choice in choices):
        return None
    return ValueMistake.about_field(
        _('{%(field)s} is never %(value)s; it is %(all)s'),
        compared_field,
        value=value,
        all=_(' or ').join(map(str, choices)),
    )


def _find_mistake_in_number(
    compared_field: ComparedField, relation: str, value: float
) -> ValueMistake | None:
    """Find the first mistake in a number with which a field is compared.

    The field is a list, a mapping or a text, or has another unit. For example,
    ``{…disks}`` is never 2; the author means ``{…disks | length}``.
    """
    kind = compared_field.value.type
    if kind in field_value.SEQUENCES:
        # If they have attribute='…', max and min return the whole item with
        # the largest or smallest attribute.
        is_item = (
            compared_field.value.made_type == field_value.MAPPING
            and compared_field.value.steps is not None
        )
        if is_item:
            return ValueMistake.about_field(
                _(
                    '{%(field)s} is the item that has it, a mapping, and '
                    "never %(value)s; write {… | map(attribute='…') | min}, "
                    'or max'
                ),
                compared_field,
                value=value,
            )
        return ValueMistake.about_field(
            _(
                '{%(field)s} is a %(kind)s, and never %(value)s; '
                'did you mean {%(field)s | length}?'
            ),
            compared_field,
            kind=kind,
            value=value,
        )
    mistake = _find_wrong_unit(compared_field, value) or find_in_version(
        compared_field.steps, relation, value
    )
    if mistake is not None:
        return mistake
    if relation in _ORDER_RELATIONS and _is_text(compared_field):
        return ValueMistake.about_field(
            _('{%(field)s} is text, which has no order with %(value)s'),
            compared_field,
            value=value,
        )
    return None


def _is_text(compared_field: ComparedField) -> bool:
    """Return whether a field is text that is hardly ever a number.

    Examples are the name of a vendor, and a field with the filter ``upper``.
    """
    if compared_field.value.form:
        return True
    if compared_field.steps[:1] != ('inventory',):
        return False
    return compared_field.steps[-1] in known_values.TEXT_FIELDS


def _find_mistake_in_text(
    compared_field: ComparedField, relation: str, value: str
) -> ValueMistake | None:
    """Find the first mistake in a text with which a field is compared.

    The text has another type than the field, is a regular expression, or is
    not written in the way in which machines report it, e.g. a MAC address in
    upper case.
    """
    kind = compared_field.value.type
    if kind == 'boolean' and value:
        return ValueMistake.about_field(
            _('{%(field)s} is true or false, never the text "%(value)s"'),
            compared_field,
            meant=_BOOLEAN_OF_WORD.get(value.lower()),
            value=value,
        )
    if kind in field_value.SEQUENCES and value:
        return ValueMistake.about_field(
            _('{%(field)s} is a %(kind)s, never the text "%(value)s"'),
            compared_field,
            kind=kind,
            value=value,
        )
    if kind == 'number' and facts.as_number(value) is None:
        return _find_text_for_number(compared_field, relation, value)
    if relation in _EQUALITY_RELATIONS and _SIGNS_OF_REGEX.search(value):
        return ValueMistake.about_field(
            _(
                '"%(value)s" is compared as it is written; for a '
                'regular expression use matches or contains'
            ),
            compared_field,
            value=value,
        )
    return (
        _find_wrong_form(compared_field, value)
        or _find_wrong_mac(compared_field, value)
        or _find_wrong_word(compared_field, value)
        or find_in_version(compared_field.steps, relation, value)
    )


def _find_text_for_number(
    compared_field: ComparedField, relation: str, value: str
) -> ValueMistake | None:
    """Find the mistake in text with which a number is compared: "262,144".

    :param relation: the relation of the field to the text, e.g. ``eq``.
    """
    if _GROUPED_DIGITS.fullmatch(value):
        return ValueMistake.about_field(
            _(
                '{%(field)s} is a number, and "%(value)s" is no '
                'number; did you mean %(meant)s?'
            ),
            compared_field,
            meant=int(value.replace(',', '')),
            value=value,
        )
    if known_values.QUANTITY.fullmatch(value):
        # shape.check_units() reports a text such as "8 GB".
        return None
    if relation in _EQUALITY_RELATIONS or relation in _ORDER_RELATIONS:
        return ValueMistake.about_field(
            _('{%(field)s} is a number, never the text "%(value)s"'),
            compared_field,
            value=value,
        )
    return None


def _find_wrong_form(
    compared_field: ComparedField, value: str
) -> ValueMistake | None:
    """Find the mistake in a value that a field never has because of a filter.

    For example, ``{… | lower}`` is never "Dell".
    """
    form = compared_field.value.form
    if form == field_value.LOWER and value != value.lower():
        return _slip_of_letter_case(compared_field, value, value.lower())
    if form == field_value.UPPER and value != value.upper():
        return _slip_of_letter_case(compared_field, value, value.upper())
    if form in (field_value.DATE, field_value.TIME) and (
        not _ISO_DATE.fullmatch(value)
    ):
        return ValueMistake.about_field(
            _(
                '{%(field)s} is a date as ISO 8601 has it, such as '
                '2022-12-31, never "%(value)s"'
            ),
            compared_field,
            value=value,
        )
    return None


def _slip_of_letter_case(
    compared_field: ComparedField, value: str, meant: str
) -> ValueMistake:
    """Return the mistake in a value whose letters have the wrong case.

    It is not corrected automatically, because the filter may be the mistake.
    """
    mistake = ValueMistake.about_field(
        _(
            '{%(field)s} has no letters in the case of '
            '"%(value)s"; did you mean "%(meant)s"?'
        ),
        compared_field,
        meant=meant,
        value=value,
    )
    return mistake._replace(meant=None)


def is_mac(steps: field_value.Steps | None) -> bool:
    """Return whether a field is a MAC address.

    :param steps: the steps to the field, e.g. ``('ports', '0', 'address')``.
    """
    if not steps:
        return False
    if steps[0] == 'ports' and steps[-1] == 'address':
        return True
    return steps[-1] in ('mac_address', 'bmc_mac')


def _find_wrong_mac(
    compared_field: ComparedField, value: str
) -> ValueMistake | None:
    """Find the mistake in a MAC address such as ``52-54-00-12-34-56``.

    Machines report the address as ``52:54:00:12:34:56``.
    """
    if not is_mac(compared_field.steps) or not _MAC.fullmatch(value):
        return None
    meant = value.lower().replace('-', ':')
    if meant == value:
        return None
    return ValueMistake.about_field(
        _(
            '{%(field)s} is in lower case with colons, never '
            '"%(value)s"; did you mean "%(meant)s"?'
        ),
        compared_field,
        meant=meant,
        value=value,
    )


def _find_wrong_word(
    compared_field: ComparedField, value: str
) -> ValueMistake | None:
    """Find the mistake in a word for which machines report another word.

    For example, they report ``x86_64`` instead of ``amd64``.
    """
    # Other names of each word, by the word that machines report.
    other_names = known_values.WORDS.get(compared_field.steps, {})
    if value in other_names:
        # A machine may report it.
        return None
    for word, names in other_names.items():
        if value.lower() in (word, *names):
            return ValueMistake.about_field(
                _(
                    '{%(field)s} is never "%(value)s"; did you mean '
                    '"%(meant)s"?'
                ),
                compared_field,
                meant=word,
                value=value,
            )
    return None


def find_in_version(
    steps: field_value.Steps, relation: str, value: typing.Any
) -> ValueMistake | None:
    """Find the mistake if versions are compared as text or numbers.

    An example is ``lt`` on a field whose name contains "version".

    :param steps: the steps to the field in the data.
    :param relation: the relation of the field to the value, e.g. ``lt``.
    """
    if not steps or 'version' not in steps[-1]:
        return None
    if relation not in _ORDER_RELATIONS:
        return None
    # A text that is not a version may be a word. Any number is a mistake: 2.10
    # is the number 2.1, which is less than 2.9.
    if isinstance(value, str) and not _VERSION.fullmatch(value):
        return None
    return ValueMistake(
        _(
            'versions are not in order as text or numbers: 2.10 is '
            'above 2.9; use version-%s'
        )
        % relation
    )


def _find_wrong_unit(
    compared_field: ComparedField, value: float
) -> ValueMistake | None:
    """Find the mistake in a number that has another unit than the field.

    The size of the number shows this, e.g. 64 for memory in MiB. Sizes of
    memory and disks, frequencies of processors and speeds of networks are
    checked.
    """
    steps = compared_field.steps
    if not steps:
        return None
    name = steps[-1]
    is_of_inspection = steps[0] in ('inventory', 'plugin_data')
    is_in_bytes = name in ('size', 'total') and is_of_inspection
    if is_in_bytes and 0 < value < known_values.SMALLEST_BYTES:
        return ValueMistake.about_field(
            _(
                '{%(field)s} is in bytes; did you mean %(gib)d, '
                'which is %(value)s GiB?'
            ),
            compared_field,
            value=value,
            gib=value * 2**30,
        )
    if name == 'physical_mb' and value in known_values.USUAL_GIBIBYTES:
        return ValueMistake.about_field(
            _(
                '{%(field)s} is in MiB; did you mean %(mib)d, which '
                'is %(value)s GiB?'
            ),
            compared_field,
            value=value,
            mib=value * 1024,
        )
    if name == 'physical_mb' and value >= known_values.LARGEST_MEBIBYTES:
        return ValueMistake.about_field(
            _(
                '{%(field)s} is in MiB, of which %(value)s are '
                "hardly any machine's"
            ),
            compared_field,
            value=value,
        )
    if name == 'frequency' and 0 < value < known_values.SLOWEST_MHZ:
        return ValueMistake.about_field(
            _(
                '{%(field)s} is in MHz; did you mean %(mhz)d, which '
                'is %(value)s GHz?'
            ),
            compared_field,
            value=value,
            mhz=value * 1000,
        )
    if name == 'speed_mbps' and value in known_values.USUAL_GIGABITS:
        return ValueMistake.about_field(
            _(
                '{%(field)s} is in Mbit/s; did you mean %(mbit)d, '
                'which is %(value)s Gbit/s?'
            ),
            compared_field,
            value=value,
            mbit=value * 1000,
        )
    return None


def find_in_pattern(
    compared_field: ComparedField, regex: str, whole: bool
) -> ValueMistake | None:
    """Find the first mistake in a regular expression for a field.

    It matches no machine, or something that the author did not mean:

    - It matches none of the words that the field may have.
    - It is a word in the wrong letter case after ``lower`` or ``upper``.
    - It is a part of a MAC address, in upper case or with dashes.
    - It is written like in other languages: ``/xeon/i`` or ``PowerEdge*``.
    - It has parentheses that are probably part of the text.

    :param whole: whether it must match the whole value, as in ``matches``.
    """
    mistake = _find_unmatched_words(compared_field, regex)
    if mistake is not None:
        return mistake
    if re.fullmatch(r'\^?[\w -]+\$?', regex):
        # The expression is a plain word, e.g. "DELL", which {… | lower} never
        # is.
        mistake = _find_wrong_form(compared_field, regex)
        if mistake is not None:
            return mistake
    if is_mac(compared_field.steps) and _PART_OF_MAC.fullmatch(regex):
        meant = regex.lower().replace('-', ':')
        if meant != regex:
            return ValueMistake.about_field(
                _(
                    '{%(field)s} is in lower case with colons, and '
                    '"%(regex)s" matches none; did you mean '
                    '"%(meant)s"?'
                ),
                compared_field,
                meant=meant,
                regex=regex,
            )
    slashes = _REGEX_IN_SLASHES.fullmatch(regex)
    if slashes:
        return ValueMistake.about_field(
            _(
                'a slash is text, and no letters follow a regular '
                'expression; did you mean "%(meant)s"?'
            ),
            compared_field,
            meant=f'(?i){slashes[1]}',
        )
    if whole and _WORD_WITH_STAR.fullmatch(regex):
        return ValueMistake.about_field(
            _(
                'the star in "%(regex)s" repeats the letter before '
                'it; did you mean "%(meant)s"?'
            ),
            compared_field,
            meant=f'{regex[:-1]}.*',
            regex=regex,
        )
    return _find_literal_parentheses(compared_field, regex)


def _find_unmatched_words(
    compared_field: ComparedField, regex: str
) -> ValueMistake | None:
    """Find the mistake in an expression that matches no word of a field.

    All words of such a field are known. For example, ``^amd`` matches no
    architecture.
    """
    words = known_values.WORDS.get(compared_field.steps)
    plain = re.sub(r'\(\?i\)', '', regex)
    if not words or not re.fullmatch(r'[\^$\w|()-]+', plain):
        # Other expressions may match more than the known words.
        return None
    flags = 0
    if plain != regex:
        flags = re.IGNORECASE
    if any(re.search(plain, word, flags) for word in words):
        return None
    return ValueMistake.about_field(
        _('{%(field)s} is one of %(words)s, and none matches "%(regex)s"'),
        compared_field,
        regex=regex,
        words=', '.join(words),
    )


def _find_literal_parentheses(
    compared_field: ComparedField, regex: str
) -> ValueMistake | None:
    """Find parentheses without backslashes that are probably part of the text.

    The author of "CPU (2 cores)" means "CPU \\(2 cores\\)". Without the
    backslashes, the parentheses are a group, and the expression only matches
    "CPU 2 cores".
    """
    parentheses = _PARENTHESES_OF_TEXT.search(regex)
    if parentheses is None:
        return None
    inside = parentheses['inside']
    if not inside.strip('='):
        # "(=)" and "(==)" are unlikely in a text, so the group may be
        # intended.
        return None
    before = regex[: parentheses.start()]
    after = regex[parentheses.end() :]
    meant = rf'{before}\({inside}\){after}'
    return ValueMistake.about_field(
        _(
            'the parentheses in "%(regex)s" make a group and '
            'match none in the text; did you mean '
            '"%(meant)s"?'
        ),
        compared_field,
        meant=meant,
        regex=regex,
    )


def find_in_truth_test(
    compared_field: ComparedField, op: str
) -> ValueMistake | None:
    """Find the mistake if ``is-true`` or ``is-false`` holds for no machine.

    Lists and mappings are neither true nor false, and texts in the inventory
    are never "yes" or "true".

    :param op: ``is-true`` or ``is-false``.
    """
    kind = compared_field.value.type
    if kind in field_value.SEQUENCES:
        return ValueMistake.about_field(
            _(
                '{%(field)s} is a %(kind)s, which is never true and '
                'never false; use is-empty'
            ),
            compared_field,
            kind=kind,
        )
    is_of_inventory = compared_field.steps[:1] == ('inventory',)
    if op == 'is-true' and kind == 'text' and is_of_inventory:
        return ValueMistake.about_field(
            _(
                '{%(field)s} is text that is never "yes" or "true"; '
                'compare it with eq, or use !is-empty'
            ),
            compared_field,
        )
    return None

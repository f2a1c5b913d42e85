# SPDX-License-Identifier: Apache-2.0

"""Replace the identifiers in the texts of machines.

Identifiers are found in two ways. Known identifiers are values that fields of
the machine have, such as its serial number in the field ``serial_number``.
Other identifiers are recognized by their form, such as MAC addresses.
"""

from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import field
from ironic_inspection_rules.kit.machine.anonymity import form
from ironic_inspection_rules.kit.machine.anonymity import identifier
from ironic_inspection_rules.kit.machine.anonymity import known
from ironic_inspection_rules.kit.machine.anonymity import learning

Form = identifier.Form
Kind = field.FieldKind

# Kinds of fields in whose texts only the identifiers are replaced.
_KINDS_OF_FREE_TEXT = frozenset(
    (Kind.OTHER, Kind.TEXT, Kind.VERSION, Kind.MAYBE_VERSION)
)
_FORMS_THAT_SAY_LITTLE = frozenset((Form.SITE, Form.KEPT, Form.DATE))
_FORMS_LIKE_VERSION = frozenset((Form.QUAD, Form.DASHED_QUAD))
_HARDWARE_ADDRESSES = frozenset((Form.OCTETS, Form.WWN))
_MIN_LENGTH_OF_MAC = 12  # Characters.
_LENGTH_OF_IQN_AND_DATE = len('iqn.2026-11.')
_MIN_LENGTH_IN_VERSION = 6
_MIN_LENGTH_IN_DATE = 8


class IdentifierReplacer:
    """Replaces identifiers that are recognized by their form.

    :ivar forms: makes the replacements.
    """

    def __init__(self, forms: form.FormReplacer) -> None:
        self.forms = forms

    def replace(self, identified: identifier.Identifier, text: str) -> str:
        """Replace an identifier in a text by another one of the same form.

        The replacement of a MAC address is, for example, another MAC address,
        so that rules which compare or convert the original still work. An
        identifier that identifies nothing, such as the site "unknown", stays.

        :param text: the text that contains the identifier.
        """
        original = text[identified.start : identified.end]
        match identified.form:
            case Form.UUID:
                return self.forms.uuid(original)
            case Form.OCTETS:
                return self.forms.replace_octets(original)
            case Form.WWN:
                return self.forms.wwn(original)
            case Form.EMAIL:
                return '@'.join(map(self.forms.text, original.split('@')))
            case Form.SITE:
                if field.says_nothing(original):
                    return original
                return self.forms.text(original)
            case Form.QUALIFIED:
                # In "iqn.2026-11.com.example:disk", a name follows the month.
                return original[:_LENGTH_OF_IQN_AND_DATE] + self.replace_name(
                    original[_LENGTH_OF_IQN_AND_DATE:]
                )
            case Form.KEPT | Form.DATE:
                return original
            case Form.DASHED | Form.DASHED_QUAD:
                return self.forms.quad(original)
            case Form.REVERSE:
                return self._replace_reverse(original)
        # All other forms are notations of IP addresses and networks.
        return self.forms.address(original) or original

    def _replace_reverse(self, name: str) -> str:
        """Replace the address that the name of a reverse zone contains.

        :param name: the name, e.g. ``1.0.0.10.in-addr.arpa``.
        """
        host = address.from_reverse(name)
        if host is None:
            return name
        replacement = self.forms.address(host) or host
        return address.to_reverse(replacement, name)

    def replace_name(self, text: str) -> str:
        """Replace all of a name; identifiers in it are replaced by their form.

        In "db-10.0.0.5" the address becomes another address, and "db-" becomes
        other letters. Dates, times, PCI addresses, and four numbers that no
        host has as an address, are replaced like other text.
        """
        replaced = ''
        end = 0
        for identified in identifier.find(text):
            if identified.form in (Form.KEPT, Form.DATE):
                continue
            original = text[identified.start : identified.end]
            replacement = self.replace(identified, text)
            if identified.form is Form.QUAD and replacement == original:
                # In a name, the numbers may be a place such as "0.3.12.4",
                # which must not stay.
                continue
            replaced += self.forms.text(text[end : identified.start])
            replaced += replacement
            end = identified.end
        return replaced + self.forms.text(text[end:])


class TextReplacer:
    """Replaces identifiers in the texts of a machine.

    :param replacer: replaces the identifiers that are recognized by their
        form.
    :param learned: the identifiers that were learned from the names of fields
        in the data of the machine.
    """

    def __init__(
        self, replacer: IdentifierReplacer, learned: known.KnownIdentifiers
    ) -> None:
        self._replacer = replacer
        self._learned = learned
        # Texts with their identifiers replaced. The key is the original text
        # and whether it was treated as a version.
        self._cache: dict[tuple[str, bool], str] = {}

    def replace_in_field(self, text: str, kind: Kind) -> str:
        """Replace identifiers in the text of a field, and mask secrets.

        In the field of a name, such as ``hostname``, the whole text is
        replaced. The same is done for a name in the field of an address or of
        a WWN. In all other fields, only the identifiers in the text are
        replaced.

        :param kind: the kind of the field.
        """
        masked = disclosure.mask_text(text)
        # Placeholders such as "unknown" are not names, and stay.
        if kind in _KINDS_OF_FREE_TEXT or field.says_nothing(masked):
            is_version = field.is_version(masked, kind)
            return self.replace_identifiers(masked, is_version)
        if kind is Kind.WWN and learning.ANY_WWN.fullmatch(masked):
            return self._replacer.forms.wwn(masked)
        may_be_mac = kind in (Kind.ADDRESS, Kind.SWITCH)
        if may_be_mac and learning.BARE_OCTETS.fullmatch(masked):
            return self._replacer.forms.replace_octets(masked)
        # An address that is only a part of a host name, as in "ip-10-0-0-1",
        # does not count.
        has_address = identifier.is_any_outside_host_names(
            identifier.find(masked)
        )
        if kind is Kind.ADDRESS and has_address:
            return self.replace_identifiers(masked)
        # The text is the name of a machine, a switch, a host or a disk.
        return self.replace_name(masked)

    def replace_name(self, text: str) -> str:
        """Replace the whole text, which is a name.

        A known name has the same replacement as in other texts.
        """
        replacement = self._learned.replace_name(text)
        if replacement is None:
            return self._replacer.replace_name(text)
        return replacement

    def replace_identifiers(self, text: str, is_version: bool = False) -> str:
        """Replace the identifiers in a text, and mask secrets.

        The text between the identifiers stays.

        :param is_version: whether four numbers in the text are a version
            rather than an IP address.
        """
        # The same names of fields occur many times.
        cached = self._cache.get((text, is_version))
        if cached is not None:
            return cached
        # Secrets are masked first. Identifiers are searched for in the
        # remaining text.
        masked = disclosure.mask_text(text)
        replaced = ''
        end = 0
        for identified in self._find_identifiers(masked, is_version):
            replaced += masked[end : identified.start]
            replaced += identified.replacement
            end = identified.end
        replaced += masked[end:]
        self._cache[text, is_version] = replaced
        return replaced

    def _find_identifiers(
        self, text: str, is_version: bool
    ) -> list[known.ReplacedSpan]:
        """Return the identifiers to replace in a text, without overlaps.

        Some are found because the machine is known to have them, others by
        their form. If a known identifier is only a part of an address, e.g. a
        short serial number, the address is replaced. If it is more than an
        address, the known identifier is replaced. :func:`_wins_over` describes
        all cases.

        :param is_version: whether the text is treated as a version. In a
            version, four numbers stay, and so do short numbers that are known
            identifiers.
        """
        by_form = _find_by_form(text, is_version)
        known_spans = []
        for candidate in self._learned.find(text):
            original = text[candidate.start : candidate.end]
            is_short_number = (
                len(original) < _MIN_LENGTH_IN_VERSION and original.isdecimal()
            )
            if is_version and is_short_number:
                # The number may be a part of the version.
                continue
            if _wins_over_all(candidate, by_form):
                known_spans.append(candidate)
        spans = list(known_spans)
        for identified in by_form:
            is_taken = any(_overlaps(span, identified) for span in known_spans)
            if not is_taken:
                start, end, _form = identified
                replacement = self._replacer.replace(identified, text)
                spans.append(known.ReplacedSpan(start, end, replacement))
        # The spans are sorted from left to right.
        return sorted(spans)


def _wins_over_all(
    candidate: known.ReplacedSpan, by_form: list[identifier.Identifier]
) -> bool:
    """Return whether a known identifier wins over all those that it overlaps.

    :param candidate: the known identifier.
    :param by_form: the identifiers in the text that were found by their form.
    """
    for identified in by_form:
        if _overlaps(candidate, identified):
            if not _wins_over(candidate, identified):
                return False
    return True


def _find_by_form(text: str, is_version: bool) -> list[identifier.Identifier]:
    """Return the identifiers in a text that are recognized by their form.

    :param is_version: whether four numbers in the text are a version.
    """
    forms_of_version = {Form.VERSION}
    if is_version:
        forms_of_version |= _FORMS_LIKE_VERSION
    by_form = []
    for identified in identifier.find(text):
        if identified.form in forms_of_version:
            # A version stays, unless all of it is a known identifier. The form
            # KEPT is not replaced.
            identified = identified._replace(form=Form.KEPT)
        by_form.append(identified)
    return by_form


def _wins_over(
    candidate: known.ReplacedSpan, identified: identifier.Identifier
) -> bool:
    """Return whether a known identifier wins over one found by its form.

    A known identifier is a value of some field of the machine, such as its
    serial number. The other one only looks like an identifier, such as a MAC
    address. If they overlap in a text, only one of them can be replaced. The
    known identifier wins in four cases:

    * The other one is a MAC address or a worldwide unique number, and it ends
      with the known one, which has at least twelve characters. The other one
      may begin with a type or a prefix.
    * The other one is a date, and the known one has at least eight characters.
    * The known one contains the other one and is longer. Otherwise the rest of
      the known one would stay readable.
    * Both have the same characters, and the form of the other one says little:
      the host in a URL, a date, a time, a PCI address or a version.

    :param candidate: the known identifier.
    :param identified: the identifier that was found by its form.
    """
    length = candidate.end - candidate.start
    # For example, "ff:00:00:52:54:00:12:34:56" ends with a MAC address. If the
    # MAC address is known, it gets the same replacement as in other texts. If
    # the longer address were replaced as a whole, the replacement would be
    # unrelated.
    ends_alike = candidate.end == identified.end
    is_address_without_prefix = ends_alike and length >= _MIN_LENGTH_OF_MAC
    if identified.form in _HARDWARE_ADDRESSES and is_address_without_prefix:
        return True
    # A serial number may look like a date, and be followed by a time. Shorter
    # serial numbers would be found in the year of any date.
    if identified.form is Form.DATE and length >= _MIN_LENGTH_IN_DATE:
        return True
    begins_before = candidate.start <= identified.start
    holds_all = begins_before and candidate.end >= identified.end
    if not holds_all:
        return False
    other_length = identified.end - identified.start
    if length > other_length:
        return True
    # If the characters are the same, a known name says more than the host of a
    # URL, and a known address says more than four numbers that look like a
    # version.
    return identified.form in _FORMS_THAT_SAY_LITTLE


def _overlaps(
    candidate: known.ReplacedSpan, identified: identifier.Identifier
) -> bool:
    """Return whether two identifiers share a character of the text."""
    if candidate.end <= identified.start:
        return False
    return identified.end > candidate.start

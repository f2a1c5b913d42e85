# SPDX-License-Identifier: Apache-2.0

"""Anonymous texts of machines: the identifiers in them are replaced."""

from collections.abc import Iterable

from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.kit.machine.anonymity import address
from ironic_inspection_rules.kit.machine.anonymity import field
from ironic_inspection_rules.kit.machine.anonymity import form
from ironic_inspection_rules.kit.machine.anonymity import identifier
from ironic_inspection_rules.kit.machine.anonymity import known
from ironic_inspection_rules.kit.machine.anonymity import learning

Form = identifier.Form
Kind = field.FieldKind

# Kinds of fields in whose texts only identifiers are replaced.
_FREE_TEXTS = frozenset(
    (Kind.OTHER, Kind.TEXT, Kind.VERSION, Kind.MAYBE_VERSION)
)
_LESS_EXACT = frozenset((Form.SITE, Form.KEPT))
_LIKE_VERSION = frozenset((Form.QUAD, Form.DASHED_QUAD))
_OF_HARDWARE = frozenset((Form.OCTETS, Form.WWN))
_SHORTEST_OCTETS = 12  # Characters.
_DATE = len('iqn.2026-11.')
_SHORTEST_IN_VERSION = 6


class Replacer:
    """Replaces identifiers by their form.

    :ivar forms: makes the replacements.
    """

    def __init__(self, forms: form.Forms) -> None:
        self.forms = forms

    def of(self, identified: identifier.Identifier, text: str) -> str:
        """Replace an identifier of a text by another one of the same form.

        Rules, filters and checks take the replacement as they take the
        original. An identifier that identifies nothing, such as the site
        "unknown", stays.
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
                # After "iqn." and a month comes a name.
                return original[:_DATE] + self.name(original[_DATE:])
            case Form.KEPT:
                return original
            case Form.DASHED | Form.DASHED_QUAD:
                return self.forms.quad(original)
            case Form.REVERSE:
                return self._replace_reverse(original)
        # All other forms are IP addresses and networks.
        return self.forms.address(original) or original

    def _replace_reverse(self, name: str) -> str:
        """Replace the address in the name of a reverse zone."""
        host = address.from_reverse(name)
        if host is None:
            return name
        replacement = self.forms.address(host) or host
        return address.to_reverse(replacement, name)

    def name(self, text: str) -> str:
        """Replace a name: identifiers in it by their form, and all other text.

        A date in the name is replaced like other text.
        """
        replaced = ''
        end = 0
        for identified in identifier.find(text):
            if identified.form is Form.KEPT:
                continue
            original = text[identified.start : identified.end]
            replacement = self.of(identified, text)
            if identified.form is Form.QUAD and replacement == original:
                # Like a netmask, but the name of a place: "0.3.12.4".
                continue
            replaced += self.forms.text(text[end : identified.start])
            replaced += replacement
            end = identified.end
        return replaced + self.forms.text(text[end:])


class Texts:
    """Replaces identifiers in the texts of a machine.

    :param learned: identifiers of the machine.
    """

    def __init__(self, replacement: Replacer, learned: known.Known) -> None:
        self._replacement = replacement
        self._forms = replacement.forms
        self._learned = learned
        # Replaced texts, by the text and whether it names a version.
        self._done: dict[tuple[str, bool], str] = {}

    def replaced(self, text: str, kind: Kind) -> str:
        """Replace identifiers in the text of a field, and mask secrets.

        In the field of a name or an address all of the text is replaced, in
        other fields only the identifiers in the text.
        """
        masked = disclosure.free_text(text)
        # "unknown" and the like are no name, and stay.
        if kind in _FREE_TEXTS or field.says_nothing(masked):
            return self.mended(masked, field.is_version(masked, kind))
        if kind is Kind.WWN and learning.BARE_WWN.fullmatch(masked):
            return self._forms.wwn(masked)
        may_be_mac = kind in (Kind.ADDRESS, Kind.SWITCH)
        if may_be_mac and learning.BARE_OCTETS.fullmatch(masked):
            return self._forms.replace_octets(masked)
        has_address = identifier.is_any_whole(identifier.find(masked))
        if kind is Kind.ADDRESS and has_address:
            return self.mended(masked)
        return self.name(masked)

    def name(self, text: str) -> str:
        """Replace all of a text, which is a name."""
        return self._learned.name(text) or self._replacement.name(text)

    def mended(self, text: str, version: bool = False) -> str:
        """Replace the identifiers in a text, and mask secrets.

        The text between the identifiers stays.

        :param version: whether four numbers with dots are a version rather
            than an IP address.
        """
        # From a cache, as the same names of fields come again and again.
        cached = self._done.get((text, version))
        if cached is not None:
            return cached
        # Secrets go before identifiers are looked for.
        masked = disclosure.free_text(text)
        mended = ''
        end = 0
        for place in self._find_identifiers(masked, version):
            mended += masked[end : place.start] + place.replacement
            end = place.end
        mended += masked[end:]
        self._done[text, version] = mended
        return mended

    def _find_identifiers(
        self, text: str, version: bool
    ) -> list[known.KnownIdentifier]:
        """Return the identifiers to replace in a text, without overlaps.

        If a known identifier is only a part of an address, as a short serial
        number may be, the address is replaced. Otherwise the known identifier
        is replaced.

        :param version: whether the text is taken for a version: four numbers
            in it stay, and short numbers that are known identifiers.
        """
        by_form = [
            _keep_if_version(identified, version)
            for identified in identifier.find(text)
        ]
        places = []
        for place in self._learned.find(text):
            if version and _is_short_number(text, place):
                continue
            if not _is_part_of_any(place, by_form):
                places.append(place)
        rest = []
        for identified in by_form:
            if not any(_overlaps(place, identified) for place in places):
                replacement = self._replacement.of(identified, text)
                start = identified.start
                end = identified.end
                rest.append(known.KnownIdentifier(start, end, replacement))
        return sorted(places + rest)


def _is_short_number(text: str, place: known.KnownIdentifier) -> bool:
    """Return whether an identifier could as well be a number of a version."""
    is_short = place.end - place.start < _SHORTEST_IN_VERSION
    return is_short and text[place.start : place.end].isdecimal()


def _is_part_of_any(
    place: known.KnownIdentifier, by_form: Iterable[identifier.Identifier]
) -> bool:
    """Return whether a known identifier is only a part of another identifier.

    The rest of the other one would not be replaced; see
    :func:`_goes_before`.

    :param by_form: the identifiers that were found by their form.
    """
    for identified in by_form:
        if _overlaps(place, identified) and not _goes_before(
            place, identified
        ):
            return True
    return False


def _keep_if_version(
    identified: identifier.Identifier, version: bool
) -> identifier.Identifier:
    """Return an identifier, with the form ``KEPT`` if it is a version.

    :param version: whether four numbers in the text are a version.
    """
    is_version = version and identified.form in _LIKE_VERSION
    if identified.form is Form.VERSION or is_version:
        return identified._replace(form=Form.KEPT)
    return identified


def _goes_before(
    place: known.KnownIdentifier, identified: identifier.Identifier
) -> bool:
    """Return whether a known identifier is replaced rather than another one.

    The two overlap in a text, and only one is replaced. The known identifier
    is if it holds all of the other and is longer; also if both are the same
    characters, which are a host in a URL or look like a version.

    :param identified: the other identifier, which was found by its form.
    """
    # A long known identifier at the end of an address of hardware is that
    # address without a type or a prefix. Only so it gets the replacement that
    # the same MAC address has elsewhere.
    is_long = place.end - place.start >= _SHORTEST_OCTETS
    ends_alike = place.end == identified.end
    if identified.form in _OF_HARDWARE and ends_alike and is_long:
        return True
    holds_all = place.start <= identified.start and place.end >= identified.end
    if not holds_all:
        return False
    is_longer = (place.start, place.end) != (identified.start, identified.end)
    # Of the same characters, a known name says more than the host of a URL,
    # and a known address more than four numbers like those of a version.
    return is_longer or identified.form in _LESS_EXACT


def _overlaps(
    place: known.KnownIdentifier, identified: identifier.Identifier
) -> bool:
    """Return whether two identifiers have a character in common."""
    return place.start < identified.end and identified.start < place.end

# SPDX-License-Identifier: Apache-2.0

"""Data of machines without what identifies them."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import re
from typing import Any

from ironic_inspection_rules.engine import masking
from ironic_inspection_rules.machine.anonymity import field
from ironic_inspection_rules.machine.anonymity import form
from ironic_inspection_rules.machine.anonymity import lldp

_HEX = '[0-9A-Fa-f]'
_PATTERNS = {
    'uuid': rf'(?<!{_HEX}){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}'
            rf'(?!{_HEX})',
    'octets': rf'(?<![0-9A-Za-z:]){_HEX}{{2}}(?:(?::{_HEX}{{2}}){{5,}}'
              rf'|(?:-{_HEX}{{2}}){{5,}})(?![0-9A-Za-z])'
              rf'|(?<![0-9A-Za-z.]){_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}'
              r'(?![0-9A-Za-z.])'
              rf'|(?<=\benx){_HEX}{{12}}(?![0-9A-Za-z])',
    'wwn': rf'(?<![0-9A-Za-z])(?:0[xX]{_HEX}{{12,}}'
           rf'|(?:naa|eui)\.{_HEX}{{12,}})(?![0-9A-Za-z])',
    'email': r'(?<![\w.+-])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+',
    'site': r'(?<=://)(?!\d+\.\d+\.\d+\.\d+)[A-Za-z0-9-]+'
            r'(?:\.[A-Za-z0-9-]+)+',
    'qualified': r'(?<![0-9A-Za-z])[in]qn\.\d{4}-\d\d\.\S+',
    'address': r'(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}'
               rf'|(?={_HEX}*:{_HEX}*:)[0-9A-Fa-f:]+(?:\d+(?:\.\d+){{3}})?)'
               r'(?:/\d{1,3})?(?![\w:]|\.\d)',
}
_SECRET_NAMES = (r'(?:[\w.-]*(?:pass(?:word|wd|phrase)|pwd|token|secret'
                 r'|credential|signature)|[\w.-]*[_.-](?:api|ssh)?key'
                 r'|(?:api|ssh)?key|rootpw)')
_SECRETS = re.compile('|'.join((
    r'-----BEGIN [^-\n]{1,60}-----.*?(?:-----END [^-\n]{1,60}-----|\Z)',
    r'(?<=://)[^\s/@]+(?=@)',
    r'(?i:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/=-]{8,}',
    r'(?:(?<=ssh-rsa )|(?<=ssh-dss )|(?<=ssh-ed25519 )|(?<=nistp256 )'
    r'|(?<=nistp384 )|(?<=nistp521 )|(?<=openssh.com ))'
    r'[A-Za-z0-9+/]{20,}={0,3}',
    r'(?<=SHA256:)[A-Za-z0-9+/]{43}=?',
    rf'(?i:(?P<name>(?<![\w.-]){_SECRET_NAMES}[\'"]?\s?[=:]\s?))'
    r'(?:"[^"]*"|\'[^\']*\'|[^\s&;,"\']+)')), re.DOTALL)
"""Secrets in free text: nothing tells their form but what is around them."""

_QUALIFIER = re.compile(r'[in]qn\.\d{4}-\d\d\.')
_BARE = re.compile(rf'{_HEX}{{12}}|{_HEX}{{16}}|{_HEX}{{40}}')
_BARE_WWN = re.compile(rf'{_HEX}{{8,}}')
_SHORTEST_KNOWN = 4
_SHORTEST_SECRET = 5
_NO_DIGIT = re.compile(r'[^0-9:]*')
_LLDP = ('lldp', 'lldp_raw')
_ITEM = 4
"""Parts of what hardware-detect tells: class, device, name, value."""


class Anonymizer:
    """Replaces what tells which machine it is, consistently.

    Serial numbers, addresses, names and UUIDs become others of the same
    form, the same one the same everywhere; what tells which model it is
    stays. Secrets go, also those in text that have the form of one: in URLs,
    behind ``token=`` and the like, keys. The logs of the ramdisk go.

    :param key: whoever has it gets the same replacements again.
    """

    def __init__(self, key: bytes) -> None:
        self._forms = form.Forms(key)

    def name(self, text: str) -> str:
        """Replace a name, of a node or a host."""
        return self._forms.text(text)

    def uuid(self, text: str) -> str:
        """Replace a UUID."""
        return self._forms.uuid(text)

    def machine(self, data: Mapping[str, Any], names: Iterable[str] = ()
                ) -> dict[str, Any]:
        """Return a machine that cannot be told from others of its kind.

        :param data: ``inventory`` and ``plugin_data``, not changed.
        :param names: by which it is known besides those in the data.
        """
        shown = masking.mask(dict(data))
        known = {*_identifiers(shown, field.Kind.OTHER), *names}
        return _Document(self._forms, known).mapping(shown)


class _Document:
    """Replaces what is in one document.

    :param known: texts that are identifiers, wherever they stand.
    """

    def __init__(self, forms: form.Forms, known: Iterable[str]) -> None:
        self._forms = forms
        self._known = _replacements(forms, known)
        patterns = dict(_PATTERNS)
        if self._known:
            words = '|'.join(re.escape(word) for word in sorted(
                self._known, key=len, reverse=True))
            patterns = {'known': rf'(?<![0-9A-Za-z])(?:{words})'
                                 r'(?![0-9A-Za-z])', **patterns}
        self._pattern = _combined(patterns)
        self._words = re.compile(patterns.get('known', r'(?!)'))
        patterns.pop('address')
        self._without_addresses = _combined(patterns)
        self._frames = lldp.Frames(forms, self._mended)

    def mapping(self, data: Mapping[str, Any], parent: str = '',
                inherited: field.Kind = field.Kind.OTHER) -> dict[str, Any]:
        made = {}
        for name, value in data.items():
            kind = field.kind(name, parent)
            if kind is field.Kind.DROPPED:
                continue
            if kind is field.Kind.OTHER:
                kind = inherited
            if name in _LLDP:
                made[name] = self._lldp(value)
            else:
                made[self._mended(name)] = self._value(value, kind, name)
        return made

    def _value(self, value: Any, kind: field.Kind, name: str) -> Any:
        if isinstance(value, str):
            return self._text(value, kind)
        if isinstance(value, dict):
            return self.mapping(value, name, kind)
        if isinstance(value, list):
            if _is_item(value):
                return [*map(self._mended, value[:3]), self._value(
                    value[3], field.kind(value[2], value[0]), value[2])]
            return [self._value(item, kind, name) for item in value]
        if kind in (field.Kind.NAME, field.Kind.WWN) and (
                type(value) is int):
            return int(self._forms.text(str(value)))
        return value

    def _text(self, text: str, kind: field.Kind) -> str:
        text = _without_secrets(text)
        if kind is field.Kind.VERSION:
            return self._without_addresses.sub(self._replaced, text)
        if kind is field.Kind.OTHER or field.says_nothing(text):
            return self._mended(text)
        if kind is field.Kind.WWN and _BARE_WWN.fullmatch(text):
            return self._forms.wwn(text)
        if kind is field.Kind.ADDRESS:
            if _BARE.fullmatch(text):
                return self._forms.octets(text)
            if self._pattern.search(text):
                return self._mended(text)
        made, end = '', 0
        for match in self._pattern.finditer(text):
            made += self._forms.text(text[end:match.start()])
            made += self._replaced(match)
            end = match.end()
        return made + self._forms.text(text[end:])

    def _mended(self, text: str) -> str:
        """Replace all identifiers inside of a text."""
        text = _without_secrets(text)
        if _NO_DIGIT.fullmatch(text) and '@' not in text:
            return self._words.sub(self._known_word, text)
        return self._pattern.sub(self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        text = match[0]
        name = match.lastgroup
        if name == 'known':
            return self._known[text]
        if name == 'uuid':
            return self._forms.uuid(text)
        if name == 'octets':
            return self._forms.octets(text)
        if name == 'wwn':
            return self._forms.wwn(text)
        if name in ('email', 'site'):
            return '@'.join(map(self._forms.text, text.split('@')))
        if name == 'qualified':
            head = _QUALIFIER.match(text)
            end = head.end() if head else 0
            return text[:end] + self._forms.text(text[end:])
        return self._forms.address(text) or text

    def _known_word(self, match: re.Match[str]) -> str:
        return self._known[match[0]]

    def _lldp(self, value: Any) -> Any:
        if lldp.is_element(value):
            return [value[0], self._frames.element(*value)]
        if isinstance(value, list):
            return [self._lldp(item) for item in value]
        if isinstance(value, dict):
            return {self._mended(name): self._lldp(item)
                    for name, item in value.items()}
        return self._forms.text(value) if isinstance(value, str) else value


def _without_secrets(text: str) -> str:
    """Hide credentials in URLs, values of secret names, and keys."""
    if len(text) < _SHORTEST_SECRET:
        return text
    return _SECRETS.sub(
        lambda match: (match['name'] or '') + masking.MASK, text)


def _combined(patterns: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile('|'.join(f'(?P<{name}>{pattern})'
                               for name, pattern in patterns.items()))


def _replacements(forms: form.Forms, known: Iterable[str]
                  ) -> dict[str, str]:
    """Return what stands for each known text, in all ways to write it."""
    made: dict[str, str] = {}
    for text in known:
        if re.fullmatch(_PATTERNS['octets'], text):
            bare = re.sub('[^0-9A-Fa-f]', '', text)
            for each in (bare.lower(), bare.upper()):
                made[each] = forms.octets(each)
        elif len(text) >= _SHORTEST_KNOWN and not field.says_nothing(text):
            made[text] = forms.text(text)
            host, _dot, domain = text.partition('.')
            if '.' in domain and not re.fullmatch(r'[\d.]*', domain):
                made[domain] = forms.text(domain)
            if len(host) >= _SHORTEST_KNOWN and not host.isdecimal():
                made[host] = forms.text(host)
    return made


_OF_FORM = _combined(_PATTERNS)


def _identifiers(value: Any, kind: field.Kind, name: str = ''
                 ) -> Iterator[str]:
    """Find texts that may stand elsewhere too, in another place or form."""
    if isinstance(value, dict):
        for key, item in value.items():
            found = field.kind(key, name)
            yield from _identifiers(
                item, kind if found is field.Kind.OTHER else found, key)
    elif isinstance(value, list):
        if lldp.is_element(value):
            switch = lldp.name(*value)
            if switch:
                yield switch
        elif _is_item(value):
            yield from _identifiers(value[3], field.kind(value[2], value[0]))
        else:
            for item in value:
                yield from _identifiers(item, kind, name)
    elif isinstance(value, str):
        yield from _in_text(value, kind)


def _in_text(text: str, kind: field.Kind) -> Iterator[str]:
    match = _OF_FORM.search(text)
    if match is None:
        if kind in (field.Kind.NAME, field.Kind.ADDRESS):
            yield text
    else:
        for each in _OF_FORM.finditer(text):
            if each.lastgroup == 'octets':
                yield each[0]


def _is_item(value: list[Any]) -> bool:
    return len(value) == _ITEM and all(
        isinstance(part, str) for part in value[:3])

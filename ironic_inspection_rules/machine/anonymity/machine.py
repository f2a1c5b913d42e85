# SPDX-License-Identifier: Apache-2.0

"""Data of machines, with replacements for what identifies them."""

from collections.abc import Iterable, Iterator, Mapping
import enum
import functools
import re
from typing import Any

from ironic_inspection_rules.engine import masking
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
"""Secrets in free text, recognised by what is around them."""

_BARE = re.compile(rf'{_HEX}{{12}}|{_HEX}{{16}}|{_HEX}{{40}}')
_BARE_WWN = re.compile(rf'{_HEX}{{8,}}')
_SHORTEST_KNOWN = 4
_SHORTEST_SECRET = 5
_NO_DIGIT = re.compile(r'[^0-9:]*')
_LLDP = ('lldp', 'lldp_raw')
_SAYING_NOTHING = re.compile(
    r'(not (specified|available|applicable|present|provided|set)|none|null'
    r'|n/?a|unknown|unspecified|empty|default( string)?|invalid|undefined'
    r'|no (asset tag|asset information|dimm|module installed)|oem'
    r'|to be filled by o\.?e\.?m\.?|filled by o\.?e\.?m\.?|chassis'
    r'|(system|chassis|base board|board) (serial number|serial|asset tag'
    r'|version|product name)|asset[- ]?tag|serial[- ]?number|localhost'
    r'(\.localdomain)?|[0.x*\s-]*)', re.IGNORECASE)
_ITEM = 4  # Parts of an item of hardware-detect: class, device, name, value.


class Kind(enum.Enum):
    """Kinds of fields, by what in their values is replaced."""

    NAME = 'identifies a machine, all of it'
    WWN = 'a worldwide unique number'
    ADDRESS = 'an address or a name in place of one'
    VERSION = 'may look like an address, but is none'
    OTHER = 'only what has the form of an identifier'
    DROPPED = 'too much to check, so left out'


_KINDS = (
    (Kind.DROPPED, r'^logs$|^inspectionrules$'),
    (Kind.WWN, r'wwn|wwid|guid|eui$|eui64'),
    (Kind.NAME, r'serial|asset(tag|number)|service(tag|code)|^sku$|hostname'
                r'|fqdn|uuid|(node|domain|user|chassis|system|instance|dns)name'
                r'|chassisid|portid|portdesc|inventorynumber|licen[sc]e'
                r'|iqn|nqn|initiator|^location|syslocation|contact|owner'
                r'|vlans?/name$|tenant|customer|^(server)?rack|^room'
                r'|^(server)?cluster|^building|^data(center|hall)|^sitename'
                r'|^site$|^aisle|^row$|^cabinet|^floor|^campus|^department'
                r'|^costcent'),
    (Kind.ADDRESS, r'^ip$|^mac$|^macs$|ipaddr|macaddr|ipv[46]addr|bmcaddr'
                   r'|bmcv6addr|ipmiaddr|mgmtaddr|managementaddr'
                   r'|ipmiv6addr|gateway|nameserver'),
    (Kind.VERSION, r'version|firmware|release|revision|build|frequency'
                   r'|kernel'),
)
_MODEL = re.compile(r'(manufacturer|vendor|model|product|part)'
                    r'(name|number|id)?$')


@functools.lru_cache(4096)
def kind_of(name: str, parent: str = '') -> Kind:
    """Return the kind of the field of a name.

    :param name: as machines write it: ``serial_number``, ``Serial Number``
        or ``SerialNumber``.
    :param parent: the name of what it is part of.
    """
    plain, above = (re.sub('[^a-z0-9]', '', each.lower())
                    for each in (name, parent))
    if _MODEL.search(plain) and 'serial' not in plain:
        return Kind.VERSION
    for found, pattern in _KINDS:
        if re.search(pattern, plain) or re.search(pattern, f'{above}/{plain}'):
            return found
    return Kind.OTHER


def says_nothing(text: str) -> bool:
    """Return whether a text stands for a value that was not filled in."""
    return _SAYING_NOTHING.fullmatch(text.strip()) is not None


class Anonymizer:
    """Replaces what identifies a machine, consistently.

    Serial numbers, addresses, names and UUIDs become others of the same
    form, the same one the same everywhere; what identifies its model stays.
    Secrets go, also those in text that have the form of one: in URLs, behind
    ``token=`` and the like, keys. The logs of the ramdisk go.

    :param key: whoever has it gets the same replacements again.
    :ivar name: replaces a name, of a node or a host.
    :ivar uuid: replaces a UUID.
    """

    def __init__(self, key: bytes) -> None:
        self._forms = form.Forms(key)
        self.name = self._forms.text
        self.uuid = self._forms.uuid

    def machine(self, data: Mapping[str, Any], names: Iterable[str] = ()
                ) -> dict[str, Any]:
        """Return the data of a machine with replacements.

        :param data: ``inventory`` and ``plugin_data``, not changed.
        :param names: by which it is known besides those in the data.
        """
        shown = masking.mask(dict(data))
        known = {*_identifiers(shown, Kind.OTHER), *names}
        return _Document(self._forms, known).mapping(shown)


class _Document:
    """Replaces identifiers in a document, known ones wherever they are."""

    def __init__(self, forms: form.Forms, known: Iterable[str]) -> None:
        self._forms = forms
        self._known: dict[str, str] = {}
        for text in known:
            if re.fullmatch(_PATTERNS['octets'], text):
                bare = re.sub('[^0-9A-Fa-f]', '', text)
                for each in (bare.lower(), bare.upper()):
                    self._known[each] = forms.octets(each)
            elif len(text) >= _SHORTEST_KNOWN and not says_nothing(text):
                host, _dot, domain = text.partition('.')
                self._known[text] = forms.text(text)
                if '.' in domain and not re.fullmatch(r'[\d.]*', domain):
                    self._known[domain] = forms.text(domain)
                if len(host) >= _SHORTEST_KNOWN and not host.isdecimal():
                    self._known[host] = forms.text(host)
        words = '|'.join(re.escape(word) for word in sorted(
            self._known, key=len, reverse=True)) or '(?!)'
        words = rf'(?<![0-9A-Za-z])(?:{words})(?![0-9A-Za-z])'
        patterns = {'known': words, **_PATTERNS}
        self._words = re.compile(words)
        self._pattern = _combined(patterns)
        patterns.pop('address')
        self._without_addresses = _combined(patterns)
        self._frames = lldp.Frames(forms, self._mended)

    def mapping(self, data: Mapping[str, Any], parent: str = '',
                inherited: Kind = Kind.OTHER) -> dict[str, Any]:
        made = {}
        for name, value in data.items():
            kind = kind_of(name, parent)
            if kind is Kind.DROPPED:
                continue
            if kind is Kind.OTHER:
                kind = inherited
            if name in _LLDP:
                made[name] = self._lldp(value)
            else:
                made[self._mended(name)] = self._value(value, kind, name)
        return made

    def _value(self, value: Any, kind: Kind, name: str) -> Any:
        if isinstance(value, str):
            return self._text(value, kind)
        if isinstance(value, dict):
            return self.mapping(value, name, kind)
        if isinstance(value, list):
            if _is_item(value):
                return [*map(self._mended, value[:3]), self._value(
                    value[3], kind_of(value[2], value[0]), value[2])]
            return [self._value(item, kind, name) for item in value]
        if kind in (Kind.NAME, Kind.WWN) and type(value) is int:
            return int(self._forms.text(str(value)))
        return value

    def _text(self, text: str, kind: Kind) -> str:
        text = _without_secrets(text)
        if kind is Kind.VERSION:
            return self._without_addresses.sub(self._replaced, text)
        if kind is Kind.OTHER or says_nothing(text):
            return self._mended(text)
        if kind is Kind.WWN and _BARE_WWN.fullmatch(text):
            return self._forms.wwn(text)
        if kind is Kind.ADDRESS and _BARE.fullmatch(text):
            return self._forms.octets(text)
        if kind is Kind.ADDRESS and self._pattern.search(text):
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
            return self._words.sub(lambda word: self._known[word[0]], text)
        return self._pattern.sub(self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        text, name = match[0], match.lastgroup
        if name == 'known':
            return self._known[text]
        if name in ('uuid', 'octets', 'wwn'):
            return str(getattr(self._forms, name)(text))
        if name in ('email', 'site'):
            return '@'.join(map(self._forms.text, text.split('@')))
        if name == 'qualified':
            # The month stays, as in "iqn.2026-11.".
            return text[:12] + self._forms.text(text[12:])
        return self._forms.address(text) or text

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
    return text if len(text) < _SHORTEST_SECRET else _SECRETS.sub(
        lambda match: (match['name'] or '') + masking.MASK, text)


def _combined(patterns: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile('|'.join(f'(?P<{name}>{pattern})'
                               for name, pattern in patterns.items()))


_OF_FORM = _combined(_PATTERNS)


def _identifiers(value: Any, kind: Kind, name: str = '') -> Iterator[str]:
    """Find texts that may stand elsewhere too, in another place or form."""
    if isinstance(value, dict):
        for key, item in value.items():
            found = kind_of(key, name)
            yield from _identifiers(
                item, kind if found is Kind.OTHER else found, key)
    elif isinstance(value, list):
        if lldp.is_element(value):
            yield from filter(None, [lldp.name(*value)])
        elif _is_item(value):
            yield from _identifiers(value[3], kind_of(value[2], value[0]))
        else:
            for item in value:
                yield from _identifiers(item, kind, name)
    elif isinstance(value, str):
        forms = list(_OF_FORM.finditer(value))
        yield from (each[0] for each in forms if each.lastgroup == 'octets')
        if not forms and kind in (Kind.NAME, Kind.ADDRESS):
            yield value


def _is_item(value: list[Any]) -> bool:
    return len(value) == _ITEM and all(
        isinstance(part, str) for part in value[:3])

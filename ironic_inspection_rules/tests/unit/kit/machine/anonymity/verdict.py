# SPDX-License-Identifier: Apache-2.0

"""What must have become of planted identifiers."""

import ipaddress
import re

from ironic_inspection_rules.tests.unit.kit.machine.anonymity import identity
from ironic_inspection_rules.tests.unit.kit.machine.anonymity import marking


class Check:
    """Compares machines before and after, all of one key.

    :ivar problems: what is wrong, as texts.
    """

    def __init__(self):
        self.problems = []
        self._made = {}

    def compare(self, marked, made, where='machine'):
        """Undo the placement: what stands beside the marks must be equal."""
        if isinstance(marked, marking.Text):
            self._compare_text(marked, made, where)
        elif isinstance(marked, dict):
            if not isinstance(made, dict) or len(marked) != len(made):
                self.problems.append(f'{where}: fields are gone')
                return
            for (name, value), (new_name, new_value) in zip(
                marked.items(), made.items(), strict=True
            ):
                inner = f'{where}/{marking.rendered(name)}'
                self.compare(name, new_name, inner)
                self.compare(value, new_value, inner)
        elif isinstance(marked, list):
            if not isinstance(made, list) or len(marked) != len(made):
                self.problems.append(f'{where}: items are gone')
                return
            for number, (item, new) in enumerate(
                zip(marked, made, strict=True)
            ):
                self.compare(item, new, f'{where}/{number}')
        elif marked != made or type(marked) is not type(made):
            self.problems.append(f'{where}: {marked!r} became {made!r}')

    def _compare_text(self, marked, made, where):
        change = f'{where}: {marked.value()!r} became {made!r}'
        written = marked.match(made)
        if written is None:
            self.problems.append(f'{change}, around an identifier')
            return
        for mark, new in zip(marked.marks(), written, strict=True):
            try:
                plain = identity.read(mark.identifier.kind, mark.style, new)
                identity.check_notation(mark.written(), new)
            except ValueError as exc:
                self.problems.append(f'{change}, of another form: {exc}')
                continue
            before = mark.identifier.text.lower()
            if plain == before:
                self.problems.append(f'{change}, not replaced')
            same, first = self._made.setdefault(
                (mark.identifier.kind, before), (plain, change)
            )
            if same != plain:
                self.problems.append(f'{change}, but {first}')

    def check_different(self):
        """What was different must be different."""
        made = {}
        for (kind, before), (plain, _change) in self._made.items():
            other = made.setdefault((kind, plain), before)
            if other != before:
                self.problems.append(f'{before} and {other} are {plain}')

    def check_gone(self, identifiers, made):
        """Search all texts, in all normalisations."""
        texts = list(_texts(made))
        addresses = set()
        for text in texts:
            addresses |= set(_addresses(text))
        plain = '\n'.join(texts).lower()
        digits = '\n'.join(
            re.sub('[^0-9a-f]', '', text.lower()) for text in texts
        )
        for identifier in identifiers:
            text = identifier.text.lower()
            if identifier.kind in ('ipv4', 'ipv6'):
                address = ipaddress.ip_address(text)
                gone = (
                    address not in addresses
                    and address.packed.hex() not in plain
                )
            elif identifier.kind in ('mac', 'wwn', 'uuid'):
                gone = text.replace('-', '') not in digits
            else:
                gone = (
                    text not in plain
                    and text.encode().hex() not in plain
                    and identifier.text.encode().hex() not in plain
                )
            if not gone:
                self.problems.append(f'{identifier} is still there')


def _texts(value):
    """Yield all texts and names of fields, and digits as what they say."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)
        if isinstance(value, str) and re.fullmatch('(?:[0-9a-f]{2})+', value):
            yield bytes.fromhex(value).decode('latin-1')


def _addresses(text):
    """Yield all that is an address, wherever it begins and ends."""
    for numbers in re.finditer(r'\d+(?:[._-]\d+){3,}', text):
        parts = re.split('[._-]', numbers[0])
        for start in range(len(parts) - 3):
            four = [int(part) for part in parts[start : start + 4]]
            if max(four) < 256:
                yield ipaddress.IPv4Address(bytes(four))
    for run in re.finditer('[0-9A-Fa-f:.]{3,}', text):
        parts = re.split('(:+)', run[0])
        for start in range(len(parts)):
            for end in range(start + 2, min(start + 18, len(parts) + 1)):
                try:
                    address = ipaddress.IPv6Address(''.join(parts[start:end]))
                except ValueError:
                    continue
                yield address
                yield ipaddress.IPv4Address(address.packed[-4:])

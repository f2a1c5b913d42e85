# SPDX-License-Identifier: Apache-2.0

"""Kinds of fields: those that identify a machine, and those that do not."""

import enum
import functools
import re


class Kind(enum.Enum):
    """How the value of a field is treated."""

    NAME = 'all of it tells which machine it is'
    WWN = 'a number that is worldwide its own'
    ADDRESS = 'an address or a name in place of one'
    VERSION = 'of four numbers, and yet no address'
    OTHER = 'only what has the form of an identifier'
    DROPPED = 'more than anybody could look through'


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
def kind(name: str, parent: str = '') -> Kind:
    """Return the kind of the field of a name.

    :param name: as machines write it: ``serial_number``, ``Serial Number``
        or ``SerialNumber``.
    :param parent: the name of what it is part of.
    """
    plain = _plain(name)
    if _MODEL.search(plain) and 'serial' not in plain:
        return Kind.VERSION
    for found, pattern in _KINDS:
        if re.search(pattern, plain) or re.search(
                pattern, f'{_plain(parent)}/{plain}'):
            return found
    return Kind.OTHER


def _plain(name: str) -> str:
    return re.sub('[^a-z0-9]', '', name.lower())


_SAYING_NOTHING = re.compile(
    r'(not (specified|available|applicable|present|provided|set)|none|null'
    r'|n/?a|unknown|unspecified|empty|default( string)?|invalid|undefined'
    r'|no (asset tag|asset information|dimm|module installed)|oem'
    r'|to be filled by o\.?e\.?m\.?|filled by o\.?e\.?m\.?|chassis'
    r'|(system|chassis|base board|board) (serial number|serial|asset tag'
    r'|version|product name)|asset[- ]?tag|serial[- ]?number|localhost'
    r'(\.localdomain)?|[0.x*\s-]*)', re.IGNORECASE)


def says_nothing(text: str) -> bool:
    """Return whether a text stands for a value that was not filled in."""
    return _SAYING_NOTHING.fullmatch(text.strip()) is not None

# SPDX-License-Identifier: Apache-2.0

"""Classify fields by name, to know which values identify a machine.

For example, ``serial_number`` is of the kind ``NAME``: all of its value is
replaced when the data are made anonymous. ``firmware_version`` is of the kind
``VERSION``: four numbers in it are not replaced as an IP address.
"""

import enum
import functools
import re


class FieldKind(enum.Enum):
    """Kinds of fields, which decide how their values are replaced.

    * ``NAME``: all of a text is replaced, e.g. a serial number.
    * ``SWITCH``: all of a text is replaced, which may be a MAC address.
    * ``WWN``: all of a text is replaced, as a WWN if it has this form.
    * ``ADDRESS``: the addresses in a text are replaced. A text without an
      address is the name of a host, and is replaced as a whole.
    * ``TEXT``: only identifiers in a text are replaced.
    * ``VERSION``: as ``TEXT``, but four numbers such as 2.10.0.1 stay.
    * ``MAYBE_VERSION``: as ``VERSION`` for a single word, otherwise ``TEXT``.
    * ``OTHER``: the name of the field says nothing. The field has the kind of
      the field around it, or is treated as ``TEXT``.
    * ``DROPPED``: the field is removed.
    """

    NAME = 'identifies a machine, all of it'
    SWITCH = 'a name of a switch or of its port, or an address of it'
    WWN = 'a worldwide unique number'
    ADDRESS = 'an address or a name in place of one'
    VERSION = 'may look like an address, but is none'
    MAYBE_VERSION = 'beside a version: a single word may be one'
    TEXT = 'only what has the form of an identifier'
    OTHER = 'as the field around it, else a text'
    DROPPED = 'too much to check, so left out'


_KIND_PATTERNS = (
    (FieldKind.DROPPED, r'^logs$|^inspectionrules$'),
    (
        FieldKind.TEXT,
        r'cmdline|commandline|bootargs|(kernel|boot)(param|arg|opt)',
    ),
    # The last three are names of Redfish and of tools for RAID controllers.
    (
        FieldKind.WWN,
        r'wwn|wwid|guid|eui$|eui64|durablename|uniqueid|sasaddr',
    ),
    (FieldKind.SWITCH, r'chassisid|portid|portdesc|switchid|switchinfo'),
    (
        FieldKind.NAME,
        r'serial|asset(tag|number|id|no$|$)|service(tag|code)|^sku$|hostname'
        # Tools for disks and optical modules write "SN" and "Vendor SN".
        r'|^(board|chassis|disk|drive|module|product|system|vendor)?sn$'
        r'|fqdn|uuid|inventorynumber|licen[sc]e'
        r'|(node|domain|user|chassis|system|instance|dns)name'
        r'|iqn|nqn|initiator|^location|syslocation|contact|owner'
        r'|tenant|customer|^(server)?rack|^room'
        r'|^(server)?cluster|^building|^data(center|hall)|^sitename'
        r'|^site$|^aisle|^row$|^cabinet|^floor|^campus|^department'
        r'|^costcent|^domain$|^searchdomains?$|dnssearch',
    ),
    (
        FieldKind.ADDRESS,
        r'^ip$|^mac$|^macs$|ipaddr|macaddr|ipv[46]addr|bmcaddr'
        r'|bmcv6addr|ipmiaddr|mgmtaddr|managementaddr'
        r'|ipmiv6addr|gateway|nameserver'
        r'|(dns|ntp|tftp|dhcp|syslog|next|boot)servers?$',
    ),
    (
        FieldKind.VERSION,
        r'version|firmware|release|revision|build|frequency|kernel',
    ),
)
# Matches the name of a field that states the model of a part, not its
# identity.
_MODEL = re.compile(
    r'(manufacturer|vendor|model|product|part)'
    r'(name|number|id)?$'
)
_PATH_OF_VLAN_NAME = re.compile('vlans?/name$')
_SINGLE_WORD = re.compile(r'[\w.()+~-]+')

# Matches the text that firmware writes if it does not know a name or a number.
_PLACEHOLDER = re.compile(
    r'(not (specified|available|applicable|present|provided|set)|none|null'
    r'|n/?a|unknown|unspecified|empty|default( string)?|invalid|undefined'
    r'|no (asset tag|asset information|dimm|module installed)|oem'
    r'|to be filled by o\.?e\.?m\.?|filled by o\.?e\.?m\.?|chassis'
    r'|(system|chassis|base board|board) (serial number|serial|asset tag'
    r'|version|product name)|asset[- ]?tag|serial[- ]?number|localhost'
    r'(\.localdomain)?|[0.x*\s-]*)',
    re.IGNORECASE,
)


@functools.lru_cache(4096)
def kind_of(name: str, parent: str = '') -> FieldKind:
    """Return the kind of a field, according to its name.

    For example, ``NAME`` for ``serial_number`` and ``ADDRESS`` for
    ``bmc_address``. The name of a model is of the kind ``VERSION``. Otherwise
    the first pattern that matches the name decides.

    :param name: the name in any notation of machines, e.g. ``serial_number``,
        ``Serial Number`` or ``SerialNumber``.
    :param parent: the name of the field around it. It is needed only for
        VLANs: the ``name`` in ``vlans`` identifies a network, but other names
        do not.
    """
    # The patterns match names without separators: "serialnumber".
    plain = _letters_and_digits(name)
    above = _letters_and_digits(parent)
    # This comes first because "product_id" is not an ID of the machine. Like
    # in a version, four numbers in a model are not an address.
    if is_model(plain):
        return FieldKind.VERSION
    if _PATH_OF_VLAN_NAME.search(f'{above}/{plain}'):
        return FieldKind.NAME
    for kind, pattern in _KIND_PATTERNS:
        if re.search(pattern, plain):
            return kind
    return FieldKind.OTHER


def _letters_and_digits(name: str) -> str:
    """Return the letters and digits of a name: ``portid`` for ``Port-ID``."""
    return re.sub('[^a-z0-9]', '', name.lower())


def inner_kind(name: str, parent: str, around: FieldKind) -> FieldKind:
    """Return the kind of a field inside another field.

    If its own name does not say the kind, it has the kind of the field around
    it. For example, ``v4`` in ``{"bmc_address": {"v4": …}}`` is an address.

    :param parent: the name of the field around it.
    :param around: the kind of that field.
    """
    kind = kind_of(name, parent)
    if kind is not FieldKind.OTHER:
        return kind
    if around is FieldKind.VERSION:
        # In {"firmware": {…}} not every field is a version. For this kind,
        # is_version() accepts only a single word.
        return FieldKind.MAYBE_VERSION
    return around


def is_model(name: str) -> bool:
    """Return whether the name of a field means a model: ``product_id``."""
    plain = _letters_and_digits(name)
    return _MODEL.search(plain) is not None and 'serial' not in plain


def is_version(text: str, kind: FieldKind) -> bool:
    """Return whether four numbers in a text are a version, not an address.

    For example, the text ``2.10.0.1`` in a field ``firmware_version`` is.

    :param kind: the kind of the field that has the text.
    """
    if kind is FieldKind.MAYBE_VERSION:
        return _SINGLE_WORD.fullmatch(text) is not None
    return kind is FieldKind.VERSION


def says_nothing(text: str) -> bool:
    """Return whether a text is a placeholder, e.g. "Not Specified"."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None

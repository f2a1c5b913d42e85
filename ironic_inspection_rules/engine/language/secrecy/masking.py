# SPDX-License-Identifier: Apache-2.0

"""Masks secrets in values, URLs and texts.

In data, a secret is recognized by the name of its key: the value of
``ipmi_password`` becomes ``******``. In free text it is recognized by the text
around it, e.g. ``password=``. Most names and values are harmless, so fast
tests for these come first.
"""

import itertools
import operator
import re
import typing
from urllib import parse as urlparse

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path

MASK = '******'

# Names that oslo.utils masks.
_OF_IRONIC = '|'.join(
    (
        'adminpass',
        'admin_pass',
        'password',
        'auth_token',
        'new_pass',
        'secret',
        'sys_pswd',
        'token',
        'configdrive',
        'encrypted_key',
        'private_key',
        'fernetkey',
        'sslkey',
        'passphrase',
        'cephclusterfsid',
        'octaviaheartbeatkey',
        'rabbitcookie',
        'cephmanilaclientkey',
        'pacemakerremoteauthkey',
        'designaterndckey',
        'cephadminkey',
        'heatauthencryptionkey',
        'cephclientkey',
        'keystonecredential',
        'barbicansimplecryptokek',
        'cephrgwkey',
        'swifthashsuffix',
        'migrationsshkey',
        'cephmdskey',
        'cephmonkey',
    )
)
# Further names that Ironic's drivers use.
_OF_DRIVERS = '|'.join(
    (
        'community',
        'auth_key',
        'priv_key',
        'kg_key',
        'credential',
        'image_url',
        'temp_url',
        'api_?-?key',
        'passwd',
        'authorization',
        'cookie',
    )
)
_SECRETS = re.compile(f'{_OF_IRONIC}|{_OF_DRIVERS}')

_NAMES_IN_TEXT = (
    r'(?:[\w.-]*(?:pass(?:word|wd|phrase)|pwd|token|secret'
    r'|credential|signature)|[\w.-]*[_.-](?:api|ssh)?key'
    r'|(?:api|ssh)?key|rootpw)'
)
_SECRETS_IN_TEXT = re.compile(
    '|'.join(
        (
            # A key or a certificate in PEM.
            r'-----BEGIN [^-\n]{1,60}-----.*?'
            r'(?:-----END [^-\n]{1,60}-----|\Z)',
            # The credentials in a URL.
            r'(?<=://)[^\s/@]+(?=@)',
            # The text after the scheme in an "Authorization" header.
            r'(?i:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/=-]{8,}',
            # A key of SSH, after its type.
            r'(?:(?<=ssh-rsa )|(?<=ssh-dss )|(?<=ssh-ed25519 )|(?<=nistp256 )'
            r'|(?<=nistp384 )|(?<=nistp521 )|(?<=openssh.com ))'
            r'[A-Za-z0-9+/]{20,}={0,3}',
            # The fingerprint of an SSH key.
            r'(?<=SHA256:)[A-Za-z0-9+/]{43}=?',
            # A name with its value, which may be in quotes.
            rf'(?i:(?P<name>(?<![\w.-]){_NAMES_IN_TEXT}[\'"]?\s?[=:]\s?))'
            r'(?:"[^"]*"|\'[^\']*\'|[^\s&;,"\']+)',
        )
    ),
    re.DOTALL,
)
"""Secrets in free text, recognized by the text around them."""
# A shorter text cannot contain a secret and the text that identifies it.
_SHORTEST_TEXT = 5

MASKED_IN_API: typing.Mapping[str, re.Pattern[str]] = {
    'driver_info': re.compile(f'{_OF_IRONIC}|^snmp_auth_key$|^snmp_priv_key$'),
    'instance_info': re.compile(f'{_OF_IRONIC}|^image_url$'),
}
"""The node attributes in which Ironic's API masks values, with the pattern of
the names that it masks."""

_SCHEME = re.compile(r'[\x00-\x20]*(?:[A-Za-z][A-Za-z0-9+.-]*:)?//')
"""The start of a URL that names a host."""

_PLAIN_TYPES = frozenset((str, int, float, bool, type(None)))
# A longer name counts as secret, because searching it would take too long.
_LONGEST_NAME = 255
_LONGEST_CACHED = 64
"""Maximum length of cached names, because machines choose names."""
_MOST_CACHED = 8192
_HARMLESS_NAMES: set[str] = set()
"""A cache of names that do not name secrets."""


def is_secret(key: str) -> bool:
    """Return whether the value of a key is a secret.

    ``ipmi_password`` names a secret, ``ipmi_address`` does not. The names are
    the names that Ironic hides in its own API (``oslo_utils.strutils``), and
    the names of its drivers' credentials. A very long name counts as secret
    too. Harmless names are cached, because many machines have the same names.
    """
    if key in _HARMLESS_NAMES:
        return False
    if len(key) > _LONGEST_NAME:
        return True
    if _SECRETS.search(key.lower()) is not None:
        return True
    if len(key) <= _LONGEST_CACHED:
        # Machines choose names, and without a limit they could fill memory.
        if len(_HARMLESS_NAMES) >= _MOST_CACHED:
            _HARMLESS_NAMES.clear()
        _HARMLESS_NAMES.add(key)
    return False


def mask(value: typing.Any) -> typing.Any:
    """Return a value with every secret in it replaced by ``******``.

    ``{'password': 'x', 'user': 'y'}`` becomes ``{'password': '******',
    'user': 'y'}``. A secret is recognized by its name; for secrets inside
    text, use :func:`mask_text`. None and empty values are not masked, so that
    a rule can check whether a password is set.

    :returns: the value itself if it has no secrets. Parts without secrets are
        not copied.
    """
    if isinstance(value, dict):
        return _mask_mapping(value)
    if isinstance(value, list):
        return _mask_list(value)
    return value


def _mask_mapping(
    mapping: dict[typing.Any, typing.Any],
) -> dict[typing.Any, typing.Any]:
    """Return a mapping with its secrets masked, at any depth.

    :returns: the mapping itself if it has no secrets.
    """
    # Check quickly first: most mappings have no secrets and nothing nested.
    if _HARMLESS_NAMES.issuperset(mapping) and _PLAIN_TYPES.issuperset(
        map(type, mapping.values())
    ):
        return mapping
    changed: dict[typing.Any, typing.Any] = {}
    for key, item in mapping.items():
        # Avoid calls: most names are harmless, and most values are plain or
        # empty.
        may_be_secret = key not in _HARMLESS_NAMES and isinstance(key, str)
        if may_be_secret and is_secret(key):
            masked = mask_secret(item)
        elif item.__class__ in _PLAIN_TYPES or not item:
            # Such a value contains no names.
            masked = item
        else:
            masked = mask(item)
        if masked is not item:
            changed[key] = masked
    if changed:
        return {**mapping, **changed}
    return mapping


def _mask_list(items: list[typing.Any]) -> list[typing.Any]:
    """Return a list with the secrets in its items masked, at any depth.

    :returns: the list itself if it has no secrets.
    """
    # Avoid searching each item of a list of texts, e.g. processor flags, or of
    # a list of plain mappings, e.g. disks or ports.
    if _PLAIN_TYPES.issuperset(map(type, items)):
        return items
    if _are_plain_mappings(items):
        return items
    masked_items = []
    for item in items:
        masked = item
        if item.__class__ not in _PLAIN_TYPES:
            masked = mask(item)
        masked_items.append(masked)
    # mask() returns the same object if an item has no secrets.
    if any(map(operator.is_not, masked_items, items)):
        return masked_items
    return items


def _are_plain_mappings(items: list[typing.Any]) -> bool:
    """Return whether items are mappings without secrets or nested values.

    This is a quick test before the search. It also returns False if a name is
    not in the cache yet.
    """
    for item in items:
        if item.__class__ is not dict:
            return False
    # The keys of all mappings.
    names: set[typing.Any] = set()
    names.update(*items)
    if not _HARMLESS_NAMES.issuperset(names):
        return False
    values = itertools.chain.from_iterable(map(dict.values, items))
    return _PLAIN_TYPES.issuperset(map(type, values))


def mask_secret(value: typing.Any) -> typing.Any:
    """Return the mask of a secret, or the value itself if it is empty."""
    # Keep empty values, because a rule may check whether a password is set.
    if value in (None, '', [], {}):
        return value
    return MASK


def mask_along(
    path: tuple[str, ...], value: typing.Any
) -> tuple[tuple[str, ...], typing.Any]:
    """Return the path and value to write to masked data.

    ``('driver_info', 'ipmi_password')`` and ``x`` become the same path and
    ``******``.

    :param path: the path of the value in unmasked data.
    :returns: the path, cut after its first secret name, and the masked value.
    """
    # Most writes set a plain value under harmless names.
    if value.__class__ in _PLAIN_TYPES and _HARMLESS_NAMES.issuperset(path):
        return path, value
    secret = find_secret_along(path)
    if secret is None:
        return path, mask(value)
    if secret == path:
        # The value itself is the secret.
        return path, mask_secret(value)
    # The value is inside a secret, where even the names are hidden.
    return secret, MASK


def find_secret_along(path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the path up to its first secret name, or None if it has none.

    ``('driver_info', 'token', 'id')`` gives ``('driver_info', 'token')``.
    """
    # In most paths, all names are known to be harmless.
    if _HARMLESS_NAMES.issuperset(path):
        return None
    for depth, token in enumerate(path, 1):
        if is_secret(token):
            return path[:depth]
    return None


def is_masked_in_api(path: data_path.Path) -> bool:
    """Return whether Ironic's API masks a value of a node for its readers.

    If it does not, everybody who may read the node can read a secret that a
    rule writes there. The API looks only at the name nearest to the value,
    e.g. ``ipmi_password`` in ``driver_info.ipmi_password``, and only in
    ``driver_info`` and ``instance_info``.

    :param path: the path inside the node, e.g. ``('driver_info',
        'ipmi_password')``.
    """
    pattern = MASKED_IN_API.get(path[0])
    if pattern is None:
        return False
    # The last token that is a name decides. A token such as "0" or "-" is a
    # position in a list, not a name.
    for token in reversed(path[1:]):
        is_index = data_path.index(token) is not None
        is_place_in_list = is_index or data_path.is_append(token)
        if not is_place_in_list:
            return pattern.search(token.lower()) is not None
    return False


def is_masked(
    root: str,
    path: data_path.Path,
    masked: budget.View,
    unmasked: typing.Mapping[str, typing.Any],
) -> bool:
    """Return whether a value of the data, or any part of it, is masked.

    :param root: the name of the root, e.g. ``node``.
    :param path: the path from the root to the value.
    :param masked: the data by root name as a rule sees them, with the budget.
    :param unmasked: the data with all secrets.
    """
    # Compare the data that the rule sees with the real data.
    try:
        seen = masked[root]
    except KeyError:
        # The root does not exist, e.g. the node in the early phase.
        return False
    real = unmasked[root]
    if seen is real:
        # Nothing in the root is masked.
        return False
    # Follow the path in both.
    last_name = None
    for token in path:
        if not isinstance(seen, dict | list):
            # Everything below a secret is secret, even names that do not
            # exist, so that nobody can find out which names exist.
            break
        last_name = token
        seen = data_path.get(seen, (token,))
        real = data_path.get(real, (token,))
    return is_masked_value(last_name, seen, real, masked.budget)


def has_mask(value: typing.Any, allowance: budget.Budget) -> bool:
    """Return whether any text in a value contains ``******``.

    Keys of mappings are searched too.

    :param allowance: the budget that pays for the search.
    """
    ahead = [value]
    while ahead:
        part = ahead.pop()
        if isinstance(part, str):
            if MASK in part:
                return True
        elif isinstance(part, dict):
            allowance.spend(1 + (len(part) // 4))
            ahead += [*part, *part.values()]
        elif isinstance(part, list):
            allowance.spend(1 + (len(part) // 4))
            ahead += part
    return False


def is_masked_value(
    key: typing.Any,
    value: typing.Any,
    real: typing.Any,
    allowance: budget.Budget,
) -> bool:
    """Return whether a value, or any part of it, is masked.

    A part is masked if the rule sees a value that differs from the real one:
    ``{'a': 1, 'token': '******'}`` for ``{'a': 1, 'token': 'x'}``.

    :param key: the name of the value; None if it has no name.
    :param value: the value as a rule sees it.
    :param real: the unmasked value.
    :param allowance: the budget that pays for the search.
    """
    # The parts that are still to be compared: triples of a name, the part that
    # the rule sees, and the real part.
    ahead = [(key, value, real)]
    while ahead:
        name, part, real_part = ahead.pop()
        if part is real_part:
            # Masked data share their unmasked parts with the real data.
            continue
        if part.__class__ is not real_part.__class__:
            return True
        if isinstance(part, dict):
            allowance.spend(1 + (len(part) // 4))
            if part.keys() != real_part.keys():
                return True
            # Look up each name, because mappings of the language of
            # ironic-inspector compute their values on access.
            ahead += [(inner, part[inner], real_part[inner]) for inner in part]
        elif isinstance(part, list):
            allowance.spend(1 + (len(part) // 4))
            if len(part) != len(real_part):
                return True
            for item, real_item in zip(part, real_part, strict=True):
                if item is not real_item:
                    ahead.append((None, item, real_item))
        elif part != real_part:
            return True
        elif part == MASK and isinstance(name, str) and is_secret(name):
            # The real secret is "******" itself, which counts as masked too.
            return True
    return False


def mask_url(url: str) -> str:
    """Mask the credentials and the values of the query in a URL.

    ``https://u:p@host/x?k=v#f`` becomes ``https://******@host/x?k=******``.
    Text that is not a URL is masked as a whole.
    """
    try:
        parts = urlparse.urlsplit(url)
        query = urlparse.parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return MASK
    _credentials, at, host = parts.netloc.rpartition('@')
    netloc = host
    if at:
        netloc = f'{MASK}@{host}'
    masked_query = '&'.join(f'{name}={MASK}' for name, _value in query)
    return urlparse.urlunsplit(
        (parts.scheme, netloc, parts.path, masked_query, '')
    )


def mask_text(text: str) -> str:
    """Mask credentials, secrets and keys in free text.

    ``root:x@host, password=abc`` becomes ``root:x@host, password=******``.
    """
    if len(text) < _SHORTEST_TEXT:
        return text
    return _SECRETS_IN_TEXT.sub(_mask_match, text)


def _mask_match(secret: re.Match[str]) -> str:
    """Return the mask for a secret, preceded by its name if it has one."""
    name = secret['name'] or ''
    return name + MASK


def find_secret_arguments(
    arguments: typing.Mapping[str, typing.Any],
) -> typing.Iterator[str]:
    """Yield the names of the arguments in which a rule itself has a secret.

    These are ``value`` and ``cleanup`` if they write out a value for a path
    with a secret name, ``url`` if it has credentials, and ``headers`` if it
    has a header such as ``Authorization``. A field is not a secret, because
    the rule does not contain its value.

    :param arguments: values by name, as the rule has them.
    """
    path = _parse_or_empty(arguments.get('path'))
    for name in ('value', 'cleanup'):
        value = arguments.get(name)
        # Masking the value shows which parts of it are secret.
        _path, masked = mask_along(path, value)
        if _has_secret_written_out(value, masked):
            yield name
    url = arguments.get('url')
    if isinstance(url, str) and _has_credentials(url):
        yield 'url'
    headers = arguments.get('headers')
    if isinstance(headers, dict):
        has_secret_header = any(
            _is_written_out(value) and is_secret(header)
            for header, value in headers.items()
        )
        if has_secret_header:
            yield 'headers'


def _parse_or_empty(path: typing.Any) -> data_path.Path:
    """Parse a path as the rule has it; return an empty path for a wrong one.

    The check of the rule reports a wrong path.
    """
    if not isinstance(path, str):
        return ()
    try:
        return data_path.parse(path)
    except exceptions.OperationError:
        return ()


def _has_credentials(url: str) -> bool:
    """Return whether a URL of a rule has credentials before its host.

    For example, ``https://user:password@host/x`` has. ``urlsplit`` cannot be
    used, because it rejects ``https://[{node.address}]/x``, where a field
    stands for an address.
    """
    # urlsplit ignores these characters when the rule is checked.
    url = re.sub('[\\t\\r\\n]', '', url)
    scheme = _SCHEME.match(url)
    if scheme is None:
        return False
    # The credentials and the host end at the path, query or fragment.
    authority = re.split('[/?#]', url[scheme.end() :], maxsplit=1)[0]
    return '@' in authority


def _has_secret_written_out(value: typing.Any, masked: typing.Any) -> bool:
    """Return whether a rule writes out any part of a value that is masked.

    ``{'token': 'abc'}`` writes out the token, but ``{'token': '{vars.a}'}``
    does not, because it has only a field.

    :param value: the value as the rule has it.
    :param masked: the same value with masks, e.g. ``{'token': '******'}``.
    """
    ahead = [(value, masked)]
    while ahead:
        part, masked_part = ahead.pop()
        if isinstance(part, dict):
            if isinstance(masked_part, dict):
                masked_values = masked_part
            else:
                # The mapping is masked as a whole, so every value in it is.
                masked_values = dict.fromkeys(part, MASK)
            ahead += [(part[name], masked_values[name]) for name in part]
        elif isinstance(part, list):
            if isinstance(masked_part, list):
                masked_items = masked_part
            else:
                # The list is masked as a whole.
                masked_items = [MASK] * len(part)
            ahead += zip(part, masked_items, strict=True)
        elif part != masked_part and _is_written_out(part):
            return True
    return False


def _is_written_out(value: typing.Any) -> bool:
    """Return whether any part of a value is written in the rule itself.

    This is true for ``x{vars.a}`` and 5. It is false for null, and for
    ``{vars.a}{vars.b}``, which has only fields.
    """
    if isinstance(value, str):
        return any(
            isinstance(piece, str) for piece in interpolation.parse(value)
        )
    return value is not None

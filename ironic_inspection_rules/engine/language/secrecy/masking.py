# SPDX-License-Identifier: Apache-2.0

"""Masks secrets in values, URLs and texts."""

import contextlib
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
# And those that Ironic's drivers use.
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
            # What follows the scheme in a header "Authorization".
            r'(?i:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/=-]{8,}',
            # A key of SSH, after its type.
            r'(?:(?<=ssh-rsa )|(?<=ssh-dss )|(?<=ssh-ed25519 )|(?<=nistp256 )'
            r'|(?<=nistp384 )|(?<=nistp521 )|(?<=openssh.com ))'
            r'[A-Za-z0-9+/]{20,}={0,3}',
            # The fingerprint of one.
            r'(?<=SHA256:)[A-Za-z0-9+/]{43}=?',
            # A name with its value, which may be in quotes.
            rf'(?i:(?P<name>(?<![\w.-]){_NAMES_IN_TEXT}[\'"]?\s?[=:]\s?))'
            r'(?:"[^"]*"|\'[^\']*\'|[^\s&;,"\']+)',
        )
    ),
    re.DOTALL,
)
"""Secrets in free text, recognised by what is around them."""
# A shorter text has no secret with what shows that it is one.
_SHORTEST_TEXT = 5

MASKED_IN_API: typing.Mapping[str, re.Pattern[str]] = {
    'driver_info': re.compile(f'{_OF_IRONIC}|^snmp_auth_key$|^snmp_priv_key$'),
    'instance_info': re.compile(f'{_OF_IRONIC}|^image_url$'),
}
"""The attributes of nodes in which Ironic's API masks values, and the names
of these."""

_SCHEME = re.compile(r'[\x00-\x20]*(?:[A-Za-z][A-Za-z0-9+.-]*:)?//')
"""How a URL begins that names a host."""

_PLAIN_TYPES = frozenset((str, int, float, bool, type(None)))
# A longer name is masked: to look for words in it would take long.
_LONGEST_NAME = 255
_LONGEST_CACHED = 64
"""Maximum length of cached names: machines choose names."""
_MOST_CACHED = 8192
_HARMLESS_NAMES: set[str] = set()
"""A cache of names that are not of secrets."""


def is_secret(key: str) -> bool:
    """Return whether the value of a key is a secret.

    ``ipmi_password`` names a secret, ``ipmi_address`` does not. The names are
    those that Ironic hides in its own API (``oslo_utils.strutils``), and the
    credentials of its drivers. A very long name counts as one of a secret,
    too. Harmless names are remembered, as many machines have the same names.
    """
    if key in _HARMLESS_NAMES:
        return False
    if len(key) > _LONGEST_NAME:
        return True
    if _SECRETS.search(key.lower()) is not None:
        return True
    if len(key) <= _LONGEST_CACHED:
        # Machines choose names: without a bound they could fill the memory.
        if len(_HARMLESS_NAMES) >= _MOST_CACHED:
            _HARMLESS_NAMES.clear()
        _HARMLESS_NAMES.add(key)
    return False


def mask(value: typing.Any) -> typing.Any:
    """Return a value with every secret in it replaced by ``******``.

    ``{'password': 'x', 'user': 'y'}`` becomes ``{'password': '******',
    'user': 'y'}``. A secret is known by its name; for secrets inside of a
    text, see :func:`mask_text`. None and empty values stay, so that a rule
    can check whether a password is set.

    :returns: the value itself if it has no secrets. A part without secrets is
        not copied either.
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
    # Most mappings have no secrets, and nothing nested.
    if _HARMLESS_NAMES.issuperset(mapping) and _PLAIN_TYPES.issuperset(
        map(type, mapping.values())
    ):
        return mapping
    changed: dict[typing.Any, typing.Any] = {}
    for key, item in mapping.items():
        # Most names are harmless, and most values plain or empty: they cost
        # no call.
        may_be_secret = key not in _HARMLESS_NAMES and isinstance(key, str)
        if may_be_secret and is_secret(key):
            masked = mask_at(key, item)
        elif item.__class__ in _PLAIN_TYPES or not item:
            # There are no names in it.
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
    # Neither a list of texts, such as the flags of a processor, nor a list of
    # plain mappings, such as disks or ports, is searched item by item.
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
    # mask() returns an item without secrets itself, not a copy.
    if any(map(operator.is_not, masked_items, items)):
        return masked_items
    return items


def _are_plain_mappings(items: list[typing.Any]) -> bool:
    """Return whether items are mappings without secrets or anything nested.

    It is a quick test before the search: the answer is also no if a name has
    not been looked at before.
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


def mask_at(key: typing.Any, value: typing.Any) -> typing.Any:
    """Return the masked value of a key.

    :param key: a key of any type; in a file, keys may be numbers.
    """
    # A rule may check whether a password is set.
    if value in (None, '', [], {}):
        return value
    if isinstance(key, str) and is_secret(key):
        return MASK
    return mask(value)


def mask_along(
    path: tuple[str, ...], value: typing.Any
) -> tuple[tuple[str, ...], typing.Any]:
    """Return the path and value to write to masked data.

    ``('driver_info', 'ipmi_password')`` and ``x`` become the same path and
    ``******``.

    :param path: where the value is written in unmasked data.
    :returns: the path, which ends at its first secret name, and the masked
        value.
    """
    # Most writes are of plain values under harmless names.
    if value.__class__ in _PLAIN_TYPES and _HARMLESS_NAMES.issuperset(path):
        return path, value
    secret = find_secret_along(path)
    if secret is None:
        return path, mask(value)
    if secret == path:
        # The value itself is the secret. An empty one stays.
        return path, mask_at(path[-1], value)
    # The value is below a secret, where nobody learns any name.
    return secret, MASK


def find_secret_along(path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the path up to its first secret name, None if it has none.

    ``('driver_info', 'token', 'id')`` has ``('driver_info', 'token')``.
    """
    # Most paths have only names that were found harmless before.
    if _HARMLESS_NAMES.issuperset(path):
        return None
    for depth, token in enumerate(path, 1):
        if is_secret(token):
            return path[:depth]
    return None


def is_masked_in_api(path: data_path.Path) -> bool:
    """Return whether Ironic's API masks a value of a node for its readers.

    If it does not, everybody who may read the node can read a secret that a
    rule writes there. The API decides only by the name nearest to the value,
    such as ``ipmi_password`` in ``driver_info.ipmi_password``, and only in
    ``driver_info`` and ``instance_info``.

    :param path: the path from the node on, such as ``('driver_info',
        'ipmi_password')``.
    """
    pattern = MASKED_IN_API.get(path[0])
    if pattern is None:
        return False
    # The last token that is a name decides. A token such as "0" or "-" is a
    # place in a list.
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
    """Return whether a value of the data is masked, or any part of it.

    :param root: the name of the root, such as ``node``.
    :param path: the path from the root to the value.
    :param masked: the data by root name as a rule sees them, with the budget.
    :param unmasked: the data with all secrets.
    """
    # What the rule sees, and what is there.
    try:
        seen = masked[root]
    except KeyError:
        return False
    real = unmasked[root]
    if seen is real:
        # Nothing in the root is masked.
        return False
    last_name = None
    for token in path:
        if not isinstance(seen, dict | list):
            # Everything below a secret is secret, whether it is there or not:
            # nobody learns the names in it.
            break
        last_name = token
        seen = data_path.get(seen, (token,))
        real = data_path.get(real, (token,))
    return is_masked_value(last_name, seen, real, masked.budget)


def has_mask(value: typing.Any, allowance: budget.Budget) -> bool:
    """Return whether any text in a value has ``******`` in it.

    Keys of mappings are texts, too.

    :param allowance: pays for the search.
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
    """Return whether a value is masked, or any part of it.

    A part is masked if the rule sees another value than the real one:
    ``{'a': 1, 'token': '******'}`` for ``{'a': 1, 'token': 'x'}``.

    :param key: the name of the value; None without a name.
    :param value: the value as a rule sees it.
    :param real: the unmasked value.
    :param allowance: pays for the search.
    """
    # Names with the value that the rule sees, and the one that is there.
    ahead = [(key, value, real)]
    while ahead:
        name, seen, there = ahead.pop()
        if seen is there:
            # Masked data share their unmasked parts with the real data.
            continue
        if seen.__class__ is not there.__class__:
            return True
        if isinstance(seen, dict):
            allowance.spend(1 + (len(seen) // 4))
            if seen.keys() != there.keys():
                return True
            # Mappings of the old language compute their values on access.
            ahead += [(inner, seen[inner], there[inner]) for inner in seen]
        elif isinstance(seen, list):
            allowance.spend(1 + (len(seen) // 4))
            if len(seen) != len(there):
                return True
            for item, item_there in zip(seen, there, strict=True):
                if item is not item_there:
                    ahead.append((None, item, item_there))
        elif seen != there:
            return True
        elif seen == MASK and isinstance(name, str) and is_secret(name):
            # A secret that itself reads "******" is hidden as well.
            return True
    return False


def mask_url(url: str) -> str:
    """Return a URL with ``******`` for credentials and values of its query.

    ``https://u:p@host/x?k=v#f`` becomes ``https://******@host/x?k=******``. A
    text that is no URL is masked as a whole.
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
    """Return free text with ``******`` for credentials, secrets and keys.

    ``root:x@host, password=abc`` becomes ``root:x@host, password=******``.
    """
    if len(text) < _SHORTEST_TEXT:
        return text
    return _SECRETS_IN_TEXT.sub(_mask_match, text)


def _mask_match(secret: re.Match[str]) -> str:
    """Return the mask of a secret, with its name if it has one."""
    name = secret['name'] or ''
    return name + MASK


def find_secret_arguments(
    arguments: typing.Mapping[str, typing.Any],
) -> typing.Iterator[str]:
    """Yield the names of arguments in which a rule itself has a secret.

    These are ``value`` and ``cleanup``, if a value is written out that
    belongs at a place with a secret name, ``url`` with credentials, and
    ``headers`` with a header such as ``Authorization``. A field is no secret:
    the rule does not have its value.

    :param arguments: values by name, as the rule has them.
    """
    path = arguments.get('path')
    tokens: data_path.Path = ()
    if isinstance(path, str):
        # The check of the rule reports a wrong path.
        with contextlib.suppress(exceptions.OperationError):
            tokens = data_path.parse(path)
    for name in ('value', 'cleanup'):
        value = arguments.get(name)
        # Masking shows which parts of it are secret.
        _path, masked = mask_along(tokens, value)
        if _has_secret_written_out(value, masked):
            yield name
    url = arguments.get('url')
    if isinstance(url, str) and _has_credentials(url):
        yield 'url'
    headers = arguments.get('headers')
    if isinstance(headers, dict):
        holds_secret = any(
            _is_written_out(value) and is_secret(header)
            for header, value in headers.items()
        )
        if holds_secret:
            yield 'headers'


def _has_credentials(url: str) -> bool:
    """Return whether a URL of a rule has credentials before its host.

    ``https://user:password@host/x`` has. ``urlsplit`` cannot be used: it
    refuses ``https://[{node.address}]/x``, a field in place of an address.
    """
    # urlsplit, by which the rule is checked, ignores these characters.
    url = re.sub('[\\t\\r\\n]', '', url)
    scheme = _SCHEME.match(url)
    if scheme is None:
        return False
    # Credentials and host end before the path, the query or the fragment.
    authority = re.split('[/?#]', url[scheme.end() :], maxsplit=1)[0]
    return '@' in authority


def _has_secret_written_out(value: typing.Any, masked: typing.Any) -> bool:
    """Return whether a rule writes out a part of a value that is masked.

    It does in ``{'token': 'abc'}``, but not in ``{'token': '{vars.a}'}``: this
    only has a field.

    :param value: the value as the rule has it.
    :param masked: the same value, with masks: ``{'token': '******'}``.
    """
    ahead = [(value, masked)]
    while ahead:
        part, masked_part = ahead.pop()
        if isinstance(part, dict):
            # A mapping that is masked as a whole is no mapping any more. Then
            # every value in it is masked.
            masked_values = dict.fromkeys(part, MASK)
            if isinstance(masked_part, dict):
                masked_values = masked_part
            ahead += [(part[name], masked_values[name]) for name in part]
        elif isinstance(part, list):
            # Likewise.
            masked_items: list[typing.Any] = [MASK] * len(part)
            if isinstance(masked_part, list):
                masked_items = masked_part
            ahead += zip(part, masked_items, strict=True)
        elif part != masked_part and _is_written_out(part):
            return True
    return False


def _is_written_out(value: typing.Any) -> bool:
    """Return whether a value has a part that is written in the rule itself.

    ``x{vars.a}`` and 5 have. ``{vars.a}{vars.b}``, which are only fields, and
    null have none.
    """
    if isinstance(value, str):
        return any(
            isinstance(piece, str) for piece in interpolation.parse(value)
        )
    return value is not None

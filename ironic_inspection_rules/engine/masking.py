# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Secrets are hidden by the names they are kept under."""

import functools
import operator
import typing
from urllib import parse as urlparse

from oslo_utils import strutils

MASK = '******'

# Names that oslo.utils does not know and Ironic's drivers use.
_MORE_SECRETS = ('community', 'auth_key', 'priv_key', 'kg_key', 'credential',
                 'image_url')


@functools.lru_cache(maxsize=8192)
def is_secret(key: str) -> bool:
    """Tell whether what is kept under this key has to be hidden.

    The names are those that Ironic hides in its own API
    (``oslo_utils.strutils``), and the credentials of its drivers.
    """
    name = key.lower()
    return (strutils.mask_dict_password({name: 0}) != {name: 0}
            or any(part in name for part in _MORE_SECRETS))


def mask(value: typing.Any) -> typing.Any:
    """Return the value with every secret in it replaced by ``******``.

    Nothing is hidden where there is nothing: None and empty values stay, so
    that a rule can still ask whether a password is set. What holds no secret
    is returned as it is, not copied.

    :param value: plain JSON data.
    """
    if isinstance(value, dict):
        masked = {key: mask_at(key, item) for key, item in value.items()}
        changed = any(masked[key] is not value[key] for key in value)
        return masked if changed else value
    if isinstance(value, list):
        items = [mask(item) for item in value]
        return items if any(map(operator.is_not, items, value)) else value
    return value


def mask_at(key: typing.Any, value: typing.Any) -> typing.Any:
    """Return the value as it may be shown under this key."""
    if isinstance(key, str) and value not in (None, '', [], {}) and (
            is_secret(key)):
        return MASK
    return mask(value)


def mask_along(path: tuple[str, ...], value: typing.Any) -> tuple[
        tuple[str, ...], typing.Any]:
    """Return where and what to write so that no secret shows.

    :param path: the place the value is written to, in unmasked data.
    :returns: the place in masked data, which ends at the first secret name,
        and the value to put there.
    """
    for depth, token in enumerate(path, 1):
        if is_secret(token):
            if depth < len(path):
                return path[:depth], MASK
            return path, mask_at(token, value)
    return path, mask(value)


def mask_url(url: str) -> str:
    """Return a URL without its credentials and the values of its query."""
    try:
        parts = urlparse.urlsplit(url)
        query = urlparse.parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return MASK
    host = parts.netloc.rpartition('@')[2]
    netloc = f'{MASK}@{host}' if '@' in parts.netloc else host
    shown = '&'.join(f'{name}={MASK}' for name, _value in query)
    return urlparse.urlunsplit(
        (parts.scheme, netloc, parts.path, shown, ''))

# SPDX-License-Identifier: Apache-2.0

"""Secrets in free text, recognised by what is around them."""

import re

from ironic_inspection_rules.engine.secrecy import masking

_NAMES = (r'(?:[\w.-]*(?:pass(?:word|wd|phrase)|pwd|token|secret'
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
    rf'(?i:(?P<name>(?<![\w.-]){_NAMES}[\'"]?\s?[=:]\s?))'
    r'(?:"[^"]*"|\'[^\']*\'|[^\s&;,"\']+)')), re.DOTALL)
_SHORTEST = 5


def hide(text: str) -> str:
    """Hide credentials in URLs, values of secret names, and keys."""
    if len(text) < _SHORTEST:
        return text
    return _SECRETS.sub(
        lambda match: (match['name'] or '') + masking.MASK, text)

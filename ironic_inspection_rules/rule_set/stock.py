# SPDX-License-Identifier: Apache-2.0

"""The built-in rules of stock Ironic."""

import json
from typing import Any
import uuid

import yaml

from ironic_inspection_rules.i18n import _

_NAMESPACE = uuid.UUID('0f0e7d39-6a5a-5b0c-9f6e-2f5f0d1c7b52')


def load(path: str) -> list[dict[str, Any]]:
    """Read the file of ``[inspection_rules]built_in_rules``.

    :returns: its rules; one without a UUID has one by its content.
    :raises: ValueError if it cannot be read, or is no list of rules.
    """
    try:
        with open(path, encoding='utf-8') as file:
            entries = yaml.safe_load(file)
    except (OSError, UnicodeError, yaml.YAMLError) as exc:
        raise ValueError(f'{path}: {exc}') from exc
    if not isinstance(entries, list) or not all(
            isinstance(entry, dict)
            and isinstance(entry.get('priority') or 0, int)
            for entry in entries):
        raise ValueError(_('%s: expected a list of rules') % path)
    return [{**entry, 'uuid': _uuid(entry)} for entry in entries]


def _uuid(entry: dict[str, Any]) -> str:
    return str(entry.get('uuid') or uuid.uuid5(
        _NAMESPACE, json.dumps(entry, sort_keys=True, default=str)))

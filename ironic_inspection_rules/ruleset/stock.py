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

"""Rules as stock Ironic reads and runs them, brought into our form."""

from collections.abc import Iterator
import json
from typing import Any
import uuid

from oslo_utils import uuidutils
import yaml

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _

_NAMESPACE = uuid.UUID('0f0e7d39-6a5a-5b0c-9f6e-2f5f0d1c7b52')
_HIGHEST = 9999
_FIELDS = frozenset({'uuid', 'description', 'priority', 'scope', 'sensitive',
                     'phase', 'conditions', 'actions'})
_CONDITION_KEYS = frozenset({'op', 'args', 'loop', 'multiple'})
_ACTION_KEYS = frozenset({'op', 'args', 'loop'})


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
            isinstance(entry, dict) for entry in entries):
        raise ValueError(_('%s: expected a list of rules') % path)
    return [{**entry, 'uuid': _uuid(entry)} for entry in entries]


def translate(fields: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Bring a rule into our form.

    :param fields: of the rule, as stock Ironic stores or reads it.
    :returns: its fields here, and in words what that changes.
    """
    changed = list(_meaning(fields))
    ours = {key: value for key, value in fields.items() if key in _FIELDS}
    if unknown := sorted(map(str, set(fields) - _FIELDS)):
        changed.append(_('%s had no effect and is dropped')
                       % ', '.join(unknown))
    name = str(fields['uuid'])
    if not uuidutils.is_uuid_like(name):
        # Ironic takes any text.
        ours['uuid'] = str(uuid.uuid5(_NAMESPACE, name))
        changed.append(_('"%s" becomes its UUID') % name)
    for key, allowed in (('conditions', _CONDITION_KEYS),
                         ('actions', _ACTION_KEYS)):
        ours[key] = [_without_unknown(operation, allowed, key, changed)
                     for operation in fields.get(key) or ()]
    priority = fields.get('priority')
    if isinstance(priority, int) and not 0 <= priority <= _HIGHEST:
        ours['priority'] = min(max(priority, 0), _HIGHEST)
        changed.append(_('priority %(old)d becomes %(new)d')
                       % {'old': priority, 'new': ours['priority']})
    return ours, changed


def _uuid(entry: dict[str, Any]) -> str:
    return str(entry.get('uuid') or uuid.uuid5(
        _NAMESPACE, json.dumps(entry, sort_keys=True, default=str)))


def _meaning(fields: dict[str, Any]) -> Iterator[str]:
    """Tell what the same words mean in stock Ironic and not here."""
    phase = fields.get('phase') or model.MAIN
    if phase != model.MAIN:
        yield _('never ran in stock Ironic, runs in the phase %s now') % phase
    if fields.get('scope'):
        yield _('ran on all nodes, runs on those of the scope "%s" '
                'now') % fields['scope']


def _without_unknown(operation: Any, allowed: frozenset[str], where: str,
                     changed: list[str]) -> Any:
    """Leave out keys that stock Ironic stores and never looks at."""
    if not isinstance(operation, dict):
        return operation
    unknown = sorted(set(operation) - allowed)
    if unknown:
        changed.append(_('%(keys)s beside the arguments of "%(op)s" in its '
                         '%(where)s had no effect and is dropped') % {
                             'keys': ', '.join(unknown), 'where': where,
                             'op': operation.get('op')})
    return {key: value for key, value in operation.items() if key in allowed}

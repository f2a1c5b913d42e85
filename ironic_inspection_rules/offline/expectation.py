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

"""What trials are expected to give, for tests of rules.

A file has one mapping for each inventory, by its path from the directory of
the file. What a mapping does not mention is not compared::

    machines/r640.json:
      result: ok
      matched: [Set IPMI credentials]
      changes:
        - {object: node, op: add, path: /extra/rack, value: b7}
"""

import difflib
import math
import os
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import machine_test
from ironic_inspection_rules.ruleset import document
from ironic_inspection_rules.ruleset import yaml_text

Expectation = dict[str, typing.Any]

KEYS = ('result', 'error', 'matched', 'changes')


def load(path: str) -> dict[str, Expectation]:
    """Read expectations, by the path of the inventory.

    :raises: :class:`.exceptions.InvalidDocument` where there are none.
    """
    expected = document.load_mapping(path)
    for name, each in expected.items():
        unknown = set(each) - set(KEYS) if isinstance(each, dict) else {''}
        if unknown:
            raise exceptions.InvalidDocument(
                path, _('what is expected of %(name)s must be a mapping with '
                        '%(keys)s') % {'name': name,
                                       'keys': ', '.join(KEYS)})
    return expected


def dump(path: str, actual: typing.Iterable[tuple[str, Expectation]]
         ) -> None:
    """Write what happened, so that it is expected to happen again.

    :param actual: pairs of the file of an inventory and what :func:`actual`
        made of its trial.
    """
    made = f'{path}.new'
    with open(made, 'w', encoding='utf-8') as stream:
        for inventory, each in actual:
            stream.write(_as_yaml({_name(path, inventory): each}))
    os.replace(made, path)


def differences(path: str, expected: dict[str, Expectation],
                actual: typing.Iterable[tuple[str, Expectation]]
                ) -> typing.Iterator[str]:
    """Compare what happened with what is expected.

    :param path: the file of the expectations.
    :param actual: as for :func:`dump`.
    :returns: for each inventory that differs, a diff or a sentence.
    """
    left = dict(expected)
    for inventory, each in actual:
        name = _name(path, inventory)
        wanted = left.pop(name, None)
        if wanted is None:
            yield _('%s: nothing is expected of this inventory') % name
            continue
        text = '\n'.join(difflib.unified_diff(
            _lines(wanted), _lines({key: value for key, value in each.items()
                                    if key in wanted}),
            _('%s as expected') % name, _('%s as it is') % name, lineterm=''))
        if text:
            yield text
    for name in left:
        yield _('%s: there is no such inventory') % name


def actual(each: machine_test.MachineTest) -> tuple[str, Expectation]:
    """Return the file of an inventory and what happened to the machine."""
    return each.path, {
        'result': each.result,
        **({'error': each.error} if each.error else {}),
        'matched': each.matched,
        'changes': [_Change(change.as_dict())
                    for change in each.outcome.changes],
    }


def _name(path: str, inventory: str) -> str:
    return os.path.relpath(inventory, os.path.dirname(path) or '.')


def _lines(expected: Expectation) -> list[str]:
    """Write an expectation in the one way that compares."""
    ordered = {key: expected[key] for key in KEYS if key in expected}
    changes = ordered.get('changes')
    if isinstance(changes, list):
        ordered['changes'] = [
            _Change({name: change.get(name)
                     for name in ('object', 'op', 'path', 'value')})
            if isinstance(change, dict) else change for change in changes]
    return _as_yaml(ordered).splitlines()


def _as_yaml(value: typing.Any) -> str:
    return yaml_text.dump(value, Dumper=_Dumper, width=math.inf)


class _Change(dict[str, typing.Any]):
    """A change, which is written on one line."""


class _Dumper(yaml_text.Dumper):
    """Writes one thing a line, which is best to compare."""


_Dumper.add_representer(
    _Change, lambda dumper, change: dumper.represent_mapping(
        'tag:yaml.org,2002:map', change.items(), flow_style=True))

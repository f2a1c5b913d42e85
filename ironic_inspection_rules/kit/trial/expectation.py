# SPDX-License-Identifier: Apache-2.0

"""Expectations of trials, for tests of rules.

A file has one mapping for each inventory, by its path from the directory of
the file. What a mapping does not mention is not compared::

    machines/r640.json:
      result: ok
      matched: [Set IPMI credentials]
      changes:
        - {object: node, op: add, path: /extra/rack, value: b7}

In the place of a value there may be a part of it: ``{has: [...]}`` for a list
that has these items and perhaps others, ``{matches: REGEX}`` for all of a
text, ``{contains: REGEX}`` for some of it::

    machines/old.json:
      error: {contains: too old}
      traits: {has: [CUSTOM_RACK_B7]}

``error: null`` is that there is none.
"""

import difflib
import math
import os
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import yaml_text

Expectation = dict[str, typing.Any]

KEYS = ('result', 'error', 'matched', 'traits', 'changes')

_PARTS = {'has': list, 'matches': str, 'contains': str}


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
                        '%(keys)s') % {'name': name, 'keys': ', '.join(KEYS)})
        for key, part in each.items():
            if not isinstance(part, dict):
                continue
            if not part or any(
                    not isinstance(value, _PARTS.get(kind, ()))
                    for kind, value in part.items()):
                raise exceptions.InvalidDocument(
                    path, _('%s: a part is {has: [...]}, {matches: REGEX} or '
                            '{contains: REGEX}') % f'{name}, {key}')
            try:
                for kind in ('matches', 'contains'):
                    re.compile(part.get(kind, ''))
            except re.error as exc:
                raise exceptions.InvalidDocument(
                    path, f'{name}, {key}: {exc}') from exc
    return expected


def _holds(part: typing.Any, value: typing.Any) -> bool:
    """Return whether a value is as a part of one says, if it is a part."""
    text = value if isinstance(value, str) else ''
    return isinstance(part, dict) and all(
        isinstance(value, list) and all(each in value for each in wanted)
        if key == 'has' else bool(
            (re.fullmatch if key == 'matches' else re.search)(wanted, text))
        for key, wanted in part.items())


def dump(path: str, actual: typing.Iterable[tuple[str, Expectation]]) -> None:
    """Write what happened, so that it is expected to happen again.

    :param actual: pairs of the file of an inventory and what :func:`actual`
        made of its trial.
    """
    made = f'{path}.new'
    with exceptions.naming(made), open(
            made, 'w', encoding='utf-8') as stream:
        for inventory, each in actual:
            stream.write(_as_yaml({_name(path, inventory): {
                key: value for key, value in each.items()
                if key != 'traits' or value}}))
    os.replace(made, path)


def differences(path: str, expected: dict[str, Expectation],
                actual: typing.Iterable[tuple[str, Expectation]]
                ) -> typing.Iterator[tuple[str, str]]:
    """Compare what happened with what is expected.

    :param actual: as for :func:`dump`.
    :returns: each inventory with a diff or a sentence, empty where all is as
        expected.
    """
    left = dict(expected)
    for inventory, each in actual:
        name = _name(path, inventory)
        wanted = left.pop(name, None)
        if wanted is None:
            yield name, _('%s: nothing is expected of this inventory') % name
            continue
        wanted = {key: value for key, value in wanted.items()
                  if not _holds(value, each.get(key))
                  and (key, value) != ('error', each.get('error'))}
        text = '\n'.join(difflib.unified_diff(
            _lines(wanted), _lines({
                key: value for key, value in each.items()
                if key in wanted and (
                    key != 'traits' or value or not wanted[key])}),
            _('%s as expected') % name, _('%s as it is') % name, lineterm=''))
        yield name, text
    for name in left:
        yield name, _('%s: there is no such inventory') % name


def actual(each: machine_test.MachineTest) -> tuple[str, Expectation]:
    """Return the file of an inventory and what happened to the machine.

    An error is without the UUID of its rule, which may be made of the rule.
    """
    error = each.outcome.error
    text = each.error if error is None else (
        f'{error.op}: {error.reason or _("failed")}')
    traits = (each.outcome.facts.node or {}).get('traits')
    if each.outcome.facts.is_closed(engine_change.TRAITS):
        traits = None
    return each.path, {
        'result': each.result,
        **({'error': text} if text else {}),
        'matched': each.matched,
        **({} if traits is None else {'traits': sorted(traits)}),
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

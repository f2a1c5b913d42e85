# SPDX-License-Identifier: Apache-2.0

"""Read, write and compare files of expectations for ``test``.

A file has one mapping per inventory, by the path of the inventory relative to
the directory of the file. Members that a mapping omits are not compared::

    machines/r640.json:
      result: ok
      matched: [Set IPMI credentials]
      changes:
        - {object: node, op: add, path: /extra/rack, value: b7}

A part of a value may be given instead of the value: ``{has: [...]}`` for a
list that has these items and possibly others, ``{matches: REGEX}`` for a whole
text, ``{contains: REGEX}`` for a part of a text::

    machines/old.json:
      error: {contains: too old}
      traits: {has: [CUSTOM_RACK_B7]}

``error: null`` means that there is no error.
"""

import contextlib
import difflib
import math
import os
import re
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import yaml_text

Expectation = dict[str, typing.Any]


class ActualOutcome(typing.NamedTuple):
    """What happened to a machine, in the form of an expectation.

    :ivar inventory: the file with the inventory of the machine.
    :ivar outcome: e.g. ``{'result': 'ok', 'matched': ['Set rack']}``.
    :ivar problem: why a file cannot be read; empty if all files can be read.
        It is a text, because other processes send it.
    """

    inventory: str
    outcome: Expectation
    problem: str = ''


class Comparison(typing.NamedTuple):
    """The comparison of a machine with its expectation.

    :ivar name: the path of the inventory relative to the directory of the
        file.
    :ivar difference: a diff or a sentence; empty if there is no difference.
    """

    name: str
    difference: str


KEYS = ('result', 'error', 'matched', 'traits', 'changes')
"""Keys of an expectation, in the order in which they are written."""

_TYPE_OF_PART = {'has': list, 'matches': str, 'contains': str}
"""The types of the values of ``has``, ``matches`` and ``contains`` in a
file."""


def load(path: str) -> dict[str, Expectation]:
    """Read a file of expectations.

    :returns: the expectations by the path of the inventory, e.g.
        ``{'machines/a.json': {'result': 'ok', 'matched': ['Set rack']}}``.
    :raises: :class:`.exceptions.InvalidDocument` for any other content.
    """
    expected = document.load_mapping(path)
    for name, expectation in expected.items():
        is_mapping = isinstance(expectation, dict)
        if not is_mapping or not expectation.keys() <= set(KEYS):
            raise exceptions.InvalidDocument(
                path,
                _(
                    'what is expected of %(name)s must be a mapping with '
                    '%(keys)s'
                )
                % {'name': name, 'keys': ', '.join(KEYS)},
            )
        for key, value in expectation.items():
            if isinstance(value, dict):
                _check_part(path, f'{name}, {key}', value)
    return expected


def _check_part(
    path: str, place: str, part: typing.Mapping[str, typing.Any]
) -> None:
    """Check a mapping such as ``{has: […]}``, which expects part of a value.

    It must have one or more of the keys ``has``, ``matches`` and ``contains``.
    The value of ``has`` must be a list. The values of ``matches`` and
    ``contains`` must be regular expressions.

    :param path: the path of the file.
    :param place: the place in the file, e.g. ``a.json, error``.
    :param part: the mapping.
    :raises: :class:`.exceptions.InvalidDocument` for any other mapping.
    """
    has_valid_types = all(
        kind in _TYPE_OF_PART and isinstance(expected, _TYPE_OF_PART[kind])
        for kind, expected in part.items()
    )
    if not part or not has_valid_types:
        raise exceptions.InvalidDocument(
            path,
            _(
                '%s: a part is {has: [...]}, {matches: REGEX} or '
                '{contains: REGEX}'
            )
            % place,
        )
    for kind in ('matches', 'contains'):
        if kind not in part:
            continue
        try:
            re.compile(part[kind])
        except re.error as exc:
            raise exceptions.InvalidDocument(path, f'{place}: {exc}') from exc


def _has_parts(expected: typing.Any, value: typing.Any) -> bool:
    """Return whether a value has all parts that a mapping expects of it.

    * ``{has: [a, b]}`` expects a list with these items and possibly others.
    * ``{matches: REGEX}`` expects a text that the expression matches whole.
    * ``{contains: REGEX}`` expects a text in which the expression matches:
      "too old" has the part ``{contains: old}``.

    :param expected: a value of an expectation; only a mapping expects parts.
    :param value: what happened to the machine, e.g. its error; None if there
        is nothing.
    :returns: False also for an expected value that is not a mapping. The
        caller compares it as a whole.
    """
    if not isinstance(expected, dict):
        return False
    return all(_has_part(kind, part, value) for kind, part in expected.items())


def _has_part(kind: str, part: typing.Any, value: typing.Any) -> bool:
    """Return whether a value has one part, see :func:`_has_parts`.

    :param kind: ``has``, ``matches`` or ``contains``.
    """
    if kind == 'has':
        return isinstance(value, list) and all(item in value for item in part)
    # Any other value, e.g. no error, is matched like an empty text.
    text = ''
    if isinstance(value, str):
        text = value
    if kind == 'matches':
        return re.fullmatch(part, text) is not None
    # The only other key that load() accepts is "contains".
    return re.search(part, text) is not None


def dump(path: str, machines: typing.Iterable[ActualOutcome]) -> None:
    """Write the outcomes of machines as a file of expectations.

    The expectations are written to another file, which replaces the file after
    all machines have been tried. An error leaves the file unchanged, and
    removes the other file.

    :param path: the file of expectations.
    :param machines: the outcomes, from an iterator that tries the next machine
        when its outcome is needed.
    :raises: :class:`.exceptions.Invalid` if an inventory cannot be read,
        because the rules have no outcome then.
    """
    new_path = f'{path}.new'
    with contextlib.ExitStack() as on_error:
        with (
            # This adds the name of the file to an error such as "disk full".
            exceptions.name_file_in_errors(new_path),
            open(new_path, 'w', encoding='utf-8') as stream,
        ):
            # From here on, an error must remove the new file.
            on_error.callback(os.unlink, new_path)
            for inventory, outcome, problem in machines:
                if problem:
                    raise exceptions.Invalid(problem)
                expected = dict(outcome)
                if not expected.get('traits'):
                    # Leave out an empty list, because most machines get no
                    # traits.
                    expected.pop('traits', None)
                name = _name_inventory(path, inventory)
                stream.write(_as_yaml({name: expected}))
        os.replace(new_path, path)
        # There was no error, so cancel the removal.
        on_error.pop_all()


def compare(
    path: str,
    expected: dict[str, Expectation],
    machines: typing.Iterable[ActualOutcome],
) -> typing.Iterator[Comparison]:
    """Compare the outcomes of machines with a file of expectations.

    :param path: the path of the file.
    :param expected: the content of the file.
    :returns: a comparison for every machine, followed by a comparison for
        every expectation whose inventory was not tried.
    """
    # Expectations are removed from this copy when their machine is compared.
    not_tried = dict(expected)
    for inventory, outcome, problem in machines:
        # The name in the file, e.g. "machines/a.json".
        name = _name_inventory(path, inventory)
        expectation = not_tried.pop(name, None)
        if expectation is not None:
            difference = _compare_outcome(name, expectation, outcome)
        elif problem:
            difference = problem
        else:
            difference = _('%s: nothing is expected of this inventory') % name
        yield Comparison(name, difference)
    for name in not_tried:
        yield Comparison(name, _('%s: there is no such inventory') % name)


def _compare_outcome(
    name: str, expectation: Expectation, outcome: Expectation
) -> str:
    """Return a diff of an expectation and an outcome; empty if they agree.

    Members that the expectation does not mention, and members that satisfy
    e.g. ``{has: …}``, are omitted on both sides. For a machine that failed
    unexpectedly, the diff starts with::

        --- a.json as expected
        +++ a.json as it is
        @@ -1 +1 @@
        -result: ok
        +result: failed

    :param name: the path of the inventory, e.g. ``a.json``.
    """
    # The expected members for the diff.
    expected = {}
    for key, value in expectation.items():
        if _has_parts(value, outcome.get(key)):
            # Leave out the member, because its parts are as expected although
            # its whole value may differ.
            continue
        if key == 'error' and value == outcome.get('error'):
            # An outcome without an error has no member "error". So leave out
            # an expected "error: null".
            continue
        expected[key] = value
    # The same members of the outcome.
    found = {}
    for key, value in outcome.items():
        if key not in expected:
            continue
        if key == 'traits' and not value and expected[key]:
            # The diff should only show the missing traits, without "[]".
            continue
        found[key] = value
    diff_lines = difflib.unified_diff(
        _yaml_lines(expected),
        _yaml_lines(found),
        _('%s as expected') % name,
        _('%s as it is') % name,
        lineterm='',
    )
    return '\n'.join(diff_lines)


def build_actual_outcome(test: machine_test.MachineTest) -> ActualOutcome:
    """Return what happened to a machine, in the form of an expectation.

    The error does not have the UUID of the rule, which may change with every
    edit of the rule: it is e.g. ``fail: too old``. Traits are omitted if a
    sensitive rule set some of them.
    """
    rule_error = test.outcome.error
    # If the file cannot be read, this is the reason why. The text of an error
    # of a rule is replaced below.
    error_text = test.error
    if rule_error is not None:
        # The error of a sensitive rule has no reason.
        reason = rule_error.reason or _('failed')
        error_text = f'{rule_error.op}: {reason}'
    # Build the mapping in the order of KEYS, as in the file.
    outcome: Expectation = {'result': test.result}
    if error_text:
        outcome['error'] = error_text
    outcome['matched'] = test.matched
    facts = test.outcome.facts
    node = facts.node or {}
    are_traits_withheld = facts.has_withheld_place(engine_change.TRAITS)
    if node.get('traits') is not None and not are_traits_withheld:
        outcome['traits'] = sorted(node['traits'])
    outcome['changes'] = [
        _ChangeOnOneLine(change.as_dict()) for change in test.outcome.changes
    ]
    problem = ''
    if test.problem is not None:
        problem = str(test.problem)
    return ActualOutcome(test.path, outcome, problem)


def _name_inventory(path: str, inventory: str) -> str:
    """Return the path of an inventory relative to the directory of a file.

    :param path: the file of expectations, e.g. ``tests/expected.yaml``.
    :param inventory: the path, e.g. ``tests/machines/a.json``, which becomes
        ``machines/a.json``.
    """
    return os.path.relpath(inventory, os.path.dirname(path) or '.')


def _yaml_lines(expected: Expectation) -> list[str]:
    """Return an expectation as YAML lines, with keys in the order of KEYS."""
    ordered = {key: expected[key] for key in KEYS if key in expected}
    changes = ordered.get('changes')
    if isinstance(changes, list):
        ordered['changes'] = [_order_fields(change) for change in changes]
    return _as_yaml(ordered).splitlines()


def _order_fields(change: typing.Any) -> typing.Any:
    """Order the fields of a change: object, op, path and value.

    Then a change in a file has the same line as the change of a machine,
    regardless of the order in which its author wrote the fields. A missing
    field becomes null, and fields with other names are left out.

    :param change: a change in a file of expectations, which may not be a
        mapping.
    """
    if not isinstance(change, dict):
        return change
    return _ChangeOnOneLine(
        {name: change.get(name) for name in ('object', 'op', 'path', 'value')}
    )


def _as_yaml(value: typing.Any) -> str:
    return yaml_text.dump(value, Dumper=_Dumper, width=math.inf)


class _ChangeOnOneLine(dict[str, typing.Any]):
    """A change, which is written on one line."""


class _Dumper(yaml_text.Dumper):
    """Write every value and every change on its own line."""


def _represent_change(dumper: _Dumper, change: _ChangeOnOneLine) -> yaml.Node:
    return dumper.represent_mapping(
        'tag:yaml.org,2002:map', change.items(), flow_style=True
    )


_Dumper.add_representer(_ChangeOnOneLine, _represent_change)

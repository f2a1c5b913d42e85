# SPDX-License-Identifier: Apache-2.0

"""Recognizes rules that were written for stock Ironic.

Both engines have the same ops. A rule can be recognized by keys that Ironic
adds when it stores a rule, and by constructs that are only useful because
stock Ironic turns every field into text.
"""

from collections.abc import Iterator
import json
import re
import typing
import uuid

from oslo_utils import uuidutils
import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem

# Never change this: adopted rules are known by UUIDs that are derived from it.
NAMESPACE = uuid.UUID('0f0e7d39-6a5a-5b0c-9f6e-2f5f0d1c7b52')

_FIELDS_OF_ANSWERS = ('created_at', 'links', 'updated_at')
"""Fields that a rule has only if it comes from an answer of the API."""

CONDITIONS: dict[str, tuple[str, ...]] = {
    'eq': ('values', 'force_strings'),
    'lt': ('values', 'force_strings'),
    'gt': ('values', 'force_strings'),
    'is-empty': ('value',),
    'in-net': ('address', 'subnet'),
    'matches': ('value', 'regex'),
    'contains': ('value', 'regex'),
    'one-of': ('value', 'values'),
    'is-none': ('value',),
    'is-true': ('value',),
    'is-false': ('value',),
}
"""The arguments of stock Ironic's conditions, in their order."""

ACTIONS: dict[str, tuple[str, ...]] = {
    'fail': ('msg',),
    'log': ('msg', 'level'),
    'set-attribute': ('path', 'value'),
    'extend-attribute': ('path', 'value', 'unique'),
    'del-attribute': ('path',),
    'add-trait': ('name',),
    'remove-trait': ('name',),
    'set-capability': ('name', 'value'),
    'unset-capability': ('name',),
    'set-plugin-data': ('path', 'value', 'plugin_data'),
    'extend-plugin-data': ('path', 'value', 'plugin_data', 'unique'),
    'unset-plugin-data': ('path', 'plugin_data'),
    'set-port-attribute': ('port_id', 'path', 'value'),
    'extend-port-attribute': ('port_id', 'path', 'value', 'unique'),
    'del-port-attribute': ('port_id', 'path'),
    'api-call': (
        'url',
        'headers',
        'proxies',
        'timeout',
        'retries',
        'backoff_factor',
    ),
}
"""The arguments of stock Ironic's actions, in their order."""

_KEYS_OF_OPERATIONS = frozenset(('op', 'args', 'loop', 'multiple'))
"""The keys that an operation of stock Ironic may have."""

_OUR_FIELDS = (model.VARS, 'mode', 'revision', 'built_in')
"""Fields of a rule that stock Ironic does not have."""

_TEXTS_OF_PYTHON = frozenset(('True', 'False', 'None'))
"""The results of Python's str() for values that JSON writes differently."""


def load(path: str) -> list[dict[str, typing.Any]]:
    """Read stock Ironic's file of rules, ``[inspection_rules]built_in_rules``.

    Only two things are checked: every rule must be a mapping, and its priority
    must be a number.

    :returns: the rules. A rule without a UUID gets a UUID that is computed
        from its content, so that it stays the same whenever the file is read.
    :raises: ValueError if the file cannot be read or is not a list of rules.
    """
    try:
        with open(path, encoding='utf-8') as file:
            entries = yaml.safe_load(file)
    # PyYAML raises LookupError for a value that does not fit its tag, e.g.
    # KeyError for "!!bool maybe" and IndexError for '!!int ""'.
    except (OSError, ValueError, LookupError, yaml.YAMLError) as exc:
        raise ValueError(f'{path}: {exc}') from exc
    if not isinstance(entries, list) or not all(map(_is_rule, entries)):
        raise ValueError(_('%s: expected a list of rules') % path)
    rules = []
    for rule in entries:
        # In stock Ironic, the UUID of a rule may be any text, e.g. "rack-7".
        name = rule.get('uuid')
        if not name:
            # The content is only used to compute the UUID. YAML also has
            # values that JSON does not support, e.g. dates: use their text.
            try:
                content = json.dumps(rule, sort_keys=True, default=str)
            except TypeError as exc:
                # A mapping in YAML may have both numbers and texts as keys.
                raise ValueError(f'{path}: {exc}') from exc
            name = uuid.uuid5(NAMESPACE, content)
        rules.append({**rule, 'uuid': str(name)})
    return rules


def uuid_of(name: typing.Any) -> str:
    """Return the UUID of a rule that is adopted from stock Ironic.

    In stock Ironic, the UUID of a rule may be any text, e.g. ``rack-7``. Equal
    texts give equal UUIDs. A real UUID is returned in the form in which UUIDs
    are stored, in lower case with dashes.
    """
    if uuidutils.is_uuid_like(name):
        return str(uuid.UUID(name))
    return str(uuid.uuid5(NAMESPACE, str(name)))


def _is_rule(rule: typing.Any) -> bool:
    """Return whether an item of the file is a mapping with a valid priority.

    The priority is needed to sort the rules. Other fields are checked later.
    """
    if not isinstance(rule, dict):
        return False
    return isinstance(rule.get('priority') or 0, int)


def find_sign(rule: typing.Any) -> Problem | None:
    """Return the first sign that a rule was written for stock Ironic.

    Proofs are looked for before hints. For example, ``links`` prove that
    Ironic's API has returned the rule, but an empty loop is only a hint.

    :param rule: the rule as its author wrote it, of any type.
    :returns: a problem with the pointer to the sign, and a message that says
        what to do about it; None if the rule is in this language or has no
        sign.
    """
    # If a rule has a field, an op or a key that stock Ironic does not support,
    # it was not written for stock Ironic, whatever other signs it has.
    if not isinstance(rule, dict) or any(name in rule for name in _OUR_FIELDS):
        return None
    for pointer, operation in _list_operations(rule):
        ops = ACTIONS
        if pointer.startswith('/conditions'):
            ops = CONDITIONS
        name, _inverted = model.split_op(str(operation.get('op')))
        if name not in ops or not operation.keys() <= _KEYS_OF_OPERATIONS:
            return None
    proof = next(_find_proofs(rule), None)
    if proof is not None:
        message = _(
            'this is a rule of stock Ironic, %s: run '
            '"ironic-inspection-rules convert --from ironic"'
        )
        return Problem(proof.pointer, message % proof.detail)
    hint = next(_find_hints(rule), None)
    if hint is not None:
        message = _(
            'this looks like a rule of stock Ironic, %s: if it is '
            'one, run "ironic-inspection-rules convert --from ironic"'
        )
        return Problem(hint.pointer, message % hint.detail)
    return None


def arguments_by_name(
    args: typing.Any, names: tuple[str, ...]
) -> dict[str, typing.Any]:
    """Return the arguments of an op by name, from a mapping or a list.

    ``['/extra/a', 1]`` gives ``{'path': '/extra/a', 'value': 1}``.

    :param args: a mapping or a list.
    :param names: names of the arguments, in the order of the list.
    """
    if isinstance(args, dict):
        return dict(args)
    return dict(zip(names, args, strict=False))


def _find_proofs(rule: dict[str, typing.Any]) -> Iterator[Problem]:
    """Yield proofs that a rule was written for stock Ironic.

    One proof is that the rule has something that Ironic's API adds to its
    answers, e.g. ``links``. The other is a regular expression that matches a
    field with its braces, because stock Ironic leaves a missing field as it is
    written.

    :returns: problems with the pointer to the proof, and with the end of a
        sentence about stock Ironic, e.g. "as its API shows it".
    """
    for name in _FIELDS_OF_ANSWERS:
        if name in rule:
            yield Problem(f'/{name}', _('as its API shows it'))
    for pointer, operation in _list_operations(rule):
        args = operation.get('args')
        is_of_plugin_data = str(operation.get('op')).endswith('plugin-data')
        if is_of_plugin_data and _has_plugin_data(args):
            yield Problem(f'{pointer}/args', _('as its API shows it'))
        if isinstance(args, dict) and _matches_field_in_braces(args):
            yield Problem(
                f'{pointer}/args',
                _('where a missing field stays as it is written'),
            )


def _has_plugin_data(args: typing.Any) -> bool:
    """Return whether arguments have an entry that Ironic's API adds.

    This is ``plugin_data``, or an empty mapping as the third item of a list:
    ``['/path', 1, {}]``.
    """
    if isinstance(args, dict):
        return 'plugin_data' in args
    return isinstance(args, list) and args[2:] == [{}]


def _matches_field_in_braces(args: dict[str, typing.Any]) -> bool:
    """Return whether a regular expression matches a field as it is written.

    Stock Ironic leaves a missing field as it is written. So its rules match
    ``{inventory.bmc}`` with ``\\{inventory\\.bmc\\}`` to detect that the field
    is missing.
    """
    value = args.get('value')
    regex = args.get('regex')
    if not isinstance(value, str) or not isinstance(regex, str):
        return False
    return unescape_regex(regex) == value and bool(interpolation.fields(value))


def _find_hints(rule: dict[str, typing.Any]) -> Iterator[Problem]:
    """Yield hints that a rule was written for stock Ironic.

    A hint is something that is allowed here but useless, because it works
    around a behavior of stock Ironic. Stock Ironic ignores an empty loop, and
    turns each value with a field into text.
    """
    for pointer, operation in _list_operations(rule):
        args = operation.get('args')
        if operation.get('loop') in ([], {}):
            yield Problem(
                f'{pointer}/loop',
                _('where an empty loop is none; here nothing happens'),
            )
        texts = [
            value
            for _path, value in data_path.walk(args)
            if isinstance(value, str)
        ]
        if pointer.startswith('/conditions'):
            details = _find_hints_in_condition(texts)
        else:
            details = _find_hints_in_action(texts)
        for detail in details:
            yield Problem(f'{pointer}/args', detail)


def _find_hints_in_condition(texts: list[str]) -> Iterator[str]:
    """Yield hints of stock Ironic in the texts of a condition.

    For example, the text ``True`` next to ``{node.maintenance}`` is a hint,
    because only stock Ironic turns the value true of the field into this text.

    :returns: ends of sentences about stock Ironic: "where true, false …".
    """
    has_field = any(map(_is_plain_field, texts))
    if not has_field:
        return
    for text in texts:
        if text in _TEXTS_OF_PYTHON:
            yield _('where true, false and null become the text "%s"') % text


def _find_hints_in_action(texts: list[str]) -> Iterator[str]:
    """Yield hints of stock Ironic in the texts of an action.

    JSON in a text, e.g. ``{"bus": 1}``, is a hint, because here its braces
    would begin a field.

    :returns: ends of sentences about stock Ironic: "where text such as …".
    """
    for text in texts:
        if text.startswith(('{"', '[{"')) and _is_json(text):
            yield _('where text such as %s is none with fields') % text


def _is_plain_field(text: str) -> bool:
    """Return whether a text is one field without filters or a format."""
    field = interpolation.sole_field(text)
    return field is not None and bool(field.root) and field.is_plain


def _list_operations(
    rule: dict[str, typing.Any],
) -> Iterator[tuple[str, dict[str, typing.Any]]]:
    """Yield the conditions and actions of a rule, with their pointers.

    A pointer is e.g. ``/conditions/0``. The rule has not been validated yet,
    so anything but a mapping is skipped.
    """
    for name in model.OPERATIONS:
        operations = rule.get(name)
        if not isinstance(operations, list):
            continue
        for index, operation in enumerate(operations):
            if isinstance(operation, dict):
                yield f'/{name}/{index}', operation


def unescape_regex(regex: str) -> str:
    """Return the text that a regular expression without choices matches.

    For example, ``^a\\.b$`` matches ``a.b``.
    """
    return re.sub(r'\\(.)', r'\1', regex).removeprefix('^').removesuffix('$')


def _is_json(value: str) -> bool:
    """Return whether a text can be parsed as JSON, e.g. ``{"bus": 1}``."""
    try:
        json.loads(value)
    except ValueError:
        return False
    return True

# SPDX-License-Identifier: Apache-2.0

"""Recognizes rules that were written for stock Ironic, by signs in them.

Stock Ironic's ops are ops of this package too, so a rule of stock Ironic can
only be recognized by signs. There are two kinds:

* A proof occurs only in rules of stock Ironic, e.g. ``links``, which its API
  adds to a rule.
* A hint may also occur in a rule of this package, but has no use there. For
  example, a condition compares ``{node.maintenance}`` with the text ``True``:
  only stock Ironic turns the value of a field into text.
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

    :param path: the path of the file.
    :returns: the fields of every rule. ``uuid`` is always set: it is the text
        in the file, or else a UUID that is computed from the content of the
        rule, so that it is the same whenever the file is read.
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
        uuid_of_rule = rule.get('uuid')
        if not uuid_of_rule:
            try:
                # YAML has values that JSON does not have, e.g. dates. Use
                # their text.
                content = json.dumps(rule, sort_keys=True, default=str)
            except TypeError as exc:
                # JSON cannot sort the keys of a mapping if some are numbers
                # and others are texts. YAML allows both.
                raise ValueError(f'{path}: {exc}') from exc
            uuid_of_rule = uuid.uuid5(NAMESPACE, content)
        rules.append({**rule, 'uuid': str(uuid_of_rule)})
    return rules


def uuid_of(name: typing.Any) -> str:
    """Return the UUID that a rule of stock Ironic gets when it is adopted.

    - A UUID is kept, and written in lower case with dashes.
    - For any other text, e.g. ``rack-7``, the UUID is computed from the text,
      so equal texts give equal UUIDs.

    :param name: the value of ``uuid`` in stock Ironic.
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

    A proof and a hint have the same consequence, a note for the author; only
    the words of the note differ.

    1. If the rule has a field, an op or a key that stock Ironic does not have,
       it was not written for stock Ironic, and there is no sign.
    2. Otherwise, the first proof is the sign.
    3. If there is no proof, the first hint is the sign.

    The docstring of this module says what proofs and hints are.

    :param rule: the rule as its author wrote it, of any type.
    :returns: a problem with the pointer to the sign, and a message that says
        what to do about it; None if there is no sign.
    """
    if not isinstance(rule, dict) or any(name in rule for name in _OUR_FIELDS):
        return None
    for pointer, operation in _list_operations(rule):
        ops_of_stock = ACTIONS
        if pointer.startswith('/conditions'):
            ops_of_stock = CONDITIONS
        name, _inverted = model.split_op(str(operation.get('op')))
        has_our_key = not operation.keys() <= _KEYS_OF_OPERATIONS
        if name not in ops_of_stock or has_our_key:
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

    There are three proofs:

    - the rule has a field that Ironic's API adds to its answers, e.g.
      ``links``;
    - an action on plugin data has an argument that Ironic's API adds, see
      :func:`_has_plugin_data`;
    - a regular expression matches a field together with its braces, see
      :func:`_matches_field_in_braces`. It is only found if the arguments are a
      mapping.

    :returns: problems with the pointer to the proof. Their text is the end of
        the sentence "this is a rule of stock Ironic, …".
    """
    for name in _FIELDS_OF_ANSWERS:
        if name in rule:
            yield Problem(f'/{name}', _('as its API shows it'))
    for pointer, operation in _list_operations(rule):
        args = operation.get('args')
        # These are set-plugin-data, extend-plugin-data and unset-plugin-data.
        is_of_plugin_data = str(operation.get('op')).endswith('plugin-data')
        if is_of_plugin_data and _has_plugin_data(args):
            yield Problem(f'{pointer}/args', _('as its API shows it'))
        if isinstance(args, dict) and _matches_field_in_braces(args):
            yield Problem(
                f'{pointer}/args',
                _('where a missing field stays as it is written'),
            )


def _has_plugin_data(args: typing.Any) -> bool:
    """Return whether arguments contain the data that Ironic's API adds.

    In a mapping of arguments, this is ``plugin_data``. In a list, it is an
    empty mapping as the third item: ``['/path', 1, {}]``.
    """
    if isinstance(args, dict):
        return 'plugin_data' in args
    return isinstance(args, list) and args[2:] == [{}]


def _matches_field_in_braces(args: dict[str, typing.Any]) -> bool:
    """Return whether a regular expression matches a field with its braces.

    In stock Ironic, a missing field stays as it is written. So a rule can
    detect that it is missing: the value is ``{inventory.bmc}``, and the
    regular expression is ``\\{inventory\\.bmc\\}``.

    :param args: the arguments of an operation by name.
    """
    value = args.get('value')
    regex = args.get('regex')
    if not isinstance(value, str) or not isinstance(regex, str):
        return False
    matches_value = unescape_regex(regex) == value
    has_field = bool(interpolation.fields(value))
    return matches_value and has_field


def _find_hints(rule: dict[str, typing.Any]) -> Iterator[Problem]:
    """Yield hints that a rule was written for stock Ironic.

    There are three hints:

    - an empty loop, which stock Ironic ignores;
    - a condition with the text of a boolean or of null, see
      :func:`_find_hints_in_condition`;
    - an action with JSON in a text, see :func:`_find_hints_in_action`.

    :returns: problems with the pointer to the hint. Their text is the end of
        the sentence "this looks like a rule of stock Ironic, …".
    """
    for pointer, operation in _list_operations(rule):
        args = operation.get('args')
        if operation.get('loop') in ([], {}):
            yield Problem(
                f'{pointer}/loop',
                _('where an empty loop is none; here nothing happens'),
            )
        # All texts in the arguments, at any depth.
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
    """Yield hints in the texts of a condition.

    For example, the text ``True`` next to ``{node.maintenance}`` is a hint:
    only stock Ironic turns the value true of the field into this text.

    :param texts: all texts in the arguments of the condition.
    :returns: ends of the sentence "this looks like a rule of stock Ironic, …".
    """
    has_field = any(map(_is_plain_field, texts))
    if not has_field:
        # Without a field, the text "True" is an ordinary text.
        return
    for text in texts:
        if text in _TEXTS_OF_PYTHON:
            yield _('where true, false and null become the text "%s"') % text


def _find_hints_in_action(texts: list[str]) -> Iterator[str]:
    """Yield hints in the texts of an action.

    JSON in a text, e.g. ``{"bus": 1}``, is a hint, because here its braces
    would begin a field.

    :param texts: all texts in the arguments of the action.
    :returns: ends of the sentence "this looks like a rule of stock Ironic, …".
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

    For example, yield ``('/conditions/0', {'op': 'eq', 'args': [1, 2]})``. The
    rule has not been validated yet, so an operation that is not a mapping is
    skipped.
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

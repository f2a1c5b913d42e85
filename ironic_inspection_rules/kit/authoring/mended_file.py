# SPDX-License-Identifier: Apache-2.0

"""Mend files of rules in place, where there is exactly one right mending.

A name is mended where it can only be a slip: no rule, op, filter or machine
has it, and exactly one known name is one letter away.
"""

from collections.abc import Iterable, Iterator
import contextlib
import os
import re
import tempfile
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import schema as form
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.kit.authoring import mended_text
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.authoring.checks import scalars
from ironic_inspection_rules.kit.authoring.checks import shape
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.kit.authoring.checks import writes
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.traits import names as trait_names

_ROUNDS = 10  # One mending may bring another to light.

Change = mended_text.Change
Wanted = list[tuple[file_rule.WrittenRule, Change]]

_UNIT = re.compile('_([kmgt]i?b|bytes)$')

_MARK = '\ufeff'  # The mark that editors of Windows begin a file with.


class Mended(typing.NamedTuple):
    """Mending of a file; ``line`` counts from one."""

    path: str
    line: int
    what: str


def mend(path: str, ops: registry.Registry) -> list[Mended]:
    """Mend what has exactly one right mending in a file.

    All else in it stays as it is, and a file with nothing to mend is not
    written.

    :raises: OSError where it cannot be written.
    """
    try:
        with open(path, encoding='utf-8', newline='') as stream:
            before = stream.read()
        after, mended = mend_text(path, before, ops)
    except (OSError, UnicodeDecodeError, yaml.YAMLError,
            exceptions.InvalidDocument):
        # The checks say why it cannot be read.
        return []
    if after != before:
        _write(os.path.realpath(path), after)
    return mended


def mend_text(path: str, text: str,
              ops: registry.Registry) -> tuple[str, list[Mended]]:
    """Return the text of a file after mending, and what was mended.

    :raises: :class:`.exceptions.InvalidDocument` where it is no file of rules.
    """
    mark = _MARK if text.startswith(_MARK) else ''
    text = text.removeprefix(_MARK)
    mended: list[Mended] = []
    for _round in range(_ROUNDS):
        read = document.parse(path, text)
        places = mended_text.Text(text)
        wanted = [(rule, each) for rule in file_rule.rules(read)
                  for each in dict.fromkeys(changes(rule, ops))
                  if places.has_room(rule.index, each)]
        text, made = _make(text, read, wanted)
        if not made:
            break
        mended += [Mended(path, rule.place(each.pointer)[0], str(each))
                   for rule, each in made]
    return mark + text, mended


def _make(text: str, read: document.Document,
          wanted: Wanted) -> tuple[str, Wanted]:
    """Make the changes after which the file reads as wanted.

    Where all together do not, each half is tried on its own.
    """
    if not wanted:
        return text, []
    by_entry: dict[int, list[Change]] = {}
    for rule, each in wanted:
        by_entry.setdefault(rule.index, []).append(each)
    with contextlib.suppress(
            yaml.YAMLError, exceptions.InvalidDocument, LookupError,
            ValueError, TypeError, AttributeError):
        expected = [mended_text.apply(entry, by_entry.get(index, ()))
                    for index, entry in enumerate(read.entries)]
        edited = mended_text.Text(text).edited(
            (rule.index, each) for rule, each in wanted)
        entries = document.parse(read.path, edited).entries
        if edited != text and data_path.same(list(entries), expected):
            return edited, wanted
    if len(wanted) == 1:
        return text, []
    half = len(wanted) // 2
    first, made = _make(text, read, wanted[:half])
    read = document.parse(read.path, first)
    second, more = _make(first, read, [
        (file_rule.WrittenRule(read, rule.index), each)
        for rule, each in wanted[half:]])
    return second, made + more


def changes(rule: file_rule.WrittenRule,
            ops: registry.Registry) -> Iterator[Change]:
    """Yield what mends a rule in this language; what is good stays."""
    entry = rule.entry
    if not isinstance(entry, dict) or rule.is_old:
        return
    yield from _keys('', entry, model.WRITABLE)
    for name, choices in (('phase', model.PHASES), ('mode', model.MODES)):
        yield from _choice(f'/{name}', entry.get(name), choices)
    for name, inside in (('conditions', 'conditions'), ('actions', 'when')):
        yield from _operations(f'/{name}', entry.get(name), ops, inside)
    checked = checked_rule.of(rule, ops)
    yield from scalars.mendings(checked)
    yield from shape.mendings(checked)
    yield from values.mendings(checked)
    for pointer, field, _item in reach.fields(checked):
        meant = names.port_meant(field.text) or names.data_meant(field.text)
        if meant:
            yield mended_text.Rewrite(pointer, f'{{{field.text}}}',
                                    f'{{{meant}}}')
    for use in reach.uses(checked):
        wrong = _wrong_step(use)
        if wrong:
            yield from _rewrite(use.pointer, use.text, *wrong)
    yield from _paths(checked)


def _keys(pointer: str, mapping: dict[str, typing.Any],
          known: Iterable[str]) -> Iterator[Change]:
    free = set(known) - mapping.keys()
    found = [(key, suggestion.slip(key, free)) for key in mapping
             if key not in known]
    meant = [new for _old, new in found]
    for old, new in found:
        if new is not None and meant.count(new) == 1:
            yield mended_text.Rename(pointer, old, new)


def _choice(pointer: str, value: typing.Any,
            choices: Iterable[str]) -> Iterator[Change]:
    if isinstance(value, str) and value not in choices:
        meant = suggestion.slip(value, choices)
        if meant:
            yield mended_text.Rewrite(pointer, value, meant)


def _operations(pointer: str, operations: typing.Any, ops: registry.Registry,
                inside: str) -> Iterator[Change]:
    """Yield what mends operations and the conditions in them.

    :param inside: under which key they have conditions.
    """
    known = ops.actions if inside == 'when' else ops.conditions
    keys = form.ACTION['properties'] if inside == 'when' else {
        **form.CONDITION['properties'], **form.GROUP['properties']}
    for index, operation in enumerate(
            operations if isinstance(operations, list) else ()):
        if not isinstance(operation, dict):
            continue
        place = f'{pointer}/{index}'
        yield from _keys(place, operation, keys)
        yield from _choice(f'{place}/multiple', operation.get('multiple'),
                           model.MULTIPLE)
        for key in ('args', 'loop'):
            yield from _filters(f'{place}/{key}', operation.get(key))
        if isinstance(operation.get('op'), str):
            name, _inverted = model.split_op(operation['op'])
            if name not in known:
                yield from _choice(f'{place}/op', name, known)
            elif not isinstance(known[name].plugin, plugin.Group):
                yield from _arguments(f'{place}/args', operation.get('args'),
                                      known[name])
        yield from _operations(f'{place}/{inside}', operation.get(inside),
                               ops, 'conditions')


def _arguments(pointer: str, args: typing.Any,
               op: registry.Op) -> Iterator[Change]:
    if isinstance(args, dict):
        yield from _keys(pointer, args, op.signature.by_name)
        name = args.get('name')
        if op.name in ('add-trait', 'remove-trait') and isinstance(name, str):
            form = re.sub('[^A-Z0-9_]+', '_', name.upper())
            if trait_names.problem(name) and trait_names.problem(
                    form) is None and not interpolation.fields(name):
                yield mended_text.Rewrite(f'{pointer}/name', name, form)
    elif isinstance(args, list):
        bound, problems = op.signature.bind(args)
        if not problems:
            first = op.signature.arguments[:1]
            whole = bool(bound) and first[0].variadic and (
                bound[first[0].name] == args)
            yield mended_text.Name(pointer, tuple(bound), whole)


def _filters(pointer: str, value: typing.Any) -> Iterator[Change]:
    known = registry.filters()
    for field in interpolation.fields(value):
        slips = [(call.name, suggestion.slip(call.name, known))
                 for call in field.filters if call.name not in known]
        if field.root is not None and field.root not in (
                *interpolation.ROOTS, interpolation.ITEM):
            slips.append((field.root, suggestion.slip(
                field.root, interpolation.ROOTS)))
        for old, new in slips:
            yield from _rewrite(pointer, field.text, old, new)


def _paths(rule: checked_rule.CheckedRule) -> Iterator[Change]:
    for action in rule.actions:
        for each, (name, *_others) in writes.placed(action):
            meant = suggestion.slip(name, {
                'node': schema.NODE, 'port': schema.PORT}.get(each.kind, ()))
            if meant and each.name.count(name) == 1:
                yield mended_text.Rewrite(
                    action.pointer_to(each.argument), each.name,
                    each.name.replace(name, meant))


def _wrong_step(use: reach.Use) -> tuple[str, str | None] | None:
    unknown = names.unknown(use)
    if unknown:
        return unknown[0], suggestion.slip(*unknown)
    steps = use.from_roots
    found = steps and inventory_fields.find(inventory_fields.known(), steps)
    if isinstance(found, inventory_fields.Unknown) and found.steps not in (
            (), ('plugin_data',)):
        # Beside plugin data of Ironic a site may have some of its own.
        return found.name, suggestion.slip(found.name, found.above.names)
    return None


def _rewrite(pointer: str, text: str, old: str,
             new: str | None) -> Iterator[Change]:
    """Yield the change of a name in the text of a field, if it is clear.

    A name with another unit was not meant: the value beside it would be wrong.
    """
    if new is None or _UNIT.findall(old) != _UNIT.findall(new):
        return
    mended, count = re.subn(rf'(?<![\w-]){re.escape(old)}(?![\w-])', new, text)
    if count == 1:
        yield mended_text.Rewrite(pointer, f'{{{text}}}', f'{{{mended}}}')


def _write(path: str, text: str) -> None:
    """Replace a file at once; its mode and owner stay."""
    status = os.stat(path)
    descriptor, name = tempfile.mkstemp(
        dir=os.path.dirname(path), prefix='.', suffix='.tmp')
    try:
        with exceptions.naming(path), open(
                descriptor, 'w', encoding='utf-8', newline='') as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, status.st_mode & 0o7777)
        with contextlib.suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise

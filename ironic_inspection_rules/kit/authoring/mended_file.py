# SPDX-License-Identifier: Apache-2.0

"""What lint --fix mends, where only one correction is possible.

A name is mended where it can only be a slip: no rule, op, filter or machine
has it, and exactly one known name is a typing error away.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
import contextlib
import os
import re
import tempfile
import typing

import yaml

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema as form
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.kit.authoring import mended_text
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.authoring.checks import scalars
from ironic_inspection_rules.kit.authoring.checks import shape
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule

_ROUNDS = 10  # One mending may bring another to light.

Change = mended_text.Change
Wanted = list[tuple[file_rule.WrittenRule, Change]]
"""Changes to be made, each with its rule."""

_UNIT = re.compile('_([kmgt]i?b|bytes)$')
"""The unit at the end of a name, such as that of ``physical_mb``."""

_BYTE_ORDER_MARK = '\ufeff'
"""The byte order mark, which editors of Windows begin a file with."""


class Mended(typing.NamedTuple):
    """One change that was made in a file; ``line`` counts from one."""

    path: str
    line: int
    what: str


def mend(path: str, ops: registry.Registry) -> list[Mended]:
    """Mend all in a file for which only one correction is possible.

    The rest of it stays as it is, and a file with nothing to mend is not
    written.

    :returns: the changes made; none in a file that cannot be read.
    :raises: OSError where it cannot be written.
    """
    try:
        with open(path, encoding='utf-8', newline='') as stream:
            before = stream.read()
        after, mended = mend_text(path, before, ops)
    except (
        OSError,
        UnicodeDecodeError,
        yaml.YAMLError,
        exceptions.InvalidDocument,
    ):
        # The checks say why it cannot be read.
        return []
    if after != before:
        # A link stays one: the file that it leads to is replaced.
        _replace_file(os.path.realpath(path), after)
    return mended


def mend_text(
    path: str, text: str, ops: registry.Registry
) -> tuple[str, list[Mended]]:
    """Return the text of a file after mending, and what was mended.

    A name that is mended may bring another slip to light, so it is read and
    mended again until nothing is left to mend.

    :raises: :class:`.exceptions.InvalidDocument` where it is no file of rules.
    """
    # A byte order mark is set aside. The parser leaves it out, so with it all
    # places would be off by one.
    byte_order_mark = ''
    if text.startswith(_BYTE_ORDER_MARK):
        byte_order_mark = _BYTE_ORDER_MARK
    text = text.removeprefix(_BYTE_ORDER_MARK)
    mended: list[Mended] = []
    for _round in range(_ROUNDS):
        parsed = document.parse(path, text)
        wanted = _list_wanted_changes(text, parsed, ops)
        text, done = _make_changes(text, parsed, wanted)
        if not done:
            break
        for rule, change in done:
            line, _column = rule.place(change.pointer)
            mended.append(Mended(path, line, str(change)))
    return byte_order_mark + text, mended


def _list_wanted_changes(
    text: str, parsed: document.Document, ops: registry.Registry
) -> Wanted:
    """Return the changes that mend the rules of a file.

    Those that its text has no place for, as for a value with aliases, are
    left out.
    """
    places = mended_text.FileText(text)
    wanted = []
    for rule in file_rule.list_rules(parsed):
        # Two checks may ask for one change.
        for change in dict.fromkeys(changes(rule, ops)):
            if places.has_room(rule.index, change):
                wanted.append((rule, change))
    return wanted


def _make_changes(
    text: str, parsed: document.Document, wanted: Wanted
) -> tuple[str, Wanted]:
    """Make changes in the text of a file.

    The text is changed only if it then reads as the changed rules. If it does
    not with all changes together, each half is tried on its own, down to
    single changes: one that goes wrong costs no other one.

    :returns: the text, and the changes that were made.
    """
    if not wanted:
        return text, []
    edited = _make_all_changes(text, parsed, wanted)
    if edited is not None:
        return edited, wanted
    if len(wanted) == 1:
        return text, []
    half = len(wanted) // 2
    half_made, done = _make_changes(text, parsed, wanted[:half])
    # The places of the second half may have moved, so the text is read again.
    read_again = document.parse(parsed.path, half_made)
    second_half = []
    for rule, change in wanted[half:]:
        moved_rule = file_rule.WrittenRule(read_again, rule.index)
        second_half.append((moved_rule, change))
    mended, also_made = _make_changes(half_made, read_again, second_half)
    return mended, done + also_made


def _make_all_changes(
    text: str, parsed: document.Document, wanted: Wanted
) -> str | None:
    """Return the text of a file with all changes, if it reads as expected.

    The changes are made twice, in the values of the rules and in the text.
    The edited text is read again and has to give the changed values.

    :returns: None if it gives others, or no change has changed anything.
    """
    by_entry: dict[int, list[Change]] = {}
    by_place = []
    for rule, change in wanted:
        by_entry.setdefault(rule.index, []).append(change)
        by_place.append((rule.index, change))
    try:
        expected = []
        for index, entry in enumerate(parsed.entries):
            of_entry = by_entry.get(index, ())
            expected.append(mended_text.apply(entry, of_entry))
        edited = mended_text.FileText(text).edited(by_place)
        entries = document.parse(parsed.path, edited).entries
    except (
        yaml.YAMLError,
        exceptions.InvalidDocument,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
    ):
        # Rules may have any form: a change may have no place any more after
        # another change.
        return None
    if edited == text or not data_path.same(list(entries), expected):
        return None
    return edited


def changes(
    rule: file_rule.WrittenRule, ops: registry.Registry
) -> Iterator[Change]:
    """Yield the changes that mend a rule as its file has it.

    They mend keys, choices, ops, arguments, filters, fields and paths. A rule
    in the form of ironic-inspector has no changes.
    """
    entry = rule.entry
    if not isinstance(entry, dict) or rule.is_of_inspector:
        return
    yield from _mend_keys('', entry, model.WRITABLE)
    yield from _mend_choice('/phase', entry.get('phase'), model.PHASES)
    yield from _mend_choice('/mode', entry.get('mode'), model.MODES)
    yield from _mend_conditions('/conditions', entry.get('conditions'), ops)
    yield from _mend_actions('/actions', entry.get('actions'), ops)
    checked = checked_rule.of(rule, ops)
    yield from scalars.mendings(checked)
    yield from shape.mendings(checked)
    yield from values.mendings(checked)
    for pointer, field, _item in reach.fields(checked):
        # At most one is meant: a field begins with "ports." or with "data".
        meant = names.port_meant(field.text) or names.data_meant(field.text)
        if meant:
            yield mended_text.RewriteText(
                pointer, f'{{{field.text}}}', f'{{{meant}}}'
            )
    for use in reach.uses(checked):
        wrong_step = _find_wrong_step(use)
        if wrong_step is not None:
            name, name_meant = wrong_step
            yield from _rewrite_name(
                use.pointer, use.text, old=name, new=name_meant
            )
    yield from _mend_paths(checked)


def _mend_keys(
    pointer: str, mapping: dict[str, typing.Any], known: Collection[str]
) -> Iterator[Change]:
    """Yield the changes that rename unknown keys of a mapping.

    ``conditons`` becomes ``conditions``, unless the mapping has both.

    :param pointer: the place of the mapping in the rule.
    """
    free = set(known) - mapping.keys()
    name_meant = {}
    for key in mapping:
        if key not in known:
            name = suggestion.find_intended(key, free)
            if name is not None:
                name_meant[key] = name
    names = list(name_meant.values())
    for key, name in name_meant.items():
        # Of two keys that seem to mean the same name, either may be right.
        if names.count(name) == 1:
            yield mended_text.RenameKey(pointer, key, name)


def _mend_choice(
    pointer: str, value: typing.Any, choices: Iterable[str]
) -> Iterator[Change]:
    """Yield the change that mends a word which is none of its choices.

    ``enforec`` becomes ``enforce``.
    """
    if isinstance(value, str) and value not in choices:
        meant = suggestion.find_intended(value, choices)
        if meant:
            yield mended_text.RewriteText(pointer, value, meant)


def _mend_conditions(
    pointer: str, conditions: typing.Any, ops: registry.Registry
) -> Iterator[Change]:
    """Yield the changes that mend conditions, and conditions in groups.

    :param pointer: the place of the list, such as ``/conditions``.
    :param conditions: the list as it is written, of any type.
    """
    keys = {**form.CONDITION['properties'], **form.GROUP['properties']}
    for place, condition in _list_mappings(pointer, conditions):
        yield from _mend_operation(place, condition, ops.conditions, keys)
        yield from _mend_conditions(
            f'{place}/conditions', condition.get('conditions'), ops
        )


def _mend_actions(
    pointer: str, actions: typing.Any, ops: registry.Registry
) -> Iterator[Change]:
    """Yield the changes that mend actions, and their conditions.

    :param pointer: the place of the list.
    :param actions: the list as it is written, of any type.
    """
    for place, action in _list_mappings(pointer, actions):
        yield from _mend_operation(
            place, action, ops.actions, form.ACTION['properties']
        )
        yield from _mend_conditions(f'{place}/when', action.get('when'), ops)


def _list_mappings(
    pointer: str, items: typing.Any
) -> Iterator[tuple[str, dict[str, typing.Any]]]:
    """Yield the items that are mappings, with their pointers.

    Validation reports any other item.

    :param items: the value of ``conditions`` or ``actions``, of any type.
    """
    if not isinstance(items, list):
        return
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield f'{pointer}/{index}', item


def _mend_operation(
    pointer: str,
    operation: dict[str, typing.Any],
    known: Mapping[str, registry.Op],
    keys: Collection[str],
) -> Iterator[Change]:
    """Yield the changes that mend a condition or an action.

    They mend its keys, ``multiple``, op and arguments, and the fields in
    arguments and loop. Conditions inside of it are left out.

    :param known: the ops that may be there.
    :param keys: the keys that the operation may have.
    """
    yield from _mend_keys(pointer, operation, keys)
    yield from _mend_choice(
        f'{pointer}/multiple', operation.get('multiple'), model.MULTIPLE
    )
    for key in ('args', 'loop'):
        yield from _mend_filters(f'{pointer}/{key}', operation.get(key))
    if not isinstance(operation.get('op'), str):
        return
    name, _inverted = model.split_op(operation['op'])
    if name not in known:
        yield from _mend_choice(f'{pointer}/op', name, known)
    elif not isinstance(known[name].plugin, plugin.ConditionGroup):
        args = operation.get('args')
        yield from _mend_arguments(f'{pointer}/args', args, known[name])


def _mend_arguments(
    pointer: str, args: typing.Any, op: registry.Op
) -> Iterator[Change]:
    """Yield the changes that mend the arguments of an operation.

    A list of arguments gets names, and wrong names and traits are mended.
    """
    if isinstance(args, list):
        yield from _name_arguments(pointer, args, op)
    elif isinstance(args, dict):
        yield from _mend_keys(pointer, args, op.signature.by_name)
        if op.name in ('add-trait', 'remove-trait'):
            yield from _mend_trait(f'{pointer}/name', args.get('name'))


def _name_arguments(
    pointer: str, args: list[typing.Any], op: registry.Op
) -> Iterator[Change]:
    """Yield the change from a list of arguments to a mapping of their names.

    ``args: ["/driver", ipmi]`` becomes ``args: {path: "/driver", value:
    ipmi}``.
    """
    bound, problems = op.signature.bind(args)
    if problems:
        # The checks report them.
        return
    # For an op that takes any number of values, the whole list is one
    # argument, such as "values".
    is_one_argument = False
    if bound:
        first = op.signature.arguments[0]
        is_one_argument = first.variadic and bound[first.name] == args
    yield mended_text.NameArguments(pointer, tuple(bound), is_one_argument)


def _mend_trait(pointer: str, name: typing.Any) -> Iterator[Change]:
    """Yield the change that makes a trait of ``custom-gpu``: CUSTOM_GPU."""
    if not isinstance(name, str) or interpolation.fields(name):
        return
    if not trait_names.find_problem(name):
        return
    meant = re.sub('[^A-Z0-9_]+', '_', name.upper())
    if not trait_names.find_problem(meant):
        yield mended_text.RewriteText(pointer, name, meant)


def _mend_filters(pointer: str, value: typing.Any) -> Iterator[Change]:
    """Yield the changes that mend filters and roots in fields of a value.

    :param value: arguments or a loop, of any form, with fields in its texts.
    """
    known = registry.filters()
    roots = (*interpolation.ROOTS, interpolation.ITEM)
    for field in interpolation.fields(value):
        for call in field.filters:
            if call.name not in known:
                meant = suggestion.find_intended(call.name, known)
                yield from _rewrite_name(
                    pointer, field.text, old=call.name, new=meant
                )
        if field.root is not None and field.root not in roots:
            meant = suggestion.find_intended(field.root, interpolation.ROOTS)
            yield from _rewrite_name(
                pointer, field.text, old=field.root, new=meant
            )


def _mend_paths(rule: checked_rule.CheckedRule) -> Iterator[Change]:
    """Yield the changes that mend the attributes in paths of actions.

    ``/resource_clas`` becomes ``/resource_class``. A path that has the wrong
    name twice is left as it is.
    """
    attributes = {'node': schema.NODE, 'port': schema.PORT}
    for action in rule.actions:
        for write, steps in effects.writes_at_paths(action):
            name = steps[0]
            meant = suggestion.find_intended(
                name, attributes.get(write.kind, ())
            )
            # The name of such a write is the path as the action has it.
            path = write.name
            if meant and path.count(name) == 1:
                pointer = action.pointer_to(write.argument)
                mended = path.replace(name, meant)
                yield mended_text.RewriteText(pointer, path, mended)


def _find_wrong_step(use: reach.Use) -> tuple[str, str | None] | None:
    """Find a name in a field that no machine has, and the name meant.

    :returns: None if all names of the field may be right. The name meant is
        None if no known name, or several, are a typing error away.
    """
    unknown = names.find_unknown_name(use)
    if unknown is not None:
        meant = suggestion.find_intended(unknown.name, unknown.known)
        return unknown.name, meant
    if not use.from_roots:
        return None
    step = inventory_fields.find_field(
        inventory_fields.known_fields(), use.from_roots
    )
    if not isinstance(step, inventory_fields.UnknownStep):
        return None
    if step.steps in ((), ('plugin_data',)):
        # A root is mended with the filters. In plugin data any name may be
        # right, as hooks of a site put there what they like.
        return None
    return step.name, suggestion.find_intended(step.name, step.above.names)


def _rewrite_name(
    pointer: str, text: str, *, old: str, new: str | None
) -> Iterator[Change]:
    """Yield the change of a name in a field, if it is clear what is meant.

    :param pointer: the place of the text around the field.
    :param text: the text of the field, without braces.
    :param new: the name that is meant, None if it is unknown.
    """
    if new is None:
        return
    # "physical_gb" may be a slip for "physical_mb", but the number that it is
    # compared with would be wrong.
    if _UNIT.findall(old) != _UNIT.findall(new):
        return
    whole_name = re.compile(rf'(?<![\w-]){re.escape(old)}(?![\w-])')
    mended, count = whole_name.subn(new, text)
    # If the name is there twice, either place may be right.
    if count == 1:
        yield mended_text.RewriteText(pointer, f'{{{text}}}', f'{{{mended}}}')


def _replace_file(path: str, text: str) -> None:
    """Replace a file at once; its mode and owner stay.

    Readers find the old text or the new text, even if the machine stops in
    between.
    """
    status = os.stat(path)
    descriptor, name = tempfile.mkstemp(
        dir=os.path.dirname(path), prefix='.', suffix='.tmp'
    )
    try:
        with (
            exceptions.naming(path),
            open(descriptor, 'w', encoding='utf-8', newline='') as stream,
        ):
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, status.st_mode & 0o7777)
        # Only root may give a file to somebody else.
        with contextlib.suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise

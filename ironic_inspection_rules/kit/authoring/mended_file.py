# SPDX-License-Identifier: Apache-2.0

"""Find and make the corrections of ``lint --fix`` in a file.

Only unambiguous mistakes are corrected. A name is corrected only if no rule,
op, filter or machine has it, and exactly one known name differs from it by a
typing error. For example, ``conditons`` becomes ``conditions``.

A change is about the data of a rule; see :data:`.mended_text.Change`. It is
made both in the data and in the text of the file, and the text must then parse
to the changed data. A change for which this is not so is not made.
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
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.checks import scalars
from ironic_inspection_rules.kit.authoring.checks import shape
from ironic_inspection_rules.kit.authoring.checks import values
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.plugins.actions import schema
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule

_ROUNDS = 10  # Because one correction may reveal another one.

Change = mended_text.Change
Wanted = list[tuple[file_rule.WrittenRule, Change]]
"""Changes to make, each with its rule."""

_UNIT = re.compile('_([kmgt]i?b|bytes)$')
"""Pattern of the unit at the end of a name, e.g. of ``physical_mb``."""

_BYTE_ORDER_MARK = '\ufeff'
"""The byte order mark, which Windows editors write at the start of a file."""


class Mended(typing.NamedTuple):
    """A change that was made in a file.

    :ivar line: the number of the line, starting at 1.
    :ivar what: the change as a sentence.
    """

    path: str
    line: int
    what: str


def mend(path: str, ops: registry.Registry) -> list[Mended]:
    """Correct all mistakes in a file that have exactly one correction.

    The rest of the file is unchanged. A file without corrections is not
    written.

    :returns: the changes that were made; none if the file cannot be read.
    :raises: OSError if the file cannot be written.
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
        # The checks report why the file cannot be read.
        return []
    if after != before:
        # If the path is a link, replace the file to which it points.
        _replace_file(os.path.realpath(path), after)
    return mended


def mend_text(
    path: str, text: str, ops: registry.Registry
) -> tuple[str, list[Mended]]:
    """Return the corrected text of a file, and the changes that were made.

    A corrected name may reveal another mistake, so the text is read and
    corrected again until nothing is left to correct, at most 10 times.

    :raises: :class:`.exceptions.InvalidDocument` if it is not a file of rules.
    """
    # Remove the byte order mark first. The parser skips it, so all positions
    # would be off by one.
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
    """Return the changes that correct the rules of a file.

    Changes that cannot be made in the text, e.g. of a value with aliases, are
    skipped.
    """
    places = mended_text.FileText(text)
    wanted = []
    for rule in file_rule.list_rules(parsed):
        # Two checks may request the same change.
        for change in dict.fromkeys(changes(rule, ops)):
            if places.has_room(rule.index, change):
                wanted.append((rule, change))
    return wanted


def _make_changes(
    text: str, parsed: document.Document, wanted: Wanted
) -> tuple[str, Wanted]:
    """Make changes in the text of a file.

    The text is changed only if it then parses to the changed rules. If it does
    not with all changes, each half is tried separately, down to single
    changes, so that one bad change does not prevent the others.

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
    # The positions of the second half may have moved, so parse the text again.
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
    """Return the text of a file with all changes, if it parses as expected.

    The changes are made both in the values of the rules and in the text. The
    edited text must then parse to the changed values.

    :returns: None if it parses to other values, or if nothing changes.
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
        # Rules may have any form, so a change may no longer be possible after
        # another change.
        return None
    if edited == text or not data_path.is_same(list(entries), expected):
        return None
    return edited


def changes(
    rule: file_rule.WrittenRule, ops: registry.Registry
) -> Iterator[Change]:
    """Yield the changes that correct a rule as it is in its file.

    They correct keys, choices, ops, arguments, filters, fields and paths. A
    rule in the form of ironic-inspector has no changes.

    First the mistakes in the written rule are corrected, even if it cannot be
    read. Then the checks of ``lint`` correct the parts that can be read.
    """
    entry = rule.entry
    if not isinstance(entry, dict) or rule.is_of_inspector:
        return
    yield from _mend_keys('', entry, model.WRITABLE)
    yield from _mend_choice('/phase', entry.get('phase'), model.PHASES)
    yield from _mend_choice('/mode', entry.get('mode'), model.MODES)
    yield from _mend_conditions('/conditions', entry.get('conditions'), ops)
    yield from _mend_actions('/actions', entry.get('actions'), ops)
    checked = checked_rule.build(rule, ops)
    yield from scalars.mendings(checked)
    yield from shape.mendings(checked)
    yield from values.mendings(checked)
    for pointer, field, _item in field_use.list_fields(checked):
        # At most one of these applies, because a field starts with "ports." or
        # with "data".
        meant = names.port_meant(field.text) or names.data_meant(field.text)
        if meant:
            yield mended_text.RewriteText(
                pointer, f'{{{field.text}}}', f'{{{meant}}}'
            )
    for use in field_use.list_uses(checked):
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

    For example, ``conditons`` becomes ``conditions``, unless the mapping
    already has that key.

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
        # If two keys seem to mean the same name, either may be right.
        if names.count(name) == 1:
            yield mended_text.RenameKey(pointer, key, name)


def _mend_choice(
    pointer: str, value: typing.Any, choices: Iterable[str]
) -> Iterator[Change]:
    """Yield the change that corrects a word which is not a valid choice.

    For example, ``enforec`` becomes ``enforce``.
    """
    if isinstance(value, str) and value not in choices:
        meant = suggestion.find_intended(value, choices)
        if meant:
            yield mended_text.RewriteText(pointer, value, meant)


def _mend_conditions(
    pointer: str, conditions: typing.Any, ops: registry.Registry
) -> Iterator[Change]:
    """Yield the changes that correct conditions, including those in groups.

    :param pointer: the place of the list, e.g. ``/conditions``.
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
    """Yield the changes that correct actions and their conditions.

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

    Validation reports all other items.

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
    """Yield the changes that correct a condition or an action.

    They correct its keys, ``multiple``, op and arguments, and the fields in
    the arguments and the loop. Conditions inside the operation are not
    included.

    :param known: the ops that the operation may have.
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
    """Yield the changes that correct the arguments of an operation.

    A list of arguments gets names. Wrong names and traits are corrected.
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
    """Yield the change from a list of arguments to a mapping with names.

    ``args: ["/driver", ipmi]`` becomes ``args: {path: "/driver", value:
    ipmi}``.
    """
    bound, problems = op.signature.bind(args)
    if problems:
        # The checks report them.
        return
    # If an op accepts any number of values, the whole list is one argument,
    # e.g. "values".
    is_one_argument = False
    if bound:
        first = op.signature.arguments[0]
        is_one_argument = first.variadic and bound[first.name] == args
    yield mended_text.NameArguments(pointer, tuple(bound), is_one_argument)


def _mend_trait(pointer: str, name: typing.Any) -> Iterator[Change]:
    """Yield the change that makes a name a valid trait.

    For example, ``custom-gpu`` becomes ``CUSTOM_GPU``.
    """
    if not isinstance(name, str) or interpolation.fields(name):
        return
    if not trait_names.find_problem(name):
        return
    meant = re.sub('[^A-Z0-9_]+', '_', name.upper())
    if not trait_names.find_problem(meant):
        yield mended_text.RewriteText(pointer, name, meant)


def _mend_filters(pointer: str, value: typing.Any) -> Iterator[Change]:
    """Yield the changes that correct filters and roots in fields of a value.

    :param value: arguments or a loop, of any type, whose texts may have
        fields.
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
    """Yield the changes that correct the attributes in paths of actions.

    For example, ``/resource_clas`` becomes ``/resource_class``. A path that
    contains the wrong name twice is unchanged.
    """
    attributes = {'node': schema.NODE, 'port': schema.PORT}
    for action in rule.actions:
        for write, steps in effects.writes_at_paths(action):
            name = steps[0]
            meant = suggestion.find_intended(
                name, attributes.get(write.kind, ())
            )
            # The name of this kind of write is the path as it is in the
            # action.
            path = write.name
            if meant and path.count(name) == 1:
                pointer = action.pointer_to(write.argument)
                mended = path.replace(name, meant)
                yield mended_text.RewriteText(pointer, path, mended)


def _find_wrong_step(use: field_use.FieldUse) -> tuple[str, str | None] | None:
    """Find a name in a field that no machine has, and the intended name.

    :returns: None if all names of the field may be right. The intended name is
        None unless exactly one known name differs by a typing error.
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
        # A wrong root is corrected by _mend_filters(). In plugin data any name
        # may be right, because hooks of a site may store any data there.
        return None
    return step.name, suggestion.find_intended(step.name, step.above.names)


def _rewrite_name(
    pointer: str, text: str, *, old: str, new: str | None
) -> Iterator[Change]:
    """Yield the change of a name in a field, if the intended name is clear.

    :param pointer: the place of the text around the field.
    :param text: the text of the field, without braces.
    :param new: the intended name; None if it is unknown.
    """
    if new is None:
        return
    # "physical_gb" may be a typing error for "physical_mb", but the number
    # with which it is compared would then have the wrong unit.
    if _UNIT.findall(old) != _UNIT.findall(new):
        return
    whole_name = re.compile(rf'(?<![\w-]){re.escape(old)}(?![\w-])')
    mended, count = whole_name.subn(new, text)
    # If the name occurs twice, either place may be right.
    if count == 1:
        yield mended_text.RewriteText(pointer, f'{{{text}}}', f'{{{mended}}}')


def _replace_file(path: str, text: str) -> None:
    """Replace a file atomically, and keep its mode and owner.

    Readers see either the old text or the new text, even if the machine stops
    in between.
    """
    status = os.stat(path)
    descriptor, name = tempfile.mkstemp(
        dir=os.path.dirname(path), prefix='.', suffix='.tmp'
    )
    try:
        with (
            exceptions.name_file_in_errors(path),
            open(descriptor, 'w', encoding='utf-8', newline='') as stream,
        ):
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, status.st_mode & 0o7777)
        # Only root may change the owner of a file.
        with contextlib.suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise

# SPDX-License-Identifier: Apache-2.0

"""Find inspection data that are not reported, or not available yet.

This also includes data that are always missing if the conditions hold. These
are checks of ``lint``.

Inspection data are the inventory and the plugin data of a machine. Which of
them an inspection reports depends on its interface, e.g. the ramdisk or
Redfish, on hooks, and on the release of Ironic. The steps of a field are its
path, e.g. ``('inventory', 'cpu', 'count')``. Rules of ironic-inspector read
the same data under other names.
"""

from collections.abc import Iterable, Iterator, Sequence
import string
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_use
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.plugins.legacy import field as legacy_field
from ironic_inspection_rules.plugins.legacy import text as legacy_text
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_set import repository

Steps = tuple[str, ...]

_MOVED_TO = {
    'lldp_processed': _(
        'Ironic has it by interface in plugin_data.parsed_lldp'
    )
}
"""The place in Ironic of data that ironic-inspector reported."""

_LEAST_LIKENESS = 0.8
"""If a site's own name is at least this similar to a known name, it counts as
a misspelling."""


class FieldRemark(typing.NamedTuple):
    """A remark of :func:`check` about a field.

    :ivar pointer: the place of the field in the rule.
    :ivar message: what is wrong.
    :ivar is_note: whether it is only a note, because some inspections report
        the field.
    """

    pointer: str
    message: str
    is_note: bool


class ReadField(typing.NamedTuple):
    """A field of a rule that reads inspection data.

    An example is ``ReadField('/conditions/0/args/values',
    'inventory.cpu.count', ('inventory', 'cpu', 'count'))``.

    :ivar pointer: the pointer to the place in the rule.
    :ivar text: the text of the field, as its author wrote it.
    :ivar steps: the steps from ``inventory`` or ``plugin_data``. Names of
        ironic-inspector are replaced by the names of Ironic.
    """

    pointer: str
    text: str
    steps: Steps


def check(
    rule: checked_rule.CheckedRule,
    written_names: frozenset[str],
    target: inventory_fields.InspectionTarget,
) -> Iterator[FieldRemark]:
    """Find fields that are never reported, or not by every inspection.

    Fields of ironic-inspector are looked up under their names in Ironic.

    :param written_names: the names in plugin data that rules write.
    :param target: how machines are inspected.
    """
    # If several fields have the same requirement, only the first is reported.
    noted = set()
    for pointer, text, steps in fields(rule):
        name_in_plugin_data = None
        if steps[0] == 'plugin_data' and len(steps) > 1:
            name_in_plugin_data = steps[1]
        if name_in_plugin_data in written_names:
            # A rule writes it, so no inspection has to report it.
            continue
        problem = _why_never_reported(text, steps)
        if problem is None:
            problem = _why_reported_elsewhere(text, steps, target)
        if problem is not None:
            yield FieldRemark(pointer, problem, is_note=False)
        if rule.written.is_of_inspector:
            # The conversion of the rule has all of the notes.
            continue
        if name_in_plugin_data in document.IN_IRONIC:
            # Ironic has the value in another place.
            place = document.IN_IRONIC[name_in_plugin_data]
            message = _(
                '{%(field)s}: ironic-inspector made it, Ironic '
                'does not; it has %(now)s'
            ) % {'field': text, 'now': place}
            yield FieldRemark(pointer, message, is_note=True)
        # Requirements are, for example, a hook or a collector of the ramdisk.
        needs = ', '.join(inventory_fields.describe_needs(steps))
        if needs and needs not in noted and problem is None:
            noted.add(needs)
            message = f'{{{text}}}: {needs}'
            yield FieldRemark(pointer, message, is_note=True)


def _why_never_reported(text: str, steps: Steps) -> str | None:
    """Return the message that no inspection reports a field.

    :param text: the field as its author wrote it.
    :returns: None if an inspection may report the field.
    """
    unknown = inventory_fields.find_field(
        inventory_fields.known_fields(), steps
    )
    if not isinstance(unknown, inventory_fields.UnknownStep):
        return None
    above = '.'.join(unknown.steps)
    if unknown.above.type in inventory_fields.PLAIN:
        if unknown.name == inventory_fields.MEMBER:
            # Another check reports that the value has no items.
            return None
        return _(
            '{%(field)s}: %(above)s is a %(type)s, which has no "%(name)s"'
        ) % {
            'field': text,
            'above': above,
            'type': unknown.above.type,
            'name': unknown.name,
        }
    hint = _hint_at_name(unknown)
    if hint is None:
        # A hook of the site may report it.
        return None
    return _(
        '{%(field)s}: no inspection reports "%(name)s" in %(above)s; %(hint)s'
    ) % {'field': text, 'name': unknown.name, 'above': above, 'hint': hint}


def _hint_at_name(unknown: inventory_fields.UnknownStep) -> str | None:
    """Return a hint at the name that an author meant by an unknown name.

    It has the most similar known name, and what an inspection needs in order
    to report it.

    :returns: None if a hook of the site may report the name.
    """
    names = unknown.above.names
    near = suggestion.find_nearest(unknown.name, names)
    if unknown.steps == ('plugin_data',):
        # Hooks of a site may store any name here, so only a name that is very
        # similar to a known name is a mistake. The names of ironic-inspector
        # were beside the inventory.
        of_inspector = (*document.IN_IRONIC, 'inventory')
        names = [*names, *of_inspector]
        near = suggestion.find_nearest(
            unknown.name, names, cutoff=_LEAST_LIKENESS
        )
        if unknown.name in of_inspector or not near:
            return None
    if unknown.name in _MOVED_TO:
        return _MOVED_TO[unknown.name]
    hint = suggestion.make_hint(unknown.name, names)
    if near:
        needs = inventory_fields.describe_needs((*unknown.steps, near))
        if needs:
            hint += f' ({", ".join(needs)})'
    return hint


def _why_reported_elsewhere(
    text: str, steps: Steps, target: inventory_fields.InspectionTarget
) -> str | None:
    """Return the message that only other kinds of inspection report a field.

    :param target: how machines are inspected, e.g. by Redfish.
    :returns: None if such an inspection may report the field.
    """
    sources = inventory_fields.find_sources(steps)
    if not sources or any(map(target.has, sources)):
        return None
    needs = inventory_fields.describe_needs(steps)
    of_collector = any(source.kind == 'collector' for source in sources)
    is_redfish = target.interface == inventory_fields.REDFISH
    if not needs or is_redfish and of_collector:
        # Collectors run in the ramdisk, which is not used with Redfish.
        needs = [_('the ramdisk only')]
    inspections = []
    if target.interface:
        inspections.append(_('by %s') % target.interface)
    if target.release:
        inspections.append(_('in Ironic %s') % target.release)
    return _('{%(field)s}: no inspection %(target)s reports it; %(needs)s') % {
        'field': text,
        'target': ' '.join(inspections),
        'needs': ', '.join(needs),
    }


def fields(rule: checked_rule.CheckedRule) -> Iterator[ReadField]:
    """Yield the fields of a rule that read inspection data.

    They are written in braces, e.g. ``{inventory.cpu.count}``; or, in ops of
    ironic-inspector, as a path or as ``{data[…]}`` in a text.
    """
    for use in field_use.list_uses(rule):
        steps = use.from_roots
        if steps and steps[0] == 'previous':
            # The data of the previous inspection have the same fields.
            steps = steps[1:]
        if steps and steps[0] in ('inventory', 'plugin_data'):
            yield ReadField(use.pointer, use.text, steps)
    for operation in rule.operations:
        yield from _read_path_of_inspector(operation)
        yield from _read_fields_of_inspector(operation)


def _read_path_of_inspector(
    operation: file_rule.Operation,
) -> Iterator[ReadField]:
    """Yield the field that a condition of ironic-inspector reads from data.

    ``data://inventory.disks[*].size`` has the steps ``('inventory', 'disks',
    '*', 'size')``.
    """
    path = operation.arguments.get('field')
    # Only conditions of ironic-inspector have an argument "field" in which
    # braces are not fields.
    is_of_inspector = 'field' in operation.op.plugin.LITERAL
    if not is_of_inspector or not isinstance(path, str):
        return
    scheme, _path = legacy_field.split(path)
    if scheme != 'data':
        return
    try:
        steps = legacy_field.steps(path)
    except exceptions.OperationError:
        # Validation reports a path that cannot be parsed.
        return
    tokens = []
    for step in steps:
        if step is legacy_field.ANY:
            tokens.append(inventory_fields.MEMBER)
        else:
            tokens.append(str(step))
    if tokens:
        yield ReadField(
            operation.pointer_to('field'),
            path,
            document.place_in_ironic(tokens),
        )


def _read_fields_of_inspector(
    operation: file_rule.Operation,
) -> Iterator[ReadField]:
    """Yield the ``{data[…]}`` in arguments of ironic-inspector's actions.

    Their names are replaced by the names of the same data in Ironic. Texts
    with mistakes are skipped.
    """
    # FORMATTED names the arguments whose text may have {data[…]}.
    for name in getattr(operation.op.plugin, 'FORMATTED', ()):
        for _pointer, text in checked_rule.texts(
            operation.arguments.get(name)
        ):
            if any(legacy_text.problems(text)):
                # Another check reports the problems of this text.
                continue
            for piece in string.Formatter().parse(text):
                _literal, field, _spec, _conversion = piece
                if field:
                    keys = map(str, legacy_text.steps(field))
                    yield ReadField(
                        operation.pointer_to(name),
                        field,
                        document.place_in_ironic(keys),
                    )


_RESULT_WHERE_ABSENT = {'exists': False, 'is-none': True}
"""The result, before inversion, by which a condition states that its value is
missing or null."""


def _find_absent_fields(conditions: Iterable[file_rule.Operation]) -> set[str]:
    """Return the fields that are missing or null if all conditions hold.

    For example, ``{'/inventory/bmc_address'}`` if a condition is ``is-none``
    on this field.
    """
    absent = set()
    for condition in conditions:
        absent |= _find_absent_fields_by(condition, holds=True)
    return absent


def _find_absent_fields_by(
    condition: file_rule.Operation, holds: bool
) -> set[str]:
    """Return the fields that a condition states to be missing or null.

    For example, if ``is-none`` on ``{node.name}`` holds, this is
    ``/node/name``.

    :param holds: whether the condition holds or does not hold.
    """
    if condition.loops:
        return set()
    # The result of the op itself, before inversion.
    result = holds != condition.inverted
    if isinstance(condition.op.plugin, plugin.ConditionGroup):
        return _find_absent_fields_by_group(condition, result)
    # Examples are "is-none" that holds, and "exists" that does not hold.
    if _RESULT_WHERE_ABSENT.get(condition.op.name) == result:
        value = condition.arguments['value']
        if facts.is_field(value):
            return {facts.field_name(value)}
    if not holds:
        # A condition may be false because any of its fields is missing.
        return set()
    return {
        fact.field
        for fact in facts.stated_by(condition)
        if facts.allowed_values(fact) == [None]
    }


def _find_absent_fields_by_group(
    group: file_rule.Operation, result: bool
) -> set[str]:
    """Return the fields that a group of conditions states to be absent.

    If all conditions in it must have a certain result, these are the fields of
    all of them; if only some condition must, the fields that all have in
    common.

    :param result: the result of the group before inversion.
    """
    name = group.op.name
    inner_result = result
    if name == 'none-of':
        inner_result = not result
    absent_by_inner = [
        _find_absent_fields_by(inner, holds=inner_result)
        for inner in group.inner
    ]
    # "any-of" is false if all of its conditions are false, and true if any is
    # true. The other groups are true if all conditions have the right result,
    # and false if any has not.
    result_by_all = name != 'any-of'
    if result == result_by_all:
        return set().union(*absent_by_inner)
    return set.intersection(*absent_by_inner)


def check_missing(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find actions that read a field which a condition states to be missing.

    An example is ``value: "{inventory.bmc_address}"`` in a rule with the
    condition ``is-none`` on the same field.
    """
    absent_by_rule = _find_absent_fields(rule.conditions)
    for index, action in enumerate(rule.actions):
        if action.op.plugin.FAILS:
            # "fail" may be used because a field is missing.
            continue
        absent = absent_by_rule | _find_absent_fields(action.inner)
        earlier_actions = rule.actions[:index]
        for name, field in _list_fields_needed(action):
            if not _is_absent([field.root, *field.steps], absent):
                continue
            may_be_written_before = any(
                effects.may_change(earlier, [field])
                for earlier in earlier_actions
            )
            if not may_be_written_before:
                message = _(
                    '{%s} is missing or null wherever the conditions hold'
                )
                yield action.pointer_to(name), message % field.text


def _list_fields_needed(
    action: file_rule.Operation,
) -> Iterator[tuple[str, interpolation.Field]]:
    """Yield the fields that an action needs, with the name of the argument."""
    for name, value in action.templates.items():
        if name == 'msg':
            # A missing field in a message is harmless.
            continue
        for field in interpolation.fields(value):
            # A field may have a filter, e.g. "default", because it may be
            # missing.
            if field.root and not field.filters:
                yield name, field


def _is_absent(path: Sequence[typing.Any], absent: set[str]) -> bool:
    """Return whether a field, or a mapping around it, is missing or null.

    If ``/inventory/boot`` is missing, so is ``inventory.boot.pxe``.

    :param path: the root and the steps of the field.
    :param absent: the fields that are missing or null, e.g.
        ``/inventory/boot``.
    """
    return any(
        data_path.pointer(path[:length]) in absent
        for length in range(1, len(path) + 1)
    )


def check_order(
    rules: Sequence[checked_rule.CheckedRule],
) -> checked_rule.MistakesOfRules:
    """Find plugin data that a rule reads before any rule has written them.

    For example, a rule reads ``{plugin_data.rack}``, and the only rule that
    writes it has a lower priority, so it runs later.

    Names that inspections report are skipped. Rules that are only audited or
    switched off are skipped too, because they write nothing.
    """
    by_uuid = {
        rule.rule.uuid: rule
        for rule in rules
        if rule.rule.mode == model.ENFORCE
    }
    in_order = repository.order(rule.rule for rule in by_uuid.values())
    ordered = [by_uuid[rule.uuid] for rule in in_order]
    # For each name in plugin data, the position of the first rule that writes
    # it.
    first_writers: dict[str, int] = {}
    for position, rule in enumerate(ordered):
        for name in effects.names_of_plugin_data(rule.actions):
            first_writers.setdefault(name, position)
    for position, rule in enumerate(ordered):
        for use, name in _list_names_read(rule):
            if name not in first_writers:
                continue
            writer = first_writers[name]
            # The conditions of a rule are checked before its own actions.
            is_condition = use.pointer.startswith('/conditions')
            is_own_condition = is_condition and writer == position
            if writer > position or is_own_condition:
                message = _(
                    '{%(field)s} is not there yet: rule %(label)s, which '
                    'writes it, runs later'
                ) % {
                    'field': use.text,
                    'label': ordered[writer].written.label,
                }
                yield rule, use.pointer, message


def _list_names_read(
    rule: checked_rule.CheckedRule,
) -> Iterator[tuple[field_use.FieldUse, str]]:
    """Yield the uses of plugin data that no inspection reports, with names.

    ``{plugin_data.rack.row}`` reads the name ``rack``.
    """
    reported = inventory_fields.known_fields().below['plugin_data'].below
    for use in field_use.list_uses(rule):
        steps = use.from_roots or ()
        if steps[:1] != ('plugin_data',) or len(steps) < 2:
            continue
        if steps[1] not in reported:
            yield use, steps[1]

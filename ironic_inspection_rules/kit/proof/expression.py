# SPDX-License-Identifier: Apache-2.0

"""Evaluate texts with fields and filters on all possible machines at once.

A rule may contain the text ``rack-{inventory.hostname}``. The engine fills in
the hostname of one machine. A proof has no such machine: it computes all
values that the text may have, as a list of alternatives. The guard of an
alternative is a formula that holds on the machines that have it::

    the hostname is missing → missing
    the hostname is a text  → the text "rack-" + hostname

An alternative is a constant, a term of the solver (here ``hostname``, a text
that the solver chooses), a list, a mapping, an error, or an unknown value. An
unknown value replaces what a proof cannot compute, with the reason.
"""

from collections.abc import Hashable, Mapping, Sequence
import dataclasses
import functools
import json
import math
import typing

import z3

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import call as engine_call
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import filter_syntax
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.kit.proof import cell as cells
from ironic_inspection_rules.kit.proof import expected_row
from ironic_inspection_rules.kit.proof import filter as filters
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import machine as machines
from ironic_inspection_rules.kit.proof import secret
from ironic_inspection_rules.kit.proof import value as values

Value = values.Value
Pieces = Sequence[str | interpolation.Field]


@dataclasses.dataclass(frozen=True)
class Scope:
    """The data in which fields are looked up, by the name of their root.

    :ivar is_sensitive: whether the rule is sensitive. Only sensitive rules
        read the secret columns of tables.
    """

    machine: machines.SymbolicMachine
    roots: Mapping[str, Value]
    is_sensitive: bool = False

    @property
    def fingerprint(self) -> Hashable:
        """A key that is equal for scopes in which fields have equal values."""
        data = tuple(
            (name, values.fingerprint(self.roots[name]))
            for name in sorted(self.roots)
        )
        return self.is_sensitive, data

    def within(self, **roots: Value) -> 'Scope':
        """Return the scope with additional roots."""
        return dataclasses.replace(self, roots={**self.roots, **roots})


def evaluate_pieces(pieces: Pieces, scope: Scope) -> Value:
    """Evaluate a text with fields, e.g. ``['rack-', <field>]``.

    If the field ``name`` may be missing or a text, the result is::

        name is missing → missing
        name is a text  → the text "rack-" + name

    If the text is a single field, the value may have any type; otherwise it is
    a text. The result is missing or an error if a field is. If the fields have
    too many combinations of values, the text is unknown.

    :param pieces: texts, and the fields between them.
    :param scope: the data in which the fields are looked up.
    """
    parts: list[Value] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(values.const(piece))
        else:
            parts.append(evaluate_field(piece, scope))
    if len(parts) == 1:
        # A single field keeps its type: it is not joined to a text.
        return parts[0]
    if math.prod(len(part) for part in parts) > values.MOST_ALTERNATIVES:
        # A term for every combination would be exact, but the solver would
        # spend on these terms the time that other questions need.
        unknown_text = values.unknown_value(
            'a value with too many alternatives',
            'text',
            *parts,
            *map(values.order, parts),
        )
        return _require_parts(parts, unknown_text)
    # Join one text for every combination of the values of the fields.
    return values.join(
        (guard, _join_text(alternatives, scope.machine))
        for guard, alternatives in values.product(
            parts, scope.machine.keep_going
        )
    )


def evaluate(written: typing.Any, scope: Scope) -> Value:
    """Evaluate data of a rule, e.g. ``{'rack': '{vars.rack}'}``.

    The data may be::

        a text                          → see evaluate_pieces()
        anything without fields         → a constant
        a list with fields              → a list of the values of its items
        a mapping with fields in values → a mapping with the evaluated values
        a mapping with fields in keys   → an unknown value

    A list or a mapping is missing or an error if a part of it is.

    :param written: any JSON, whose texts may contain fields.
    :param scope: the data in which the fields are looked up.
    """
    # This raises if the time of the proof is over.
    scope.machine.keep_going()
    if isinstance(written, str):
        return evaluate_pieces(interpolation.parse(written), scope)
    has_fields = isinstance(written, list | dict) and bool(
        interpolation.fields(written)
    )
    if not has_fields:
        # Without fields, the value is the same on all machines.
        return values.const(template.compile_value(written))
    if isinstance(written, list):
        parts = [evaluate(part, scope) for part in written]
        items = tuple(map(values.WrittenItem, parts))
        length = z3.IntVal(len(items))
        return _require_parts(parts, values.ItemList(length, items, 'a list'))
    has_fields_in_keys = bool(interpolation.fields(list(written)))
    if has_fields_in_keys:
        # The names in a mapping must be known.
        return values.unknown(
            'a key with a field in it',
            scope.fingerprint,
            json.dumps(written, default=str),
        )
    entries = {name: evaluate(part, scope) for name, part in written.items()}
    return _require_parts(
        list(entries.values()), values.Mapping(cell=None, entries=entries)
    )


def _require_parts(parts: list[Value], whole: values.Alternative) -> Value:
    """Return a list, a mapping or a text if all its parts have a value.

    The engine reads the parts in order, and the first part without a value
    decides: if it is missing, the whole is missing, and if it is an error, the
    whole is an error. An unknown part may be either, so the whole is unknown.
    For the list ``['{inventory.hostname}', '{vars.rack}']`` the result is::

        the hostname is missing                   → missing
        the hostname is a text, the rack an error → an error
        both are texts                            → the list of both

    :param parts: the values of the parts.
    :param whole: the list, mapping or text.
    """
    cases: list[tuple[logic.Formula, Value]] = []
    # Holds on the machines on which all parts so far have a value.
    is_reached = logic.TRUE
    for part in parts:
        guards_with_value = []
        # The guard of an alternative holds on the machines that have it.
        for guard, alternative in part:
            decides = logic.conj(is_reached, guard)
            if values.has_no_value(alternative):
                cases.append((decides, values.only(alternative)))
            elif isinstance(alternative, values.UnknownValue):
                unknown = values.unknown(alternative.reason, *parts)
                cases.append((decides, unknown))
            else:
                guards_with_value.append(guard)
        is_reached = logic.conj(is_reached, logic.disj(*guards_with_value))
    cases.append((is_reached, values.only(whole)))
    return values.join(cases)


def evaluate_argument(
    declared: arguments.Argument, written: typing.Any, scope: Scope
) -> Value:
    """Evaluate an argument, and convert it to the type that its op declares.

    :param written: the argument as the rule has it, e.g. ``{vars.count}``.
    """
    return convert_argument(declared, evaluate(written, scope))


def convert_argument(declared: arguments.Argument, value: Value) -> Value:
    """Convert the value of an argument to the type that its op declares.

    Every alternative of the value is converted separately, e.g. "8" to 8 for
    an ``int``.
    """
    if not declared.converts:
        return value
    return values.transform(
        value, functools.partial(_convert_alternative, declared)
    )


def _convert_alternative(
    declared: arguments.Argument, alternative: values.Alternative
) -> Value:
    """Convert an alternative of an argument to the type that an op declares.

    The cases are, in this order::

        a missing value or an error       → the same
        a constant                        → converted by the engine, e.g. "8"
                                            to 8 for an int, or an error
        any value for a type without a
        conversion                        → the same
        an unknown value                  → unknown
        a list for a list                 → the same
        any other value for a list, and a
        list or a mapping for other types → an error
        a text, a number or a truth value → the same for a str
        a truth value for a bool          → the same
        anything else                     → unknown

    :param declared: the argument that the op declares, with its type.
    """
    if values.has_no_value(alternative):
        return values.only(alternative)
    if isinstance(alternative, values.Const):
        try:
            converted = arguments.convert(alternative.value, declared)
        except exceptions.OperationError:
            return values.FAILED
        return values.const(converted)
    if declared.type not in arguments.TYPES:
        # The engine has no conversion to this type.
        return values.only(alternative)
    unknown = values.unknown(
        f'the argument {declared.name}', str(declared.type), alternative
    )
    if isinstance(alternative, values.UnknownValue):
        return unknown
    if declared.type is list:
        if alternative.is_list or isinstance(alternative, values.TraitNames):
            return values.only(alternative)
        return values.FAILED
    if not isinstance(alternative, values.SolverTerm):
        # A list or a mapping is neither a text nor a number.
        return values.FAILED
    if declared.type is str:
        return values.only(alternative)
    if declared.type is bool and alternative.is_boolean:
        return values.only(alternative)
    # Only the engine knows which texts it reads as a number or truth value.
    return unknown


def evaluate_path(written: str, scope: Scope) -> Value:
    """Evaluate a path, e.g. ``/extra/{inventory.hostname}``.

    The path is split into its tokens, ``extra`` and the field, before the
    fields are evaluated. A field therefore stays a single token, even if its
    text contains a "/".

    :param written: the path as the rule has it.
    :returns: ``('extra', 'rack')`` for ``/extra/{vars.place}``, if the
        variable is the constant "rack". If a token is read from the machine,
        the path is unknown.
    """
    tokens = []
    for pieces in engine_call.split_path(interpolation.parse(written)):
        # There is an empty text between a separator and a field.
        pieces_of_token = [piece for piece in pieces if piece]
        token = evaluate_pieces(pieces_of_token, scope)
        has_field = not all(isinstance(piece, str) for piece in pieces)
        if has_field:
            token = values.transform(token, _make_token)
        tokens.append(token)
    return values.join(
        (guard, _build_path(combination, written))
        for guard, combination in values.product(
            tokens, scope.machine.keep_going
        )
    )


def _make_token(alternative: values.Alternative) -> Value:
    """Return the token of a path that a field fills in.

    A "-" from a field is the name of an entry. Only a "-" that the rule itself
    writes is the end of a list. A list or a mapping is an error.
    """
    if alternative.is_missing or not isinstance(alternative, values.Const):
        return values.only(alternative)
    if isinstance(alternative.value, list | dict):
        return values.FAILED
    return values.const(data_path.Key(str(alternative.value)))


def _build_path(tokens: tuple[values.Alternative, ...], written: str) -> Value:
    """Build a path from the values of its tokens.

    :param tokens: e.g. the constant "extra" and a text of the machine.
    :param written: the path as the rule has it, e.g. ``/extra/{item}``.
    :returns: a constant such as ``('extra', 'rack')``. If a token is missing
        or an error, so is the path. If a token differs between machines, the
        path is unknown, because a write can be followed only to a known place.
    """
    for token in tokens:
        if values.has_no_value(token):
            return values.only(token)
    path: list[str] = []
    for token in tokens:
        if not isinstance(token, values.Const):
            return values.unknown(
                'a path out of the data of a machine', *tokens
            )
        path.append(token.value)
    try:
        # This raises if the path is too long, for example.
        data_path.check(path, written)
    except exceptions.OperationError:
        return values.FAILED
    return values.const(tuple(path))


def _join_text(
    parts: tuple[values.Alternative, ...], machine: machines.SymbolicMachine
) -> Value:
    """Join values to one text.

    The cases are, in this order::

        a value is missing or an error     → the same
        a value is unknown                 → an unknown text
        "rack-" and 8, all constants       → the constant "rack-8"
        a list or mapping of the machine   → an unknown text
        "rack-" and a text ``name``        → the term "rack-" + name

    The first value that is missing, an error or unknown decides.
    """
    for part in parts:
        if values.has_no_value(part):
            return values.only(part)
        if isinstance(part, values.UnknownValue):
            return values.unknown(part.reason, 'text', *parts)
    constants = [
        str(part.value) for part in parts if isinstance(part, values.Const)
    ]
    if len(constants) == len(parts):
        return values.const(''.join(constants))
    texts = [machine.text_of(part) for part in parts]
    if any(text is None for text in texts):
        orders = [part.order for part in parts]
        return values.unknown('a list or mapping as text', *parts, *orders)
    if len(texts) == 1:
        return values.only(values.SolverTerm(texts[0]))
    return values.only(values.SolverTerm(z3.Concat(*texts)))


def evaluate_field(field: interpolation.Field, scope: Scope) -> Value:
    """Evaluate a field, including its filters and its format.

    The value of ``{inventory.cpu.count | int}`` is the number to which the
    filter converts the count, on all machines. It is missing if the count is
    missing.
    """
    if effects.reads_table(field):
        # The first filter of the field looks up the row.
        value = _evaluate_row(field, scope)
    else:
        value = _apply_filters(field.filters, _look_up(field, scope), scope)
    # The solver can convert a value to text, but to no other format.
    if field.conversion == 's' and not field.spec:
        as_text = functools.partial(_convert_to_text, scope.machine)
        return values.transform(value, as_text)
    if field.conversion or field.spec:
        in_format = functools.partial(_forget_format, field)
        return values.transform(value, in_format)
    return value


def _convert_to_text(
    machine: machines.SymbolicMachine, alternative: values.Alternative
) -> Value:
    """Return an alternative as text, as the conversion ``!s`` does."""
    return _join_text((alternative,), machine)


def _forget_format(
    field: interpolation.Field, alternative: values.Alternative
) -> Value:
    """Return an unknown value for a format such as ``{node.memory:>8}``.

    A missing value stays missing, because the engine does not format it.
    """
    if alternative.is_missing:
        return values.only(alternative)
    return values.unknown(
        f'the format of {{{field.text}}}', alternative, alternative.order
    )


def _evaluate_row(field: interpolation.Field, scope: Scope) -> Value:
    """Evaluate a field that reads a row of a table.

    Only ``{tables.NAME | row}`` without a key, which reads the row of the
    machine itself, is supported. With any other key the value is unknown.
    """
    if not _is_row_of_machine(field):
        return values.unknown(
            'a row of a table by another key', field.text, scope.fingerprint
        )
    expected = scope.machine.tables.get(field.steps[0])
    unknown = expected_row.unknown_row(expected, field.text, scope.fingerprint)
    if unknown is not None:
        return unknown
    # unknown_row() returns a value for a table that does not exist.
    assert expected is not None
    if expected.definition.of is None:
        # The table does not define which row belongs to a machine.
        return values.NOTHING
    if interpolation.sole_field(expected.definition.of) is None:
        # In the engine, the key is missing if a field in it is null, but
        # evaluate() would convert null to the text "None".
        return values.unknown(
            'a row by a key of several fields', field.text, scope.fingerprint
        )
    key = evaluate(expected.definition.of, scope)
    row = expected_row.find_row(
        expected, key, scope.machine, scope.is_sensitive
    )
    # Skip the first filter, because it is ``row`` itself.
    return _apply_filters(field.filters[1:], row, scope)


def _is_row_of_machine(field: interpolation.Field) -> bool:
    """Return whether a field reads the row of the machine itself.

    ``{tables.cpus | row}`` does. With an argument, it reads another row.
    """
    if field.root != interpolation.TABLES or not field.filters:
        return False
    if field.filters[0].arguments:
        return False
    # The first element of fields_of_field() is the field itself.
    has_inner_fields = len(effects.fields_of_field(field)) > 1
    return not has_inner_fields


def _look_up(field: interpolation.Field, scope: Scope) -> Value:
    """Return the value at the path of a field, with secrets masked.

    The first filter of the field is applied to this value. As in the engine,
    some roots are special: ``node.traits`` is a list of names, and plugin data
    may be in the inventory under another name. A port that is read by address,
    as in ``{ports[ADDRESS].name}``, is unknown.
    """
    root = field.root or ''
    steps = field.steps
    value = scope.roots.get(root, values.NOTHING)
    # Ports are read by index, as in {ports[0].name}, or by MAC address.
    if root in rendering.PORT_ROOTS and steps:
        is_by_address = data_path.index(steps[0]) is None
        if is_by_address:
            return values.unknown(f'the port of {{{field.text}}}', value)
    # A proof keeps traits by name, but rules read a list of names.
    if root == 'node' and steps[:1] == ('traits',):
        traits = values.step(value, cells.TRAITS[1])
        value = values.only(values.TraitNames(traits))
        steps = steps[1:]
    if root in secret.MADE_BY_RULES:
        # Values that rules have made, e.g. variables, are not masked again.
        value = secret.step_in_made_value(scope.machine, value, *steps)
    else:
        value = secret.step(scope.machine, value, *steps)
        hide = functools.partial(secret.mask_inside, scope.machine)
        value = values.transform(value, hide)
    if root == interpolation.ITEM:
        # If the rule itself writes the item, some fields in it may be missing.
        # An item that is read as a whole is then missing too.
        value = values.transform(value, _read_whole_item)
    if root == 'plugin_data' and steps:
        # The machine may have sent it in its inventory, under another name.
        value = _try_second_names(value, steps, scope)
    return value


def _read_whole_item(alternative: values.Alternative) -> Value:
    """Return an item of a loop that a rule reads as a whole, by ``{item}``.

    If the rule itself writes the item, it has no value if one of its parts has
    none. Any other item is returned unchanged.
    """
    # Only items that the rule itself writes are of this class.
    if not isinstance(alternative, values.LenientMapping):
        return values.only(alternative)
    parts = [
        values.transform(entry, _read_whole_item)
        for entry in alternative.entries.values()
    ]
    return _require_parts(parts, alternative)


def _try_second_names(
    value: Value, steps: data_path.Path, scope: Scope
) -> Value:
    """Return a value of plugin data, or of its second place if it is missing.

    Rules for ironic-inspector expect some values of the inventory in plugin
    data. As in the engine, an empty value at the second place is ignored.

    :param value: the value in plugin data.
    :param steps: the path of the value in plugin data, of at least one name.
    """
    chosen = value
    # The second places by the first name of the path, in the order of trial.
    for root, *parents in rendering.SECOND_NAMES.get(steps[0], ()):
        second = secret.step(
            scope.machine, scope.roots[root], *parents, *steps[1:]
        )
        is_usable = logic.negated(_where_empty(second, scope.machine))
        is_taken = logic.conj(values.where_absent(chosen), is_usable)
        chosen = values.choose(is_taken, second, chosen)
    return chosen


def _where_empty(
    value: Value, machine: machines.SymbolicMachine
) -> logic.Formula:
    """Return the formula that the value at a second place is ignored.

    It is ignored if it is missing, or false in Python, e.g. ``''``, False, 0
    or ``[]``.
    """
    parts = []
    # The guard of an alternative holds on the machines that have it.
    for guard, alternative in value:
        is_empty = logic.FALSE
        if isinstance(alternative, values.Const):
            is_empty = logic.of_bool(
                alternative.is_missing or not alternative.value
            )
        elif isinstance(alternative, values.SolverTerm):
            if alternative.is_text:
                is_empty = alternative.term == ''
            elif alternative.is_boolean:
                is_empty = logic.negated(alternative.term)
            else:
                is_empty = alternative.term == 0
        elif isinstance(alternative, values.ItemList):
            is_empty = alternative.length == 0
        elif isinstance(alternative, values.Mapping):
            is_empty = alternative.where_empty(machine)
        elif isinstance(alternative, values.UnknownValue):
            is_empty = machine.guess(alternative.reason, 'empty', alternative)
        parts.append(logic.conj(guard, is_empty))
    return logic.disj(*parts)


def _apply_filters(
    calls: Sequence[filter_syntax.FilterCall], value: Value, scope: Scope
) -> Value:
    """Apply filters to a value, one after another.

    In ``{inventory.hostname | lower | length}``, the second filter gets the
    result of the first.
    """
    for call in calls:
        value = _apply_filter(call, value, scope)
    return value


def _apply_filter(
    call: filter_syntax.FilterCall, value: Value, scope: Scope
) -> Value:
    """Apply a filter to a value.

    If an argument is a field, or if the filter applies another filter, the
    result is unknown, because the engine filters with known arguments only.
    """
    op = registry.filters()[call.name]
    args, _problems = op.signature.bind_call(call.arguments)
    # An argument that is a field has been parsed to a tuple.
    has_field = any(isinstance(part, tuple) for part in args.values())
    # Arguments without a name, as in "map('upper')", belong to another filter,
    # which is applied to the items of the value.
    has_unnamed = any(not name for name, _part in call.arguments)
    applies_filter = op.plugin.TAKES_FILTER and has_unnamed
    if has_field or applies_filter:
        # This word appears in the reason of an answer.
        kind_of_argument = 'field'
        if applies_filter:
            kind_of_argument = 'filter'
        return values.unknown(
            f'filter {call.name} with a {kind_of_argument} as argument',
            value,
            str(call),
            scope.fingerprint,
        )
    translation = filters.FilterTranslation(op, args, scope.machine)
    return values.transform(value, translation.result_for)

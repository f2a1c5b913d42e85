# SPDX-License-Identifier: Apache-2.0

"""Values of text with fields and filters in a proof, for its solver."""

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
    """The data that fields are looked up in, by the name of a root."""

    machine: machines.SymbolicMachine
    roots: Mapping[str, Value]

    @property
    def fingerprint(self) -> Hashable:
        """A key that is the same for scopes that surely are."""
        return tuple(
            (name, values.fingerprint(self.roots[name]))
            for name in sorted(self.roots)
        )

    def within(self, **roots: Value) -> 'Scope':
        """Return the scope with other roots beside its own."""
        return dataclasses.replace(self, roots={**self.roots, **roots})


def evaluate_pieces(pieces: Pieces, scope: Scope) -> Value:
    """Return the value of a text with fields.

    A text that is a field and nothing else has the value of the field, of any
    type. All others are texts.
    """
    parts: list[Value] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(values.const(piece))
        else:
            parts.append(evaluate_field(piece, scope))
    if len(parts) == 1:
        return parts[0]
    if math.prod(len(part) for part in parts) > values.MOST:
        return _text_of_many(parts)
    return values.join(
        (guard, _text(alternatives, scope.machine))
        for guard, alternatives in values.product(
            parts, scope.machine.keep_going
        )
    )


def evaluate(raw: typing.Any, scope: Scope) -> Value:
    """Return the value of what a rule writes, with its fields filled in.

    It is missing or an error where a part is.

    :param raw: any JSON, in whose texts there may be fields.
    """
    # Raises where the time of the proof is over.
    scope.machine.keep_going()
    if isinstance(raw, str):
        return evaluate_pieces(interpolation.parse(raw), scope)
    has_fields = isinstance(raw, list | dict) and bool(
        interpolation.fields(raw)
    )
    if not has_fields:
        return values.const(template.compile_value(raw))
    if isinstance(raw, list):
        parts = [evaluate(part, scope) for part in raw]
        items = tuple(map(values.WrittenItem, parts))
        return _whole(
            parts, values.ItemList(z3.IntVal(len(items)), items, 'a list')
        )
    if interpolation.fields(list(raw)):
        return values.unknown(
            'a key with a field in it',
            scope.fingerprint,
            json.dumps(raw, default=str),
        )
    entries = {name: evaluate(part, scope) for name, part in raw.items()}
    return _whole(list(entries.values()), values.Mapping(None, entries))


def _whole(parts: list[Value], whole: values.Alternative) -> Value:
    """Return a list or mapping, or no value where one of its parts has none.

    The engine reads the parts in order, and the first that has no value
    decides: a missing part makes the whole missing, an error makes it one.

    :param parts: their values.
    :param whole: the list or mapping where all parts have a value.
    """
    # From the last part to the first: what the parts after a part decide is
    # then known, and holds where that part does not decide.
    decided = values.only(whole)
    for part in reversed(parts):
        decided = values.join(
            (guard, _until(alternative, parts, decided))
            for guard, alternative in part
        )
    return decided


def _until(
    alternative: values.Alternative, parts: list[Value], others: Value
) -> Value:
    """Return what one part decides about the whole.

    :param alternative: of the part.
    :param parts: all of them, on which an unknown value depends.
    :param others: what the parts after it decide.
    """
    if values.has_no_value(alternative):
        return values.only(alternative)
    if isinstance(alternative, values.UnknownValue):
        return values.unknown(alternative.reason, *parts)
    return others


def argument(
    declared: arguments.Argument, written: typing.Any, scope: Scope
) -> Value:
    """Return an argument, read as the type that its op declares."""
    return converted(declared, evaluate(written, scope))


def converted(declared: arguments.Argument, value: Value) -> Value:
    """Return the value of an argument as the type that its op declares."""
    if not declared.converts:
        return value
    return values.transform(value, functools.partial(_converted, declared))


def _converted(
    declared: arguments.Argument, alternative: values.Alternative
) -> Value:
    """Return one value of an argument as the type that the op declares.

    As in the engine, a value of another type is an error where it cannot be
    converted; what only the engine can tell is unknown.
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
        # Lists and mappings are no plain value.
        return values.FAILED
    if declared.type is str:
        return values.only(alternative)
    if declared.type is bool and alternative.is_boolean:
        return values.only(alternative)
    # Which texts read as a number or as a truth value, only the engine knows.
    return unknown


def path(raw: str, scope: Scope) -> Value:
    """Return a path with its fields filled in.

    A field is one token, also if its text has separators in it.

    :returns: a value with a tuple of tokens where the path is known.
    """
    tokens = []
    for pieces in engine_call.split(interpolation.parse(raw)):
        # Between a separator and a field there is an empty text.
        filled = [piece for piece in pieces if piece]
        tokens.append(evaluate_pieces(filled, scope))
    return values.join(
        (guard, _path_of(chosen, raw))
        for guard, chosen in values.product(tokens, scope.machine.keep_going)
    )


def _path_of(tokens: tuple[values.Alternative, ...], raw: str) -> Value:
    """Return the path that some tokens make, as a constant.

    What a rule writes can be followed only to a known place: a token that the
    machine sends makes the whole path an unknown value.

    :param raw: the path as the rule has it.
    """
    for token in tokens:
        if values.has_no_value(token):
            return values.only(token)
    # Whether the rule writes "-", the end of a list, into the path.
    appends_to_list = raw.endswith(('/-', '.-')) or '/-/' in raw
    path_tokens: list[str] = []
    for token in tokens:
        if not isinstance(token, values.Const):
            return values.unknown(
                'a path out of the data of a machine', *tokens
            )
        if isinstance(token.value, list | dict):
            return values.FAILED
        text = str(token.value)
        if appends_to_list and data_path.appends(text):
            path_tokens.append(text)
        else:
            # Also a "-" that a field gives: it is a key of a mapping.
            path_tokens.append(data_path.Key(text))
    try:
        data_path.check(path_tokens, raw)
    except exceptions.OperationError:
        return values.FAILED
    return values.const(tuple(path_tokens))


def _text(
    parts: tuple[values.Alternative, ...], machine: machines.SymbolicMachine
) -> Value:
    """Return the text of some values, one after another.

    Where one of them is missing or an error, the whole is that.
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
        return values.unknown('a list or mapping as text', *parts)
    if len(texts) == 1:
        return values.only(values.SolverTerm(texts[0]))
    return values.only(values.SolverTerm(z3.Concat(*texts)))


def _text_of_many(parts: list[Value]) -> Value:
    """Return the text of values that have many combinations of alternatives.

    It is unknown, but missing or an error where a part is. A term for every
    combination, or a term with all of them in it, would be exact, and the
    solver would spend the time of all other questions on it.
    """
    reason = 'a value with too many alternatives'
    ((_always, text),) = values.unknown(reason, 'text', *parts)
    return _whole(parts, text)


def evaluate_field(field: interpolation.Field, scope: Scope) -> Value:
    """Return the value of a field, as filters and its format make it."""
    if effects.reads_table(field):
        # The look-up of a row is the first of its filters.
        value = _row_of_table(field, scope)
    else:
        value = _filtered(field.filters, _look_up(field, scope), scope)
    # The solver can make the text of a value, but no other format of it.
    if field.conversion == 's' and not field.spec:
        as_text = functools.partial(_as_text, scope.machine)
        return values.transform(value, as_text)
    if field.conversion or field.spec:
        in_format = functools.partial(_in_format, field)
        return values.transform(value, in_format)
    return value


def _as_text(
    machine: machines.SymbolicMachine, alternative: values.Alternative
) -> Value:
    """Return the text of a value, as ``!s`` makes it."""
    return _text((alternative,), machine)


def _in_format(
    field: interpolation.Field, alternative: values.Alternative
) -> Value:
    """Return what any other conversion or format of a field makes of a value.

    The solver does not know it, so the result is unknown.
    """
    if alternative.is_missing:
        return values.only(alternative)
    return values.unknown(f'the format of {{{field.text}}}', alternative)


def _row_of_table(field: interpolation.Field, scope: Scope) -> Value:
    """Return the row of a table that a field reads, as later filters make it.

    Only ``{tables.NAME | row}`` without a key, the row of the machine itself,
    is followed; of any other key the value is unknown.
    """
    if not _is_row_of_machine(field):
        return values.unknown(
            'a row of a table by another key', field.text, scope.fingerprint
        )
    expected = scope.machine.tables.get(field.steps[0])
    unknown = expected_row.unknown(expected, field.text, scope.fingerprint)
    if unknown is not None:
        return unknown
    assert expected is not None
    if expected.definition.of is None:
        # The table does not say which row a machine has.
        return values.NOTHING
    if interpolation.sole_field(expected.definition.of) is None:
        # Such a key is missing where a field in it is null. evaluate() would
        # make the text "None" of that.
        return values.unknown(
            'a row by a key of several fields', field.text, scope.fingerprint
        )
    key = evaluate(expected.definition.of, scope)
    row = expected_row.of_key(expected, key, scope.machine)
    # The first filter is ``row`` itself.
    return _filtered(field.filters[1:], row, scope)


def _is_row_of_machine(field: interpolation.Field) -> bool:
    """Return whether a field reads the row that its table has for a machine.

    It does not where it names a key itself, or has other fields in it.
    """
    if field.root != interpolation.TABLES or not field.filters:
        return False
    if field.filters[0].arguments:
        # The arguments of "row" are another key.
        return False
    return len(effects.of_field(field)) == 1


def _look_up(field: interpolation.Field, scope: Scope) -> Value:
    """Return the value at the path of a field, as its filters get it.

    Secrets of the machine are masked, as in the engine.
    """
    root, steps = field.root or '', field.steps
    value = scope.roots.get(root, values.NOTHING)
    if root in rendering.PORT_ROOTS and steps:
        is_by_address = data_path.index(steps[0]) is None
        if is_by_address:
            return values.unknown(f'the port of {{{field.text}}}', value)
    # The machine of a proof has traits by name; rules read a list of names.
    if root == 'node' and steps[:1] == ('traits',):
        traits = values.step(value, cells.TRAITS[1])
        value = values.only(values.TraitNames(traits))
        steps = steps[1:]
    is_by_rule = root in secret.MADE_BY_RULES
    value = secret.step(scope.machine, value, *steps, by_rule=is_by_rule)
    if not is_by_rule:
        hide = functools.partial(secret.without_secrets, scope.machine)
        value = values.transform(value, hide)
    if root == interpolation.ITEM:
        # An item that the rule writes out may have fields in it, some of them
        # missing: read as a whole, it is then missing itself.
        value = values.transform(value, _whole_item)
    if root == 'plugin_data' and steps:
        # A machine may have sent it in its inventory, by another name.
        value = _or_second_name(value, steps, scope)
    return value


def _whole_item(alternative: values.Alternative) -> Value:
    """Return an item of a loop as a rule reads it that does not step into it.

    An item that the rule writes out has no value where one of its parts has
    none. Any other item stays as it is.
    """
    # Only items that a rule writes out are of this class.
    if not isinstance(alternative, values.LenientMapping):
        return values.only(alternative)
    parts = [
        values.transform(entry, _whole_item)
        for entry in alternative.entries.values()
    ]
    return _whole(parts, alternative)


def _or_second_name(
    value: Value, steps: data_path.Path, scope: Scope
) -> Value:
    """Return a value of plugin data, or that of its second place if missing.

    Rules for ironic-inspector expect some values of the inventory in plugin
    data. As in the engine, an empty value there counts as missing.
    """
    chosen = value
    for root, *parents in rendering.SECOND_NAMES.get(steps[0], ()):
        second = secret.step(
            scope.machine, scope.roots[root], *parents, *steps[1:]
        )
        is_usable = logic.negated(_is_empty(second, scope.machine))
        is_taken = logic.conj(values.absent(chosen), is_usable)
        chosen = values.choose(is_taken, second, chosen)
    return chosen


def _is_empty(
    value: Value, machine: machines.SymbolicMachine
) -> logic.Formula:
    """Return on which machines a value is missing, or false to Python.

    Such a value at a second name is passed over, as in the engine.
    """
    parts = []
    for guard, alternative in value:
        is_empty = logic.FALSE
        if isinstance(alternative, values.Const):
            is_empty = logic.known(
                alternative.is_missing or not alternative.value
            )
        elif isinstance(alternative, values.SolverTerm):
            is_empty = _is_empty_term(alternative)
        elif isinstance(alternative, values.ItemList):
            is_empty = alternative.length == 0
        elif isinstance(alternative, values.Mapping):
            is_empty = alternative.is_empty(machine)
        elif isinstance(alternative, values.UnknownValue):
            is_empty = machine.guess(alternative.reason, 'empty', alternative)
        parts.append(logic.conj(guard, is_empty))
    return logic.disj(*parts)


def _is_empty_term(alternative: values.SolverTerm) -> logic.Formula:
    """Return on which machines a term is an empty text, false or zero."""
    if alternative.is_text:
        return alternative.term == ''
    if alternative.is_boolean:
        return logic.negated(alternative.term)
    return alternative.term == 0


def _filtered(
    calls: Sequence[filter_syntax.FilterCall], value: Value, scope: Scope
) -> Value:
    """Return what filters make of a value, one after another."""
    for call in calls:
        value = _filtered_once(call, value, scope)
    return value


def _filtered_once(
    call: filter_syntax.FilterCall, value: Value, scope: Scope
) -> Value:
    """Return what one filter makes of a value.

    Where an argument is a field, or the filter applies another one, the result
    is unknown: the engine's own code computes with the arguments.
    """
    op = registry.filters()[call.name]
    args, _problems = op.signature.bind_call(call.arguments)
    # An argument that is a field is a tuple: the field as it was parsed.
    has_field = any(isinstance(part, tuple) for part in args.values())
    # Arguments without a name, as in "map('upper')", are for another filter
    # that it applies to the items of the value.
    has_unnamed = any(not name for name, _part in call.arguments)
    applies_filter = op.plugin.TAKES_FILTER and has_unnamed
    if has_field or applies_filter:
        argument = 'field'
        if applies_filter:
            argument = 'filter'
        return values.unknown(
            f'filter {call.name} with a {argument} as argument',
            value,
            str(call),
            scope.fingerprint,
        )
    translation = filters.FilterTranslation(op, args, scope.machine)
    return values.transform(value, translation.result_for)

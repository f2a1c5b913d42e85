# SPDX-License-Identifier: Apache-2.0

"""Values of text with fields and filters, for the solver."""

import dataclasses
import functools
import json
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


@dataclasses.dataclass(frozen=True)
class Scope:
    """The data that fields are looked up in, by the name of a root."""

    machine: machines.SymbolicMachine
    roots: typing.Mapping[str, Value]

    @property
    def fingerprint(self) -> typing.Hashable:
        """A key that is the same for scopes that surely are."""
        return tuple((name, values.fingerprint(self.roots[name]))
                     for name in sorted(self.roots))

    def within(self, **roots: Value) -> 'Scope':
        """Return the scope with other roots beside its own."""
        return dataclasses.replace(self, roots={**self.roots, **roots})


def evaluate_pieces(pieces: typing.Sequence[str | interpolation.Field],
                    scope: Scope) -> Value:
    """Return what text with fields is; a lone field is what it has."""
    found = [values.const(piece) if isinstance(piece, str)
             else field(piece, scope) for piece in pieces]
    if len(found) == 1:
        return found[0]
    return values.join((guard, _text(alternatives, scope.machine))
                       for guard, alternatives in values.product(found))


def evaluate(written: typing.Any, scope: Scope) -> Value:
    """Return what a value of a rule is; missing where a part is."""
    if isinstance(written, str):
        return evaluate_pieces(interpolation.parse(written), scope)
    if not isinstance(written, list | dict) or (
            not interpolation.fields(written)):
        return values.const(template.compile_value(written))
    whole: values.Alternative
    if isinstance(written, list):
        parts = [evaluate(each, scope) for each in written]
        whole = values.ItemList(z3.IntVal(len(parts)), tuple(
            map(values.WrittenItem, parts)), 'a list')
    elif interpolation.fields(list(written)):
        return values.unknown('a key with a field in it', scope.fingerprint,
                              json.dumps(written, default=str))
    else:
        inner = {name: evaluate(each, scope) for name, each in written.items()}
        parts, whole = list(inner.values()), values.Mapping(None, inner)
    return _whole(parts, whole)


def argument(declared: arguments.Argument, written: typing.Any,
             scope: Scope) -> Value:
    """Return an argument, read as the type that its op declares."""
    found = evaluate(written, scope)
    if not declared.converts:
        return found
    return values.transform(found, functools.partial(_converted, declared))


def _converted(declared: arguments.Argument,
               each: values.Alternative) -> Value:
    """Return an argument as the type that it declares."""
    if isinstance(each, values.Failed) or each.is_missing:
        return values.only(each)
    if isinstance(each, values.Const):
        try:
            return values.const(arguments.convert(each.value, declared))
        except exceptions.OperationError:
            return values.FAILED
    if declared.type not in arguments.TYPES:
        return values.only(each)
    is_list = isinstance(each, values.ItemList | values.TraitNames)
    if declared.type is list:
        if is_list:
            return values.only(each)
        if isinstance(each, values.SolverTerm | values.Mapping):
            return values.FAILED
    elif is_list or isinstance(each, values.Mapping):
        return values.FAILED
    elif isinstance(each, values.SolverTerm) and (
            declared.type is str
            or declared.type is bool and each.is_boolean):
        return values.only(each)
    return values.unknown(f'the argument {declared.name}',
                          str(declared.type), each)


def path(written: str, scope: Scope) -> Value:
    """Return a path with its fields filled in.

    What a field gives is one token, whatever is in it.

    :returns: known paths are tuples of their tokens.
    """
    tokens = [evaluate_pieces([piece for piece in pieces if piece], scope)
              for pieces in engine_call.split(interpolation.parse(written))]
    return values.join((guard, _path_of(chosen, written))
                       for guard, chosen in values.product(tokens))


def _path_of(tokens: tuple[values.Alternative, ...], written: str) -> Value:
    for token in tokens:
        if token.is_missing or isinstance(token, values.Failed):
            return values.only(token)
    made: list[str] = []
    for token in tokens:
        if not isinstance(token, values.Const):
            return values.unknown('a path out of the data of a machine',
                                  *tokens)
        if isinstance(token.value, list | dict):
            return values.FAILED
        text = str(token.value)
        is_written = data_path.appends(text) and (
            written.endswith(('/-', '.-')) or '/-/' in written)
        made.append(text if is_written else data_path.Key(text))
    try:
        data_path.check(made, written)
    except exceptions.OperationError:
        return values.FAILED
    return values.const(tuple(made))


def _whole(parts: list[Value], whole: values.Alternative) -> Value:
    """Return a list or mapping, or what it is where a part has no value."""
    # Parts are read in order: the first that has no value decides.
    found = values.only(whole)
    for part in reversed(parts):
        found = values.join(
            (guard, _until(alternative, parts, found))
            for guard, alternative in part)
    return found


def _until(alternative: values.Alternative, parts: list[Value],
           others: Value) -> Value:
    """Return what a whole is by one part of it, and by those after it."""
    if alternative.is_missing or isinstance(alternative,
                                                    values.Failed):
        return values.only(alternative)
    if isinstance(alternative, values.UnknownValue):
        return values.unknown(alternative.reason, *parts)
    return others


def _exacting(alternative: values.Alternative) -> Value:
    """Return an item, which has no value where a field in it has none."""
    if not isinstance(alternative, values.LenientMapping):
        return values.only(alternative)
    parts = [values.transform(entry, _exacting)
             for entry in alternative.entries.values()]
    return _whole(parts, alternative)


def _text(parts: tuple[values.Alternative, ...],
          machine: machines.SymbolicMachine) -> Value:
    """Return the text of some values, one after another."""
    for part in parts:
        if part.is_missing or isinstance(part, values.Failed):
            return values.only(part)
        if isinstance(part, values.UnknownValue):
            return values.unknown(part.reason, 'text', *parts)
    if all(isinstance(part, values.Const) for part in parts):
        return values.const(''.join(
            str(part.value) for part in parts
            if isinstance(part, values.Const)))
    texts = list(map(machine.text_of, parts))
    if any(text is None for text in texts):
        return values.unknown('a list or mapping as text', *parts)
    return values.only(values.SolverTerm(
        z3.Concat(*texts) if len(texts) > 1 else texts[0]))


def field(written: interpolation.Field, scope: Scope) -> Value:
    """Return what a field is, after its filters."""
    if effects.reads_table(written):
        found, calls = _of_table(written, scope)
    else:
        found, calls = _looked_up(written, scope), written.filters
    for call in calls:
        found = _filtered(call, found, scope)
    if written.conversion == 's' and not written.spec:
        return values.transform(found, lambda alternative: _text(
            (alternative,), scope.machine))
    if written.conversion or written.spec:
        return values.transform(found, lambda alternative: values.only(
            alternative) if alternative.is_missing
            else values.unknown(f'the format of {{{written.text}}}',
                                alternative))
    return found


def _of_table(written: interpolation.Field, scope: Scope
              ) -> tuple[Value, tuple[filter_syntax.Call, ...]]:
    """Return the row that a field reads, and the filters after it."""
    nothing: tuple[filter_syntax.Call, ...] = ()
    first = written.filters[0] if written.filters else None
    if (written.root != interpolation.TABLES or first is None
            or first.arguments or len(effects.of_field(written)) > 1):
        return values.unknown('a row of a table by another key', written.text,
                              scope.fingerprint), nothing
    expected = scope.machine.tables.get(written.steps[0])
    unknown = expected_row.unknown(expected, written.text, scope.fingerprint)
    if unknown is not None or expected is None or (
            expected.definition.of is None):
        return unknown or values.NOTHING, nothing
    if interpolation.sole_field(expected.definition.of) is None:
        # A null in such a key is no text, as it would be elsewhere.
        return values.unknown('a row by a key of several fields',
                              written.text, scope.fingerprint), nothing
    key = evaluate(expected.definition.of, scope)
    return (expected_row.of_key(expected, key, scope.machine),
            written.filters[1:])


def _looked_up(written: interpolation.Field, scope: Scope) -> Value:
    root, steps = written.root or '', written.steps
    if root in ('ports', 'port_groups') and steps and (
            data_path.index(steps[0]) is None):
        return values.unknown(f'the port of {{{written.text}}}',
                              scope.roots.get(root, values.NOTHING))
    found = scope.roots.get(root, values.NOTHING)
    if root == 'node' and steps[:1] == ('traits',):
        found, steps = values.only(values.TraitNames(values.step(
            found, cells.TRAITS[1]))), steps[1:]
    is_own = root in secret.OWN
    found = secret.step(scope.machine, found, *steps, own=is_own)
    if not is_own:
        found = values.transform(found, functools.partial(secret.whole,
                                                     scope.machine))
    if root == interpolation.ITEM:
        found = values.transform(found, _exacting)
    if root == 'plugin_data' and steps and (
            steps[0] in rendering.SECOND_NAMES):
        for other, *path in rendering.SECOND_NAMES[steps[0]]:
            second = secret.step(scope.machine, scope.roots[other], *path,
                                 *steps[1:])
            usable = logic.negated(logic.disj(
                values.when(second, lambda each: isinstance(
                    each, values.Const) and (each.is_missing
                                             or not each.value)),
                *(logic.conj(guard, each.term == '')
                  for guard, each in second
                  if isinstance(each, values.SolverTerm)
                  and each.is_text)))
            found = values.choose(logic.conj(values.absent(found), usable),
                                  second, found)
    return found


def _filtered(call: filter_syntax.Call, found: Value, scope: Scope) -> Value:
    op = registry.filters()[call.name]
    given, _problems = op.signature.bind_call(call.arguments)
    if any(isinstance(each, tuple) for each in given.values()) or (
            op.plugin.TAKES_FILTER and not all(
                name for name, _value in call.arguments)):
        return values.unknown(
            f'filter {call.name} with a field as argument', found, str(call),
            scope.fingerprint)
    filter_ = filters.FilterTranslation(op, given, scope.machine)
    return values.transform(found, filter_.of)

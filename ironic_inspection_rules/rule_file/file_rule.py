# SPDX-License-Identifier: Apache-2.0

"""A rule of a file, with its language and its errors."""

import dataclasses
import json
import typing
import uuid

from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import pattern
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.plugins.legacy import translate
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import stock_form

_NAMESPACE = uuid.UUID('5c3c4d5a-9f0e-5d0b-8d6a-0d6f3c1f7a10')

_NAMES_OF_PLACES = {
    'conditions': _('condition %d'),
    'actions': _('action %d'),
    'when': _('when %d'),
}


OF_INSPECTOR = _(
    'a rule of ironic-inspector, which does here what it did there; '
    '"ironic-inspection-rules convert" converts it'
)


@dataclasses.dataclass(frozen=True)
class WrittenRule:
    """One entry of a file; ``index`` is its number there, from zero.

    It may be anything yet: it becomes a rule when :func:`parse` accepts it.
    """

    source: document.Document
    index: int

    @property
    def entry(self) -> typing.Any:
        """What the author wrote."""
        return self.source.entries[self.index]

    @property
    def is_of_inspector(self) -> bool:
        """Whether it is in the language of ironic-inspector."""
        return validation.is_of_inspector(self.entry)

    @property
    def label(self) -> str:
        """The name of the rule for its author: ``#2 (rack)``, or ``#2``."""
        number = f'#{self.index + 1}'
        if not isinstance(self.entry, dict):
            return number
        name = self.entry.get('description') or self.entry.get('uuid')
        if not name:
            return number
        return f'{number} ({name})'

    @property
    def language_note(self) -> exceptions.Problem | None:
        """The note that it is a rule of ironic-inspector or of stock Ironic.

        None if it is in the language of this engine.
        """
        if self.is_of_inspector:
            return exceptions.Problem('', OF_INSPECTOR)
        return stock_form.find_sign(self.entry)

    def place(self, pointer: str = '') -> document.Place:
        """Return line and column of a value.

        :param pointer: the place in the rule as this engine has the rule.
        """
        if self.is_of_inspector:
            # The language of ironic-inspector has arguments beside the op.
            pointer = pointer.replace('/args', '', 1)
        return self.source.place(self.index, pointer)


def load(path: str) -> list[WrittenRule]:
    """Read the rules of a file.

    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read.
    """
    return list_rules(document.load(path))


def list_rules(read: document.Document) -> list[WrittenRule]:
    """Return the rules of a file that was read, in their order."""
    return [WrittenRule(read, index) for index in range(len(read.entries))]


def parse(entry: typing.Any, ops: registry.Registry) -> model.Rule:
    """Parse a built-in rule of a file.

    A rule with ``uuid: rack-7`` gets a UUID that is made of this name, and a
    rule without ``uuid`` one that is made of its content. So the UUID stays
    the same whenever the file is read, as long as the name or the content
    does.

    :raises: :class:`.exceptions.InvalidRule` with all problems.
    """
    if isinstance(entry, dict):
        name = entry.get('uuid')
        if name is None:
            # "default" is for values that JSON does not have, such as dates.
            name = json.dumps(entry, sort_keys=True, default=str)
        if isinstance(name, str) and not uuidutils.is_uuid_like(name):
            entry = {**entry, 'uuid': str(uuid.uuid5(_NAMESPACE, name))}
    if validation.is_of_inspector(entry):
        rule = translate.parse(entry, ops, only_known=True)
        return dataclasses.replace(rule, built_in=True)
    return validation.parse(entry, ops, built_in=True)


def _warn_nobody(_line: str) -> None:
    """Drop a warning."""


def parse_all(
    written: typing.Iterable[WrittenRule],
    ops: registry.Registry,
    warn: typing.Callable[[str], typing.Any] = _warn_nobody,
) -> list[model.Rule]:
    """Parse rules of files, in their order.

    These are built-in rules, and rules that ``test``, ``diff`` and the like
    try. Both get a UUID made of the name or the content, see :func:`parse`.

    Rules in the language of stock Ironic or ironic-inspector are accepted,
    with a warning. Two rules without a UUID that have the same content are
    refused, as they would have the same UUID.

    :param warn: called with a line for each rule of stock Ironic, and for
        each file with rules of ironic-inspector.
    :raises: :class:`.exceptions.InvalidDocument` with the place of the first
        rule that is at fault, and all its problems.
    """
    by_uuid: dict[str, model.Rule] = {}
    warned_files: set[str] = set()
    for written_rule in written:
        path = written_rule.source.path
        # The note that the rule is in another language; None if it is not.
        language_note = written_rule.language_note
        try:
            rule = parse(written_rule.entry, ops)
        except exceptions.InvalidRule as exc:
            raise _as_document_error(written_rule, language_note, exc) from exc
        # A UUID is made of the content: equal rules have the same one.
        if rule.uuid in by_uuid:
            raise exceptions.InvalidDocument(
                path,
                _('rule %s is there twice, or another one has its UUID')
                % written_rule.label,
                written_rule.place(),
            )
        by_uuid[rule.uuid] = rule
        if language_note is None or path in warned_files:
            continue
        if written_rule.is_of_inspector:
            # Mostly all rules of the file are of ironic-inspector: one warning
            # is enough.
            warned_files.add(path)
        warn(_format_language_note(written_rule, language_note))
    return list(by_uuid.values())


def _format_language_note(
    written_rule: WrittenRule, note: exceptions.Problem
) -> str:
    """Return the warning that a rule is in another language, as a line.

    For example, ``rules.yaml:3:1: note: #2 (rack): a rule of
    ironic-inspector, …``.

    :param note: why the rule is one of another language.
    """
    level = _('warning')
    if written_rule.is_of_inspector:
        # Such a rule does here what it did there.
        level = _('note')
    line, column = written_rule.place(note.pointer)
    return _('%(place)s: %(level)s: %(rule)s: %(message)s\n') % {
        'place': f'{written_rule.source.path}:{line}:{column}',
        'level': level,
        'rule': written_rule.label,
        'message': note.sentence,
    }


def _as_document_error(
    written_rule: WrittenRule,
    language_note: exceptions.Problem | None,
    error: exceptions.InvalidRule,
) -> exceptions.InvalidDocument:
    """Return the error of a file with all problems of one of its rules.

    The error has the place of the first problem.

    :param language_note: the note that the rule is in another language, None
        if it is not. It becomes the last problem.
    """
    problems = [count_from_one(problem) for problem in error.problems]
    if language_note is not None:
        problems.append(count_from_one(language_note))
    return exceptions.InvalidDocument(
        written_rule.source.path,
        str(exceptions.InvalidRule(problems, written_rule.label)),
        written_rule.place(error.problems[0].pointer),
    )


def load_built_in(
    read: document.Document, ops: registry.Registry
) -> tuple[model.Rule, ...]:
    """Parse the file of built-in rules, in its order.

    A service does so once when it starts. Built-in rules are never in the
    database and cannot be changed through the API (spec 003 "Built-in rules").

    :raises: :class:`.exceptions.InvalidDocument` with the place of the first
        rule that is at fault, and all its problems.
    """
    return tuple(parse_all(list_rules(read), ops))


def count_from_one(problem: exceptions.Problem) -> exceptions.Problem:
    """Return a problem with its place in words instead of a pointer.

    ``/actions/0/args/path`` becomes ``action 1, path``: pointers count from
    zero, authors from one.
    """
    return problem.at(place_name(problem.pointer))


def place_name(pointer: str) -> str:
    """Return the name of a place in a rule for a message to its author.

    ``/conditions/0/conditions/1/args/value`` is ``condition 1.2, value``:
    pointers count from zero, authors from one.
    """
    words: list[str] = []
    tokens = list(data_path.split_pointer(pointer))
    while tokens:
        name = tokens.pop(0)
        following = ''
        if tokens:
            following = tokens[0]
        if name in _NAMES_OF_PLACES and following.isdecimal():
            tokens.pop(0)
            number = int(following) + 1
            if name == 'conditions' and words:
                # It is in a group: its number follows that of the group.
                words[-1] += f'.{number}'
            else:
                words.append(_NAMES_OF_PLACES[name] % number)
        elif name == 'args' and tokens:
            # The place ends with the name of an argument. In a list of
            # arguments it ends before: their numbers say little.
            if not following.isdecimal():
                words.append(following)
            break
        elif name == model.VARS and tokens:
            tokens.pop(0)
            words.append(f'{model.VARS}.{following}')
        else:
            words.append(name)
    return ', '.join(words)


@dataclasses.dataclass(frozen=True)
class Operation:
    """A condition or an action of a rule that passed validation.

    ``pointer`` says where it is in the rule, such as ``/conditions/0``.
    ``written`` is what the author wrote, and ``inverted`` whether its op has a
    "!". ``arguments`` are all its arguments by name, as written. ``inner`` are
    the conditions of a group, or those of an action.
    """

    pointer: str
    op: registry.Op
    written: typing.Mapping[str, typing.Any]
    inverted: bool
    arguments: dict[str, typing.Any]
    inner: tuple['Operation', ...] = ()

    @property
    def all(self) -> typing.Iterator['Operation']:
        """The operation, then all operations inside of it."""
        yield self
        for operation in self.inner:
            yield from operation.all

    def pointer_to(self, argument: str) -> str:
        """Return the pointer to an argument: ``/actions/0/args/path``.

        Where arguments are a list, the pointer to an argument that takes any
        number of values leads to the whole list. The pointer to an argument
        that is not written leads to nothing.

        :param argument: its name; the op may lack it, as an action of a third
            party lacks ``value`` or ``path``.
        """
        args = self.written.get('args')
        # How the op declares the argument; None if it has no such argument.
        declared = self.op.signature.by_name.get(argument)
        if isinstance(args, list) and declared is not None:
            if declared.variadic:
                return f'{self.pointer}/args'
            position = self.op.signature.arguments.index(declared)
            if position < len(args) and not declared.keyword_only:
                return f'{self.pointer}/args/{position}'
        return self.pointer + data_path.pointer(['args', argument])

    @property
    def arguments_given(self) -> list[str]:
        """The names of the arguments that are written, without defaults."""
        bound, _problems = self.op.signature.bind(self.written.get('args'))
        return list(bound)

    @property
    def loop(self) -> typing.Any:
        """The loop as written, None where there is none."""
        return self.written.get('loop')

    @property
    def loops(self) -> bool:
        """Whether the operation has a loop."""
        return self.loop is not None

    @property
    def templates(self) -> dict[str, typing.Any]:
        """The arguments that may have replacement fields, by name.

        A regular expression is none: its braces are a part of it.
        """
        templates = {}
        for name, value in self.arguments.items():
            argument = self.op.signature.by_name[name]
            is_literal = name in self.op.plugin.LITERAL
            if not is_literal and argument.type is not pattern.Pattern:
                templates[name] = value
        return templates

    @property
    def is_constant(self) -> bool:
        """Whether the operation is the same for all machines.

        ``eq(1, 2)`` is; with the field ``{node.name}`` it is not.
        """
        if self.inner or self.op.plugin.NEEDS_VIEW:
            return False
        written = [*self.templates.values(), self.loop]
        return not interpolation.fields(written)


def operations(
    rule: model.Rule, ops: registry.Registry
) -> tuple[list[Operation], list[Operation]]:
    """Return the conditions and the actions of a rule."""
    return (
        read_operations(rule.conditions, '/conditions', ops),
        read_operations(rule.actions, '/actions', ops, inside='when'),
    )


def read_operations(
    written: typing.Iterable[typing.Mapping[str, typing.Any]],
    pointer: str,
    ops: registry.Registry,
    inside: str = 'conditions',
    skip: frozenset[str] = frozenset(),
) -> list[Operation]:
    """Read operations of a rule: their ops, and their arguments by name.

    For example, ``{'op': '!eq', 'args': [1, 2]}`` is the op ``eq``, inverted,
    with the argument ``values``. Optional arguments have their defaults.

    :param written: conditions or actions that passed validation; or those of
        a refused rule, if ``skip`` names the ones that cannot be read.
    :param pointer: the pointer to their list, such as ``/conditions``,
        ``/actions`` or ``/actions/0/when``.
    :param inside: the key of an operation with conditions of its own: ``when``
        for actions, ``conditions`` for conditions.
    :param skip: pointers to operations of this list that are left out, such
        as ``/actions/1``; no pointers to conditions inside of an operation.
    """
    operations_read = []
    ops_by_name: typing.Mapping[str, registry.Op] = ops.conditions
    if inside == 'when':
        # Only actions have conditions under this key.
        ops_by_name = ops.actions
    for index, operation in enumerate(written):
        place = f'{pointer}/{index}'
        if place in skip:
            continue
        # "!eq" is the op "eq", inverted.
        name, inverted = model.split_op(operation['op'])
        op = ops_by_name[name]
        bound, _problems = op.signature.bind(operation.get('args'))
        inner = read_operations(
            operation.get(inside) or (), f'{place}/{inside}', ops
        )
        # In the order in which the op declares them, whatever the order in the
        # file.
        arguments = {}
        for argument in op.signature.arguments:
            if argument.name in bound:
                arguments[argument.name] = bound[argument.name]
            elif not argument.required:
                arguments[argument.name] = argument.default
        operations_read.append(
            Operation(
                pointer=place,
                op=op,
                written=operation,
                inverted=inverted,
                arguments=arguments,
                inner=tuple(inner),
            )
        )
    return operations_read

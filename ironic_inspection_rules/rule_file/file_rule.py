# SPDX-License-Identifier: Apache-2.0

"""Reads the rules of a file, and names places in them for their authors.

An entry of a file is a rule as its author wrote it: plain data, which may be
invalid. An entry may be in the language of this package, of ironic-inspector
or of stock Ironic. Parsing it gives a rule. The conditions and actions of a
rule are its operations.

A pointer counts from zero, e.g. ``/actions/0/args/path``. An author counts
from one, so messages call this place ``action 1, path``.
"""

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

_NAMES_OF_OPERATIONS = {
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
    """One entry of a file, which :func:`parse` turns into a rule.

    The entry is not validated yet, and may be of any type.

    :param source: the content of the file.
    :param index: the number of the entry in the file, from zero.
    """

    source: document.Document
    index: int

    @property
    def entry(self) -> typing.Any:
        """The entry as its author wrote it."""
        return self.source.entries[self.index]

    @property
    def is_of_inspector(self) -> bool:
        """Whether the entry is in the language of ironic-inspector."""
        return validation.is_of_inspector(self.entry)

    @property
    def label(self) -> str:
        """The name of the rule in messages: ``#2 (rack)``.

        The name in parentheses is the description or the UUID. If the rule has
        neither, the label is ``#2``.
        """
        number = f'#{self.index + 1}'
        if not isinstance(self.entry, dict):
            return number
        name = self.entry.get('description') or self.entry.get('uuid')
        if not name:
            return number
        return f'{number} ({name})'

    @property
    def language_note(self) -> exceptions.Problem | None:
        """The note that the rule is in another language, or None.

        The other language is either ironic-inspector's or stock Ironic's.
        """
        if self.is_of_inspector:
            return exceptions.Problem('', OF_INSPECTOR)
        return stock_form.find_sign(self.entry)

    def place(self, pointer: str = '') -> document.Place:
        """Return the line and column of a value in the rule.

        :param pointer: the pointer to the value after the rule is converted to
            the language of this package.
        """
        if self.is_of_inspector:
            # In the language of ironic-inspector, arguments are beside the op:
            # "/actions/0/args/path" is "/actions/0/path".
            pointer = pointer.replace('/args', '', 1)
        return self.source.place(self.index, pointer)


def load(path: str) -> list[WrittenRule]:
    """Read the rules of a file.

    :raises: :class:`.exceptions.InvalidDocument` if the file cannot be read.
    """
    return list_rules(document.load(path))


def list_rules(read: document.Document) -> list[WrittenRule]:
    """Return the rules of a file that has been read, in their order."""
    return [WrittenRule(read, index) for index in range(len(read.entries))]


def parse(entry: typing.Any, ops: registry.Registry) -> model.Rule:
    """Parse an entry of a file as a built-in rule.

    The UUID of the rule is the same whenever the file is read:

    - a UUID is kept;
    - if ``uuid`` is a name such as ``rack-7``, the UUID is computed from it;
    - if there is no ``uuid``, the UUID is computed from the content.

    :param entry: the entry, of any type that JSON has. It may be in the
        language of ironic-inspector.
    :param ops: the installed conditions and actions.
    :raises: :class:`.exceptions.InvalidRule` with all problems.
    """
    if isinstance(entry, dict):
        name = entry.get('uuid')
        if name is None:
            name = json.dumps(entry, sort_keys=True)
        if isinstance(name, str) and not uuidutils.is_uuid_like(name):
            entry = {**entry, 'uuid': str(uuid.uuid5(_NAMESPACE, name))}
    if validation.is_of_inspector(entry):
        rule = translate.parse(entry, ops, only_known=True)
        return dataclasses.replace(rule, built_in=True)
    return validation.parse(entry, ops, built_in=True)


def _ignore_warning(_line: str) -> None:
    """Drop a warning."""


def parse_all(
    written: typing.Iterable[WrittenRule],
    ops: registry.Registry,
    warn: typing.Callable[[str], typing.Any] = _ignore_warning,
) -> list[model.Rule]:
    """Parse the entries of files as built-in rules, in their order.

    The service reads its built-in rules with this, and the commands that try
    or compare rules read theirs in the same way.

    A rule in the language of stock Ironic or ironic-inspector is accepted, but
    the caller is warned of it.

    :param ops: the installed conditions and actions.
    :param warn: called with a line for each rule of stock Ironic, and for
        the first rule of ironic-inspector in each file.
    :raises: :class:`.exceptions.InvalidDocument` at the first rule that is
        invalid, or has the same UUID as an earlier rule. This includes two
        rules without UUID that have the same content, see :func:`parse`.
    """
    rules_by_uuid: dict[str, model.Rule] = {}
    # Paths of the files with rules of ironic-inspector.
    warned_files: set[str] = set()
    for written_rule in written:
        path = written_rule.source.path
        # None if the rule is in the language of this package.
        language_note = written_rule.language_note
        try:
            rule = parse(written_rule.entry, ops)
        except exceptions.InvalidRule as exc:
            raise _as_document_error(written_rule, language_note, exc) from exc
        if rule.uuid in rules_by_uuid:
            raise exceptions.InvalidDocument(
                path,
                _('rule %s is there twice, or another one has its UUID')
                % written_rule.label,
                written_rule.place(),
            )
        rules_by_uuid[rule.uuid] = rule
        if language_note is None or path in warned_files:
            continue
        if written_rule.is_of_inspector:
            # Usually all rules of this file are in the language of
            # ironic-inspector, so warn only once per file.
            warned_files.add(path)
        warn(_format_language_note(written_rule, language_note))
    return list(rules_by_uuid.values())


def _format_language_note(
    written_rule: WrittenRule, note: exceptions.Problem
) -> str:
    """Return the line that warns of a rule in another language.

    For example, ``rules.yaml:3:1: note: #2 (rack): a rule of
    ironic-inspector, …``. A rule of ironic-inspector does the same here, so
    the line is a note. A rule of stock Ironic may do something else, so the
    line is a warning.

    :param note: the problem that says which language it is.
    """
    level = _('warning')
    if written_rule.is_of_inspector:
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
    """Convert the error of an invalid rule to an error with its file and line.

    It ends the start of a service, ``test`` and ``diff``, which need all rules
    of their files. It has all problems of the rule, and the position of the
    first.

    :param language_note: the note that the rule is in another language; None
        if it is in the language of this package.
    :param error: the error with the problems of the rule.
    """
    problems = [count_from_one(problem) for problem in error.problems]
    if language_note is not None:
        # The other language may be the reason for the problems.
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

    A service does this once when it starts. Built-in rules are never in the
    database and cannot be changed through the API (spec 003 "Built-in rules").

    :raises: :class:`.exceptions.InvalidDocument` with the position of the
        first invalid rule, and all of its problems.
    """
    return tuple(parse_all(list_rules(read), ops))


def count_from_one(problem: exceptions.Problem) -> exceptions.Problem:
    """Return a problem that names a value in words instead of by a pointer.

    ``/actions/0/args/path`` becomes ``action 1, path``, because pointers count
    from zero and authors count from one.
    """
    return problem.at(place_name(problem.pointer))


def place_name(pointer: str) -> str:
    """Return the name of a place in a rule, in words for its author.

    These are some pointers with the names of their places::

        /actions/0/args/path        action 1, path
        /actions/0/args/1           action 1
        /actions/0/when/1           action 1, when 2
        /conditions/0/conditions/1  condition 1.2
        /vars/size                  vars.size
        /priority                   priority

    :param pointer: RFC 6901 pointer into the rule. The value need not exist.
    """
    words: list[str] = []
    tokens = list(data_path.split_pointer(pointer))
    while tokens:
        name = tokens.pop(0)
        next_token = ''
        if tokens:
            next_token = tokens[0]
        if name in _NAMES_OF_OPERATIONS and next_token.isdecimal():
            # This is an operation, and the next token is its number.
            tokens.pop(0)
            number = int(next_token) + 1
            if name == 'conditions' and words:
                # The condition is in a group. Append its number to the number
                # of the group: "condition 1" becomes "condition 1.2".
                words[-1] += f'.{number}'
            else:
                words.append(_NAMES_OF_OPERATIONS[name] % number)
        elif name == 'args' and tokens:
            # The words end with the name of the argument. The number of an
            # argument in a list is omitted.
            if not next_token.isdecimal():
                words.append(next_token)
            break
        elif name == model.VARS and tokens:
            tokens.pop(0)
            words.append(f'{model.VARS}.{next_token}')
        else:
            words.append(name)
    return ', '.join(words)


@dataclasses.dataclass(frozen=True)
class Operation:
    """A condition or an action of a rule that passed validation.

    Lint and the comparison of rules need its arguments by name, and where they
    are written.

    :param pointer: the pointer to the operation in the rule, e.g.
        ``/conditions/0``.
    :param op: the condition or action that it calls, e.g. ``eq``.
    :param written: the operation as its author wrote it: ``{'op': '!eq',
        'args': [1, 2]}``.
    :param inverted: whether its op has a "!".
    :param arguments: its arguments by name, as written, and the defaults of
        optional arguments: ``{'values': [1, 2], 'force_strings': False}``.
    :param inner: the conditions of a group, or under ``when`` of an action.
    """

    pointer: str
    op: registry.Op
    written: typing.Mapping[str, typing.Any]
    inverted: bool
    arguments: dict[str, typing.Any]
    inner: tuple['Operation', ...] = ()

    @property
    def all(self) -> typing.Iterator['Operation']:
        """The operation itself, and then all operations inside it."""
        yield self
        for operation in self.inner:
            yield from operation.all

    def pointer_to(self, argument: str) -> str:
        """Return the pointer to an argument as it is written in the rule.

        - In a mapping of arguments, it is e.g. ``/actions/0/args/path``.
        - In a list, it has the position: ``/actions/0/args/0``. An argument
          that takes any number of values is the whole list:
          ``/conditions/0/args``.
        - For an argument that is not written, it is the pointer that the
          argument would have in a mapping.

        :param argument: the name of the argument. The op may not have it, e.g.
            an action of a third party may have no ``value`` or ``path``.
        """
        args = self.written.get('args')
        # The declaration of the argument; None if the op does not have it.
        declared = self.op.signature.by_name.get(argument)
        if isinstance(args, list) and declared is not None:
            if declared.variadic:
                return f'{self.pointer}/args'
            position = self.op.signature.arguments.index(declared)
            is_in_list = position < len(args) and not declared.keyword_only
            if is_in_list:
                return f'{self.pointer}/args/{position}'
        return self.pointer + data_path.pointer(['args', argument])

    @property
    def arguments_given(self) -> list[str]:
        """The names of the arguments that are written, without defaults."""
        bound, _problems = self.op.signature.bind(self.written.get('args'))
        return list(bound)

    @property
    def loop(self) -> typing.Any:
        """The loop as written, or None."""
        return self.written.get('loop')

    @property
    def loops(self) -> bool:
        """Whether the operation has a loop."""
        return self.loop is not None

    @property
    def templates(self) -> dict[str, typing.Any]:
        """The arguments in which fields are replaced, with their values.

        For example, ``{'msg': 'no disk in {node.name}'}``. Some arguments are
        left out, because their braces are no fields: regular expressions, and
        arguments that the op declares as literal.
        """
        templates = {}
        for name, value in self.arguments.items():
            argument = self.op.signature.by_name[name]
            is_regex = argument.type is pattern.Pattern
            is_literal = name in self.op.plugin.LITERAL
            if not is_regex and not is_literal:
                templates[name] = value
        return templates

    @property
    def is_constant(self) -> bool:
        """Whether the operation does the same for all machines.

        ``eq(1, 2)`` does the same. ``eq({node.name}, 2)`` does not, because it
        has a field. An op may also read the data of the machine itself, and
        inner conditions may have fields.
        """
        reads_machine = self.op.plugin.NEEDS_VIEW
        if self.inner or reads_machine:
            return False
        values = [*self.templates.values(), self.loop]
        return not interpolation.fields(values)


def operations(
    rule: model.Rule, ops: registry.Registry
) -> tuple[list[Operation], list[Operation]]:
    """Return the conditions and the actions of a rule."""
    return (
        read_conditions(rule.conditions, '/conditions', ops),
        read_actions(rule.actions, ops),
    )


def read_conditions(
    written: typing.Iterable[typing.Mapping[str, typing.Any]],
    pointer: str,
    ops: registry.Registry,
    skip: frozenset[str] = frozenset(),
) -> list[Operation]:
    """Read conditions, and the conditions inside groups.

    For example, ``{'op': '!eq', 'args': [1, 2]}`` is the op ``eq``, inverted,
    with the arguments ``{'values': [1, 2], 'force_strings': False}``.

    :param written: conditions that passed validation. They may belong to a
        rejected rule if ``skip`` names the invalid ones.
    :param pointer: the pointer to the list of conditions, e.g. ``/conditions``
        or ``/actions/0/when``.
    :param ops: the installed conditions and actions.
    :param skip: pointers to conditions of this list that must be skipped, e.g.
        ``/conditions/1``. Conditions inside a group cannot be skipped.
    """
    conditions = []
    for index, condition in enumerate(written):
        pointer_to_condition = f'{pointer}/{index}'
        if pointer_to_condition in skip:
            continue
        inner = read_conditions(
            condition.get('conditions') or (),
            f'{pointer_to_condition}/conditions',
            ops,
        )
        conditions.append(
            _read_operation(
                condition, pointer_to_condition, ops.conditions, inner
            )
        )
    return conditions


def read_actions(
    written: typing.Iterable[typing.Mapping[str, typing.Any]],
    ops: registry.Registry,
    skip: frozenset[str] = frozenset(),
) -> list[Operation]:
    """Read the actions of a rule, and the conditions under their ``when``.

    :param written: actions that passed validation. They may belong to a
        rejected rule if ``skip`` names the invalid ones.
    :param ops: the installed conditions and actions.
    :param skip: pointers to actions that must be skipped, e.g. ``/actions/1``.
    """
    actions = []
    for index, action in enumerate(written):
        pointer = f'/actions/{index}'
        if pointer in skip:
            continue
        inner = read_conditions(
            action.get('when') or (), f'{pointer}/when', ops
        )
        actions.append(_read_operation(action, pointer, ops.actions, inner))
    return actions


def _read_operation(
    written: typing.Mapping[str, typing.Any],
    pointer: str,
    ops_by_name: typing.Mapping[str, registry.Op],
    inner: list[Operation],
) -> Operation:
    """Return a condition or an action with all its arguments.

    :param written: the operation, which passed validation.
    :param pointer: the pointer to it, e.g. ``/conditions/0``.
    :param ops_by_name: the installed conditions, or the installed actions.
    :param inner: the conditions in it.
    """
    # "!eq" is the inverted op "eq".
    name, inverted = model.split_op(written['op'])
    op = ops_by_name[name]
    # The arguments that are written, by name. There are no problems, because
    # the operation passed validation.
    given, _problems = op.signature.bind(written.get('args'))
    # Add the defaults. The arguments are in the order in which the op declares
    # them, not in the order of the file.
    arguments = {}
    for argument in op.signature.arguments:
        if argument.name in given:
            arguments[argument.name] = given[argument.name]
        elif not argument.required:
            arguments[argument.name] = argument.default
    return Operation(
        pointer=pointer,
        op=op,
        written=written,
        inverted=inverted,
        arguments=arguments,
        inner=tuple(inner),
    )

# SPDX-License-Identifier: Apache-2.0

"""Rules as they are written in files, in either language."""

import dataclasses
import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.engine import pattern
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.rule_file import builtin
from ironic_inspection_rules.rule_file import document

_POSTED = re.compile(r'/rules/(?P<position>\d+): (?P<problem>.*)', re.DOTALL)
_BETWEEN = re.compile(r'; (?=/)')


@dataclasses.dataclass(frozen=True)
class WrittenRule:
    """One entry of a file.

    ``index`` is its number in the file, from zero.
    """

    source: document.Document
    index: int

    @property
    def entry(self) -> typing.Any:
        """Return what the author wrote."""
        return self.source.entries[self.index]

    @property
    def is_old(self) -> bool:
        """Return whether it is in the language of ironic-inspector."""
        return validation.is_old(self.entry)

    @property
    def label(self) -> str:
        """Return what names the rule to its author."""
        return builtin.label(self.entry, self.index)

    def place(self, pointer: str = '') -> document.Place:
        """Return line and column of a value.

        :param pointer: where it is in the rule as this engine has it.
        """
        if self.is_old:
            pointer = pointer.replace('/args', '', 1)
        return self.source.place(self.index, pointer)

    def parse(self, ops: registry.Registry) -> model.Rule:
        """Read the rule.

        :raises: :class:`.exceptions.InvalidRule` with all problems.
        """
        return builtin.parse(self.entry, ops)


def load(path: str) -> list[WrittenRule]:
    """Read the rules of a file.

    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read.
    """
    return rules(document.load(path))


def rules(read: document.Document) -> list[WrittenRule]:
    """Return the rules of a file that was read."""
    return [WrittenRule(read, index) for index in range(len(read.entries))]


@dataclasses.dataclass(frozen=True)
class RuleFiles:
    """Rules of several files as one list.

    Ironic names a bad rule by its place in what was posted; its author knows
    it by file and line.
    """

    documents: tuple[document.Document, ...]

    @property
    def written(self) -> list[WrittenRule]:
        """All rules, in order, each with its file."""
        return [each for source in self.documents for each in rules(source)]

    @property
    def rules(self) -> list[typing.Any]:
        """All entries, in order."""
        return [each.entry for each in self.written]

    def explain(self, message: str) -> str:
        """Return where the rule is that Ironic refused.

        :param message: Ironic's, about ``/rules/<number>``.
        :returns: a line for each problem, or the message itself where it
            names no rule.
        """
        written = self.written
        lines = []
        position = None
        for problem in _BETWEEN.split(message.strip()):
            match = (_POSTED.search if position is None
                     else _POSTED.match)(problem)
            if match:
                position, problem = int(match['position']), match['problem']
            if position is None or position >= len(written):
                return message
            rule = written[position]
            pointer, _colon, message = problem.partition(': ')
            if not pointer.startswith('/'):
                pointer, message = '', problem
            line, column = rule.place(pointer)
            told = builtin.told(exceptions.Problem(pointer, message))
            lines.append(
                f'{rule.source.path}:{line}:{column}: {rule.label}: {told}')
        return '\n'.join(lines)


def load_all(paths: typing.Iterable[str]) -> RuleFiles:
    """Read files of rules, folders with such files and what is piped in.

    :raises: :class:`.exceptions.InvalidDocument` where one cannot be read.
    """
    return RuleFiles(tuple(map(document.load, document.files(paths))))


@dataclasses.dataclass(frozen=True)
class Operation:
    """A condition or an action of a rule that passed validation.

    ``pointer`` says where it is, ``arguments`` are all its arguments by name,
    as written. ``inner`` are the conditions of a group, or those of an action.
    """

    pointer: str
    op: registry.Op
    written: typing.Mapping[str, typing.Any]
    inverted: bool
    arguments: dict[str, typing.Any]
    inner: tuple['Operation', ...] = ()

    @property
    def all(self) -> typing.Iterator['Operation']:
        """The operation, then those inside it."""
        yield self
        for each in self.inner:
            yield from each.all

    def pointer_to(self, argument: str) -> str:
        """Return the pointer to an argument."""
        args = self.written.get('args')
        if isinstance(args, dict):
            return self.pointer + data_path.pointer(['args', argument])
        names = [each.name for each in self.op.signature.arguments]
        return f'{self.pointer}/args/{names.index(argument)}'

    @property
    def arguments_given(self) -> list[str]:
        """The names of the arguments that are written, not of others."""
        bound, _problems = self.op.signature.bind(self.written.get('args'))
        return list(bound)

    @property
    def loops(self) -> bool:
        return self.written.get('loop') is not None

    @property
    def templates(self) -> dict[str, typing.Any]:
        """The arguments that may have replacement fields, by name."""
        return {name: value for name, value in self.arguments.items()
                if name not in self.op.plugin.LITERAL
                and self.op.signature.by_name[name].type
                is not pattern.Pattern}

    @property
    def is_constant(self) -> bool:
        """Return whether it is the same for all machines."""
        if self.inner or self.op.plugin.NEEDS_VIEW:
            return False
        return not interpolation.fields(
            [*self.templates.values(), self.written.get('loop')])


def operations(rule: model.Rule, ops: registry.Registry
               ) -> tuple[list[Operation], list[Operation]]:
    """Return the conditions and the actions of a rule."""
    return (read(rule.conditions, '/conditions', ops),
            read(rule.actions, '/actions', ops, 'when'))


def read(written: typing.Iterable[typing.Mapping[str, typing.Any]],
         pointer: str, ops: registry.Registry, inside: str = 'conditions',
         skip: frozenset[str] = frozenset()) -> list[Operation]:
    """Return operations with the conditions in them.

    :param pointer: where they are in the rule.
    :param inside: under which key they have conditions.
    :param skip: pointers to those that are left out.
    """
    found = []
    known = ops.actions if inside == 'when' else ops.conditions
    for index, operation in enumerate(written):
        place = f'{pointer}/{index}'
        if place in skip:
            continue
        name, inverted = model.split_op(operation['op'])
        op = known[name]
        bound, _problems = op.signature.bind(operation.get('args'))
        inner = read(operation.get(inside) or (), f'{place}/{inside}', ops)
        found.append(Operation(
            place, op, operation, inverted, {
                each.name: bound.get(each.name, each.default)
                for each in op.signature.arguments
                if each.name in bound or not each.required}, tuple(inner)))
    return found

# SPDX-License-Identifier: Apache-2.0

"""A rule that is converted: what is kept of it, and what gets lost."""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem
Operation = dict[str, typing.Any]

_DOTTED = re.compile(r'[^\s.\[\]{}!:|]+')
_BRACKETED = re.compile(r'[^\]]{1,255}')
_FLAGS = re.compile(r'(?:\(\?[aiLmsux]+\))+')

SPEC = re.compile(r'[^{}]{0,40}')
"""The formats of fields that both languages know."""


class Inconvertible(Exception):
    """This language has no words for something; the message says for what."""


class Conversion:
    """The conversion of one rule.

    :ivar rule: the new rule, None where nothing of the old one is left.
    :ivar lost: what cannot be carried over or comes out differently, by the
        place in the old rule.
    :ivar hints: what the operator should know, or see to, likewise.
    :ivar differences: those of the hints that say where the new rule does
        something else than the old one.
    :ivar pointer: the place that is converted.
    """

    def __init__(self) -> None:
        self.rule: dict[str, typing.Any] | None = None
        self.lost: list[Problem] = []
        self.hints: list[Problem] = []
        self.differences: list[Problem] = []
        self.pointer = ''

    def lose(self, message: str) -> None:
        """Note what gets lost here."""
        self._note(self.lost, message)

    def hint(self, message: str) -> None:
        """Note what the operator should know of this place."""
        self._note(self.hints, message)

    def differ(self, message: str) -> None:
        """Note where the new rule does something else here."""
        self._note(self.differences, message)
        self.hint(message)

    def _note(self, noted: list[Problem], message: str) -> None:
        problem = Problem(self.pointer, message)
        # The turns of a loop may say the same.
        if problem not in noted:
            noted.append(problem)


def escape(value: typing.Any) -> typing.Any:
    """Return a value whose texts have no fields here, but literal braces."""
    return data_path.replace_texts(value, interpolation.escape, keys=True)


def write_field(steps: typing.Iterable[object], suffix: str = '') -> str:
    """Write the field that these steps lead to.

    :param suffix: what stands before the closing brace.
    :raises: :class:`Inconvertible`.
    """
    root, *inner = steps
    text = str(root)
    for step in inner:
        if isinstance(step, str) and _DOTTED.fullmatch(step):
            text += f'.{step}'
        elif (isinstance(step, int) and step >= 0) or (
                isinstance(step, str) and _BRACKETED.fullmatch(step)):
            text += f'[{step}]'
        else:
            raise Inconvertible(_('a field cannot step into "%s"') % (step,))
    return f'{{{text}{suffix}}}'


def suffix(spec: str | None, conversion: str | None) -> str:
    """Return what stands behind the name of a field: ``!r:>5``."""
    return (f'!{conversion}' if conversion else '') + (
        f':{spec}' if spec else '')


def anchored(regex: str) -> str:
    """Return what is searched for where all of a text, but its end, counts.

    Both put a "$" behind it, which belongs to the last alternative.
    """
    flags = _FLAGS.match(regex)
    begin = flags[0] if flags else ''
    end = '' if regex.endswith('$') else '$'
    if 'x' in begin:
        # It may end in a comment, with the "$" of stock Ironic in it.
        end += '\n'
    return rf'{begin}\A(?:{regex[len(begin):]}{end})'


def is_partial(regex: str) -> bool:
    """Return whether less than all of a text may match.

    That is the text from its beginning, and with a "$" behind the regular
    expression if it does not end in one.
    """
    return _has_alternatives(regex) or _is_open(regex)


def _has_alternatives(regex: str) -> bool:
    """Return whether there is a ``|`` outside of all parentheses."""
    depth = 0
    for character in _outside_of_classes(regex):
        depth += {'(': 1, ')': -1}.get(character, 0)
        if character == '|' and not depth:
            return True
    return False


def _is_open(regex: str) -> bool:
    """Return whether the ``$`` at the end is escaped or part of a comment."""
    plain = _outside_of_classes(regex)
    if regex.endswith('$') and not plain.endswith('$'):
        return True
    flags = _FLAGS.match(regex)
    if flags is None or 'x' not in flags[0]:
        return False
    return '#' in plain.rpartition('\n')[2]


def _outside_of_classes(regex: str) -> str:
    """Return what is neither escaped nor in square brackets."""
    return re.sub(r'\\.|\[\^?\]?(?:\\.|[^\]\\])*\]', '', regex,
                  flags=re.DOTALL)

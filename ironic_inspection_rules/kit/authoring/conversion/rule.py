# SPDX-License-Identifier: Apache-2.0

"""Record the conversion of one rule, and write its fields and patterns.

Rules of ironic-inspector and of stock Ironic (Ironic without this project) are
converted to rules of this language. What is recorded is a message with the
place in the old rule, e.g. ``/conditions/0``. A pattern is a regular
expression in a rule.
"""

import re
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _

Problem = exceptions.Problem
Operation = dict[str, typing.Any]

# Steps of a field that may follow a dot, and steps that need brackets.
_DOTTED = re.compile(r'[^\s.\[\]{}!:|]+')
_BRACKETED = re.compile(r'[^\]]{1,255}')
_FLAGS = re.compile(r'(?:\(\?[aiLmsux]+\))+')

SPEC = re.compile(r'[^{}]{0,40}')
"""Pattern of the formats of fields that both languages support."""


class Inconvertible(Exception):
    """This language cannot express a part of a rule, named by the message."""


class Conversion:
    """The conversion of one rule.

    :ivar rule: the new rule; None if there is none, for a reason in ``lost``.
    :ivar lost: what cannot be carried over or behaves differently, with the
        place in the old rule.
    :ivar hints: what the operator should know or check, with the place.
    :ivar differences: the hints about cases in which the new rule behaves
        differently.
    :ivar failures: the differences in which the old rule fails the inspection
        of some machines, but the new rule does not.
    :ivar pointer: the place that is being converted.
    """

    def __init__(self) -> None:
        """Start a conversion without a new rule, in which nothing is lost."""
        self.rule: dict[str, typing.Any] | None = None
        self.lost: list[Problem] = []
        self.hints: list[Problem] = []
        self.differences: list[Problem] = []
        self.failures: list[Problem] = []
        self.pointer = ''

    def record_loss(self, message: str) -> None:
        """Record what is lost at the current place."""
        self._record_once(self.lost, message)

    def record_hint(self, message: str) -> None:
        """Record what the operator should know about the current place."""
        self._record_once(self.hints, message)

    def record_difference(self, message: str) -> None:
        """Record how the new rule behaves differently at the current place.

        Every difference is also a hint.
        """
        self._record_once(self.differences, message)
        self.record_hint(message)

    def record_failure(self, message: str) -> None:
        """Record that only the old rule fails some inspections here.

        Every failure is also a difference.
        """
        self._record_once(self.failures, message)
        self.record_difference(message)

    def _record_once(self, records: list[Problem], message: str) -> None:
        """Add a message about the current place to a list of records."""
        problem = Problem(self.pointer, message)
        # Several items of a loop may cause the same message.
        if problem not in records:
            records.append(problem)


def escape(value: typing.Any) -> typing.Any:
    """Escape the braces in all texts of a value, so that none is a field."""
    return data_path.replace_texts(value, interpolation.escape, keys=True)


def write_field(steps: typing.Iterable[object], ending: str = '') -> str:
    """Write a field in braces, e.g. ``{inventory.disks[0].size}``.

    :param steps: the root, followed by names and indices.
    :param ending: filters, a conversion and a format, e.g. ``!r:>5``.
    :raises: :class:`Inconvertible` if a step cannot be written.
    """
    root, *inner = steps
    text = str(root)
    for step in inner:
        text += _write_step(step)
    return f'{{{text}{ending}}}'


def extend_field(field: str, ending: str) -> str:
    """Add an ending to a field: ``{node.name}`` becomes ``{node.name!r}``.

    :param field: a field in braces.
    :param ending: filters, a conversion and a format, e.g. ``!r``.
    """
    without_closing_brace = field[:-1]
    return f'{without_closing_brace}{ending}}}'


def _write_step(step: object) -> str:
    """Write one step of a field: ``.cpu``, ``[0]`` or ``[a key]``.

    :param step: a key or an index.
    :raises: Inconvertible if a field cannot have the step.
    """
    if isinstance(step, int) and step >= 0:
        return f'[{step}]'
    if isinstance(step, str):
        if _DOTTED.fullmatch(step):
            return f'.{step}'
        if _BRACKETED.fullmatch(step):
            return f'[{step}]'
    raise Inconvertible(_('a field cannot step into "%s"') % (step,))


def write_ending(spec: str | None, conversion: str | None) -> str:
    """Return the end of a field with a conversion and a format: ``!r:>5``.

    :param spec: the format, e.g. ``>5``.
    :param conversion: the conversion, e.g. ``r``.
    """
    text = ''
    if conversion:
        text += f'!{conversion}'
    if spec:
        text += f':{spec}'
    return text


def anchor_regex(regex: str) -> str:
    r"""Convert a regular expression of stock rules to one for ``contains``.

    ``a|b`` becomes ``\A(?:a|b$)``, because stock Ironic and ironic-inspector
    match from the beginning of the text and append a "$", which only belongs
    to the last alternative. With ``matches`` it would apply to all
    alternatives.
    """
    # Flags such as "(?i)" must stay at the beginning.
    flags = ''
    match = _FLAGS.match(regex)
    if match:
        flags = match[0]
    pattern = regex.removeprefix(flags)
    if not pattern.endswith('$'):
        pattern += '$'
    if 'x' in flags:
        # A comment at the end would otherwise include the closing parenthesis.
        pattern += '\n'
    return rf'{flags}\A(?:{pattern})'


def may_match_part(regex: str) -> bool:
    """Return whether a regular expression may match only a part of a text.

    It is matched from the beginning of the text, with an appended "$". In
    ``a|b$`` the "$" only belongs to the last alternative.
    """
    return _has_alternatives(regex) or _lacks_anchor(regex)


def _has_alternatives(regex: str) -> bool:
    """Return whether there is a ``|`` outside of all parentheses.

    ``a|b`` has alternatives; ``(a|b)`` and ``[|]`` have none.
    """
    # The number of parentheses that are open.
    depth = 0
    for character in _without_escapes_and_classes(regex):
        if character == '(':
            depth += 1
        elif character == ')':
            depth -= 1
        elif character == '|' and not depth:
            return True
    return False


def _lacks_anchor(regex: str) -> bool:
    """Return whether an expression is not anchored at the end of the text.

    This is the case if the ``$`` at its end is escaped, or if the appended
    ``$`` becomes part of a comment. Comments only exist with the flag ``x``.
    """
    plain = _without_escapes_and_classes(regex)
    is_dollar_escaped = regex.endswith('$') and not plain.endswith('$')
    if is_dollar_escaped:
        return True
    flags = _FLAGS.match(regex)
    if flags is None or 'x' not in flags[0]:
        return False
    _earlier_lines, _line_feed, last_line = plain.rpartition('\n')
    return '#' in last_line


def _without_escapes_and_classes(regex: str) -> str:
    r"""Return an expression without escapes and classes such as ``[a-z]``."""
    return re.sub(
        r'\\.|\[\^?\]?(?:\\.|[^\]\\])*\]', '', regex, flags=re.DOTALL
    )

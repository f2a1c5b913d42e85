# SPDX-License-Identifier: Apache-2.0

"""Names of traits that no trait can have."""

from collections.abc import Iterator
import re
import typing

from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import writes
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.traits import names as trait_names

_CUSTOM = 'CUSTOM_'
_PART = re.compile(r'[A-Z0-9_]*')
_OF_NODE = ('node', 'traits')


def check(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find names of traits that are invalid whatever a machine is like."""
    for action in rule.actions:
        found: dict[tuple[str, str], None] = {}
        for write in writes.writes(action):
            for argument, problem in _problems(write):
                found[action.pointer_to(argument), problem] = None
        yield from found
    for condition in rule.all_conditions:
        value = condition.arguments.get('value')
        if condition.op.name == 'one-of' and isinstance(value, str) and (
                _is_of_node(condition.arguments['values'])):
            said = impossible(value)
            if said:
                yield condition.pointer_to('value'), said


def _is_of_node(values: typing.Any) -> bool:
    """Tell whether values are the traits of the node."""
    pieces = interpolation.parse(values) if isinstance(values, str) else []
    return len(pieces) == 1 and isinstance(
        pieces[0], interpolation.Field) and (
            (pieces[0].root, *pieces[0].steps) == _OF_NODE)


def _problems(write: plugin.Write) -> Iterator[tuple[str, str]]:
    names: list[tuple[str, typing.Any]] = []
    if write.kind == 'trait':
        names = [(write.argument, write.name)]
    elif write.kind == 'traits':
        names = [(write.argument, name) for name in write.value] if (
            isinstance(write.value, list)) else []
        if isinstance(write.name, str) and not _may_begin_filled(write.name):
            yield 'prefix', _('no trait begins with "%s"') % write.name
    for argument, name in names:
        problem = impossible(name) if isinstance(name, str) else (
            trait_names.problem(name))
        if problem:
            yield argument, problem


def impossible(text: str) -> str | None:
    """Say why text, whatever its fields are, is the name of no trait."""
    pieces = interpolation.parse(text)
    if not interpolation.fields(text):
        return trait_names.problem(''.join(map(str, pieces)))
    if _may_begin_filled(text):
        return None
    mended = ''.join(_as_part(piece) if isinstance(piece, str)
                     else f'{{{piece.text}}}' for piece in pieces)
    if not mended.startswith((_CUSTOM, '{')) and not _may_begin(
            mended.partition('{')[0]):
        mended = _CUSTOM + mended
    return _('"%(name)s" is the name of no trait, whatever its fields are: '
             'it must be a standard trait of os-traits, or CUSTOM_ followed '
             'by upper-case letters, digits and underscores; did you mean '
             '"%(mended)s"?') % {'name': text, 'mended': mended}


def _may_begin_filled(text: str) -> bool:
    """Tell whether names of traits begin with text with its fields filled."""
    pieces = interpolation.parse(text)
    literal = [piece for piece in pieces if isinstance(piece, str)]
    return all(map(_PART.fullmatch, literal)) and (
        not literal or pieces[0] is not literal[0]
        or _may_begin(literal[0]))


def _may_begin(text: str) -> bool:
    """Tell whether names of traits begin with a text."""
    if text.startswith(_CUSTOM):
        return _PART.fullmatch(text) is not None
    return _CUSTOM.startswith(text) or any(
        name.startswith(text) for name in trait_names.STANDARD)


def _as_part(text: str) -> str:
    return re.sub('[^A-Z0-9_]+', '_', text.upper())

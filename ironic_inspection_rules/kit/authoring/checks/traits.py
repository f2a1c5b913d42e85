# SPDX-License-Identifier: Apache-2.0

"""Checks of lint: names of traits in actions and conditions; fixed ports."""

from collections.abc import Sequence
import re
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import trait_names
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_value

_CUSTOM = 'CUSTOM_'
_PART = re.compile(r'[A-Z0-9_]*')


def check_traits(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find names of traits that are invalid on every machine.

    Actions set such traits, or replace all traits with such a prefix;
    conditions ask for them.
    """
    for action in rule.actions:
        mistakes: list[tuple[str, str]] = []
        for write in effects.writes(action):
            # The action replaces all traits with a prefix: its name here.
            if write.kind == 'traits' and isinstance(write.name, str):
                prefix = write.name
                if not _may_begin_filled(prefix):
                    text = _('no trait begins with "%s"') % prefix
                    mistakes.append((action.pointer_to('prefix'), text))
            for name in _list_names(write):
                if isinstance(name, str):
                    problem = impossible(name)
                else:
                    # Only texts can have fields in them, which are filled.
                    problem = trait_names.find_problem(name)
                if problem:
                    pointer = action.pointer_to(write.argument)
                    mistakes.append((pointer, problem))
        # The items of a loop may all have the same mistake, which is named
        # once: a dict keeps the order of its keys.
        yield from dict.fromkeys(mistakes)
    yield from _check_conditions(rule)


def _check_conditions(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find conditions that ask whether a node has a trait of no valid name.

    They are "one-of" over the traits of the node, and never hold.
    """
    for condition in rule.all_conditions:
        value = condition.arguments.get('value')
        if condition.op.name != 'one-of' or not isinstance(value, str):
            continue
        values = condition.arguments['values']
        if not facts.is_field(values):
            continue
        if facts.field_name(values) == '/node/traits':
            problem = impossible(value)
            if problem:
                yield condition.pointer_to('value'), problem


def _list_names(write: plugin.Write) -> Sequence[typing.Any]:
    """Return the names of traits that an action sets, none if unknown."""
    if write.kind == 'trait':
        return [write.name]
    if write.kind == 'traits' and isinstance(write.value, list):
        return write.value
    return []


def impossible(text: str) -> str | None:
    """Return why a text is never the name of a trait, None if it may be.

    ``custom-{node.vendor}`` never is, ``CUSTOM_{node.vendor}`` may be. The
    message has the name that was probably meant.
    """
    pieces = interpolation.parse(text)
    if not interpolation.fields(text):
        return trait_names.find_problem(''.join(map(str, pieces)))
    if _may_begin_filled(text):
        return None
    mended = ''
    for piece in pieces:
        if isinstance(piece, str):
            mended += re.sub('[^A-Z0-9_]+', '_', piece.upper())
        else:
            mended += f'{{{piece.text}}}'
    if not mended.startswith((_CUSTOM, '{')) and not _may_begin(
        mended.partition('{')[0]
    ):
        mended = _CUSTOM + mended
    return _(
        '"%(name)s" is the name of no trait, whatever its fields are: '
        'it must be a standard trait of os-traits, or CUSTOM_ followed '
        'by upper-case letters, digits and underscores; did you mean '
        '"%(mended)s"?'
    ) % {'name': text, 'mended': mended}


def _may_begin_filled(text: str) -> bool:
    """Return whether a trait may begin with a text such as ``CUSTOM_{item}``.

    A field may become any text.
    """
    pieces = interpolation.parse(text)
    for piece in pieces:
        if isinstance(piece, str) and not _PART.fullmatch(piece):
            return False
    # A field at the beginning may become any text.
    if pieces and isinstance(pieces[0], str):
        return _may_begin(pieces[0])
    return True


def _may_begin(text: str) -> bool:
    """Return whether a standard or a custom trait may begin with a text."""
    if text.startswith(_CUSTOM):
        return _PART.fullmatch(text) is not None
    if _CUSTOM.startswith(text):
        return True
    return any(name.startswith(text) for name in trait_names.STANDARD)


_FIT_FOR_TRAITS = frozenset(('architecture', 'current_boot_mode'))
"""Fields whose text fits into the name of a trait but for its case."""


def check_texts(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find names of traits with an unfiltered text of the machine.

    A text such as the vendor has blanks and lower case, which the filter
    ``trait`` replaces.
    """
    for action in rule.actions:
        for write in effects.writes(action):
            names: typing.Any = []
            if write.kind == 'traits':
                # A list, or a field that gives one.
                names = write.value
            elif write.kind == 'trait':
                names = write.name
            for field in interpolation.fields(names):
                if _is_text_as_it_is(field):
                    message = _(
                        '{%(field)s} may hold blanks and lower case, '
                        'which no trait has; write {%(field)s | trait}'
                    ) % {'field': field.text}
                    yield action.pointer_to(write.argument), message


def _is_text_as_it_is(field: interpolation.Field) -> bool:
    """Return whether a field is a text that does not fit into a trait."""
    if not field.root or not field.is_plain:
        return False
    if field_value.type_at((field.root, *field.steps)) != 'text':
        return False
    return field.steps[-1] not in _FIT_FOR_TRAITS


def check_ports(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find actions on a certain port, in a rule for all machines.

    Only one machine has the port. A rule with a condition on data, or with a
    group of conditions, may be meant for that machine alone.
    """
    is_for_some_machines = any(
        '{' in str(condition.arguments) or condition.inner
        for condition in rule.conditions
    )
    if is_for_some_machines:
        return
    for action in rule.actions:
        for write in effects.writes(action):
            if isinstance(write.owner, str) and '{' not in write.owner:
                yield (
                    action.pointer,
                    _(
                        'only one machine has the port %s, the inspection of '
                        'all others fails: add a condition'
                    )
                    % write.owner,
                )
                break

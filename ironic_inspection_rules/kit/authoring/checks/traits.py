# SPDX-License-Identifier: Apache-2.0

"""Check names of traits in actions and conditions, and fixed ports.

These are checks of ``lint``. The name of a trait is either a standard trait of
os-traits, e.g. ``HW_CPU_X86_VMX``, or begins with ``CUSTOM_`` and has only
upper-case letters, digits and underscores. A name may contain fields, e.g.
``CUSTOM_{node.vendor}``; it is reported only if no value of the fields makes
it valid. A fixed port is a port that a rule identifies by a literal MAC
address or UUID.

A write is what an action changes, e.g. one trait; see
:class:`.plugin.Write`. A check yields mistakes: pairs of the place in the
rule, e.g. ``/actions/0/args/name``, and a message.
"""

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
from ironic_inspection_rules.rule_file import file_rule

_CUSTOM_PREFIX = 'CUSTOM_'
_TRAIT_CHARACTERS = re.compile(r'[A-Z0-9_]*')


def check_traits(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find names of traits that are invalid on every machine.

    These are traits that actions set, prefixes of the traits that actions
    replace, and traits that conditions test.
    """
    for action in rule.actions:
        mistakes: list[tuple[str, str]] = []
        for write in effects.writes(action):
            mistakes += _find_invalid_names(action, write)
        # All items of a loop may have the same mistake. A dict reports it only
        # once, and keeps the order.
        yield from dict.fromkeys(mistakes)
    yield from _check_conditions(rule)


def _find_invalid_names(
    action: file_rule.Operation, write: plugin.Write
) -> checked_rule.Mistakes:
    """Find invalid trait names in a write of an action.

    :param write: a write of kind ``trait``, whose name is the name of a trait;
        or a write of kind ``traits``, whose name is a prefix, and whose value
        lists the traits that replace all traits with the prefix. Writes of
        other kinds have no mistakes.
    """
    traits: list[typing.Any] = []
    if write.kind == 'trait':
        traits.append(write.name)
    elif write.kind == 'traits':
        if isinstance(write.name, str) and not _may_begin_filled(write.name):
            message = _('no trait begins with "%s"') % write.name
            yield action.pointer_to('prefix'), message
        # Otherwise the value is a field that may give a list.
        if isinstance(write.value, list):
            traits += write.value
    for trait in traits:
        if isinstance(trait, str):
            problem = why_impossible(trait)
        else:
            # A value that is not text is not a name either.
            problem = trait_names.find_problem(trait)
        if problem is not None:
            yield action.pointer_to(write.argument), problem


def _check_conditions(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find conditions that test whether a node has an invalid trait.

    These conditions are "one-of" over the traits of the node, and never hold.
    """
    for condition in rule.all_conditions:
        value = condition.arguments.get('value')
        if condition.op.name != 'one-of' or not isinstance(value, str):
            continue
        values = condition.arguments['values']
        if not facts.is_field(values):
            continue
        if facts.field_name(values) == '/node/traits':
            problem = why_impossible(value)
            if problem is not None:
                yield condition.pointer_to('value'), problem


def why_impossible(text: str) -> str | None:
    """Return why a text is never the name of a trait; None if it may be.

    For example, ``custom-{node.vendor}`` never is, but
    ``CUSTOM_{node.vendor}`` may be. The message contains the name that was
    probably intended.
    """
    pieces = interpolation.parse(text)
    if not interpolation.fields(text):
        # Doubled braces in the text are single braces in the name.
        name = ''.join(map(str, pieces))
        return trait_names.find_problem(name)
    if _may_begin_filled(text):
        return None
    # Build the name that was probably intended: with valid characters between
    # the fields, and with CUSTOM_ in front if no trait begins like this.
    mended = ''
    for piece in pieces:
        if isinstance(piece, str):
            mended += re.sub('[^A-Z0-9_]+', '_', piece.upper())
        else:
            mended += f'{{{piece.text}}}'
    before_fields, _brace, _rest = mended.partition('{')
    if not _may_begin(before_fields):
        mended = _CUSTOM_PREFIX + mended
    return _(
        '"%(name)s" is the name of no trait, whatever its fields are: '
        'it must be a standard trait of os-traits, or CUSTOM_ followed '
        'by upper-case letters, digits and underscores; did you mean '
        '"%(mended)s"?'
    ) % {'name': text, 'mended': mended}


def _may_begin_filled(text: str) -> bool:
    """Return whether a trait may begin with a text that may have fields.

    A field may become any text, so ``CUSTOM_{item}`` may be the beginning of a
    trait, but ``custom_{item}`` may not.
    """
    pieces = interpolation.parse(text)
    for piece in pieces:
        if isinstance(piece, str) and not _TRAIT_CHARACTERS.fullmatch(piece):
            return False
    # A field at the beginning may become any text.
    if pieces and isinstance(pieces[0], str):
        return _may_begin(pieces[0])
    return True


def _may_begin(text: str) -> bool:
    """Return whether a standard or a custom trait may begin with a text.

    For example, ``HW_CPU`` and ``CUST`` may, but ``HARDWARE`` may not.
    """
    if text.startswith(_CUSTOM_PREFIX):
        return _TRAIT_CHARACTERS.fullmatch(text) is not None
    # A text such as "CUST" is shorter than the prefix, so the prefix must
    # begin with the text.
    if _CUSTOM_PREFIX.startswith(text):
        return True
    return any(name.startswith(text) for name in trait_names.STANDARD)


_FIT_FOR_TRAITS = frozenset(('architecture', 'current_boot_mode'))
"""Fields whose text may be part of a trait's name, except for its case."""


def check_texts(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find names of traits that contain an unfiltered text of the machine.

    A text such as the vendor has spaces and lower case, which the filter
    ``trait`` replaces.
    """
    for action in rule.actions:
        for write in effects.writes(action):
            if write.kind == 'trait':
                fields = interpolation.fields(write.name)
            elif write.kind == 'traits':
                # The value is a list of names, or a field that gives a list.
                fields = interpolation.fields(write.value)
            else:
                continue
            for field in fields:
                if _is_text_as_it_is(field):
                    message = _(
                        '{%(field)s} may hold blanks and lower case, '
                        'which no trait has; write {%(field)s | trait}'
                    ) % {'field': field.text}
                    yield action.pointer_to(write.argument), message


def _is_text_as_it_is(field: interpolation.Field) -> bool:
    """Return whether a field is a text that cannot be part of a trait's name.

    ``{inventory.system_vendor.manufacturer}`` is, because it has spaces. ``{…
    | trait}`` is not, because the filter replaces them.
    """
    if not field.root or not field.is_plain:
        return False
    path = (field.root, *field.steps)
    if field_value.type_at(path) != field_value.TEXT:
        return False
    return field.steps[-1] not in _FIT_FOR_TRAITS


def check_ports(rule: checked_rule.CheckedRule) -> checked_rule.Mistakes:
    """Find actions on a port that is identified by its address or its UUID.

    Only one machine has this port, so the action fails on all other machines.
    Rules with a condition on data, or with a group of conditions, are skipped,
    because they may be meant for this machine only.
    """
    for condition in rule.conditions:
        reads_data = '{' in str(condition.arguments)
        if reads_data or condition.inner:
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
                # Report an action only once, even if its loop names several
                # ports.
                break

# SPDX-License-Identifier: Apache-2.0

"""Names of traits, and ports, that actions write."""

import re

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import field_value
from ironic_inspection_rules.traits import names as trait_names

_CUSTOM = 'CUSTOM_'
_PART = re.compile(r'[A-Z0-9_]*')


def check_traits(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find names of traits that are invalid whatever a machine is like."""
    for action in rule.actions:
        found: dict[tuple[str, str], None] = {}
        for write in effects.writes(action):
            names = [write.name] if write.kind == 'trait' else []
            if write.kind == 'traits':
                names = write.value if isinstance(write.value, list) else []
                if isinstance(write.name, str) and (
                        not _may_begin_filled(write.name)):
                    found[action.pointer_to('prefix'), _(
                        'no trait begins with "%s"') % write.name] = None
            for name in names:
                problem = impossible(name) if isinstance(name, str) else (
                    trait_names.problem(name))
                if problem:
                    found[action.pointer_to(write.argument), problem] = None
        yield from found
    for condition in rule.all_conditions:
        value = condition.arguments.get('value')
        if condition.op.name == 'one-of' and isinstance(value, str) and (
                facts.is_field(condition.arguments['values'])
                and facts.field_name(condition.arguments['values'])
                == '/node/traits'):
            said = impossible(value)
            if said:
                yield condition.pointer_to('value'), said


def impossible(text: str) -> str | None:
    """Return why text, whatever its fields are, is the name of no trait."""
    pieces = interpolation.parse(text)
    if not interpolation.fields(text):
        return trait_names.problem(''.join(map(str, pieces)))
    if _may_begin_filled(text):
        return None
    mended = ''.join(re.sub('[^A-Z0-9_]+', '_', piece.upper())
                     if isinstance(piece, str) else f'{{{piece.text}}}'
                     for piece in pieces)
    if not mended.startswith((_CUSTOM, '{')) and not _may_begin(
            mended.partition('{')[0]):
        mended = _CUSTOM + mended
    return _('"%(name)s" is the name of no trait, whatever its fields are: '
             'it must be a standard trait of os-traits, or CUSTOM_ followed '
             'by upper-case letters, digits and underscores; did you mean '
             '"%(mended)s"?') % {'name': text, 'mended': mended}


def _may_begin_filled(text: str) -> bool:
    """Return whether traits may begin with text, whatever its fields are."""
    pieces = interpolation.parse(text)
    literal = [piece for piece in pieces if isinstance(piece, str)]
    return all(map(_PART.fullmatch, literal)) and (
        not literal or pieces[0] is not literal[0] or _may_begin(literal[0]))


def _may_begin(text: str) -> bool:
    if text.startswith(_CUSTOM):
        return _PART.fullmatch(text) is not None
    return _CUSTOM.startswith(text) or any(
        name.startswith(text) for name in trait_names.STANDARD)


_FIT = frozenset(('architecture', 'current_boot_mode'))
"""Text that is fit for names of traits but for its case."""


def check_texts(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find names of traits made of text as machines have it."""
    for action in rule.actions:
        for each in effects.writes(action):
            names = each.value if each.kind == 'traits' else [each.name] if (
                each.kind == 'trait') else []
            for field in interpolation.fields(names):
                if field.root and field.is_plain and field_value.type_at(
                        (field.root, *field.steps)) == 'text' and (
                            field.steps[-1] not in _FIT):
                    yield action.pointer_to(each.argument), _(
                        '{%(field)s} may hold blanks and lower case, which '
                        'no trait has; write {%(field)s | trait}') % {
                            'field': field.text}


def check_ports(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find ports that one machine has, in a rule for all of them."""
    if any('{' in str(condition.arguments) or condition.inner
           for condition in rule.conditions):
        return
    for action in rule.actions:
        for each in effects.writes(action):
            if isinstance(each.owner, str) and '{' not in each.owner:
                yield action.pointer, _(
                    'only one machine has the port %s, the inspection of all '
                    'others fails: add a condition') % each.owner
                break

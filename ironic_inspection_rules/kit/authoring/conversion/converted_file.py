# SPDX-License-Identifier: Apache-2.0

"""Files of rules in other languages as files of today."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.authoring.checks import names
from ironic_inspection_rules.kit.authoring.conversion import inspector
from ironic_inspection_rules.kit.authoring.conversion import rule as conversion
from ironic_inspection_rules.kit.authoring.conversion import stock_rule
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import yaml_text

LOST = 'lost'

_NEVER = frozenset(('jinja', 'never-holds', 'unknown-field', lint.UNREPORTED,
                    lint.STOCK))
"""The checks that find what does not work, beside errors."""

_WIDTH = 78

_IN_GENERAL = (
    _('Other than in ironic-inspector, a condition does not hold, and holds '
      'inverted, instead of failing the inspection, where a value cannot be '
      'compared or is no IP address.'),
    _('Numbers are compared as they are, and not as whole ones. An index '
      'finds no character of text, [*] goes through lists only and fails on '
      'text and numbers, and null is no text for a regular expression.'),
    _('What a value is set in is made where it does not exist, and '
      'properties/capabilities is removed when nothing is left in it.'),
)


class ConvertedFile(typing.NamedTuple):
    """The text of a YAML file, and what it does not carry over."""

    text: str
    lost: list[lint.Finding]


def convert(path: str, ops: registry.Registry,
            stock: bool = False) -> ConvertedFile:
    """Convert all rules of a file; those of today stay as they are.

    :param stock: whether those that are not ironic-inspector's are meant for
        stock Ironic.
    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read.
    """
    lost: list[lint.Finding] = []
    kept: list[file_rule.WrittenRule] = []
    written = file_rule.load(path)
    kinds = {rule.is_old for rule in written if isinstance(rule.entry, dict)}
    header = [_('Converted from %s.') % path]
    if stock and kinds == {True}:
        header.append(_('Its rules are those of ironic-inspector, not of '
                        'stock Ironic.'))
        stock = False
    header += stock_rule.IN_GENERAL if stock else ()
    header += _IN_GENERAL if True in kinds else ()
    pieces = [_comments(header)]
    old = _convert_old(written, ops)
    for rule in written:
        if not isinstance(rule.entry, dict):
            lost.append(_lost(rule, exceptions.Problem(
                '', _('a rule must be a mapping'))))
            continue
        if not rule.is_old and not stock:
            pieces.append(_as_yaml(rule.entry))
            kept.append(rule)
            continue
        converted = (old[rule.index] if rule.is_old
                     else stock_rule.convert(rule.entry, ops))
        if not rule.is_old:
            # To Ironic it is text in literal braces.
            converted.lost += [exceptions.Problem(
                pointer, _('"%s" is a template of Ansible, which Ironic takes '
                           'for text; convert the rendered file') % template)
                for pointer, template in names.templates(rule.entry)]
        lost += [_lost(rule, problem) for problem
                 in [*converted.lost, *converted.differences]]
        comments = [f"{file_rule.place_name(problem.pointer) or _('rule')}: "
                    f'{problem.sentence}'
                    for problem in [*converted.lost, *converted.hints]]
        if converted.rule is None:
            pieces.append(_comments([
                _('Rule %s is left out.') % rule.label, *comments]))
            continue
        uuid = rule.entry.get('uuid')
        pieces.append(_comments(comments) + _as_yaml(
            {**({'uuid': uuid} if uuid else {}), **converted.rule}))
        kept.append(rule)
    text = '\n'.join(pieces)
    if stock:
        # What such a rule does is odd, and meant to stay so.
        return ConvertedFile(text, lost)
    return ConvertedFile(text, lost + list(_linted(path, text, kept, ops)))


def _convert_old(written: typing.Iterable[file_rule.WrittenRule],
                 ops: registry.Registry) -> dict[int, conversion.Conversion]:
    """Convert old rules by their number; of an invalid one nothing is left."""
    valid: dict[int, model.Rule] = {}
    made: dict[int, conversion.Conversion] = {}
    for rule in written:
        if rule.is_old:
            try:
                valid[rule.index] = file_rule.parse(rule.entry, ops)
            except exceptions.InvalidRule as exc:
                made[rule.index] = conversion.Conversion()
                made[rule.index].lost += exc.problems
    return made | dict(zip(valid, inspector.convert([*valid.values()]),
                           strict=True))


def _linted(path: str, text: str, kept: list[file_rule.WrittenRule],
            ops: registry.Registry) -> typing.Iterator[lint.Finding]:
    """Find converted rules that are none, or never do what they did."""
    read = document.parse(path, text)
    for found in lint.of_documents([read], ops):
        if found.level != lint.ERROR and found.check not in _NEVER:
            continue
        later = [index for index in range(len(kept))
                 if read.place(index) <= (found.line, found.column)]
        if later:
            yield _lost(kept[later[-1]], exceptions.Problem('', found.message))


def _comments(texts: typing.Iterable[str]) -> str:
    return ''.join(yaml_text.comment(text, _WIDTH) for text in texts)


def _as_yaml(rule: typing.Any) -> str:
    return yaml_text.dump([rule], default_flow_style=None, width=_WIDTH)


def _lost(rule: file_rule.WrittenRule,
          problem: exceptions.Problem) -> lint.Finding:
    line, column = rule.place(problem.pointer)
    return lint.Finding(rule.source.path, line, column, lint.WARNING,
                           LOST, rule.label, problem.sentence)

# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Files of ironic-inspector's rules as files of today."""

import textwrap
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import finding
from ironic_inspection_rules.offline import rulefile
from ironic_inspection_rules.offline.conversion import rule as conversion
from ironic_inspection_rules.ruleset import yaml_text

LOST = 'lost'

_WIDTH = 78

_IN_GENERAL = (
    _('Other than in ironic-inspector, a condition does not hold, instead of '
      'failing the inspection, where a value cannot be compared or is no IP '
      'address.'),
    _('What a value is set in is made where it does not exist, and '
      'properties/capabilities is removed when nothing is left in it.'),
)


class ConvertedFile(typing.NamedTuple):
    """The text of a YAML file, and what it does not carry over."""

    text: str
    lost: list[finding.Finding]


def convert(path: str, ops: registry.Registry) -> ConvertedFile:
    """Convert all rules of a file; those of today stay as they are.

    :raises: :class:`.exceptions.InvalidDocument` where it cannot be read.
    """
    lost: list[finding.Finding] = []
    pieces = [''.join(map(_comment, [_('Converted from %s.') % path,
                                     *_IN_GENERAL]))]
    written = rulefile.load(path)
    conversions = iter(_convert_valid(written, ops, lost))
    for rule in written:
        if not isinstance(rule.entry, dict):
            lost.append(_lost(rule, exceptions.Problem(
                '', _('a rule must be a mapping'))))
            continue
        if not rule.is_old:
            pieces.append(_as_yaml(rule.entry))
            continue
        converted = next(conversions)
        lost += [_lost(rule, problem) for problem in converted.lost]
        pieces.append(_piece(rule, converted))
    return ConvertedFile('\n'.join(pieces), lost)


def _convert_valid(written: typing.Iterable[rulefile.WrittenRule],
                   ops: registry.Registry, lost: list[finding.Finding]
                   ) -> list[conversion.Conversion]:
    """Convert old rules; of one that is not valid nothing is left."""
    valid, refused = [], {}
    old = [rule for rule in written if rule.is_old]
    for place, rule in enumerate(old):
        try:
            valid.append(rule.parse(ops))
        except exceptions.InvalidRule as exc:
            refused[place] = conversion.Conversion(
                None, list(exc.problems), [])
    converted = iter(conversion.convert(valid))
    return [refused.get(place) or next(converted)
            for place in range(len(old))]


def _piece(rule: rulefile.WrittenRule,
           converted: conversion.Conversion) -> str:
    comments = [f'{_name(problem.pointer)}: {problem.message}'
                for problem in [*converted.lost, *converted.hints]]
    if converted.rule is None:
        comments.insert(0, _('Rule %s is left out.') % rule.label)
        return ''.join(map(_comment, comments))
    uuid = rule.entry.get('uuid')
    return ''.join(map(_comment, comments)) + _as_yaml(
        {**({'uuid': uuid} if uuid else {}), **converted.rule})


def _name(pointer: str) -> str:
    """Return words for a place: ``condition 2``."""
    tokens = pointer.split('/')
    if len(tokens) < 3:
        return _('rule')
    number = int(tokens[2]) + 1
    return (_('condition %d') if tokens[1] == 'conditions'
            else _('action %d')) % number


def _comment(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent='# ',
                         subsequent_indent='#   ', break_long_words=False,
                         break_on_hyphens=False) + '\n'


def _as_yaml(rule: typing.Any) -> str:
    return yaml_text.dump([rule], default_flow_style=None, width=_WIDTH)


def _lost(rule: rulefile.WrittenRule,
          problem: exceptions.Problem) -> finding.Finding:
    line, column = rule.place(problem.pointer)
    return finding.Finding(rule.source.path, line, column, finding.WARNING,
                           LOST, rule.label, problem.message)

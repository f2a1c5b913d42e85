# SPDX-License-Identifier: Apache-2.0

"""Rules of one phase and priority that write one place differently."""

import collections
from collections.abc import Iterator, Sequence
import itertools
import json
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.authoring.checks import writes as declared
from ironic_inspection_rules.rule_file import file_rule

Rule = checked_rule.CheckedRule

_REMOVED = data_path.ABSENT
_LONGEST = 40

_ROOTS = {'node': ('node',), 'port': ('ports', 'port'),
          'plugin_data': ('plugin_data',)}
"""Where a value is from that may hold what was there before."""


_APPENDED = '-'
"""The step of a path to the place behind the last item of a list."""


class Write(typing.NamedTuple):
    """Value that an action leaves at a place; ``value`` may be ABSENT.

    With ``extends`` it is one item of the list that is there.
    """

    pointer: str
    kind: str
    place: tuple[str, ...]
    value: typing.Any
    extends: bool = False

    def __str__(self) -> str:
        where = {'node': _('node attribute'), 'port': _('port attribute'),
                 'plugin_data': _('plugin data'),
                 'capability': _('capability'), 'trait': _('trait'),
                 'traits': _('traits with the prefix')}[self.kind]
        name = data_path.pointer(self.place) if self.kind in (
            'node', 'port', 'plugin_data') else f'"{self.place[0]}"'
        return f'{where} {name}'


def check(rules: Sequence[Rule]) -> checked_rule.FoundTogether:
    """Find rules that undo what an earlier one has written."""
    groups: dict[typing.Any, list[_Writer]] = collections.defaultdict(list)
    for rule in rules:
        if rule.rule.mode != model.OFF:
            groups[rule.rule.phase, rule.rule.priority].append(_Writer(rule))
    for group in groups.values():
        for one, other in itertools.combinations(group, 2):
            if one.kinds.isdisjoint(other.kinds):
                continue
            pairs = [pair for pair in itertools.product(
                one.writes, other.writes) if _differ(*pair)
                and not exclusion.exclude(one.asked(pair[0]),
                                          other.asked(pair[1]))]
            scopes = {one.rule.rule.scope, other.rule.rule.scope} - {None, ''}
            if pairs and len(scopes) < 2 and not exclusion.exclude(
                    one.claims, other.claims):
                yield (other.rule, pairs[0][1].pointer,
                       _message(one.rule, other.rule, pairs))


class _Writer:
    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.writes = [write for action in rule.actions
                       for write in placed_writes(action)]
        self.kinds = {'trait' if write.kind in ('trait', 'traits')
                      else (write.kind, write.place[0])
                      for write in self.writes}
        self.claims = list(map(exclusion.Claim, rule.conditions))
        # In a loop they are about an item, of which there may be several.
        self._asked = {action.pointer: list(map(exclusion.Claim, action.inner))
                       for action in rule.actions
                       if action.inner and not action.loops}

    def asked(self, write: Write) -> list[exclusion.Claim]:
        """Return the conditions without which something is not written."""
        return [*self.claims, *self._asked.get(write.pointer, ())]


def _message(one: Rule, other: Rule, pairs: list[tuple[Write, Write]]) -> str:
    line, _column = one.written.place()
    places = list(dict.fromkeys(str(write) for _first, write in pairs))
    values = ''
    if len(pairs) == 1:
        shown = [_shown(write) for write in pairs[0]]
        if all(shown):
            values = _(': there %(there)s, here %(here)s') % {
                'there': shown[0], 'here': shown[1]}
            for rule in (one.rule, other.rule):
                values = disclosure.say(rule, values)
    return _('rule %(label)s at %(path)s:%(line)d has the same phase and '
             'priority, writes %(places)s too, and differently%(values)s; '
             'machines may meet the conditions of both, and only their order '
             'decides') % {
                 'label': one.written.label, 'path': one.written.source.path,
                 'line': line, 'places': ', '.join(places),
                 'values': values}


def _shown(write: Write) -> str:
    """Show what is written, if it is short and no secret."""
    if write.value is _REMOVED:
        return _('removed')
    if disclosure.is_secret(write.place) or write.kind == 'traits':
        return ''
    if write.kind == 'trait':
        return _('added')
    text = json.dumps(write.value)
    if len(text) > _LONGEST:
        return ''
    return _('%s appended') % text if write.extends else text


def placed_writes(action: file_rule.Operation) -> Iterator[Write]:
    """Yield what an action writes, at places that are known."""
    for each in declared.writes(action):
        if not isinstance(each.name, str):
            continue
        place: tuple[str, ...] = (each.name,)
        if each.kind in _ROOTS and not interpolation.fields(each.name):
            try:
                place = data_path.parse(each.name)
            except exceptions.OperationError:
                continue
        if each.kind == 'port':
            place = (str(each.owner).lower(), *place)
        value, extends = each.value, each.extends
        if each.kind in _ROOTS and _APPENDED in place and (
                value is not _REMOVED):
            # What is below the new item is part of its value.
            before = place.index(_APPENDED)
            for step in reversed(place[before + 1:]):
                value = {step: value}
            place, extends = place[:before], True
        if each.kind == 'traits':
            if not isinstance(value, list):
                continue
            value = sorted(map(str, value))
        yield Write(action.pointer, each.kind, place, value, extends)


def _differ(one: Write, other: Write) -> bool:
    """Return whether two writes, in their order, leave different things."""
    if one.extends or other.extends:
        return one.kind == other.kind and (
            _takes_back(one, other) if one.extends
            # What was written cannot be extended.
            else one.place == other.place and not (
                one.value is None or one.value is _REMOVED
                or isinstance(one.value, list)
                or interpolation.fields(one.value)))
    if one.kind == other.kind == 'traits':
        return one.place == other.place and one.value != other.value
    for group, single in ((one, other), (other, one)):
        if (group.kind, single.kind) == ('traits', 'trait'):
            name = single.place[0]
            return name.startswith(group.place[0]) and (
                (name in group.value) is (single.value is _REMOVED))
    if one.kind != other.kind:
        return False
    short, long = sorted((one, other), key=lambda each: len(each.place))
    if long.place[:len(short.place)] != short.place:
        return False
    rest = long.place[len(short.place):]
    if rest and (short.value is _REMOVED
                 or data_path.get(short.value, rest) is data_path.ABSENT):
        # To make a mapping in one rule and fill it in another is usual.
        return False
    above = data_path.get(short.value, rest) if rest else short.value
    return not data_path.same(above, long.value)


def _takes_back(extended: Write, other: Write) -> bool:
    """Return whether a later write drops the item that was appended.

    To begin a list in one rule and to extend it in a later one is usual.
    """
    rest = extended.place[len(other.place):]
    if other.extends or (*other.place, *rest) != extended.place:
        return False
    if rest and other.value is _REMOVED:
        return False
    if any(field.root in _ROOTS[other.kind]
           for field in interpolation.fields(other.value)):
        return False
    above = data_path.get(other.value, rest) if rest else other.value
    if rest and above is data_path.ABSENT:
        return False
    return not isinstance(above, list) or not any(
        data_path.same(item, extended.value) for item in above)

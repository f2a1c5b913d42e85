# SPDX-License-Identifier: Apache-2.0

"""Rules that accept machines like some good ones.

All differences are noted in plugin data first, and then told at once: the
first rule that fails would hide the others. Rules in mode ``audit`` do not
hide one another, so that each fails by itself.
"""

import collections
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import re
import typing

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import machine_file
from ironic_inspection_rules.machine.profile import component
from ironic_inspection_rules.machine.profile import sort
from ironic_inspection_rules.machine.profile import tolerance

FAIL = 'fail'
TRAIT = 'trait'
AUDIT = 'audit'
ON_MISMATCH = (FAIL, TRAIT, AUDIT)

PRIORITIES = (30, 20, 10)
"""Of the rule that begins, of those that compare, and of the verdict."""

_LONGEST = 120
"""Of a name, or what a rule is about: a description holds both."""

_UNKNOWN = "default('unknown', true)"

Written = dict[str, typing.Any]


class Difference(typing.NamedTuple):
    """A way in which a machine may differ.

    :param about: what it is about, to describe the rule by.
    :param message: what is said of it.
    """

    about: str
    condition: Written
    message: str


@dataclasses.dataclass(frozen=True)
class Profile:
    """How machines are compared, and what a difference does.

    :param on_mismatch: one of :data:`ON_MISMATCH`.
    """

    name: str
    on_mismatch: str = FAIL
    tolerated: tolerance.Tolerance = tolerance.Tolerance()

    def rules(self, machines: Sequence[machine_file.Machine]) -> list[Written]:
        """Write the rules that accept machines like the given ones."""
        found = list(_apart(differences(machines, self.tolerated)))
        if self.on_mismatch == AUDIT:
            return [self._rule(each.about, PRIORITIES[1], [each.condition],
                               [_action('fail', msg=each.message)],
                               mode=model.AUDIT) for each in found]
        return [
            self._rule(_('begin'), PRIORITIES[0], [],
                       [_action('set-plugin-data', path=self._path,
                                value=[])]),
            *(self._rule(each.about, PRIORITIES[1], [each.condition],
                         [_action('extend-plugin-data', path=self._path,
                                  value=each.message)])
              for each in found),
            *self._verdict()]

    def _verdict(self) -> Iterator[Written]:
        differs = {'op': '!is-empty', 'args': {'value': f'{{{self._field}}}'}}
        if self.on_mismatch == FAIL:
            yield self._rule(
                _('verdict'), PRIORITIES[2], [differs], [_action(
                    'fail', msg=_('not like %(name)s: %(differences)s') % {
                        'name': sort.escape(self.name),
                        'differences': f"{{{self._field} | join('; ')}}"})])
            return
        trait = f'CUSTOM_{self._slug.upper()}_MISMATCH'
        yield self._rule(_('it differs'), PRIORITIES[2], [differs],
                         [_action('add-trait', name=trait)])
        yield self._rule(_('it does not differ'), PRIORITIES[2],
                         [{**differs, 'op': 'is-empty'}],
                         [_action('remove-trait', name=trait)])

    def _rule(self, about: str, priority: int,
              conditions: list[Written], actions: list[Written],
              **fields: typing.Any) -> Written:
        return {'description': f'{self.name[:_LONGEST]}: {about}',
                'priority': priority, **fields,
                'conditions': conditions, 'actions': actions}

    @property
    def _slug(self) -> str:
        return re.sub(r'[^a-z0-9]+', '_', self.name.lower()).strip('_') or (
            'profile')

    @property
    def _path(self) -> str:
        return f'/profiles/{self._slug}'

    @property
    def _field(self) -> str:
        return f'plugin_data[profiles][{self._slug}]'


def differences(machines: Sequence[machine_file.Machine],
                tolerated: tolerance.Tolerance) -> Iterator[Difference]:
    """Return all ways in which a machine may differ from the given ones."""
    for value in component.VALUES:
        known = [value.of(each) for each in machines]
        if None not in known:
            yield _difference(value, known, tolerated)
    for parts in component.parts(machines):
        yield from _differences(parts, [parts.of(each) or []
                                        for each in machines], tolerated)


def _apart(found: Iterator[Difference]) -> Iterator[Difference]:
    """Number what would be described alike; sizes are shown rounded."""
    count: collections.Counter[str] = collections.Counter()
    for each in found:
        about = each.about[:_LONGEST]
        count[about] += 1
        number = count[about]
        yield each._replace(
            about=about if number == 1 else f'{about} ({number})')


def _difference(value: component.Value, known: list[typing.Any],
                tolerated: tolerance.Tolerance) -> Difference:
    field = f'{{{value.path} | {_UNKNOWN}}}'
    expected = list(dict.fromkeys(known))
    if all(map(component.is_number, known)) and (
            value.component in tolerated.observed):
        condition = _among(field, expected)
        text = _(' or ').join(map(str, sorted(expected)))
    elif all(map(component.is_number, known)):
        widen = tolerated.size if value.sized else tolerated.count
        low, high = min(known), max(known)
        if value.name != 'sockets':
            low, high = widen(value.component, low, high)
        condition = _within(low, field, high)
        text = _numbers(low, high)
    else:
        condition = {'op': '!one-of', 'args': {
            'value': field, 'values': [sort.escape(each)
                                       for each in expected]}}
        text = _(' or ').join(map(str, expected))
    about = _words(value.component, value.name, separator=', ')
    found = _words(value.name, field, value.unit)
    return Difference(about, condition, (
        f'{value.component}: ' + _('%(found)s, not %(expected)s') % {
            'found': found,
            'expected': sort.escape(_words(text, value.unit))}))


def _differences(parts: component.Parts,
                 listed: Sequence[Sequence[component.Item]],
                 tolerated: tolerance.Tolerance) -> Iterator[Difference]:
    sorts = sort.sorts(parts, listed, tolerated)
    for each in sorts:
        counts = [each.count(items) for items in listed]
        low, high = tolerated.count(parts.component, min(counts),
                                    max(counts))
        field = f'{{{" | ".join([parts.field, *each.filters, "length"])}}}'
        condition, text = _within(low, field, high), _numbers(low, high)
        if parts.component in tolerated.observed:
            condition = _among(field, counts)
            text = _(' or ').join(map(str, sorted(set(counts))))
        yield Difference(
            f'{parts.component}, {each.label}', condition,
            f'{parts.component}: ' + _('%(found)s of %(expected)s') % {
                'found': field, 'expected': sort.escape(
                    f'{text} × {each.label}')})
    if all(each.tests for each in sorts):
        yield _others(parts, sorts)


def _others(parts: component.Parts, sorts: Sequence[sort.Sort]
            ) -> Difference:
    """Return the difference of machines with parts of no sort."""
    field = f'{{{parts.field}}}'
    length = f'{{{parts.field} | length}}'
    if not sorts:
        return Difference(
            f'{parts.component}, ' + _('none'), _within(0, length, 0),
            f'{parts.component}: ' + _('%s, not any') % length)
    names = [name for name in parts.attributes
             if any(name in each.tests
                                             for each in sorts)]
    shown = _(' and ').join(
        f"{name} {{{parts.field} | selectattr('{name}', 'ne', null) | "
        f"map(attribute='{name}') | unique | join(', ') | {_UNKNOWN}}}"
        for name in names)
    return Difference(
        f'{parts.component}, ' + _('others'),
        {'op': 'none-of', 'loop': field,
         'conditions': [each.condition for each in sorts]},
        f'{parts.component}: ' + _('not all are expected, there are %s')
        % shown)


def _within(low: int, field: str, high: int) -> Written:
    if low == high:
        return {'op': '!eq', 'args': {'values': [field, low]}}
    return {'op': '!le', 'args': {'values': [low, field, high]}}


def _among(field: str, numbers: Sequence[typing.Any]) -> Written:
    return {'op': '!one-of', 'args': {'value': field,
                                      'values': sorted(set(numbers))}}


def _numbers(low: int, high: int) -> str:
    return str(low) if low == high else _('%(low)s to %(high)s') % {
        'low': low, 'high': high}


def _words(*words: str, separator: str = ' ') -> str:
    return separator.join(word for word in words if word)


def _action(op: str, **args: typing.Any) -> Written:
    return {'op': op, 'args': args}

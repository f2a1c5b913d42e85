# SPDX-License-Identifier: Apache-2.0

"""Rules as text, coloured by what machines reached of them."""

from collections.abc import Iterator, Sequence
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.report.pages import rule_text
from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import machine_test

_ASSETS = ('coverage.css', 'coverage.js')


class _Line(typing.NamedTuple):
    """A line of a rule, with counts if a part of the rule begins there.

    ``why`` is why an action did not run on some machines.
    """

    text: str
    state: str = ''
    counts: tuple[int, ...] = ()
    why: str = ''


def render(covered: coverage.Coverage, machines: int,
           files: Sequence[str]) -> str:
    """Return the page."""
    rules = []
    for rule in covered.rules:
        reached = covered.reached(rule)
        lines = [_Line(text) for text in rule_text.head(rule)]
        lines += _operations(covered, rule)
        rules.append({
            'title': machine_test.title(rule), 'uuid': rule.uuid,
            'percent': covered.percent_of(rule),
            'parts': len(reached), 'reached': sum(reached),
            'missed': list(covered.missed(rule)),
            'lines': lines})
    made, names = shell.now(), shell.names(files)
    return shell.render(f'Coverage of {names}, {made}', _ASSETS, {
        'made': made, 'files': names, 'machines': machines,
        'percent': covered.percent, 'rules': rules})


def _operations(covered: coverage.Coverage, rule: model.Rule
                ) -> Iterator[_Line]:
    """Yield the lines of conditions and actions, as far as they are shown."""
    conditions = rule_text.operations(rule, 'conditions')
    actions = rule_text.operations(rule, 'actions')
    if conditions:
        yield _Line('conditions:')
    for index, condition in enumerate(conditions):
        place = (rule.uuid, 'conditions', index)
        yield from _operation(
            condition, (covered.counts[*place, coverage.TRUE],
                        covered.counts[*place, coverage.FALSE]),
            all(covered.reached(rule, place)))
    if actions:
        yield _Line('actions:')
    for index, action in enumerate(actions):
        place = (rule.uuid, 'actions', index)
        yield from _operation(
            action, (covered.counts[*place, coverage.RAN],),
            why=covered.why_idle(place))


def _operation(written: rule_text.Operation,
               counts: tuple[int, ...], whole: bool = True,
               why: str = '') -> Iterator[_Line]:
    state = ('covered' if all(counts) and whole else 'half' if any(counts)
             else 'missed')
    first, *others = rule_text.operation(written)
    yield _Line(first, state, counts, why)
    for text in others:
        yield _Line(text, state)

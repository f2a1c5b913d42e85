# SPDX-License-Identifier: Apache-2.0

"""Few and short rules about one thing, for the search of wrong proofs.

What a proof does not know about a place shows only where rules write there,
ask about it, and the other set of rules does so in another order.
"""

import copy
import json
import random
import re
import typing

from ironic_inspection_rules.tests.simulation.proof import rules
from ironic_inspection_rules.tests.simulation.proof import vocabulary

Entry = rules.Entry

_FIELD = re.compile(r'\{[a-z_]+\.[^{}]*\}')


class Grammar(rules.Grammar):
    """Makes rules of one theme."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        theme = chance.choice(vocabulary.THEMES)
        self._fields = [*theme.fields]
        self._lists = [*theme.lists]
        self._places = [*theme.places]
        self._data_places = [*theme.data]
        self._asks = theme.asks
        self._does = theme.does
        self._loops = theme.loops
        self._nested = chance.choice((0, 0, 0.2))
        self._reverted = chance.choice((0, 0, 0.5))
        # How often a rule is of a scope, of a phase, or only tried.
        self._framed = chance.choice((0, 0, 0.5))
        self._vars = theme.vars
        self._items = theme.items
        self._literals = theme.literals or vocabulary.TEXTS
        self._filters = theme.filters
        # A few of many: rules that share none do not meet.
        self._regexes = theme.regexes or tuple(
            chance.sample(vocabulary.REGEXES, 3)
        )
        if len(self._literals) > 5:
            self._literals = tuple(chance.sample(self._literals, 3))
        self._asked: list[Entry] = []
        self._acted: list[Entry] = []
        # Whether the last rule acts in any case, as one before it may have:
        # then only an error of that one shows.
        self._covered = chance.random() < 0.3

    def rules(self) -> list[Entry]:
        """Return two or three rules, with one action each."""
        made = [
            self._rule(number)
            for number in range(self._chance.choice((2, 2, 3)))
        ]
        if self._covered:
            covered = made[-2]['actions'][0]
            made[-1]['conditions'] = []
            made[-1]['actions'] = [copy.deepcopy(covered)]
            made[-1]['actions'][0].pop('revert', None)
            if self._chance.random() < 0.4:
                made[-1]['conditions'] = copy.deepcopy(made[-2]['conditions'])
            elif 'value' in covered['args']:
                made[-1]['actions'][0]['args']['value'] = self.literal()
        return made

    def _rule(self, number: int) -> Entry:
        chance = self._chance
        count = chance.choice((0, 1, 1, 1, 2, 2))
        made = {
            **rules.named(number),
            'actions': [self.action()],
            'conditions': [self.condition() for _number in range(count)],
        }
        if chance.random() < self._framed:
            made.update(chance.choice(vocabulary.FRAMES))
        if self._vars:
            made['vars'] = {name: self.value() for name in self._vars}
        return made

    def field(self, item: bool = False) -> str:
        """Return a replacement field, of the theme or of an item."""
        chance = self._chance
        path = chance.choice(self._fields)
        if item and chance.random() < 0.6:
            path = chance.choice(self._items)
        if self._filters and chance.random() < 0.4:
            path = f'{path} | {chance.choice(self._filters)}'
        return f'{{{path}}}'

    def literal(self) -> typing.Any:
        """Return one of the literals of the theme."""
        return self._chance.choice(self._literals)

    def value(self, item: bool = False, depth: int = 0) -> typing.Any:
        """Return a literal, rarely what a field has, or in a mapping."""
        kind = self._chance.random()
        if kind < 0.75:
            return self.literal()
        if kind < 0.9:
            return self.field(item)
        return {
            name.removeprefix('item.'): self.literal()
            for name in self._items[1:]
        }

    def action(self) -> Entry:
        """Return an action: often one that another rule has, too."""
        if self._acted and self._chance.random() < 0.2:
            return copy.deepcopy(self._chance.choice(self._acted))
        made = super().action()
        self._acted.append(made)
        return made

    def condition(self, item: bool = False, depth: int = 0) -> Entry:
        """Return a condition: often one that another rule has, or its not."""
        chance = self._chance
        if self._asked and not item and chance.random() < 0.4:
            return self._again(chance.choice(self._asked))
        made = super().condition(item, depth)
        if not item and 'args' in made:
            self._asked.append(made)
        return made

    def _again(self, asked: Entry) -> Entry:
        """Return a condition that is hardly another than one before it."""
        chance = self._chance
        made = copy.deepcopy(asked)
        if chance.random() < 0.5:
            # The same of another field, of what is in it, or of a filter.
            args = made['args']
            if isinstance(args.get('value'), str):
                args['value'] = self.field()
            elif isinstance(args.get('values'), list):
                args['values'][0] = self.field()
        if chance.random() < 0.5:
            rules.invert(made)
        kind = chance.randrange(4)
        if kind == 0:
            return {'op': 'none-of', 'conditions': [made]}
        if kind == 1:
            other = super().condition()
            return {'op': 'any-of', 'conditions': [made, other]}
        return made

    def _comparison(self, item: bool) -> Entry:
        made = super()._comparison(item)
        if self._chance.random() < 0.2:
            made['args']['values'] = [self.field(item), self.field(item)]
        return made

    def changed(self, entries: list[Entry]) -> list[Entry]:
        """Return the rules in another order, without one, or the same.

        Where actions may be undone, they may also be none that are; what
        is of a scope may be of none. Or one field, filter or literal is
        another one.
        """
        chance = self._chance
        made = copy.deepcopy(entries)
        kind = chance.random()
        frames = ('scope', 'mode', 'phase')
        framed = [entry for entry in made for name in frames if name in entry]
        if framed and chance.random() < 0.4:
            entry = chance.choice(framed)
            for name in frames:
                entry.pop(name, None)
            return made
        if chance.random() < 0.2:
            number = chance.randrange(len(made))
            made[number] = self._with_another(made[number])
            return made
        if self._reverted and kind < 0.4:
            for entry in made:
                entry['actions'][0].pop('revert', None)
        elif len(made) > 1 and kind < 0.5:
            made.insert(0, made.pop(chance.randrange(1, len(made))))
            rules.reorder(made)
        elif len(made) > 1 and kind < 0.7:
            made.remove(chance.choice(made))
        elif kind < 0.8:
            chance.choice(made)['conditions'] = [self.condition()]
        elif kind < 0.9:
            chance.choice(made)['conditions'] = []
        return made

    def _with_another(self, entry: Entry) -> Entry:
        """Return a rule with another path, field, filter or literal."""
        chance = self._chance
        if chance.random() < 0.2:
            return self._with_another_path(entry)
        text = json.dumps(entry, ensure_ascii=False)
        fields = _FIELD.findall(text)
        if fields and chance.random() < 0.6:
            old, new = chance.choice(fields), self.field()
            if self._filters and chance.random() < 0.5:
                path = old[1:-1].partition(' | ')[0]
                new = f'{{{path} | {chance.choice(self._filters)}}}'
        else:
            old, new = (
                json.dumps(chance.choice(self._literals), ensure_ascii=False)
                for _each in 'ab'
            )
            if chance.random() < 0.2:
                old, new = '"no"', '"never"'
        try:
            made: Entry = json.loads(text.replace(old, new, 1))
        except ValueError:
            return entry
        return made

    def _with_another_path(self, entry: Entry) -> Entry:
        """Return a rule that writes to another place of the theme."""
        made = copy.deepcopy(entry)
        action = made['actions'][0]
        for _number in range(5):
            other = super().action()
            if 'path' in action['args'] and other['op'] == action['op']:
                action['args']['path'] = other['args']['path']
        return made

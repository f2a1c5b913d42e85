# SPDX-License-Identifier: Apache-2.0

"""Files of rules as people write them: all forms of YAML, and mistakes."""

import copy
import json
import random
import re
from typing import Any

import yaml

CONDITIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ('eq', {'values': ['{inventory[cpu][architecture]}', 'x86_64']}),
    ('ge', {'values': ['{inventory.memory.physical_mb}', 4096]}),
    ('is-empty', {'value': '{node.driver}'}),
    ('!is-none', {'value': '{plugin_data[pci_devices]}'}),
    (
        'one-of',
        {
            'value': '{inventory.system_vendor.manufacturer | upper}',
            'values': ['Dell # Inc.', "o'Neil: é", '[x]', ' {{}} '],
        },
    ),
    ('matches', {'value': '{node.name}', 'regex': 'r(ack)?[0-9]+'}),
    (
        'in-net',
        {'address': '{inventory[bmc_address]}', 'subnet': '10.0.0.0/8'},
    ),
)

ACTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ('log', {'msg': 'done: "é" # {node.name}'}),
    ('log', {'msg': 'one\ntwo  three\n\n  four', 'level': 'warning'}),
    ('fail', {'msg': 'no'}),
    ('set-attribute', {'path': '/extra/a', 'value': [1, {'b': [2, None]}]}),
    ('set-attribute', {'path': '/extra/é', 'value': '{inventory.cpu}'}),
    ('set-attribute', {'path': '/extra/n', 'value': {'x': {}, 'y: z': []}}),
    ('set-plugin-data', {'path': 'a.b', 'value': '{ports | length}'}),
    ('set-capability', {'name': 'a', 'value': 'true'}),
    ('add-trait', {'name': 'CUSTOM_A'}),
    ('add-trait', {'name': 'custom_gpu-x'}),
    ('del-attribute', {'path': '/extra/b'}),
)

PLAIN = re.compile('[A-Za-z/][A-Za-z0-9_/.-]*')
TIGHT = re.compile(r'(^|[-:,]|&a\d+) *$')
FOLD = re.compile(r'(?<=\w) (?=\w)')
TYPOS = re.compile('[a-z]{4,}')


def slip(chance: random.Random, name: str) -> str:
    """One letter out, in, swapped or another one."""
    place = chance.randrange(len(name) - 1)
    before, after = name[:place], name[place:]
    return chance.choice(
        (
            before + after[1:],
            before + after[0] + after,
            before + after[1] + after[0] + after[2:],
            f'{before}q{after[1:]}',
        )
    )


class Rules:
    """Rules with mistakes, as data.

    :param slips: whether names are mistyped too.
    """

    def __init__(self, chance: random.Random, slips: bool) -> None:
        self._chance = chance
        self._slips = slips

    def make(self, count: int) -> list[dict[str, Any]]:
        """Return some rules."""
        return [self._rule(number) for number in range(count)]

    def _rule(self, number: int) -> dict[str, Any]:
        chance = self._chance
        rule = {
            'description': f'Rule {number}: é',
            'priority': chance.choice((0, 5, '7')),
            'phase': chance.choice(('main', 'early')),
            'conditions': self._some(CONDITIONS),
            'actions': self._some(ACTIONS),
        }
        for name in ('description', 'priority', 'phase', 'conditions'):
            if chance.random() < 0.3:
                del rule[name]
        return self._keys(rule)

    def _some(self, known: Any) -> list[dict[str, Any]]:
        return [
            self._operation(*copy.deepcopy(self._chance.choice(known)))
            for _each in range(self._chance.choice((1, 1, 2, 3)))
        ]

    def _operation(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        chance = self._chance
        given: Any = self._keys(self._texts(args))
        if chance.random() < 0.5:
            given = (
                given['values']
                if list(given) == ['values']
                else list(given.values())
            )
        made = {'op': self._name(op), 'args': given}
        if chance.random() < 0.2:
            made['loop'] = ['a', 'b']
        return self._keys(made)

    def _keys(self, mapping: dict[str, Any]) -> dict[str, Any]:
        return {
            name if name == 'actions' else self._name(name): value
            for name, value in mapping.items()
        }

    def _name(self, name: str) -> str:
        if not self._slips or len(name) < 3 or self._chance.random() < 0.8:
            return name
        return slip(self._chance, name)

    def _texts(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._texts(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._texts(each) for each in value]
        words = (
            TYPOS.findall(value)
            if isinstance(value, str) and value.startswith('{')
            else ()
        )
        if not words or not self._slips or self._chance.random() < 0.8:
            return value
        word = self._chance.choice(words)
        return value.replace(word, slip(self._chance, word), 1)


class Writer:
    """Writes data as YAML in one of the many ways there are.

    ``comments`` are all that were written, in their order. A text that is
    in one of the values never begins as they do.

    :param anchors: whether equal values may be written once.
    """

    def __init__(self, chance: random.Random, anchors: bool) -> None:
        self._chance = chance
        self._anchors = anchors
        self._named: dict[str, str] = {}
        self._lines: list[str] = []
        self._margins: tuple[int, ...] = (0,)
        self.comments: list[str] = []

    def text(self, documents: list[Any]) -> str:
        """Return the file."""
        for number, document in enumerate(documents):
            if number or self._chance.random() < 0.3:
                self._line('---')
            self._named = {}
            self._between()
            self._value(document, -1, '')
        self._between()
        return '\n'.join(self._lines) + self._chance.choice(('', '\n', '\n\n'))

    def _maybe(self, share: float = 0.25) -> bool:
        return self._chance.random() < share

    def _comment(self) -> str:
        text = f'#c{len(self.comments)} {self._chance.choice("é:[]{},&*-")} x'
        self.comments.append(text)
        return text

    def _line(self, text: str, may_comment: bool = True) -> None:
        if may_comment and self._maybe():
            text += (
                self._chance.choice(
                    (' ', '   ') if TIGHT.search(text) else (' ', '\t', ' \t')
                )
                + self._comment()
            )
        elif may_comment and self._maybe(0.1):
            text += ' '
        self._lines.append(text)
        self._margins = (0, 1, 2, 3, 5, 8)

    def _between(self) -> None:
        """Write lines that mean nothing."""
        while self._maybe():
            self._lines.append(
                self._chance.choice(('', '', '  '))
                if self._maybe(0.5)
                else (
                    ' ' * self._chance.choice(self._margins) + self._comment()
                )
            )

    def _value(self, value: Any, above: int, lead: str) -> None:
        """Write a value behind what leads to it: ``key:`` or ``-``.

        :param above: the indentation of what it is in.
        """
        space = f'{lead} ' if lead else ''
        anchor, alias = self._anchor(value)
        if alias:
            self._line(space + alias)
        elif not isinstance(value, (list, dict)):
            self._scalar(value, above, space + anchor)
        elif not value or self._maybe(0.3):
            self._line(space + anchor + self._items(value, max(above, 0) + 1))
        else:
            self._block(value, above, lead, anchor)

    def _anchor(self, value: Any) -> tuple[str, str]:
        """Return an anchor for a value, or the alias that stands for it."""
        form = json.dumps(value)
        if not self._anchors or not value or not self._maybe(0.5):
            return '', ''
        if form in self._named:
            return '', f'*{self._named[form]}'
        if not self._maybe(0.3):
            return '', ''
        name = f'a{len(self._named)}'
        # It cannot be meant inside of itself.
        self._named[form] = name
        return f'&{name} ', ''

    def _block(self, value: Any, above: int, lead: str, anchor: str) -> None:
        is_list = isinstance(value, list)
        compact = lead.endswith('-') and not anchor and self._maybe(0.7)
        if compact:
            indent = len(lead) + self._chance.choice((1, 1, 3))
            first = lead + ' ' * (indent - len(lead))
        else:
            may_stay = is_list and lead.endswith(':')
            indent = above + self._chance.choice(
                (0, 2) if may_stay else (1, 2, 4)
            )
            indent = max(0, indent)
            first = ''
            if lead or anchor:
                self._line(f'{lead} {anchor}'.rstrip() if lead else anchor)
        for number, item in enumerate(value):
            margin = ' ' * indent
            if compact and not number:
                margin = first
            elif number:
                self._between()
            if is_list:
                self._value(item, indent, f'{margin}-')
            else:
                self._value(
                    value[item], indent, f'{margin}{self._quoted(item)}:'
                )

    def _scalar(self, value: Any, above: int, lead: str) -> None:
        if (
            isinstance(value, str)
            and value
            and self._maybe(0.15)
            and ('\n' not in value or value[0] != ' ')
            and value.strip() == (value)
        ):
            folded = '\n' not in value and self._maybe(0.5)
            self._line(lead + ('>-' if folded else '|-'))
            margin = ' ' * (max(above, 0) + self._chance.choice((1, 2, 5)))
            for line in value.split('\n'):
                self._lines.append(margin + line if line else '')
            # Indented as it is, a comment would be of the text.
            self._margins = (0,)
            return
        if value is None and self._maybe(0.3):
            self._line(lead.rstrip())
            return
        text = self._inline(value)
        if text[0] in '"\'' and FOLD.search(text) and self._maybe(0.3):
            # Where one line ends and the next begins is a space.
            margin = ' ' * (max(above, 0) + self._chance.choice((1, 4)))
            first, text = FOLD.split(text, 1)
            self._lines.append(lead + first)
            lead = margin
        self._line(lead + text)

    def _inline(self, value: Any) -> str:
        if isinstance(value, str):
            return self._quoted(value)
        return json.dumps(value)

    def _quoted(self, text: str) -> str:
        forms = [json.dumps(text), json.dumps(text, ensure_ascii=False)]
        if '\n' not in text:
            forms.append("'" + text.replace("'", "''") + "'")
        if PLAIN.fullmatch(text) and yaml.safe_load(text) == text:
            forms += [text] * 5
        return self._chance.choice(forms)

    def _flow(self, value: Any, margin: int) -> str:
        anchor, alias = self._anchor(value)
        if alias:
            return f'{alias} '
        if not isinstance(value, (list, dict)):
            return anchor + self._inline(value)
        return anchor + self._items(value, margin)

    def _items(self, value: Any, margin: int) -> str:
        items = (
            [self._flow(item, margin) for item in value]
            if isinstance(value, list)
            else [
                f'{self._quoted(key)}: {self._flow(item, margin)}'
                for key, item in value.items()
            ]
        )
        text = ','.join(
            self._gap(margin) + item + self._gap(margin) for item in items
        )
        if items and self._maybe(0.1):
            text += ','
        opening, closing = '[]' if isinstance(value, list) else '{}'
        return f'{opening}{text}{closing}'

    def _gap(self, margin: int) -> str:
        if self._maybe(0.9):
            return self._chance.choice(('', ' ', ' ', '  '))
        comment = f' {self._comment()}' if self._maybe(0.5) else ''
        return f'{comment}\n{" " * (margin + self._chance.randrange(4))}'

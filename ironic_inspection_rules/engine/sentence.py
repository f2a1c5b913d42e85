# SPDX-License-Identifier: Apache-2.0

"""Sentences about the values that conditions are decided on.

The words are put together when they are first asked for, as far as the rule
says them; the values of a machine then fill the gaps.
"""

import typing

from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import filtering
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.i18n import _

_LONGEST = 200
_SHORT = 20

Missing = rendering.Missing
Template = rendering.Template
Say = typing.Callable[[rendering.Roots, typing.Any], str]
"""Says a sentence, given the data by root name and a value out of them."""

Known = typing.Mapping[Template, typing.Any]

_NOTHING: Known = {}


class Sentence:
    """Says what a condition is decided on.

    ``tell`` says it for the data of a machine, given by root name. ``say``
    says it of the one value that the sentence is about, where it is about
    one: it spends nothing, and does not fail. It is the same sentence for the
    same value, whatever else the data are, but for what ``source`` renders:
    the value before filters, where it tells of that.

    :param op: the condition.
    :param args: its arguments as the rule has them.
    :param loop: the loop it is in.
    """

    __slots__ = ('_after', '_arguments', '_filtered', '_gaps', '_plugin',
                 'say', 'source', 'tell')

    def __init__(self, op: registry.Op, args: typing.Any,
                 loop: engine_loop.Loop | None) -> None:
        bound, _problems = op.signature.bind(args)
        self._arguments = {
            name: engine_call.compile_argument(op, name, value, loop)
            for name, value in bound.items()}
        self._plugin = op.plugin
        self._filtered = [
            each for value in self._arguments.values()
            for each in filtering.find(value)]
        self._gaps: list[tuple[str, Template]] = []
        self._after = ''
        for name, value in self._arguments.items():
            self._after += f', {name}=' if self._after or self._gaps else (
                f'{name}=')
            self._add(value)
        self.tell: typing.Callable[[rendering.Roots], str] = self._tell
        self.say: Say | None = None
        self.source: Template | None = None
        if type(op.plugin).explain is not plugin.Condition.explain:
            self.tell = self._tell_plugin
            return
        if self._filtered:
            self.tell = self._tell_filters
        if len(self._gaps) == 1:
            self._of_value(*self._gaps[0])

    def _add(self, value: typing.Any) -> None:
        """Add a value to the text that is known, or a gap for it."""
        if isinstance(value, template.List):
            for index, item in enumerate(value.items):
                self._after += ', ' if index else '['
                self._add(item)
            self._after += ']'
        elif isinstance(value, Template):
            self._gaps.append((self._after, value))
            self._after = ''
        else:
            self._after += show(value)

    def _of_value(self, before: str, gap: Template) -> None:
        """Prepare for one value, which is nearly every condition."""
        after, render = self._after, gap.render

        def say(view: rendering.Roots, value: typing.Any) -> str:
            # What most values are costs no call.
            if value.__class__ is str and len(value) <= _SHORT:
                return f'{before}{value!r}{after}'
            if value.__class__ is Missing:
                return _('field {%s} does not exist') % value.field
            return f'{before}{show(value)}{after}'

        if not self._filtered:
            self.say = say
            self.tell = lambda view: say(view, render(view))
        elif self._filtered == [gap] and rendering.costs_nothing(
                self._filtered[0].source):
            tell_filter = _filter_teller(self._filtered[0])
            self.say = lambda view, value: (
                say(view, value) + tell_filter(view, value))
            self.source = self._filtered[0].source

    def _tell(self, view: rendering.Roots, known: Known = _NOTHING) -> str:
        text = ''
        for before, gap in self._gaps:
            value = known[gap] if gap in known else gap.render(view)
            if value.__class__ is Missing:
                return _('field {%s} does not exist') % value.field
            text += before + show(value)
        return text + self._after

    def _tell_filters(self, view: rendering.Roots) -> str:
        made: dict[Template, typing.Any] = {
            each: each.render(view) for each in self._filtered}
        return self._tell(view, made) + ''.join(
            _filter_teller(each)(view, made[each]) for each in self._filtered)

    def _tell_plugin(self, view: rendering.Roots) -> str:
        arguments = {}
        for name, value in self._arguments.items():
            if isinstance(value, Template):
                value = value.render(view)
            if isinstance(value, Missing):
                return _('field {%s} does not exist') % value.field
            arguments[name] = value
        told = self._plugin.explain(view, arguments)
        return self._tell(view) if told is None else shorten(told)


def _filter_teller(field: filtering.Filtered) -> Say:
    """Build what says which value filters made of which."""
    frame = _('; {%(field)s} makes %(after)s of %(before)s')
    text, source = shorten(field.field), field.source
    return lambda view, value: frame % {
        'field': text, 'before': _show_field(source.render(view)),
        'after': _show_field(value)}


def _show_field(value: typing.Any) -> str:
    return _('nothing') if isinstance(value, Missing) else show(value)


def show(value: typing.Any) -> str:
    """Write a value as a rule would have it, at no great length."""
    if value.__class__ is str:
        if len(value) <= _SHORT:
            return repr(value)
        return shorten(repr(value[:_LONGEST + 1]))
    if value.__class__ not in (list, dict):
        return shorten(repr(value))
    text = ''
    for piece in _write(value):
        text += piece
        if len(text) > _LONGEST:
            break
    return shorten(text)


def _write(value: typing.Any) -> typing.Iterator[str]:
    """Write a value piece by piece: it may be large."""
    if value.__class__ is list:
        yield '['
        for index, item in enumerate(value):
            yield ', ' if index else ''
            yield from _write(item)
        yield ']'
    elif value.__class__ is dict:
        yield '{'
        for index, (key, item) in enumerate(value.items()):
            yield f'{", " if index else ""}{show(key)}: '
            yield from _write(item)
        yield '}'
    else:
        yield show(value)


def shorten(text: str) -> str:
    """Cut text that is longer than anybody wants to read."""
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'

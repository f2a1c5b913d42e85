# SPDX-License-Identifier: Apache-2.0

"""Compiled conditions that are one call of an op, and sentences about them.

Most time of an inspection is spent here. Nearly all conditions have only one
argument that depends on the data, and get along without a mapping of their
arguments.
"""

import typing

from ironic_inspection_rules.engine import call as engine_call
from ironic_inspection_rules.engine import condition
from ironic_inspection_rules.engine import loop as engine_loop
from ironic_inspection_rules.engine import plugin
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import rendering
from ironic_inspection_rules.engine import template
from ironic_inspection_rules.engine import trace
from ironic_inspection_rules.i18n import _

_KEPT = 64
"""Characters of a machine's text that are kept for the next machine."""

_SHORT = 20
"""Characters of text that are shown without a call."""

Holds = typing.Callable[..., bool]
Missing = template.Missing
Say = typing.Callable[[rendering.Roots, typing.Any], str]
"""Says a sentence, given the data by root name and a value out of them."""


class _Single(condition.Condition):
    """A condition that is one call of an op."""

    __slots__ = ('_inverted', '_loop', '_sentence')

    def __init__(self, op: registry.Op, operation: condition.Operation,
                 inverted: bool, loop: engine_loop.Loop | None) -> None:
        super().__init__(op, operation)
        self._inverted = inverted
        self._loop = loop
        self._sentence: Sentence | None = None

    @property
    def sentence(self) -> 'Sentence':
        """What says why it holds or does not.

        It is made when first asked for: of most conditions nobody wants to
        know.
        """
        if self._sentence is None:
            self._sentence = Sentence(self.op, self.operation.get('args'),
                                      self._loop)
        return self._sentence

    def reason(self, view: condition.Roots, shown: condition.Roots) -> str:
        return self.sentence.tell(shown)


class OfValue(_Single):
    """A condition of which only the first argument varies."""

    __slots__ = ('_holds', '_other', '_pays', '_says_value', '_template',
                 '_told')

    def __init__(self, varying: template.Template, holds: Holds,
                 other: typing.Any, op: registry.Op,
                 *written: typing.Any) -> None:
        super().__init__(op, *written)
        self._template = varying
        self._holds = holds
        self._other = other
        self._pays = bool(op.plugin.PAYS)
        self._says_value = not isinstance(varying, template.List) and (
            engine_call.is_as_written(varying))
        # The last value, the one it was before filters, and the trace of
        # them. Threads share a plan: with three attributes one could read the
        # value of its own machine and the trace of another. So it is one
        # tuple in one attribute, read once and replaced whole.
        self._told = ('', '', trace.ConditionTrace(self.written_op, None))

    def decide(self, roots: condition.Roots) -> trace.ConditionTrace:
        told_by = self._sentence or self.sentence
        say, source = told_by.say, told_by.source
        if say is None or not self._says_value:
            return super().decide(roots)
        value = self._template.render(roots)
        holds = value.__class__ is not Missing and (
            self._test(roots, value) is not self._inverted)
        seen = value if source is None else source.render(roots)
        is_text = value.__class__ is seen.__class__ is str
        if is_text:
            # Machines of one kind are decided on alike.
            last, last_seen, told = self._told
            if value == last and seen == last_seen and told.result is holds:
                return told
        told = trace.ConditionTrace(self.written_op, holds,
                                    say(roots, value))
        if is_text and len(value) <= _KEPT and len(seen) <= _KEPT:
            self._told = value, seen, told
        return told

    def _test(self, roots: condition.Roots, value: typing.Any) -> bool:
        return bool(self._holds(roots.budget, value) if self._pays
                    else self._holds(value))

    def check(self, roots: condition.Roots) -> bool:
        value = self._template.render(roots)
        if value.__class__ is Missing:
            return False
        if (self._holds(roots.budget, value) if self._pays
                else self._holds(value)):
            return not self._inverted
        return self._inverted


class OfPair(OfValue):
    """A condition of two values, the first of which varies."""

    __slots__ = ()

    def _test(self, roots: condition.Roots, value: typing.Any) -> bool:
        return bool(self._holds(value, self._other))

    def check(self, roots: condition.Roots) -> bool:
        value = self._template.render(roots)
        if value.__class__ is Missing:
            return False
        if self._holds(value, self._other):
            return not self._inverted
        return self._inverted


class OfValues(OfValue):
    """A condition of which only the values vary, any number of them."""

    __slots__ = ()

    decide = condition.Condition.decide

    def check(self, roots: condition.Roots) -> bool:
        values = self._template.render(roots)
        if values.__class__ is Missing:
            return False
        if self._holds(*self.op.context(roots), *values):
            return not self._inverted
        return self._inverted


class OfArguments(_Single):
    """A condition of any arguments."""

    __slots__ = ('_call', '_holds', '_values', '_variadic')

    def __init__(self, call: engine_call.Call, *written: typing.Any) -> None:
        super().__init__(*written)
        self._call = call
        literals = dict(call.literals)
        self._variadic = next((each.name for each
                               in call.op.signature.arguments
                               if each.variadic), '')
        self._values = literals.pop(self._variadic, ())
        self._holds = call.op.plugin.bind(literals)

    def check(self, roots: condition.Roots) -> bool:
        rendered = self._call.render(roots)
        if isinstance(rendered, Missing):
            return False
        values = rendered.pop(self._variadic, self._values)
        if self._holds(*self.op.context(roots), *values, **rendered):
            return not self._inverted
        return self._inverted


class Sentence:
    """Says what a condition is decided on.

    The words are put together once, as far as the rule says them; the values
    of a machine then fill the gaps.

    ``tell`` says it for the data of a machine, given by root name. ``say``
    says it of the one value that the sentence is about, where it is about
    one: it spends nothing, and does not fail. It is the same sentence for the
    same value, whatever else the data are, but for what ``source`` renders:
    the value before filters, where it tells of that.
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
            for each in template.filtered(value)]
        self._gaps: list[tuple[str, template.Template]] = []
        self._after = ''
        for name, value in self._arguments.items():
            self._after += f', {name}=' if self._after or self._gaps else (
                f'{name}=')
            self._add(value)
        self.tell: typing.Callable[[rendering.Roots], str] = self._tell
        self.say: Say | None = None
        self.source: template.Template | None = None
        if type(op.plugin).explain is not plugin.Condition.explain:
            self.tell = self._tell_plugin
        elif len(self._gaps) == 1:
            self._of_value(*self._gaps[0])

    def _add(self, value: typing.Any) -> None:
        """Add a value to the text that is known, or a gap for it."""
        if isinstance(value, template.List):
            for index, item in enumerate(value.items):
                self._after += ', ' if index else '['
                self._add(item)
            self._after += ']'
        elif isinstance(value, template.Template):
            self._gaps.append((self._after, value))
            self._after = ''
        else:
            self._after += trace.show(value)

    def _of_value(self, before: str, gap: template.Template) -> None:
        """Prepare for one value, which is nearly every condition."""
        after, render = self._after, gap.render

        def say(view: rendering.Roots, value: typing.Any) -> str:
            # What most values are costs no call.
            if value.__class__ is str and len(value) <= _SHORT:
                return f'{before}{value!r}{after}'
            if value.__class__ is Missing:
                return _('field {%s} does not exist') % value.field
            return f'{before}{trace.show(value)}{after}'

        if not self._filtered:
            self.say = say
            self.tell = lambda view: say(view, render(view))
        elif self._filtered == [gap] and isinstance(
                self._filtered[0].source, rendering.Path):
            tell_filter = _filter_teller(self._filtered[0])
            self.say = lambda view, value: (
                say(view, value) + tell_filter(view, value))
            self.source = self._filtered[0].source

    def _tell(self, view: rendering.Roots) -> str:
        made: dict[template.Template, typing.Any] = {
            each: each.render(view) for each in self._filtered}
        text = ''
        for before, gap in self._gaps:
            value = made[gap] if gap in made else gap.render(view)
            if value.__class__ is Missing:
                text = _('field {%s} does not exist') % value.field
                break
            text += before + trace.show(value)
        else:
            text += self._after
        return text + ''.join(_filter_teller(each)(view, made[each])
                              for each in self._filtered)

    def _tell_plugin(self, view: rendering.Roots) -> str:
        arguments = {}
        for name, value in self._arguments.items():
            if isinstance(value, template.Template):
                value = value.render(view)
            if isinstance(value, Missing):
                return _('field {%s} does not exist') % value.field
            arguments[name] = value
        told = self._plugin.explain(view, arguments)
        return self._tell(view) if told is None else trace.shorten(told)


def _filter_teller(field: template.Filtered) -> Say:
    """Build what says which value filters made of which."""
    frame = _('; {%(field)s} makes %(after)s of %(before)s')
    text, source = trace.shorten(field.missing.field), field.source

    def shown(value: typing.Any) -> str:
        return (_('nothing') if isinstance(value, Missing)
                else trace.show(value))

    return lambda view, value: frame % {
        'field': text, 'before': shown(source.render(view)),
        'after': shown(value)}

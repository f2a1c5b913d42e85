# SPDX-License-Identifier: Apache-2.0

"""A condition that is one call of an op, and the text of its reason.

A reason says why the condition holds or not, e.g. ``values=[8, 4]``. Most of
the time of an inspection is spent in this module. In nearly all conditions
only the first value depends on the data, so these conditions are checked
without building a mapping of their arguments.
"""

import functools
import typing

from ironic_inspection_rules.engine.language import arguments
from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import call as engine_call
from ironic_inspection_rules.engine.language import condition
from ironic_inspection_rules.engine.language import loop as engine_loop
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import plugin
from ironic_inspection_rules.engine.language import reasons
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import rendering
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import template
from ironic_inspection_rules.i18n import _

_FREE_LENGTH = budget.SHORT

_LONGEST_REMEMBERED = 64
"""Maximum length of a machine's text that is kept for the next machine."""

_LONGEST_QUOTED_HERE = 20
"""Maximum length of text that needs no call to be quoted in a reason."""

_NOTHING_DECIDED = ('', '', reasons.ConditionResult('', None))
"""The value of ``_last`` before the first machine."""

Missing = rendering.Missing
FillGap = typing.Callable[[budget.View, typing.Any], str]
"""Returns a sentence, for the data by root name and the value of its gap."""


class SingleCondition(condition.CompiledCondition):
    """A condition that is one call of an op.

    :param loop: the loop whose items the arguments may use.
    """

    __slots__ = (
        '_call',
        '_first_value',
        '_holds',
        '_inverted',
        '_is_pair',
        '_last',
        '_loop',
        '_second_value',
        '_pays',
        '_sentence',
        '_shown_value',
        '_values',
    )

    def __init__(
        self,
        op: registry.Op,
        operation: condition.Operation,
        inverted: bool,
        loop: engine_loop.Loop | None,
    ) -> None:
        """Compile a condition, and choose the fastest way to check it.

        Nearly all conditions have a field in their first value only. They are
        checked in one of two fast ways. The rest is checked in the slow way:

        * ``is-true`` of ``{node.maintenance}``: call the op with only the
          value.
        * ``eq`` of ``{inventory.cpu.count}`` and 8: the op is a relation, so
          call it with the pair of values.
        * Anything else: call the op with all of its arguments.

        :param inverted: whether the op has a ``!`` before it.
        :param loop: the loop that contains the condition.
        """
        super().__init__(op, operation)
        self._inverted = inverted
        self._loop = loop
        self._sentence: Sentence | None = None
        call = engine_call.Call(
            op, operation.get('args'), _value_for_missing(op), loop
        )
        literals = dict(call.literals)
        # Values of an op such as "eq" are passed to it by position.
        self._values = literals.pop(_name_of_variadic(op), ())
        function = op.bind(literals)
        self._pays = bool(op.plugin.PAYS)
        pair = _find_pair(call)
        relation = op.relation()
        if pair is not None and relation is not None:
            self._is_pair = True
            self._holds = relation
            self._first_value: rendering.Template | None = pair.field
            self._second_value: typing.Any = pair.literal
        else:
            self._is_pair = False
            self._holds = function
            # This is None if the condition must be checked in the slow way.
            self._first_value = _find_only_value(call)
            self._second_value = None
        # The fast ways do not need the call. Dropping it saves a third of the
        # memory of a rule.
        self._call: engine_call.Call | None = None
        if self._first_value is None:
            self._call = call
        # The first value, if a reason can show it. A reason shows values as
        # they are in the data, but the op may get the value in another type.
        self._shown_value: rendering.Template | None = None
        if self._first_value is not None:
            if engine_call.keeps_value_of_field(self._first_value):
                self._shown_value = self._first_value
        # The value of the last machine, the same value before filters, and
        # the decision. The next machine often has the same value, and then its
        # reason need not be built again. Threads share a plan. If these were
        # three attributes, a thread could combine the value of its machine
        # with the decision on another machine. So they are one tuple, which is
        # read once and replaced as a whole.
        self._last = _NOTHING_DECIDED

    @property
    def sentence(self) -> 'Sentence':
        """The text of the condition's reasons, built on first use."""
        if self._sentence is None:
            self._sentence = Sentence(
                self.op, self.operation.get('args'), self._loop
            )
        return self._sentence

    def check(self, roots: budget.View) -> bool:
        """Return whether the condition holds for the data of a machine.

        A condition with a missing field does not hold, whether it is inverted
        or not. An op that accepts missing fields gets another value instead of
        ``Missing``.
        """
        if self._first_value is None:
            return self._check_call(roots)
        value = self._first_value.render(roots)
        # Most values are short texts, which are free and cannot be missing.
        if value.__class__ is not str or len(value) > _FREE_LENGTH:
            if value.__class__ is Missing:
                return False
            roots.budget.pay_for_argument(value)
        # This repeats _holds_for(), because nearly all conditions come here
        # and saving one call saves a tenth of their time.
        if self._is_pair:
            holds = self._holds(value, self._second_value)
        elif self._pays:
            holds = self._holds(roots.budget, value)
        else:
            holds = self._holds(value)
        if holds:
            return not self._inverted
        return self._inverted

    def _check_call(self, roots: budget.View) -> bool:
        """Check a condition by calling its op with all arguments.

        This slow way is used for conditions with fields in several arguments,
        and for ops that read the data themselves.
        """
        assert self._call is not None
        rendered = self._call.render(roots)
        if isinstance(rendered, Missing):
            # A condition with a missing field never holds, even inverted.
            return False
        # The values of an op such as "eq" are passed by position. If none of
        # them has a field, they are literal and were not rendered.
        values = rendered.pop(_name_of_variadic(self.op), self._values)
        for value in values:
            roots.budget.pay_for_argument(value)
        engine_arguments = self.op.engine_arguments(roots)
        if self._holds(*engine_arguments, *values, **rendered):
            return not self._inverted
        return self._inverted

    def decide(self, roots: budget.View) -> reasons.ConditionResult:
        """Check the condition, and return the result with its reason.

        If the machine has the same value as the last machine, the reason that
        was built for the last machine is returned again.

        :returns: the result. It has no reason if :meth:`reason` must read the
            data again to find the reason.
        """
        # Read the attribute first: the sentence usually exists already, and
        # this saves the call of the property.
        sentence = self._sentence or self.sentence
        fill_gap = sentence.fill_gap
        shown_value = self._shown_value
        if fill_gap is None or shown_value is None:
            # The text needs more than the first value.
            return super().decide(roots)
        value = shown_value.render(roots)
        # A condition with a missing field never holds, even inverted.
        holds = False
        if value.__class__ is not Missing:
            # An inverted condition holds if the op does not hold.
            holds = self._holds_for(value, roots) is not self._inverted
        # The value before filters, if the text shows this value too.
        unfiltered = value
        if sentence.unfiltered is not None:
            unfiltered = sentence.unfiltered.render(roots)
        is_text = value.__class__ is str and unfiltered.__class__ is str
        if is_text:
            # Machines of the same kind often have the same values.
            last_value, last_unfiltered, last_decision = self._last
            if (
                value == last_value
                and unfiltered == last_unfiltered
                and last_decision.result is holds
            ):
                return last_decision
        decision = reasons.ConditionResult(
            self.written_op, holds, fill_gap(roots, value)
        )
        if (
            is_text
            and len(value) <= _LONGEST_REMEMBERED
            and len(unfiltered) <= _LONGEST_REMEMBERED
        ):
            self._last = (value, unfiltered, decision)
        return decision

    def _holds_for(self, value: typing.Any, roots: budget.View) -> bool:
        """Return whether the op holds for a value, ignoring a ``!``.

        :param value: the first value of the condition; it is not missing. The
            budget pays for it.
        """
        # Most values are short texts, which are free.
        if value.__class__ is not str or len(value) > _FREE_LENGTH:
            roots.budget.pay_for_argument(value)
        if self._is_pair:
            return bool(self._holds(value, self._second_value))
        if self._pays:
            return bool(self._holds(roots.budget, value))
        return bool(self._holds(value))

    def reason(self, view: budget.View, masked_view: budget.View) -> str:
        return self.sentence.describe(masked_view)


def _value_for_missing(op: registry.Op) -> typing.Any:
    """Return the value that an op gets for a missing field.

    ``exists`` must distinguish a missing field from null, so it gets
    ``ABSENT``. ``is-empty`` gets None. Other ops are not called, which
    ``NO_CALL`` stands for.
    """
    if op.plugin.SEES_MISSING:
        return data_path.ABSENT
    if op.plugin.ACCEPTS_MISSING:
        return None
    return engine_call.NO_CALL


def _name_of_variadic(op: registry.Op) -> str:
    """Return the name of the argument that takes any number of values.

    Its values are passed to the op by position, and other arguments by name.
    For example, the name for ``eq`` is ``values``.

    :returns: an empty string if the op has no such argument.
    """
    for argument in op.signature.arguments:
        if argument.variadic:
            return argument.name
    return ''


def _find_only_value(call: engine_call.Call) -> rendering.Template | None:
    """Return the template of the first argument if only it has fields.

    For ``contains`` of ``{inventory.cpu.flags}`` and ``vmx``, this is the
    template of ``{inventory.cpu.flags}``.

    :returns: None if another argument has fields, if the first argument takes
        any number of values, or if the op reads the data itself.
    """
    first = _first_argument(call)
    if first is None or first.variadic or call.op.plugin.NEEDS_VIEW:
        return None
    if list(call.varying) != [first.name]:
        return None
    return call.varying[first.name]


class _FieldAndLiteral(typing.NamedTuple):
    """The values of a call that compares a field with a literal.

    For ``eq`` of ``{inventory.cpu.count}`` and 8, ``field`` is the template of
    the field, and ``literal`` is 8.
    """

    field: rendering.Template
    literal: typing.Any


def _find_pair(call: engine_call.Call) -> _FieldAndLiteral | None:
    """Return both values of a call that compares a field with a literal.

    Most conditions are like this. They are checked without building the list
    of all values.

    :returns: None if the call has other arguments, more or fewer than two
        values, or a field in the second value.
    """
    first = _first_argument(call)
    if first is None or not first.variadic:
        return None
    # All values are in one template, including the literal values. So if the
    # call has literals, they belong to other arguments, e.g. "force_strings".
    if call.literals or list(call.varying) != [first.name]:
        return None
    values = call.varying[first.name]
    if (
        not isinstance(values, rendering.ListTemplate)
        or len(values.items) != 2
    ):
        return None
    first_value, second_value = values.items
    if isinstance(second_value, rendering.Template):
        return None
    return _FieldAndLiteral(first_value, second_value)


def _first_argument(call: engine_call.Call) -> arguments.Argument | None:
    """Return the first argument that the op of a call declares, or None."""
    return next(iter(call.op.signature.arguments), None)


class Sentence:
    """The text of a condition's reasons, e.g. ``values=[4, 8]``.

    The literal parts are joined once. The values of a machine fill the gaps.

    ``fill_gap`` returns the same text as :meth:`describe`, but is faster: it
    takes the value for the gap, costs no budget and cannot fail. It is None
    unless there is exactly one gap. Its text depends only on that value and,
    if ``unfiltered`` is not None, on the value of this template, which is the
    value before filters.
    """

    __slots__ = (
        '_after',
        '_arguments',
        '_explain',
        '_filtered',
        '_gaps',
        '_has_own_reasons',
        'fill_gap',
        'unfiltered',
    )

    def __init__(
        self, op: registry.Op, args: typing.Any, loop: engine_loop.Loop | None
    ) -> None:
        """Prepare the sentence of a condition.

        :param args: the arguments of the condition, as they are written.
        :param loop: the loop of the condition, or of a group that contains it.
        """
        # Ignore the problems: the check of the rule has reported them.
        bound, _problems = op.signature.bind(args)
        # Templates, and values without fields, by the name of the argument.
        self._arguments = {}
        for name, value in bound.items():
            self._arguments[name] = engine_call.compile_argument(
                op, name, value, loop
            )
        # Returns the reason that the op gives, or None for the usual text.
        self._explain = op.wrap_errors(op.plugin.explain, 'explain')
        # The text also shows the values before the filters of these fields.
        self._filtered: list[template.Filtered] = []
        for value in self._arguments.values():
            self._filtered += template.find_filtered(value)
        # For example, the sentence "values=[GAP, 8]" has one gap, with
        # "values=[" before it, and ", 8]" after its last gap.
        self._gaps: list[_Gap] = []
        self._after = ''
        separator = ''
        for name, value in self._arguments.items():
            self._after += f'{separator}{name}='
            self._append_value(value)
            separator = ', '
        op_class = type(op.plugin)
        self._has_own_reasons = (
            op_class.explain is not plugin.Condition.explain
        )
        self.fill_gap: FillGap | None = None
        self.unfiltered: rendering.Template | None = None
        if len(self._gaps) == 1 and not self._has_own_reasons:
            self._prepare_fill_gap(self._gaps[0])

    def _append_value(self, value: typing.Any) -> None:
        """Append a value to the sentence: its text, or a gap for its field.

        Literal text is appended to ``_after``. A new gap takes all of the text
        in ``_after``, which is empty afterwards.

        :param value: a literal or a template.
        """
        if isinstance(value, rendering.ListTemplate):
            self._after += '['
            for index, item in enumerate(value.items):
                if index > 0:
                    self._after += ', '
                self._append_value(item)
            self._after += ']'
        elif isinstance(value, rendering.Template):
            self._gaps.append(_Gap(self._after, value))
            self._after = ''
        else:
            self._after += reasons.show(value)

    def _prepare_fill_gap(self, gap: '_Gap') -> None:
        """Set ``fill_gap`` for a sentence with a single gap.

        Most sentences have a single gap, e.g. ``values=[4, 8]``, where 4 is
        the value of a field. The condition has already computed this value to
        compare it. It passes the value to ``fill_gap``, so the value is not
        computed again.
        """
        sentence = _SentenceWithOneGap(gap.before, self._after)
        if not self._filtered:
            self.fill_gap = sentence.fill
            return
        # The sentence also says what the filters did, e.g. it ends with
        # "{inventory.cpu.count | int} makes 8 of '8'". So the faster text must
        # read the value before the filters too, which must cost nothing and
        # must not fail. This is only certain if the whole gap is one field
        # with filters, and the field reads a plain path.
        field = self._filtered[0]
        is_field_whole_gap = self._filtered == [gap.template]
        if is_field_whole_gap and isinstance(field.source, rendering.Path):
            self.fill_gap = functools.partial(
                sentence.fill_and_describe_filters, field
            )
            self.unfiltered = field.source

    def describe(self, view: budget.View) -> str:
        """Return the text for the data of a machine by root name."""
        if self._has_own_reasons:
            return self._describe_by_op(view)
        if self.fill_gap is not None and not self._filtered:
            # Save the work for several gaps and for filters.
            return self.fill_gap(view, self._gaps[0].template.render(view))
        return self._describe(view)

    def _describe(self, view: budget.View) -> str:
        """Return the text for a machine: its values, then the filters.

        In ``values=[8, 4]; {inventory.cpu.count | int} makes 8 of '8'``, the
        arguments of the condition are followed by a phrase for each field with
        filters.
        """
        # Compute these fields once, although both parts of the text use their
        # values, because filters cost operations of the budget.
        results: dict[rendering.Template, typing.Any] = {}
        for field in self._filtered:
            results[field] = field.render(view)
        text = self._fill_gaps(view, results)
        for field in self._filtered:
            text += _describe_filters(field, view, results[field])
        return text

    def _fill_gaps(
        self, view: budget.View, results: dict[rendering.Template, typing.Any]
    ) -> str:
        """Return the sentence with the values of a machine in its gaps.

        If a value is missing, the sentence says only that.

        :param results: the values of the fields with filters. They have been
            computed and paid for already.
        """
        text = ''
        for before, template_of_gap in self._gaps:
            if template_of_gap in results:
                value = results[template_of_gap]
            else:
                value = template_of_gap.render(view)
            if isinstance(value, Missing):
                return _('field {%s} does not exist') % value.field
            text += before + _short_text(view, value)
        return text + self._after

    def _describe_by_op(self, view: budget.View) -> str:
        """Return the reason that the op gives, or the usual sentence.

        If a field is missing, the op is not called, because the missing field
        is the reason.
        """
        arguments = {}
        for name, compiled in self._arguments.items():
            value = rendering.render_value(compiled, view)
            if isinstance(value, Missing):
                return _('field {%s} does not exist') % value.field
            arguments[name] = value
        reason = self._explain(view, arguments)
        if reason is None:
            return self._describe(view)
        return reasons.shorten(reason)


def _short_text(view: budget.View, value: typing.Any) -> str:
    """Return a value as text; a row of a table becomes its name."""
    return reasons.show(value, functools.partial(table.name_of_row, view))


class _Gap(typing.NamedTuple):
    """A gap of a sentence, for the value of a machine.

    ``before`` is the literal text between the last gap and this one.
    ``template`` renders to the value that fills the gap.
    """

    before: str
    template: rendering.Template


class _SentenceWithOneGap:
    """A sentence of a reason with one gap, for the value of a machine.

    :param before: the literal text before the gap.
    :param after: the literal text after the gap.
    """

    __slots__ = ('_after', '_before')

    def __init__(self, before: str, after: str) -> None:
        self._before = before
        self._after = after

    def fill(self, view: budget.View, value: typing.Any) -> str:
        """Return the sentence with a value that fills the gap.

        If the value is missing, return the sentence that says so.
        """
        # Most values are short strings, and each condition of each machine may
        # need a sentence. Quoting them here takes half the time.
        if value.__class__ is str and len(value) <= _LONGEST_QUOTED_HERE:
            return f'{self._before}{value!r}{self._after}'
        if value.__class__ is Missing:
            return _('field {%s} does not exist') % value.field
        return f'{self._before}{_short_text(view, value)}{self._after}'

    def fill_and_describe_filters(
        self, field: template.Filtered, view: budget.View, value: typing.Any
    ) -> str:
        """Return the sentence, and what the filters of its field did."""
        sentence = self.fill(view, value)
        return sentence + _describe_filters(field, view, value)


def _describe_filters(
    field: template.Filtered, view: budget.View, value: typing.Any
) -> str:
    """Return the phrase that says what the filters of a field did.

    It follows a sentence: ``; {inventory.cpu.count | int} makes 8 of '8'``.

    :param value: the value after the filters.
    """
    return _('; {%(field)s} makes %(after)s of %(before)s') % {
        'field': reasons.shorten(field.missing.field),
        'before': _text_or_nothing(view, field.source.render(view)),
        'after': _text_or_nothing(view, value),
    }


def _text_or_nothing(view: budget.View, value: typing.Any) -> str:
    """Return a value as text; a missing field becomes ``nothing``."""
    if isinstance(value, Missing):
        return _('nothing')
    return _short_text(view, value)

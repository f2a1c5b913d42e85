# SPDX-License-Identifier: Apache-2.0

"""lint: rules of one phase and priority that write one place differently."""

import collections
from collections.abc import Sequence
import itertools
import json
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import aftermath
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.authoring.checks import wanted_values

Rule = checked_rule.CheckedRule

_REMOVED = data_path.ABSENT
_MOST_CHARACTERS = 40
"""Most characters of a value that a message shows."""


class ActionEffect(typing.NamedTuple):
    """A write of an action; ``pointer`` leads to the action."""

    pointer: str
    effect: effects.Effect


class ConflictingWrites(typing.NamedTuple):
    """Two writes at one place; the rule that runs later decides what stays."""

    first: ActionEffect
    second: ActionEffect


def check(rules: Sequence[Rule]) -> checked_rule.MistakesOfRules:
    """Find pairs of rules whose result depends on the stored order.

    They have the same phase and priority, some machine may meet the conditions
    of both, and they write different values at a place.

    :returns: mistakes at the second rule of a pair.
    """
    groups: dict[tuple[str, int], list[_WritingRule]] = (
        collections.defaultdict(list)
    )
    for rule in rules:
        if rule.rule.mode != model.OFF:
            phase_and_priority = rule.rule.phase, rule.rule.priority
            groups[phase_and_priority].append(_WritingRule(rule))
    for group in groups.values():
        for earlier, later in _pairs_to_compare(group):
            conflicts = earlier.find_conflicts(later)
            if conflicts:
                yield (
                    later.rule,
                    conflicts[0].second.pointer,
                    _format_message(earlier.rule, later.rule, conflicts),
                )


def _pairs_to_compare(
    rules: Sequence['_WritingRule'],
) -> typing.Iterator[tuple['_WritingRule', '_WritingRule']]:
    """Yield the pairs of rules that one machine may match, in their order.

    Left out are, for example, two rules with different values of ``eq:
    ["{node.driver}", …]``, unless a rule writes the driver.
    """
    written_places: set[tuple[str, ...]] = set()
    for rule in rules:
        written_places |= rule.places
    wanted_by_rule = [
        rule.find_wanted_values(written_places) for rule in rules
    ]
    for earlier, later in wanted_values.pairs_that_may_meet(wanted_by_rule):
        yield rules[earlier], rules[later]


class _WritingRule:
    """A rule with what it writes, computed once to compare it with many.

    :param rule: with its place, which messages name.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        # What all actions write, in their order. An action in a loop over
        # three items that are written in the rule has three effects.
        self._effects: list[ActionEffect] = []
        for action in rule.actions:
            for effect in effects.effects(action):
                self._effects.append(ActionEffect(action.pointer, effect))
        # The places that the rule writes, such as ('node', 'extra', 'rack').
        # With the places around them, ('node',) and ('node', 'extra') are
        # there, too.
        self.places: set[tuple[str, ...]] = set()
        self._places_around: set[tuple[str, ...]] = set()
        for write in self._effects:
            place = _place(write.effect)
            self.places.add(place)
            for length in range(1, len(place) + 1):
                self._places_around.add(place[:length])
        # The conditions of the rule.
        self._conditions = list(
            map(exclusion.ComparedCondition, rule.conditions)
        )
        self._fails = any(map(aftermath.fails, rule.actions))
        # The places that conditions read, with all places around them.
        self._places_read: set[tuple[str, ...]] = set()
        for condition in rule.all_conditions:
            for field in effects.fields_of_operation(condition):
                steps = (str(field.root), *field.steps)
                for length in range(1, len(steps) + 1):
                    self._places_read.add(steps[:length])
        self._decides_first = aftermath.decides_first(rule)
        # Caches: what this rule leaves, by the pointer to the action that has
        # run; its conditions, to be decided after other rules, by their
        # pointer.
        self._aftermaths: dict[str, aftermath.Aftermath] = {}
        self._conditions_after: dict[str, list[aftermath.RuleCondition]] = {}
        # The conditions in the "when" of actions, by the pointer to the
        # action.
        self._conditions_of_actions: dict[
            str, list[exclusion.ComparedCondition]
        ] = {}
        for action in rule.actions:
            # The "when" of an action with a loop is about an item: the action
            # may run for another item, and so excludes no other action.
            if not action.loops:
                conditions = list(
                    map(exclusion.ComparedCondition, action.inner)
                )
                self._conditions_of_actions[action.pointer] = conditions

    def find_wanted_values(
        self, written_places: set[tuple[str, ...]]
    ) -> wanted_values.WantedValues:
        """Return the values that fields must have for the rule to match.

        A rule with ``eq: ["{node.driver}", ipmi]`` wants the driver ``ipmi``.

        :param written_places: the places that rules of the same phase and
            priority write. A field there may get the wanted value from a rule
            that runs before, so that nothing is said of it.
        """
        wanted = wanted_values.WantedValues()
        for condition in self._conditions:
            if condition.inner:
                # A group states nothing itself, only the conditions in it.
                continue
            # If only one of several fields is written, the values that the
            # others must have are as before.
            fields = effects.fields_of_operation(condition.operation)
            if all(_is_written(field, written_places) for field in fields):
                continue
            read_vars = ''
            if _reads_vars(condition):
                read_vars = json.dumps(self.rule.rule.vars)
            for fact in condition.facts:
                wanted.add(fact, read_vars)
        return wanted

    def find_conflicts(self, later: '_WritingRule') -> list[ConflictingWrites]:
        """Return the pairs of writes of which only the order keeps one.

        This rule writes the driver ``ipmi``, for example, and the later one
        ``redfish``.

        :param later: a rule that runs after this one, only since it is stored
            after it.
        :returns: pairs of a write of this rule and one of the later rule; none
            if no node is in the scopes of both rules.
        """
        # Most pairs of rules write at different places: to compare places is
        # cheap, and spares the comparison of all writes.
        may_be_around = not self.places.isdisjoint(later._places_around)
        may_be_inside = not self._places_around.isdisjoint(later.places)
        if not may_be_around and not may_be_inside:
            return []
        scopes = {self.rule.rule.scope, later.rule.rule.scope} - {None, ''}
        if len(scopes) > 1:
            # A node has one scope, so that no node gets both rules.
            return []
        conflicts = []
        for first, second in itertools.product(self._effects, later._effects):
            if _undoes(first.effect, second.effect) and self._order_decides(
                first, later, second
            ):
                conflicts.append(ConflictingWrites(first, second))
        return conflicts

    def _order_decides(
        self,
        write: ActionEffect,
        later: '_WritingRule',
        later_write: ActionEffect,
    ) -> bool:
        """Return whether the order of two rules decides for some machine.

        It does where both rules write, and the last write stays, or where only
        the rule that runs first does.

        :param write: a write of this rule.
        :param later_write: a write of the later rule, which undoes ``write``.
        """
        conditions = self._conditions_of(write)
        later_conditions = later._conditions_of(later_write)
        if not model.is_same_value(
            model.VARS, self.rule.rule.vars, later.rule.rule.vars
        ):
            # The same words over other vars are conditions on other things:
            # they exclude nothing.
            conditions = _without_vars(conditions)
            later_conditions = _without_vars(later_conditions)
        if not self._affects(later) and not later._affects(self):
            # So it is with most pairs, and quickly answered.
            return not exclusion.exclude(conditions, later_conditions)
        later_undecided = self._list_undecided(write, later, later_write)
        if later_undecided is not None and not exclusion.exclude(
            conditions, later_undecided
        ):
            # The later write may follow this one.
            return True
        undecided = later._list_undecided(later_write, self, write)
        if exclusion.exclude(conditions, later_conditions):
            # No machine meets both at first. In the other order this write
            # may follow the later one, which makes its conditions hold.
            # Whether groups exclude each other is known in clear cases only,
            # so that nothing is said of them.
            if undecided is None:
                return False
            if any(
                condition.inner for condition in later_conditions + undecided
            ):
                return False
            return not exclusion.exclude(later_conditions, undecided)
        # The later write never follows this one. The order decides only if
        # this one may not follow the later one either.
        return undecided is None or any(
            condition.overwritten for condition in undecided
        )

    def _affects(self, other: '_WritingRule') -> bool:
        """Return whether this rule may decide whether another one matches.

        It writes what the other rule reads, or fails the inspection.
        """
        return self._fails or not self.places.isdisjoint(other._places_read)

    def _list_undecided(
        self,
        write: ActionEffect,
        other: '_WritingRule',
        other_write: ActionEffect,
    ) -> list[exclusion.ComparedCondition] | None:
        """List the conditions of another rule that this rule leaves open.

        These are the conditions of the other write without those that surely
        hold after this rule. If this rule writes ``tier: 2``, then ``eq:
        ["{…tier}", 2]`` surely holds, and is left out.

        :param write: the write of this rule, which has happened.
        :param other_write: the write of the other rule.
        :returns: None if the other write never happens after this rule, as
            one of its conditions is surely false, or this rule fails the
            inspection.
        """
        conditions = other._conditions_of(other_write)
        if self.rule.rule.mode != model.ENFORCE:
            # The rule is only tried: other rules see nothing of its writes.
            return conditions
        if self._fails:
            return None
        after = self._after(write.pointer)
        undecided = []
        for condition in conditions:
            if other._sees_other_data(condition, other_write):
                undecided.append(condition)
                continue
            results = list(
                map(after.decides, other._conditions_to_decide(condition))
            )
            if False in results:
                return None
            if None in results:
                undecided.append(_condition_after(condition, after))
        return undecided

    def _after(self, pointer: str) -> aftermath.Aftermath:
        """Return what this rule leaves once one of its actions has run."""
        if not self._conditions_of_actions.get(pointer):
            # The action has no "when", or a loop: what the rule leaves is the
            # same for all such actions, and cached once.
            pointer = ''
        if pointer not in self._aftermaths:
            self._aftermaths[pointer] = aftermath.Aftermath(self.rule, pointer)
        return self._aftermaths[pointer]

    def _conditions_to_decide(
        self, condition: exclusion.ComparedCondition
    ) -> list[aftermath.RuleCondition]:
        """Return a condition of this rule, to be decided after other rules.

        :returns: the condition, or its parts if it compares several pairs of
            values: one part may be decided where the whole is not.
        """
        pointer = condition.operation.pointer
        if pointer not in self._conditions_after:
            self._conditions_after[pointer] = [
                aftermath.RuleCondition(self.rule.rule, part)
                for part in exclusion.split_into_pairs(condition.operation)
            ]
        return self._conditions_after[pointer]

    def _sees_other_data(
        self, condition: exclusion.ComparedCondition, write: ActionEffect
    ) -> bool:
        """Return whether a condition sees other data than earlier rules leave.

        It does if it is decided before they act, or after actions of its own
        rule that may change what it reads.

        :param condition: one of the rule, or of the ``when`` of an action.
        :param write: a write of the action.
        """
        if condition in self._conditions:
            # It is no condition of a "when". The rule may be decided before
            # any rule of its phase acts.
            return self._decides_first
        fields_read: list[interpolation.Field] = []
        for operation in condition.operation.all:
            fields_read += effects.fields_of_operation(operation)
        # Actions of the rule itself run before a "when" is decided.
        for action in self.rule.actions:
            if action.pointer == write.pointer:
                break
            if effects.may_change(action, fields_read):
                return True
        return False

    def _conditions_of(
        self, write: ActionEffect
    ) -> list[exclusion.ComparedCondition]:
        """Return all conditions that a machine must meet for a write.

        They are those of the rule, and the ``when`` of an action without a
        loop.
        """
        own = self._conditions_of_actions.get(write.pointer, ())
        return [*self._conditions, *own]


def _is_written(
    field: interpolation.Field, places: set[tuple[str, ...]]
) -> bool:
    """Return whether a write at one of some places sets all of a field.

    A write at ``('node', 'extra')`` sets all of ``{node.extra.rack}``.
    """
    steps = (field.root, *field.steps)
    return any(steps[:length] in places for length in range(1, len(steps) + 1))


def _condition_after(
    condition: exclusion.ComparedCondition, after: aftermath.Aftermath
) -> exclusion.ComparedCondition:
    """Return what a condition states of the data before another rule.

    :param after: what the other rule leaves, before the condition is decided.
    """
    if condition.inner:
        # A group may hold by its conditions on other fields.
        return condition
    overwritten = set()
    for field in effects.fields_of_operation(condition.operation):
        if field.is_plain and after.knows(field):
            steps = (str(field.root), *field.steps)
            overwritten.add(data_path.pointer(steps))
    if not overwritten:
        return condition
    return exclusion.ComparedCondition(condition.operation, overwritten)


def _without_vars(
    conditions: list[exclusion.ComparedCondition],
) -> list[exclusion.ComparedCondition]:
    """Return the conditions that read no ``vars`` of their rule."""
    return [
        condition for condition in conditions if not _reads_vars(condition)
    ]


def _reads_vars(condition: exclusion.ComparedCondition) -> bool:
    """Return whether a condition may read the ``vars`` of its rule."""
    return effects.mentions(model.VARS, condition.operation.written)


def _place(effect: effects.Effect) -> tuple[str, ...]:
    """Return the place of a write, with its kind as the first step.

    For ``/extra/rack`` of a node it is ``('node', 'extra', 'rack')``. Writes
    conflict only where one place is the other, or is around it. The place of
    ``set-traits``, which writes many, is around all traits.
    """
    if effect.kind == 'traits':
        return ('trait',)
    return effect.kind, *effect.place


def _format_message(
    earlier: Rule, later: Rule, conflicts: list[ConflictingWrites]
) -> str:
    """Return the message of ``lint`` about two rules that conflict.

    It stands at the later rule, and names the earlier rule and the places. For
    a single conflict it also has both values, if these are short and no
    secrets.
    """
    line, _column = earlier.written.place()
    # Several actions may write one place, which is named once: a dict keeps
    # the order of its keys.
    places = dict.fromkeys(str(pair.second.effect) for pair in conflicts)
    values = ''
    if len(conflicts) == 1:
        first, second = conflicts[0]
        there = _format_value(first.effect)
        here = _format_value(second.effect)
        if there and here:
            values = _(': there %(there)s, here %(here)s') % {
                'there': there,
                'here': here,
            }
            # The text of a sensitive rule becomes "******".
            for rule in (earlier.rule, later.rule):
                values = disclosure.disclose_text(rule, values)
    return _(
        'rule %(label)s at %(path)s:%(line)d has the same phase and '
        'priority, writes %(places)s too, and differently%(values)s; '
        'machines may meet the conditions of both, and only their order '
        'decides'
    ) % {
        'label': earlier.written.label,
        'path': earlier.written.source.path,
        'line': line,
        'places': ', '.join(places),
        'values': values,
    }


def _format_value(effect: effects.Effect) -> str:
    """Format the value of a write for a message.

    :returns: ``"ipmi"`` as JSON, ``["a"] appended``, ``removed``, or ``added``
        for a trait; ``''`` if the value is too long, may be a secret, or is a
        set of traits.
    """
    if effect.value is _REMOVED:
        return _('removed')
    if disclosure.is_secret(effect.place) or effect.kind == 'traits':
        return ''
    if effect.kind == 'trait':
        return _('added')
    text = json.dumps(effect.value)
    if len(text) > _MOST_CHARACTERS:
        return ''
    if effect.extends:
        return _('%s appended') % text
    return text


def _undoes(earlier: effects.Effect, later: effects.Effect) -> bool:
    """Return whether a later write undoes an earlier write.

    ``driver: redfish`` undoes ``driver: ipmi``, and ``extra: {rack: 2}``
    undoes ``/extra/rack: 1``.

    A write does not undo another one if rules build a value together: a rule
    sets ``extra: {}``, and another one ``/extra/rack``.
    """
    if earlier.kind == later.kind == 'traits':
        # The place is the prefix. Different prefixes are not compared.
        return earlier.place == later.place and earlier.value != later.value
    if (earlier.kind, later.kind) == ('traits', 'trait'):
        return _traits_differ(earlier, later)
    if (earlier.kind, later.kind) == ('trait', 'traits'):
        return _traits_differ(later, earlier)
    if earlier.kind != later.kind:
        return False
    if earlier.extends:
        return _drops_item(earlier, later)
    if later.extends:
        is_same_place = earlier.place == later.place
        return is_same_place and not _may_be_extended(earlier.value)
    # The place of one write has to be that of the other, or around it.
    outer, inner = earlier, later
    if len(later.place) < len(earlier.place):
        outer, inner = later, earlier
    is_inside = inner.place[: len(outer.place)] == outer.place
    if not is_inside:
        return False
    rest = inner.place[len(outer.place) :]
    if not rest:
        return not data_path.same(outer.value, inner.value)
    value_inside = _part_at(outer.value, rest)
    if value_inside is data_path.ABSENT:
        # A rule makes or removes the mapping, and the other fills it.
        return False
    return not data_path.same(value_inside, inner.value)


def _traits_differ(group: effects.Effect, single: effects.Effect) -> bool:
    """Return whether ``set-traits`` and an action on a trait conflict.

    They do if the trait has the prefix of ``set-traits``, and is added
    although it is not in the list, or removed although it is.

    :param group: the write of ``set-traits``, with the prefix as its place.
    :param single: the write of ``add-trait`` or ``remove-trait``.
    """
    (prefix,) = group.place
    (name,) = single.place
    if not name.startswith(prefix):
        return False
    is_listed = name in group.value
    is_removed = single.value is _REMOVED
    return is_listed == is_removed


def _may_be_extended(value: typing.Any) -> bool:
    """Return whether a later action can append to a written value.

    The value is a list, becomes a list, as null does, or is a field that may
    have a list on a machine.
    """
    if value is None or value is _REMOVED or isinstance(value, list):
        return True
    return bool(interpolation.fields(value))


def _part_at(value: typing.Any, rest: tuple[str, ...]) -> typing.Any:
    """Return the part of a written value at a path in it, or ABSENT.

    In ``{'rack': 1}``, the part at ``('rack',)`` is 1.
    """
    if value is _REMOVED:
        return data_path.ABSENT
    return data_path.get(value, rest)


def _drops_item(extended: effects.Effect, later: effects.Effect) -> bool:
    """Return whether a later write drops an item that was appended to a list.

    The write removes the list, or sets it, or a mapping with it, to a value
    without the item.

    :returns: False also where a mapping around the list is removed, or set to
        one without the list: a rule may empty a mapping for others to fill.
    """
    depth = len(later.place)
    is_list_or_around = extended.place[:depth] == later.place
    if later.extends or not is_list_or_around:
        return False
    fields = interpolation.fields(later.value)
    if any(field.root == later.root for field in fields):
        # The new value may contain what was there before.
        return False
    new_list = later.value
    steps_to_list = extended.place[depth:]
    if steps_to_list:
        new_list = _part_at(later.value, steps_to_list)
        if new_list is data_path.ABSENT:
            # The mapping is emptied, which other rules may count on.
            return False
    if not isinstance(new_list, list):
        return True
    return not any(data_path.same(item, extended.value) for item in new_list)

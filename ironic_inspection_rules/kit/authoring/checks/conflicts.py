# SPDX-License-Identifier: Apache-2.0

"""Find rules of one phase and priority that write different values.

This is a check of ``lint``. For example, one rule writes the driver ``ipmi``,
and another rule writes ``redfish``. If a machine meets the conditions of both,
only the order in which the rules are stored decides which value stays.

A write (:class:`.effects.Effect`) is what an action leaves at a place, e.g.
``ipmi`` at ``('node', 'driver')``. A place is around another place if it is
the beginning of its path, as ``/extra`` is around ``/extra/rack``. Two sets of
conditions exclude each other if no machine meets both. A rule affects another
rule if it may change data that the conditions of the other rule read.
"""

import collections
from collections.abc import Iterable, Sequence
import itertools
import json
import typing

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import postcondition
from ironic_inspection_rules.kit.authoring.checks import required_values
from ironic_inspection_rules.rule_file import file_rule

Rule = checked_rule.CheckedRule

_REMOVED = data_path.ABSENT
_MOST_CHARACTERS = 40
"""Maximum length of a value that a message shows."""


class ActionEffect(typing.NamedTuple):
    """A write of an action, with the pointer to the action."""

    pointer: str
    effect: effects.Effect


class ConflictingWrites(typing.NamedTuple):
    """Two writes to one place; the rule that runs later decides the value."""

    first: ActionEffect
    second: ActionEffect


def check(rules: Sequence[Rule]) -> checked_rule.MistakesOfRules:
    """Find pairs of rules whose result depends on the stored order.

    Such rules have the same phase and priority, may match the same machine,
    and write different values to one place.

    :returns: mistakes, located at the second rule of a pair.
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
    """Yield the pairs of rules that may match the same machine, in order.

    Pairs that cannot match the same machine are skipped, e.g. rules that
    compare one field with different values, as in ``eq: ["{node.driver}",
    …]``. They are not skipped if one of the two rules may change the value of
    this field.
    """
    required_by_rule = [rule.find_required_values() for rule in rules]
    for earlier, later in required_values.pairs_that_may_meet(
        required_by_rule
    ):
        yield rules[earlier], rules[later]


class _Places:
    """Places in data, in a form that is quickly compared with others.

    :ivar places: paths, e.g. ``('node', 'extra', 'rack')``.
    """

    def __init__(self, places: Iterable[data_path.Path]) -> None:
        self.places = frozenset(places)
        # The places themselves and all places around them, e.g. (), ('node',)
        # and ('node', 'extra').
        self._with_places_around = frozenset(
            place[:length]
            for place in self.places
            for length in range(len(place) + 1)
        )

    def overlap(self, other: '_Places') -> bool:
        """Return whether a place is equal to another, or around it.

        Either of the two may be around the other.
        """
        if not self.places.isdisjoint(other._with_places_around):
            return True
        return not self._with_places_around.isdisjoint(other.places)


class _WritingRule:
    """A rule and its writes, computed once because it is compared with many.

    A "later rule" in the methods is stored after this rule.

    :param rule: the rule, with its place in a file, which messages show.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        # The writes of all actions, in order. An action in a loop over three
        # items that are written in the rule has three effects.
        self._effects: list[ActionEffect] = []
        for action in rule.actions:
            for effect in effects.effects(action):
                self._effects.append(ActionEffect(action.pointer, effect))
        self._written = _Places(
            _place(write.effect) for write in self._effects
        )
        # The places in the data that may change. They differ from the written
        # places: a capability is written by its name, and changes the node.
        self.changed = _find_changed_places(rule.actions)
        self._conditions = list(
            map(exclusion.ComparedCondition, rule.conditions)
        )
        self._conditions_of_actions = self._find_conditions_of_actions()
        self._fails = any(map(postcondition.fails, rule.actions))
        self._read = self._find_read_places()
        self._decides_first = postcondition.decides_first(rule)
        # Caches of _find_data_after() and _split_to_decide(), by the pointer
        # to the action and by the pointer to the condition.
        self._data_after: dict[str, postcondition.Postcondition] = {}
        self._parts_to_decide: dict[
            str, list[postcondition.RuleCondition]
        ] = {}

    def _find_conditions_of_actions(
        self,
    ) -> dict[str, list[exclusion.ComparedCondition]]:
        """Return the conditions in the ``when`` of the actions without a loop.

        The ``when`` of an action with a loop is checked per item. The action
        may run for another item, so it cannot exclude other actions.

        :returns: the conditions by the pointer to the action.
        """
        by_action: dict[str, list[exclusion.ComparedCondition]] = {}
        for position, action in enumerate(self.rule.actions):
            if action.loops:
                continue
            # Earlier actions of the rule run before a "when" is decided.
            changed_before = _find_changed_places(self.rule.actions[:position])
            by_action[action.pointer] = [
                self._restate_before_change(
                    exclusion.ComparedCondition(operation), changed_before
                )
                for operation in action.inner
            ]
        return by_action

    def _find_read_places(self) -> _Places:
        """Return the places that the fields in the conditions read.

        An op with ``NEEDS_VIEW`` may read other data too. They need not be
        known, because the result of such an op is never predicted.
        """
        places: set[data_path.Path] = set()
        for condition in self.rule.all_conditions:
            for field in effects.fields_of_operation(condition):
                places |= self._places_of(field)
        return _Places(places)

    def _places_of(self, field: interpolation.Field) -> set[data_path.Path]:
        """Return the places that a field of this rule reads.

        They show whether the writes of another rule matter to a condition with
        the field. A variable reads the places of the fields in ``vars``.
        Fields in the arguments of filters count too.
        """
        places = set()
        for part in effects.fields_of_field(field):
            places.add(effects.read_place(part))
            if part.root == model.VARS:
                for inner in effects.fields(self.rule.rule.vars):
                    places.add(effects.read_place(inner))
        return places

    def _restate_before_change(
        self, condition: exclusion.ComparedCondition, changed: _Places
    ) -> exclusion.ComparedCondition:
        """Return what a condition says about the data before a change.

        It says nothing about the fields that the change may overwrite.

        :param condition: a condition of this rule, decided after the change.
        :param changed: the places that change.
        """
        overwritten = set(condition.overwritten)
        for operation in condition.operation.all:
            for field in interpolation.fields(
                [operation.arguments, operation.loop]
            ):
                if changed.overlap(_Places(self._places_of(field))):
                    overwritten.add(facts.field_name(field.in_braces))
        if not overwritten:
            return condition
        return exclusion.ComparedCondition(condition.operation, overwritten)

    def find_required_values(self) -> required_values.RequiredValues:
        """Return the values that fields must have for the rule to match.

        For example, a rule with ``eq: ["{node.driver}", ipmi]`` requires the
        driver ``ipmi``. Fields that the rule itself may change are skipped: if
        it runs first, it may write the value that another rule requires.
        """
        required = required_values.RequiredValues()
        for condition in self._conditions:
            if condition.inner:
                # A group compares no fields itself. Only the conditions in it
                # do.
                continue
            read_vars = ''
            if _reads_vars(condition):
                read_vars = json.dumps(self.rule.rule.vars)
            restated = self._restate_before_change(condition, self.changed)
            for fact in restated.facts:
                required.add(fact, read_vars)
        return required

    def find_conflicts(self, later: '_WritingRule') -> list[ConflictingWrites]:
        """Return the pairs of writes for which the order decides the value.

        For example, this rule writes the driver ``ipmi``, and the later rule
        writes ``redfish``.

        :param later: a rule that runs after this rule only because it is
            stored after it.
        :returns: pairs of a write of this rule and a write of the later rule;
            none if no node is in the scopes of both rules.
        """
        # Most pairs of rules write to different places. Comparing the places
        # first is cheap, and avoids comparing all writes.
        if not self._written.overlap(later._written):
            return []
        scopes = {self.rule.rule.scope, later.rule.rule.scope} - {None, ''}
        if len(scopes) > 1:
            # A node has only one scope, so these rules never run on the same
            # node.
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
        """Return whether the order of two rules matters on some machine.

        It matters if both rules write and the last write wins, or if only the
        rule that runs first writes.

        Often neither rule changes what the other reads. Then the order
        matters unless their conditions exclude each other. Otherwise both
        orders are examined: one rule may make the conditions of the other true
        or false, or may end the inspection.

        :param write: a write of this rule.
        :param later_write: a write of the later rule, which undoes ``write``.
        """
        conditions = self._conditions_of(write)
        later_conditions = later._conditions_of(later_write)
        if not model.is_same_value(
            model.VARS, self.rule.rule.vars, later.rule.rule.vars
        ):
            # Equally written conditions over variables that differ may mean
            # different things, and exclude nothing.
            common_vars = _find_common_vars(self.rule, later.rule)
            conditions = _without_other_vars(conditions, common_vars)
            later_conditions = _without_other_vars(
                later_conditions, common_vars
            )
        if not self._affects(later) and not later._affects(self):
            # This applies to most pairs, and is cheap to decide.
            return not exclusion.exclude(conditions, later_conditions)
        # First, this rule runs before the later rule, as they are stored.
        if later._may_follow(later_write, self, write):
            restated_of_later = later._restate_before_rule(later_write, self)
            if not exclusion.exclude(conditions, restated_of_later):
                # The later write may happen after this write.
                return True
        # The later write never follows this write. Examine the other order.
        may_follow = self._may_follow(write, later, later_write)
        if exclusion.exclude(conditions, later_conditions):
            # At first no machine meets both sets of conditions. The later
            # write may make the conditions of this rule hold.
            if not may_follow:
                return False
            restated = self._restate_before_rule(write, later)
            return not exclusion.exclude(later_conditions, restated)
        if not may_follow:
            # Neither write follows the other.
            return True
        if self._only_prevents(write, later, later_write, later_conditions):
            return True
        # If this write always follows the later write, its value stays in both
        # orders.
        return not self._always_follows(
            write, later, later_write, later_conditions
        )

    def _affects(self, other: '_WritingRule') -> bool:
        """Return whether this rule may decide whether another rule matches.

        It does if it may change data that the other rule reads, or fails the
        inspection.
        """
        return self._fails or self.changed.overlap(other._read)

    def _may_follow(
        self,
        write: ActionEffect,
        first: '_WritingRule',
        first_write: ActionEffect | None,
    ) -> bool:
        """Return whether a write of this rule may follow one of another rule.

        It never does if the other rule fails the inspection, or leaves data
        for which a condition is false. For example, ``eq: ["{…tier}", 1]`` is
        false after a rule that writes ``tier: 2``.

        :param write: a write of this rule.
        :param first: the rule that runs first.
        :param first_write: the write of that rule, which has happened; None if
            none of its actions with a ``when`` is known to have happened.
        """
        if first.rule.rule.mode != model.ENFORCE:
            # The other rule is only tried, so this rule does not see its
            # writes.
            return True
        if first._fails:
            return False
        data_after = first._find_data_after(first_write)
        for condition in self._conditions_of(write):
            if self._is_decided_first(condition) or condition.overwritten:
                # It does not read what the other rule leaves: actions of this
                # rule may overwrite a field before a "when" is decided.
                continue
            parts = self._split_to_decide(condition)
            if any(data_after.decides(part) is False for part in parts):
                return False
        return True

    def _only_prevents(
        self,
        write: ActionEffect,
        other: '_WritingRule',
        other_write: ActionEffect,
        other_conditions: list[exclusion.ComparedCondition],
    ) -> bool:
        """Return whether this rule may prevent a write, and not write instead.

        Its other actions make the conditions of the other write false, and the
        ``when`` of its own write does not hold on some machines.

        :param write: a write of this rule.
        :param other_write: a write of the other rule.
        :param other_conditions: conditions that hold where ``other_write``
            happens.
        """
        own = self._conditions_of_actions.get(write.pointer, ())
        if not own or self._fails:
            return False
        if other._may_follow(other_write, self, first_write=None):
            return False
        for condition in own:
            if condition.overwritten:
                # Earlier actions of this rule may make it hold.
                continue
            if not any(
                exclusion.implies(given, condition)
                for given in other_conditions
            ):
                return True
        return False

    def _always_follows(
        self,
        write: ActionEffect,
        first: '_WritingRule',
        first_write: ActionEffect,
        first_conditions: list[exclusion.ComparedCondition],
    ) -> bool:
        """Return whether a write of this rule follows another on all machines.

        It does if each of its conditions that the other rule may change holds
        before and after that rule.

        :param write: a write of this rule.
        :param first: the rule that runs first.
        :param first_write: the write of that rule.
        :param first_conditions: conditions that hold where ``first_write``
            happens.
        """
        data_after = first._find_data_after(first_write)
        for condition in self._conditions_of(write):
            restated = self._restate_one_before_rule(condition, first)
            if not restated.overwritten or condition.inner:
                # The other rule does not change it. A group is skipped: it
                # may hold because of its conditions on other fields.
                continue
            held_before = any(
                exclusion.implies(given, condition)
                for given in first_conditions
            )
            if not held_before:
                return False
            parts = self._split_to_decide(condition)
            if not all(data_after.decides(part) is True for part in parts):
                return False
        return True

    def _restate_before_rule(
        self, write: ActionEffect, first: '_WritingRule'
    ) -> list[exclusion.ComparedCondition]:
        """Return what the conditions of a write say before another rule runs.

        :param write: a write of this rule.
        :param first: the rule that runs before this rule.
        """
        return [
            self._restate_one_before_rule(condition, first)
            for condition in self._conditions_of(write)
        ]

    def _restate_one_before_rule(
        self, condition: exclusion.ComparedCondition, first: '_WritingRule'
    ) -> exclusion.ComparedCondition:
        """Return what a condition of this rule says before another rule runs.

        :param first: the rule that runs before this rule.
        """
        if first.rule.rule.mode != model.ENFORCE:
            # The other rule changes nothing.
            return condition
        if self._is_decided_first(condition):
            return condition
        return self._restate_before_change(condition, first.changed)

    def _is_decided_first(
        self, condition: exclusion.ComparedCondition
    ) -> bool:
        """Return whether a condition is decided before any rule has acted."""
        return self._decides_first and condition in self._conditions

    def _find_data_after(
        self, write: ActionEffect | None
    ) -> postcondition.Postcondition:
        """Return the data that this rule leaves if a write has happened.

        :param write: None for the data that it leaves in any case.
        """
        pointer = ''
        # An action without a "when", or with a loop, is of no interest: this
        # rule leaves the same data for all such actions.
        if write is not None and self._conditions_of_actions.get(
            write.pointer
        ):
            pointer = write.pointer
        if pointer not in self._data_after:
            self._data_after[pointer] = postcondition.Postcondition(
                self.rule, pointer
            )
        return self._data_after[pointer]

    def _split_to_decide(
        self, condition: exclusion.ComparedCondition
    ) -> list[postcondition.RuleCondition]:
        """Return a condition of this rule, to be decided after other rules.

        :returns: the condition, or its parts if it compares several pairs of
            values, because one part may be decided even if the whole is not.
        """
        pointer = condition.operation.pointer
        if pointer not in self._parts_to_decide:
            self._parts_to_decide[pointer] = [
                postcondition.RuleCondition(self.rule.rule, part)
                for part in exclusion.split_into_pairs(condition.operation)
            ]
        return self._parts_to_decide[pointer]

    def _conditions_of(
        self, write: ActionEffect
    ) -> list[exclusion.ComparedCondition]:
        """Return all conditions that a machine must meet for a write.

        These are the conditions of the rule, and the ``when`` of the action
        unless the action has a loop.
        """
        own = self._conditions_of_actions.get(write.pointer, ())
        return [*self._conditions, *own]


def _find_changed_places(actions: Sequence[file_rule.Operation]) -> _Places:
    """Return the places in the data that some actions may change."""
    return _Places(
        itertools.chain.from_iterable(map(effects.changed_places, actions))
    )


def _find_common_vars(first: Rule, second: Rule) -> frozenset[str]:
    """Return the names of the variables that are the same in two rules.

    Variables that use other variables are left out.
    """
    common = set()
    for name, value in first.rule.vars.items():
        second_value = second.rule.vars.get(name, data_path.ABSENT)
        is_same = data_path.is_same(value, second_value)
        if is_same and not effects.mentions(model.VARS, value):
            common.add(name)
    return frozenset(common)


def _without_other_vars(
    conditions: list[exclusion.ComparedCondition], names: frozenset[str]
) -> list[exclusion.ComparedCondition]:
    """Return the conditions that read no other variables than the given."""
    return [
        condition
        for condition in conditions
        if not _reads_vars(condition) or _reads_only_vars(condition, names)
    ]


def _reads_only_vars(
    condition: exclusion.ComparedCondition, names: frozenset[str]
) -> bool:
    """Return whether all variables that a condition reads have given names."""
    for operation in condition.operation.all:
        for field in effects.fields_of_operation(operation):
            if field.root != model.VARS:
                continue
            if not field.steps or field.steps[0] not in names:
                return False
    return True


def _reads_vars(condition: exclusion.ComparedCondition) -> bool:
    """Return whether a condition may read the ``vars`` of its rule."""
    return effects.mentions(model.VARS, condition.operation.written)


def _place(effect: effects.Effect) -> tuple[str, ...]:
    """Return the place of a write, with its kind as the first step.

    For ``/extra/rack`` of a node it is ``('node', 'extra', 'rack')``. Writes
    can only conflict if one place is equal to the other or around it.
    ``set-traits`` writes many traits, so its place is around all traits.
    """
    if effect.kind == 'traits':
        return ('trait',)
    return effect.kind, *effect.place


def _format_message(
    earlier: Rule, later: Rule, conflicts: list[ConflictingWrites]
) -> str:
    """Return the message of ``lint`` about two rules that conflict.

    The message is reported at the later rule. It names the earlier rule and
    the places. If there is only one conflict, it also shows both values,
    unless they are long or secret.
    """
    line, _column = earlier.written.place()
    # Several actions may write to one place. A dict names it only once, and
    # keeps the order.
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

    :returns: JSON, e.g. ``"ipmi"``; ``["a"] appended``; ``removed``; or
        ``added`` for a trait. The text is empty if the value is too long, may
        be a secret, or is a set of traits.
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
    """Return whether a later write changes what an earlier write has left.

    For example, ``driver: redfish`` undoes ``driver: ipmi``, and ``extra:
    {rack: 2}`` undoes ``/extra/rack: 1``.

    A write does not undo another write if the rules build a value together,
    e.g. if one rule sets ``extra: {}`` and another rule sets ``/extra/rack``.

    :param earlier: a write of the rule that runs first.
    :param later: a write of the rule that runs later.
    """
    if earlier.kind == later.kind == 'traits':
        # The place is the prefix of the traits. Different prefixes are not
        # compared.
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
    if len(earlier.place) <= len(later.place):
        return _values_differ(around=earlier, inside=later)
    return _values_differ(around=later, inside=earlier)


def _values_differ(around: effects.Effect, inside: effects.Effect) -> bool:
    """Return whether two writes give one place different values.

    ``extra: {rack: 2}`` and ``/extra/rack: 1`` do.

    :param around: a write at the same place as ``inside``, or at a mapping
        around it; if it is at another place, the values do not differ.
    """
    depth = len(around.place)
    if inside.place[:depth] != around.place:
        return False
    steps_inside = inside.place[depth:]
    if not steps_inside:
        # Both write to the same place.
        return not data_path.is_same(around.value, inside.value)
    value_inside = _part_at(around.value, steps_inside)
    if value_inside is data_path.ABSENT:
        # One rule creates or removes the mapping, and the other rule fills it.
        return False
    return not data_path.is_same(value_inside, inside.value)


def _traits_differ(group: effects.Effect, single: effects.Effect) -> bool:
    """Return whether ``set-traits`` and an action on a single trait conflict.

    They conflict if the trait has the prefix of ``set-traits``, and is either
    added but not in the list, or removed but in the list.

    :param group: the write of ``set-traits``, whose place is the prefix.
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

    It can if the value is a list, if it becomes a list (as null does), or if
    it contains a field, which may be a list on a machine.
    """
    if value is None or value is _REMOVED or isinstance(value, list):
        return True
    return bool(interpolation.fields(value))


def _part_at(value: typing.Any, rest: tuple[str, ...]) -> typing.Any:
    """Return the part at a path inside a written value, or ABSENT.

    The part of ``{'rack': 1}`` at ``('rack',)`` is 1.
    """
    if value is _REMOVED:
        return data_path.ABSENT
    return data_path.get(value, rest)


def _drops_item(extended: effects.Effect, later: effects.Effect) -> bool:
    """Return whether a later write drops an item that was appended to a list.

    It does if it removes the list, or sets the list or a mapping around it to
    a value without the item.

    :returns: False also if a mapping around the list is removed, or set to a
        mapping without the list, because a rule may empty a mapping that other
        rules fill.
    """
    depth = len(later.place)
    is_list_or_around = extended.place[:depth] == later.place
    if later.extends or not is_list_or_around:
        return False
    fields = interpolation.fields(later.value)
    if any(field.root == later.root for field in fields):
        # The new value may contain the previous value.
        return False
    new_list = later.value
    steps_to_list = extended.place[depth:]
    if steps_to_list:
        new_list = _part_at(later.value, steps_to_list)
        if new_list is data_path.ABSENT:
            # The mapping is emptied, and other rules may rely on that.
            return False
    if not isinstance(new_list, list):
        return True
    return not any(
        data_path.is_same(item, extended.value) for item in new_list
    )

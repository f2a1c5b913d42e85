# SPDX-License-Identifier: Apache-2.0

"""Rules of a profile, which accept only machines like a sample of good ones.

The rules note all differences in plugin data first, and the last of them fails
with the whole list, or sets a trait: a rule that failed at once would hide the
differences behind it. Rules in mode ``audit`` only record that they would
fail. They hide nothing, so every one of them fails separately.

A way in which a machine may differ is a deviation, such as another number of
disks. One rule is written per deviation.
"""

import collections
from collections.abc import Container, Iterable, Iterator, Sequence
import re
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.run import change as engine_change
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import part_sorts

FAIL = 'fail'
TRAIT = 'trait'
AUDIT = 'audit'
ON_MISMATCH = (FAIL, TRAIT, AUDIT)

# The priorities put the rules of a profile in order; the highest runs first.
# The first rule empties the list of differences, the comparing rules add to
# it, and the last rules read it.
_PRIORITY_OF_BEGIN = 30
_PRIORITY_OF_COMPARISON = 20
_PRIORITY_OF_VERDICT = 10

_PROFILES_PATH = '/profiles'  # In plugin data.

_MAX_LENGTH = 120
"""Most characters of the name of a profile, and of the subject of a rule. Both
are part of the description of a rule, which has at most 255 characters."""

_UNKNOWN = "default('unknown', true)"

Entry = dict[str, typing.Any]
"""A rule, a condition or an action in the form of a rule file."""


class Deviation(typing.NamedTuple):
    """A way in which a machine may differ from the sample.

    :param about: the subject of the difference for the description of a rule,
        e.g. ``processors, count``.
    :param condition: a condition that is true for a machine that differs.
    :param message: the message of the rule, with fields in braces for the
        values of the machine: "processors: count
        {inventory.cpu.count | …}, not 8 to 16".
    """

    about: str
    condition: Entry
    message: str


def write(
    machines: Sequence[views.Facts],
    name: str,
    on_mismatch: str,
    tolerated: component.Tolerance,
    left_out: Container[str] = (),
) -> list[Entry]:
    """Write rules that accept machines like the sample.

    In mode ``fail``, the first rule creates an empty list in plugin data, one
    rule per deviation adds a message to the list, and the last rule fails the
    inspection with all messages. In mode ``trait``, the last rules add or
    remove a trait instead. In mode ``audit``, every rule fails separately.

    :param machines: the sample.
    :param name: the name of the profile, for descriptions.
    :param on_mismatch: the consequence of a difference, one of
        :data:`ON_MISMATCH`.
    :param tolerated: the amounts by which sizes and counts may differ.
    :param left_out: the paths of values that are not compared.
    :returns: rules as plain data without UUIDs. Every rule has a different
        description.
    """
    profile = _Profile(name)
    deviations = _number_equal(find_deviations(machines, tolerated, left_out))
    if on_mismatch == AUDIT:
        return [
            profile.build_audit_rule(deviation) for deviation in deviations
        ]
    rules = [profile.build_first_rule()]
    for deviation in deviations:
        rules.append(profile.build_comparing_rule(deviation))
    if on_mismatch == FAIL:
        rules.append(profile.build_failing_rule())
    else:
        rules += profile.build_trait_rules()
    return rules


def notes_difference(change: engine_change.Change) -> bool:
    """Return whether a change is a difference that a profile has noted.

    For example, a change at ``/profiles/r640/0`` in plugin data is.
    """
    is_in_profile = change.path.startswith(f'{_PROFILES_PATH}/')
    # The first rule of a profile writes the list itself, whose path has one
    # slash less.
    is_in_list = change.path.count('/') > _PROFILES_PATH.count('/') + 1
    return change.object == 'plugin_data' and is_in_profile and is_in_list


def _number_equal(deviations: Iterable[Deviation]) -> list[Deviation]:
    """Number the deviations whose descriptions are equal: "disks (2)".

    Descriptions may be equal because sizes are rounded and long texts are cut.
    They must be different, because a rule without a UUID is identified by its
    description when a newer profile is applied.
    """
    # The number of deviations so far, by description.
    count: collections.Counter[str] = collections.Counter()
    described = []
    for deviation in deviations:
        about = deviation.about[:_MAX_LENGTH]
        count[about] += 1
        if count[about] > 1:
            about = f'{about} ({count[about]})'
        described.append(deviation._replace(about=about))
    return described


class _Profile:
    """Writes the rules of a profile, which note differences in plugin data.

    :param name: the name of the profile.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        # The slug is the name as a key of plugin data, e.g. "poweredge_r640"
        # for "PowerEdge R640". The list of differences is stored there; its
        # place is needed as the path of an action and as a field.
        slug = re.sub(r'[^a-z0-9]+', '_', name.lower()).strip('_')
        self._slug = slug or 'profile'
        self._path = f'{_PROFILES_PATH}/{self._slug}'
        self._field = f'plugin_data[profiles][{self._slug}]'

    def build_rule(
        self,
        about: str,
        priority: int,
        conditions: list[Entry],
        action: Entry,
        **fields: typing.Any,
    ) -> Entry:
        """Build a rule with one action.

        :param about: the end of the description.
        :param fields: further fields of the rule, such as ``mode``.
        """
        return {
            'description': f'{self._name[:_MAX_LENGTH]}: {about}',
            'priority': priority,
            **fields,
            'conditions': conditions,
            'actions': [action],
        }

    def build_audit_rule(self, deviation: Deviation) -> Entry:
        """Build the rule that would fail machines with one deviation.

        Because its mode is ``audit``, it only records that it would fail them.
        """
        action = _build_operation('fail', msg=deviation.message)
        return self.build_rule(
            about=deviation.about,
            priority=_PRIORITY_OF_COMPARISON,
            conditions=[deviation.condition],
            action=action,
            mode=model.AUDIT,
        )

    def build_first_rule(self) -> Entry:
        """Build the rule that creates the empty list of differences.

        It runs before all other rules of the profile. It also empties the list
        that an earlier inspection has left.
        """
        action = _build_operation('set-plugin-data', path=self._path, value=[])
        return self.build_rule(
            about=_('begin'),
            priority=_PRIORITY_OF_BEGIN,
            conditions=[],
            action=action,
        )

    def build_comparing_rule(self, deviation: Deviation) -> Entry:
        """Build the rule that adds the message of a deviation to the list."""
        action = _build_operation(
            'extend-plugin-data', path=self._path, value=deviation.message
        )
        return self.build_rule(
            about=deviation.about,
            priority=_PRIORITY_OF_COMPARISON,
            conditions=[deviation.condition],
            action=action,
        )

    def build_failing_rule(self) -> Entry:
        """Build the rule that fails the inspection with all differences."""
        message = _('not like %(name)s: %(differences)s') % {
            'name': part_sorts.escape(self._name),
            'differences': f"{{{self._field} | join('; ')}}",
        }
        return self.build_rule(
            about=_('verdict'),
            priority=_PRIORITY_OF_VERDICT,
            conditions=[self._build_condition_on_list('!is-empty')],
            action=_build_operation('fail', msg=message),
        )

    def build_trait_rules(self) -> list[Entry]:
        """Build the rules that add and remove the trait of a mismatch.

        The trait is e.g. ``CUSTOM_POWEREDGE_R640_MISMATCH``. A machine that
        was repaired loses the trait in its next inspection.
        """
        trait = f'CUSTOM_{self._slug.upper()}_MISMATCH'
        add = self.build_rule(
            about=_('it differs'),
            priority=_PRIORITY_OF_VERDICT,
            conditions=[self._build_condition_on_list('!is-empty')],
            action=_build_operation('add-trait', name=trait),
        )
        remove = self.build_rule(
            about=_('it does not differ'),
            priority=_PRIORITY_OF_VERDICT,
            conditions=[self._build_condition_on_list('is-empty')],
            action=_build_operation('remove-trait', name=trait),
        )
        return [add, remove]

    def _build_condition_on_list(self, op: str) -> Entry:
        """Build a condition on the list of differences in plugin data.

        :param op: either ``is-empty`` or ``!is-empty``.
        """
        return {'op': op, 'args': {'value': f'{{{self._field}}}'}}


def find_deviations(
    machines: Sequence[views.Facts],
    tolerated: component.Tolerance,
    left_out: Container[str] = (),
) -> Iterator[Deviation]:
    """Yield all ways in which a machine may differ from the sample.

    A value gives one deviation, and a list of parts gives several. One rule is
    written per deviation.

    :param machines: the sample.
    :param tolerated: the amounts by which sizes and counts may differ.
    :param left_out: the paths of values that are not compared.
    """
    for value in component.VALUES:
        if value.path in left_out:
            continue
        values = [value.read_from(machine) for machine in machines]
        # A value is compared only if all machines of the sample report it.
        if None not in values:
            yield _deviation_of_value(value, values, tolerated)
    for parts in component.compared_parts(machines):
        lists = [parts.read_from(machine) or [] for machine in machines]
        yield from _deviations_of_parts(parts, lists, tolerated)


def _deviation_of_value(
    value: component.Scalar,
    sample: Sequence[typing.Any],
    tolerated: component.Tolerance,
) -> Deviation:
    """Return the deviation of a machine that has another value.

    * A text or a firmware version must be equal to a value of the sample.
    * A number must also be equal to a value of the sample, if the tolerance of
      the component is ``observed``.
    * Any other number must be in the range of the sample, widened by the
      tolerance. For example, if the machines have 8 to 16 CPUs, a machine with
      4 differs, and the message is "processors: count 4, not 8 to 16".

    :param value: the value that is compared, e.g. the number of CPUs.
    :param sample: the values of the machines of the sample.
    :param tolerated: the amounts by which sizes and counts may differ.
    """
    field = f'{{{value.path} | {_UNKNOWN}}}'
    expected = list(dict.fromkeys(sample))
    are_numbers = all(map(component.is_number, sample))
    # A version between two versions of the sample is a different firmware. It
    # may be a number, because Ironic's hook extra-hardware converts "2.18" to
    # one.
    is_firmware = value.component == component.FIRMWARE
    if is_firmware or not are_numbers:
        escaped = [part_sorts.escape(accepted) for accepted in expected]
        condition = _build_operation('!one-of', value=field, values=escaped)
        text = _(' or ').join(map(str, expected))
    elif value.component in tolerated.observed:
        condition, text = _build_none_of_condition(field, expected)
    else:
        low, high = min(sample), max(sample)
        if value.sized:
            low, high = tolerated.widen_sizes(value.component, low, high)
        elif value.name != 'sockets':
            # A tolerance for processors applies to their count, not to the
            # sockets.
            low, high = tolerated.widen_counts(value.component, low, high)
        condition, text = _build_outside_condition(low, field, high)
    message = _('%(found)s, not %(expected)s') % {
        'found': _join_words(value.name, field, value.unit),
        'expected': part_sorts.escape(_join_words(text, value.unit)),
    }
    about = value.component
    if value.name:
        about += f', {value.name}'
    return Deviation(about, condition, f'{value.component}: {message}')


def _deviations_of_parts(
    parts: component.ComparedParts,
    lists: Sequence[Sequence[component.PartItem]],
    tolerated: component.Tolerance,
) -> Iterator[Deviation]:
    """Yield the ways in which the parts of a machine may differ.

    A machine may have too few or too many parts of a sort, e.g. "3 of 4 × SSD
    480 GB". It may have parts that belong to no sort. It may also have parts
    although the sample has none.

    :param parts: the list of parts, such as the disks.
    :param lists: the parts of every machine of the sample.
    :param tolerated: the amounts by which sizes and counts may differ.
    """
    name = parts.component
    sorts = part_sorts.find_sorts(parts, lists, tolerated)
    for part_sort in sorts:
        counts = [part_sort.count(items) for items in lists]
        # The field that counts the parts of the sort in a machine.
        filters = ' | '.join([parts.field, *part_sort.filters, 'length'])
        count = f'{{{filters}}}'
        if name in tolerated.observed:
            condition, text = _build_none_of_condition(count, counts)
        else:
            low, high = tolerated.widen_counts(name, min(counts), max(counts))
            condition, text = _build_outside_condition(low, count, high)
        message = _('%(found)s of %(expected)s') % {
            'found': count,
            'expected': part_sorts.escape(f'{text} × {part_sort.label}'),
        }
        yield Deviation(
            f'{name}, {part_sort.label}', condition, f'{name}: {message}'
        )
    if not sorts:
        # No machine of the sample has such parts.
        length = f'{{{parts.field} | length}}'
        condition, _text = _build_outside_condition(0, length, 0)
        yield Deviation(
            f'{name}, ' + _('none'),
            condition,
            f'{name}: ' + _('%s, not any') % length,
        )
    elif all(part_sort.tests for part_sort in sorts):
        # A sort without tests accepts all parts, so that every part belongs to
        # a sort.
        yield _deviation_of_other_parts(parts, sorts)


def _deviation_of_other_parts(
    parts: component.ComparedParts, sorts: Sequence[part_sorts.PartSort]
) -> Deviation:
    """Return the deviation of a machine with parts that belong to no sort.

    The message lists the values of all attributes that distinguish sorts:
    "disks: not all are expected, there are size 960, 480 and model X".

    :param parts: the list of parts, such as the disks.
    :param sorts: all sorts that the sample has.
    """
    name = parts.component
    values = []
    for attribute in parts.attributes:
        if any(attribute in part_sort.tests for part_sort in sorts):
            values.append(
                f'{attribute} {{{parts.field} | '
                f"selectattr('{attribute}', 'ne', null) | "
                f"map(attribute='{attribute}') | unique | join(', ') | "
                f'{_UNKNOWN}}}'
            )
    # The condition is tested for every part of the machine, in a loop. It is
    # true for a part that is of none of the sorts.
    condition = {
        'op': 'none-of',
        'loop': f'{{{parts.field}}}',
        'conditions': [part_sort.condition for part_sort in sorts],
    }
    message = _('not all are expected, there are %s') % _(' and ').join(values)
    return Deviation(
        f'{name}, ' + _('others'), condition, f'{name}: {message}'
    )


def _join_words(*words: str) -> str:
    """Join the words that are not empty by spaces."""
    return ' '.join(word for word in words if word)


def _build_outside_condition(
    low: int, field: str, high: int
) -> tuple[Entry, str]:
    """Build the condition that a number is outside of a range.

    For example, ``{'op': '!le', 'args': {'values': [2, FIELD, 4]}}``.

    :param field: the field in braces that has the number.
    :returns: the condition, and the range in words, e.g. "2 to 4".
    """
    if low == high:
        condition = _build_operation('!eq', values=[field, low])
        return condition, str(low)
    # The op "le" is true if low <= field <= high.
    condition = _build_operation('!le', values=[low, field, high])
    text = _('%(low)s to %(high)s') % {'low': low, 'high': high}
    return condition, text


def _build_none_of_condition(
    field: str, numbers: Sequence[typing.Any]
) -> tuple[Entry, str]:
    """Build the condition that a number is not one of the accepted ones.

    For example, ``{'op': '!one-of', 'args': {'value': FIELD, 'values': [2,
    4]}}``.

    :param field: the field in braces that has the number.
    :param numbers: the accepted numbers.
    :returns: the condition, and the accepted numbers in words, e.g. "2 or 4".
    """
    accepted = sorted(set(numbers))
    condition = _build_operation('!one-of', value=field, values=accepted)
    text = _(' or ').join(map(str, accepted))
    return condition, text


def _build_operation(op: str, **args: typing.Any) -> Entry:
    """Build a condition or an action in the form of a rule file."""
    return {'op': op, 'args': args}

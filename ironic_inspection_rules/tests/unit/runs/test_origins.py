# SPDX-License-Identifier: Apache-2.0

"""Who set a value, asked of generated histories of a machine."""

import collections
import json
import os
import random

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language.secrecy import masking
from ironic_inspection_rules.runs import explain
from ironic_inspection_rules.runs import recorded_change
from ironic_inspection_rules.tests.unit import base
from ironic_inspection_rules.tests.unit.runs import machine_history
from ironic_inspection_rules.tests.unit.runs import written_machine

COUNT = int(os.environ.get('IR_ORIGINS', '250'))
"""Histories that are tried; 10,000 take three minutes."""

_MOST_PLACES = 40


def touches(event, place):
    """Return whether an event wrote, or changed, what is at a place."""
    if event.rule[3]:
        # Of a sensitive rule there is only the place, and all of a list.
        where = event.place
        if event.removed:
            above = where[:-1]
            return written_machine.related(above, place) and (
                len(place) < len(where) or place[len(above)].isdigit()
            )
        return written_machine.related(where, place)
    if event.confirmed:
        return written_machine.related(event.place, place)
    return not written_machine.same(
        written_machine.get(event.before, place),
        written_machine.get(event.after, place),
    )


def before_removal(event, place):
    """Return where a value was before an item was removed from its list.

    :returns: None if it was the last item, so that nothing is there since.
    """
    *above, token = event.removed
    depth = len(above)
    is_in_list = len(place) > depth and list(place[:depth]) == above
    if not is_in_list or not place[depth].isdigit():
        return place
    count_left = len(written_machine.get(event.after, tuple(above)))
    index = int(place[depth])
    if index == count_left:
        return None
    if int(token) <= index < count_left:
        # It was one place further behind.
        return (*place[:depth], str(index + 1), *place[depth + 1 :])
    return place


def origins(events, place):
    """Return the rules that may have set what is at a place.

    :returns: several where the record cannot tell; None for no rule.
    """
    possible_rules = []
    for event in reversed(events):
        if event.rule is None:
            continue
        is_sensitive = event.rule[3]
        if (
            event.removed
            and not is_sensitive
            and len(place) >= len(event.removed)
        ):
            earlier = before_removal(event, place)
            if earlier is None:
                possible_rules.append(event.rule)
                if len(place) == len(event.removed):
                    return possible_rules
                # Whether the item had such a part is not recorded.
            place = earlier or place
        elif touches(event, place):
            possible_rules.append(event.rule)
            return possible_rules
    return [*possible_rules, None]


def place_after(events, place, run):
    """Return where a value was at the end of a run."""
    for event in reversed(events):
        if event.rule is not None and event.rule[0] == run:
            break
        if event.rule is not None and event.removed:
            place = before_removal(event, place) or place
    return place


def is_moved_by_others(events, place):
    """Return whether somebody else changed a list that a place is in."""
    for event in events:
        if event.rule is not None:
            continue
        for depth in range(1, len(place)):
            before = written_machine.get(event.before, place[:depth])
            after = written_machine.get(event.after, place[:depth])
            is_list = isinstance(before, list) or isinstance(after, list)
            if is_list and not written_machine.same(before, after):
                return True
    return False


def is_hidden(change, place):
    """Return whether the record of a change hides what was at a place."""
    path = data_path.parse(change.get('at', change['path']))
    below = place.path[len(path) :]
    parts = [
        written_machine.get({'all': change[side]}, ('all', *below))
        for side in ('before', 'after')
    ]
    return (
        masking.MASK in (change['before'], change['after'])
        or masking.MASK in json.dumps(parts)
        or 'x_password' in place.path
    )


class OriginTestCase(base.TestCase):
    def ask(self, history, place):
        """Ask for a place as the API does."""
        root, *path = place
        data = history.model.data
        recorded_place = recorded_change.RecordedPlace(root, tuple(path))
        if root in machine_history.PORTS:
            recorded_place = recorded_change.RecordedPlace(
                f'port {data[root]["address"]}', tuple(path), f'port {root}'
            )
        if root != 'traits':
            present = recorded_change.look_up(data[root], (), tuple(path))
        elif path[0] in data['traits']:
            present = path[0]
        else:
            present = data_path.ABSENT
        return explain.find(history.runs, recorded_place), present

    def test_who_set_a_value_and_whether_it_still_is_so(self):
        told = collections.Counter()
        for seed in range(COUNT):
            history = machine_history.History(seed)
            places = [
                place
                for place in history.model.places()
                if len(place) > 1 and (place[0] != 'traits' or len(place) == 2)
            ]
            chance = random.Random(seed)
            near = [
                place
                for place in places
                if any(
                    event.rule
                    and written_machine.related(event.place[:-1], place)
                    for event in history.model.events
                )
            ]
            for some in (places, near):
                for place in chance.sample(
                    some, min(len(some), _MOST_PLACES // 2)
                ):
                    told[self.check(seed, history, place)] += 1
        # All of that must have been asked for.
        for answer in (True, False, None, 'none', 'sensitive'):
            self.assertGreater(told[answer], COUNT // 10, told)

    def check(self, seed, history, place):
        events = history.model.events
        finding, present = self.ask(history, place)
        found = finding.setting
        context = (seed, place, finding)
        if is_moved_by_others(events, place):
            # Where its items were then is not recorded.
            return 'moved'
        rules = origins(events, place)
        if found is None:
            self.assertIn(None, rules, context)
            return 'none'
        rule = (
            found.run,
            found.phase,
            found.rule['uuid'],
            'withheld' in found.rule,
        )
        if found.change is None or not is_hidden(found.change, found.place):
            self.assertIn(rule, rules, context)
        if found.change is None:
            return 'sensitive'
        return self.check_current(history, place, found, present, context)

    def check_current(self, history, place, found, present, context):
        current = recorded_change.still_holds(
            found.change, found.place, present
        )
        left = written_machine.get(
            history.ends[found.run],
            place_after(history.model.events, place, found.run),
        )
        now = written_machine.get(history.model.data, place)
        if current is not None:
            self.assertIs(
                written_machine.same(left, now), current, (*context, left, now)
            )
        elif len(data_path.parse(found.change['path'])) <= (
            len(found.place.path)
        ):
            self.assertTrue(is_hidden(found.change, found.place), context)
        return current

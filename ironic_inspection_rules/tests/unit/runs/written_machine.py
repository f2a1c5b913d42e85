# SPDX-License-Identifier: Apache-2.0

"""A model of a machine that rules write to, which remembers who wrote what.

It shares no code with the engine. A place is a tuple: ``node``, ``traits``,
``plugin_data`` or the UUID of a port, and the tokens of a path below it.
"""

import copy
import dataclasses
import typing

ABSENT = '<nothing is there>'
CAPABILITIES = ('node', 'properties', 'capabilities')
DEFAULTS = {
    'extra': {},
    'properties': {},
    'resource_class': None,
    'driver_info': {},
    'description': None,
    'pxe_enabled': True,
}


class Refused(Exception):
    """An action cannot be carried out."""


@dataclasses.dataclass
class Event:
    """A write of a rule, or a change by somebody else if there is no rule.

    ``place`` is where it wrote, with the indexes of items. ``removed`` is the
    place of an item that was removed from a list. ``confirmed``: what it wrote
    was there already.
    """

    rule: typing.Any
    before: dict
    after: dict
    place: tuple
    removed: tuple | None = None
    confirmed: bool = False


def get(machine, place):
    """Return what is at a place, or ABSENT."""
    if place[:3] == CAPABILITIES and len(place) == 4:
        text = get(machine, CAPABILITIES)
        if isinstance(text, str):
            return capabilities(text).get(place[3], ABSENT)
    value = machine
    for token in place:
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif (
            isinstance(value, list)
            and token.isdigit()
            and int(token) < len(value)
        ):
            value = value[int(token)]
        else:
            return ABSENT
    return value


def capabilities(text):
    """Return capabilities by name: ``a:1,b:2`` has two.

    :raises: Refused for what is no text.
    """
    if text == ABSENT or not text:
        return {}
    if not isinstance(text, str):
        raise Refused()
    return dict(pair.split(':') for pair in text.split(','))


def same(one, other):
    """Return whether two values are the same JSON."""
    return repr(sort(one)) == repr(sort(other))


def sort(value):
    """Return a value with its keys in order."""
    if isinstance(value, dict):
        return {key: sort(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [sort(item) for item in value]
    return value


def related(one, other):
    """Return whether one place is, contains or is part of the other."""
    return all(a == b for a, b in zip(one, other, strict=False))


class Machine:
    """The data of a machine, and everything that was written to it.

    :ivar data: node, traits, plugin data and the ports by their UUID.
    """

    def __init__(self, data):
        self.data = copy.deepcopy(data)
        self.events = []

    def _note(self, rule, before, place, **more):
        self.events.append(
            Event(rule, before, copy.deepcopy(self.data), place, **more)
        )

    def set(self, rule, place, value):
        """Set a value; parents that are missing are made."""
        before = copy.deepcopy(self.data)
        known = get(self.data, place)
        if known is not ABSENT and same(known, value):
            self._note(rule, before, place, confirmed=True)
            return
        where = []
        self._assign(self.data, place, copy.deepcopy(value), where)
        self._note(rule, before, tuple(where))

    def _assign(self, parent, place, value, where):
        """Set a value below a parent, by the rest of its place.

        :param where: gets the tokens of the place, with the index of an item
            that was appended.
        """
        token, *rest = place
        if isinstance(parent, list):
            if token == '-':
                token = str(len(parent))
            if not token.isdigit() or int(token) > len(parent):
                raise Refused()
            where.append(token)
            position = int(token)
            if position == len(parent):
                parent.append(None)
        elif isinstance(parent, dict):
            where.append(token)
            position = token
        else:
            raise Refused()
        if not rest:
            parent[position] = value
            return
        if isinstance(parent, dict):
            inner = parent.get(position)
        else:
            inner = parent[position]
        if inner is None:
            inner = {}
            if rest[0] == '-':
                inner = []
            parent[position] = inner
        self._assign(inner, rest, value, where)

    def extend(self, rule, place, value, unique):
        """Append to a list, which is made if there is none."""
        items = get(self.data, place)
        if items in (ABSENT, None):
            items = []
        if not isinstance(items, list):
            raise Refused()
        if unique and any(same(item, value) for item in items):
            return
        before = copy.deepcopy(self.data)
        where = []
        self._assign(self.data, place, [*items, copy.deepcopy(value)], where)
        self._note(rule, before, (*where, str(len(items))))

    def unset(self, rule, place):
        """Remove a value, if there is one."""
        if get(self.data, place) is ABSENT:
            return
        before = copy.deepcopy(self.data)
        parent = get(self.data, place[:-1])
        if isinstance(parent, list):
            del parent[int(place[-1])]
            self._note(rule, before, place, removed=place)
        else:
            del parent[place[-1]]
            self._note(rule, before, place)

    def delete(self, rule, place):
        """Remove a value in an attribute, or set the attribute's default."""
        if len(place) == 2:
            self.set(rule, place, DEFAULTS[place[1]])
        else:
            self.unset(rule, place)

    def discard(self, rule, place, value):
        """Remove the last item of a list that is the same."""
        items = get(self.data, place)
        if isinstance(items, list):
            for number in reversed(range(len(items))):
                if same(items[number], value):
                    self.unset(rule, (*place, str(number)))
                    return

    def set_capability(self, rule, name, value):
        """Set a capability, or remove it if the value is ABSENT."""
        text = get(self.data, CAPABILITIES)
        known = capabilities(text)
        if value is ABSENT and name not in known:
            return
        changed = {**known, name: value}
        if value is ABSENT:
            del changed[name]
        if not changed:
            self.unset(rule, CAPABILITIES)
            return
        new_text = ','.join(f'{key}:{text}' for key, text in changed.items())
        before = copy.deepcopy(self.data)
        if new_text == text:
            self._note(rule, before, (*CAPABILITIES, name), confirmed=True)
            return
        self._assign(self.data, CAPABILITIES, new_text, [])
        self._note(rule, before, (*CAPABILITIES, name))

    def set_traits(self, rule, names, confirmed=()):
        """Replace the traits."""
        for name in confirmed:
            if name in self.data['traits']:
                self._note(
                    rule,
                    copy.deepcopy(self.data),
                    ('traits', name),
                    confirmed=True,
                )
        for name in sorted(set(self.data['traits']) ^ set(names)):
            before = copy.deepcopy(self.data)
            if name in names:
                self.data['traits'][name] = True
            else:
                del self.data['traits'][name]
            self._note(rule, before, ('traits', name))

    def places(self):
        """Return every place that there ever was, with one below it.

        The one below, ``z``, is a place where nothing ever was.
        """
        places = set()
        for machine in [self.data, *(event.before for event in self.events)]:
            # Places that are still to be looked at, with their values.
            rest = [((root,), machine[root]) for root in machine]
            while rest:
                place, value = rest.pop()
                if len(place) > 1:
                    places.add(place)
                places.add((*place, 'z'))
                if isinstance(value, dict):
                    rest += [
                        ((*place, key), child) for key, child in value.items()
                    ]
                elif isinstance(value, list):
                    # Behind the last item.
                    places.add((*place, str(len(value))))
                    rest += [
                        ((*place, str(index)), item)
                        for index, item in enumerate(value)
                    ]
        for name in ('a', 'b', 'c'):
            places.add((*CAPABILITIES, name))
        return sorted(places)

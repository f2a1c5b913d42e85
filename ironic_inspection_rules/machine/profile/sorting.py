# SPDX-License-Identifier: Apache-2.0

"""How the parts of machines are put into sorts that rules count."""

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Sequence
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine.profile import component
from ironic_inspection_rules.machine.profile import sort
from ironic_inspection_rules.machine.profile import tolerance

_SIZE = 'size'
_MOST_NAMES = 3

Key = tuple[typing.Any, ...]
"""The attributes of a part, in the order of those that are used."""


def sorts(known: component.Parts, listed: Sequence[Sequence[sort.Item]],
          tolerated: tolerance.Tolerance) -> list[sort.Sort]:
    """Tell the sorts of parts that some machines have.

    What all machines have is a sort as it is. Of what only some of them
    have, one sort is made that accepts the parts of each.

    :param listed: the parts of each machine.
    """
    used = [name for name in known.attributes
            if any(item.get(name) not in (None, '')
                   for items in listed for item in items)]
    keys = [list(dict.fromkeys(_key(item, used) for item in items))
            for items in listed]
    seen = list(dict.fromkeys(key for each in keys for key in each))
    groups = [[key] for key in seen if all(key in each for each in keys)]
    together: dict[Hashable, list[Key]] = {}
    for key in seen:
        if [key] not in groups:
            together.setdefault(tuple(
                value for name, value in zip(used, key, strict=True)
                if name in known.together), []).append(key)
    return _without_overlaps(known, used, [*groups, *together.values()],
                             tolerated)


def _key(item: sort.Item, used: Iterable[str]) -> Key:
    values = (item.get(name) for name in used)
    return tuple(value if isinstance(value, str | int | float) else None
                 for value in values)


def _without_overlaps(known: component.Parts, used: Sequence[str],
                      groups: Sequence[list[Key]],
                      tolerated: tolerance.Tolerance) -> list[sort.Sort]:
    """Make sorts of groups, one of those that only differ within a range."""
    made: list[tuple[list[Key], sort.Sort]] = []
    for group in groups:
        new = _sort(known, used, group, tolerated)
        for place, (others, other) in enumerate(made):
            if _overlap(new, other):
                merged = others + group
                made[place] = merged, _sort(known, used, merged, tolerated)
                break
        else:
            made.append((group, new))
    if len(made) < len(groups):
        return _without_overlaps(known, used, [keys for keys, _each in made],
                                 tolerated)
    return [each for _keys, each in made]


def _overlap(one: sort.Sort, other: sort.Sort) -> bool:
    first, second = one.tests.get(_SIZE), other.tests.get(_SIZE)
    return (isinstance(first, sort.Between)
            and isinstance(second, sort.Between)
            and first.low <= second.high and second.low <= first.high
            and {**one.tests, _SIZE: None} == {**other.tests, _SIZE: None})


def _sort(known: component.Parts, used: Sequence[str],
          group: Sequence[Key], tolerated: tolerance.Tolerance) -> sort.Sort:
    tests: dict[str, sort.OneOf | sort.Between] = {}
    shown: dict[str, typing.Any] = {}
    for place, name in enumerate(used):
        values = tuple(dict.fromkeys(key[place] for key in group))
        if name == _SIZE and all(map(sort.is_number, values)) and (
                known.component in tolerated.observed):
            tests[name] = sort.OneOf(values)
            shown[name] = _names([_bytes(each) for each in sorted(values)])
        elif name == _SIZE and all(map(sort.is_number, values)):
            tests[name] = sort.Between(*tolerated.size(
                known.component, min(values), max(values)))
            shown[name] = _range(*(_bytes(each) for each in
                                   (min(values), max(values))))
        elif len(values) == 1 or None not in values:
            tests[name] = sort.OneOf(values)
            shown[name] = values[0] if len(values) == 1 else _names(values)
    return sort.Sort(tests, known.label(shown))


def _range(low: str, high: str) -> str:
    return low if low == high else _('%(low)s to %(high)s') % {
        'low': low, 'high': high}


def _names(values: Sequence[typing.Any]) -> str:
    if len(values) > _MOST_NAMES:
        return _('%d kinds') % len(values)
    return _(' or ').join(str(value) for value in values)


def _bytes(size: float) -> str:
    """Write a size as those who sell disks do."""
    for unit in ('B', 'kB', 'MB', 'GB'):
        if size < 999.5:
            return f'{size:.3g} {unit}'
        size /= 1000
    return f'{size:.3g} TB' if size < 999.5 else f'{size:.0f} TB'

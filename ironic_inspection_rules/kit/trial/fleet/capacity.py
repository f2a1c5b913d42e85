# SPDX-License-Identifier: Apache-2.0

"""The numbers of nodes that can take flavors, before and after rules.

What a node offers is what ``update_provider_tree`` of ``nova.virt.ironic``
reports of it to Placement: one unit of its resource class, and its traits.
"""

from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

from ironic_inspection_rules.kit.trial.fleet import flavor

FIELDS = ('resource_class', 'traits', 'provision_state', 'instance_uuid',
          'maintenance', 'retired', 'power_state')
"""Fields of a node that decide."""

FREE = 'free'
IN_USE = 'in_use'

_CHANGED = ('resource_class', 'maintenance', 'retired')
_TRAIT = 'traits'
_FAILED = 'failed'

Plain = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class _Offer:
    """What a node offers to Placement; ``use`` is None out of service."""

    resource_class: str | None
    traits: frozenset[str]
    use: str | None

    def serves(self, wanted: flavor.Flavor) -> bool:
        return self.use is not None and wanted.fits(self.resource_class,
                                                    self.traits)


class Capacity:
    """Counts the nodes that can take flavors, node by node.

    A node whose inspection would fail can take none afterwards, nor one that
    rules put into maintenance. What a sensitive rule sets is withheld, and
    does not count.
    """

    def __init__(self, flavors: Iterable[flavor.Flavor]) -> None:
        self._found: list[tuple[flavor.Flavor, dict[str, Any]]] = [(each, {
            'before': {FREE: 0, IN_USE: 0}, 'after': {FREE: 0, IN_USE: 0},
            'lost': [], 'gained': []}) for each in flavors]

    def add(self, entry: Plain, node: Plain) -> None:
        """Count a node.

        :param entry: the answer for it, of an evaluation that does not
            compare.
        :param node: as it is, with :data:`FIELDS`, ``uuid`` and ``name``.
        """
        before = _offer(node)
        after, by = _afterwards(entry, node)
        for wanted, numbers in self._found:
            could, can = before.serves(wanted), after.serves(wanted)
            if could:
                numbers['before'][before.use] += 1
            if can:
                numbers['after'][after.use] += 1
            if could == can:
                continue
            shown = {'uuid': node['uuid'], 'name': node['name'],
                     'use': before.use if could else after.use,
                     'rules': _reasons(wanted, after if could else before, by)}
            numbers['lost' if could else 'gained'].append(shown)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the numbers of each flavor as plain JSON data.

        ``loss`` is how many percent of its nodes it loses, 0 if none.
        ``rules`` of a node that is lost or gained are the UUIDs of the rules
        that did it; there are none where a node is so without them.
        """
        found = []
        for wanted, numbers in self._found:
            before = sum(numbers['before'].values())
            lost = max(before - sum(numbers['after'].values()), 0)
            found.append({
                'name': wanted.name, 'problem': wanted.problem,
                'ignored': list(wanted.ignored), **numbers,
                'loss': 100 * lost / before if before else 0.0})
        return found


def _offer(node: Plain) -> _Offer:
    """Return what a node offers.

    A node with an instance is in use, whatever its state. Else it is free
    while it is available, neither in maintenance nor retired nor with an
    error of its power (``_node_resources_unavailable`` of the driver).
    """
    if node.get('instance_uuid'):
        use = IN_USE
    elif (node.get('provision_state') == 'available'
          and node.get('power_state') != 'error'
          and not node.get('maintenance') and not node.get('retired')):
        use = FREE
    else:
        use = None
    return _Offer(flavor.normalize(node.get('resource_class')),
                  frozenset(node.get(_TRAIT) or ()), use)


def _afterwards(entry: Plain, node: Plain) -> tuple[_Offer, dict[str, str]]:
    """Return what a node offers then, and by field the last rule to set it."""
    after = {name: node.get(name) for name in FIELDS}
    traits = set(node.get(_TRAIT) or ())
    by: dict[str, str] = {}
    for change, rule in zip(entry.get('changes') or (),
                            entry.get('changed_by') or (), strict=False):
        name = change['path'][1:]
        removed = change['op'] == 'remove'
        if change['object'] == _TRAIT:
            (traits.discard if removed else traits.add)(name)
        elif change['object'] == 'node' and name in _CHANGED:
            after[name] = None if removed else change['value']
        else:
            continue
        by[name] = rule
    offer = _offer({**after, _TRAIT: traits})
    if entry['result'] == _FAILED:
        by[_FAILED] = (entry.get('failed_by') or {}).get('rule', '')
        offer = dataclasses.replace(offer, use=None)
    return offer, by


def _reasons(wanted: flavor.Flavor, without: _Offer,
             by: Mapping[str, str]) -> list[str]:
    changed = [*_CHANGED[1:], _FAILED] if without.use is None else []
    if without.resource_class != wanted.resource_class:
        changed.append(_CHANGED[0])
    changed += sorted(wanted.required - without.traits)
    changed += sorted(wanted.forbidden & without.traits)
    return list(dict.fromkeys(by[name] for name in changed if by.get(name)))

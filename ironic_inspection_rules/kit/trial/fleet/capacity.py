# SPDX-License-Identifier: Apache-2.0

"""The numbers of nodes that can take Nova's flavors, before and after rules.

What a node offers is what ``update_provider_tree`` of ``nova.virt.ironic``
reports of it to Placement: one unit of its resource class, and its traits.
"""

from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

from ironic_inspection_rules.kit.trial.fleet import flavor

FIELDS = (
    'resource_class',
    'traits',
    'provision_state',
    'instance_uuid',
    'maintenance',
    'retired',
    'power_state',
)
"""Fields of a node that decide whether it can take a flavor."""

FREE = 'free'
IN_USE = 'in_use'

_RESOURCE_CLASS = 'resource_class'
_OUT_OF_SERVICE = ('maintenance', 'retired')
_CHANGED_FIELDS = (_RESOURCE_CLASS, *_OUT_OF_SERVICE)
"""The fields of a node that rules change, beside its traits."""

_TRAIT = 'traits'
_FAILED = 'failed'

Plain = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class _Offer:
    """What a node offers to Placement: its resource class and its traits.

    :ivar use: :data:`FREE` or :data:`IN_USE`; None out of service.
    """

    resource_class: str | None
    traits: frozenset[str]
    use: str | None

    def serves(self, wanted: flavor.Flavor) -> bool:
        """Return whether a node with the offer can take a flavor.

        A node in use counts, too: it can do so when it is free again. A node
        out of service, such as one in maintenance, cannot.
        """
        is_in_service = self.use is not None
        if not is_in_service:
            return False
        return wanted.fits(self.resource_class, self.traits)


class Capacity:
    """Counts the nodes that can take flavors, node by node.

    A node whose inspection would fail can take no flavor afterwards, and no
    node that rules put into maintenance can. What a sensitive rule sets is
    withheld, and does not count.
    """

    def __init__(self, flavors: Iterable[flavor.Flavor]) -> None:
        self._counts = [_Counts(wanted) for wanted in flavors]

    def add(self, entry: Plain, node: Plain) -> None:
        """Count a node for all flavors, before and after the rules.

        :param entry: the answer for the node, of a dry run that does not
            compare: what the rules would change, and whether they would fail
            its inspection.
        :param node: the node before the rules, with :data:`FIELDS`, ``uuid``
            and ``name``.
        """
        before = _offer_of(node)
        # With the rules that changed what the node offers, by what they
        # changed, such as the name of a trait.
        after, rule_by_name = _offer_after_rules(entry, node)
        for counts in self._counts:
            counts.add(node, before, after, rule_by_name)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the counts of all flavors as plain JSON data.

        A flavor has its ``name``; the numbers of nodes ``before`` and
        ``after``, by use; ``loss`` in percent; and the nodes that are ``lost``
        or ``gained``. ``rules`` of such a node are the UUIDs of the rules that
        did it.
        """
        return [counts.as_dict() for counts in self._counts]


class _Counts:
    """The nodes that can take one flavor, before and after the rules."""

    def __init__(self, wanted: flavor.Flavor) -> None:
        self._flavor = wanted
        # How many nodes that fit the flavor are free, and in use.
        self._before = {FREE: 0, IN_USE: 0}
        self._after = {FREE: 0, IN_USE: 0}
        # Nodes that fit it only before the rules, and only after them.
        self._lost: list[dict[str, Any]] = []
        self._gained: list[dict[str, Any]] = []

    def add(
        self,
        node: Plain,
        before: _Offer,
        after: _Offer,
        rule_by_name: Mapping[str, str],
    ) -> None:
        """Count a node for the flavor, before and after the rules.

        A node that is lost or gained is listed with the rules that did it.

        :param before: the offer of the node before the rules.
        :param after: the offer of the node after the rules.
        :param rule_by_name: the UUID of the last rule to change something, by
            the name of a field, a trait or :data:`_FAILED`: such as
            ``{'CUSTOM_GPU': UUID, 'maintenance': UUID}``.
        """
        served_before = before.serves(self._flavor)
        serves_after = after.serves(self._flavor)
        # A node that serves a flavor has a use: it is free or in use.
        if served_before and before.use is not None:
            self._before[before.use] += 1
        if serves_after and after.use is not None:
            self._after[after.use] += 1
        listed_node = {'uuid': node['uuid'], 'name': node['name']}
        if served_before and not serves_after:
            rules = _rules_in_the_way(self._flavor, after, rule_by_name)
            self._lost.append(
                {**listed_node, 'use': before.use, 'rules': rules}
            )
        elif serves_after and not served_before:
            # The rules that changed what was in the way before.
            rules = _rules_in_the_way(self._flavor, before, rule_by_name)
            self._gained.append(
                {**listed_node, 'use': after.use, 'rules': rules}
            )

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data.

        ``before`` and ``after`` are the numbers of nodes that can take the
        flavor, by use; ``lost`` and ``gained`` are nodes. ``loss`` is in
        percent of the number before, 0 for a gain.
        """
        count_before = sum(self._before.values())
        count_after = sum(self._after.values())
        loss = 0.0
        if count_before:
            loss = 100 * max(count_before - count_after, 0) / count_before
        return {
            'name': self._flavor.name,
            'problem': self._flavor.problem,
            'ignored': list(self._flavor.ignored),
            'before': self._before,
            'after': self._after,
            'lost': self._lost,
            'gained': self._gained,
            'loss': loss,
        }


def _offer_of(node: Plain) -> _Offer:
    """Return what a node offers to Placement.

    A node with an instance is in use, whatever its state. Else it is free if
    it is available, not in maintenance, not retired, and without power errors
    (``_node_resources_unavailable`` of Nova's driver). Any other node is out
    of service: its ``use`` is None.
    """
    is_available = node.get('provision_state') == 'available'
    has_power_error = node.get('power_state') == 'error'
    is_put_aside = node.get('maintenance') or node.get('retired')
    use = None
    if node.get('instance_uuid'):
        use = IN_USE
    elif is_available and not has_power_error and not is_put_aside:
        use = FREE
    resource_class = flavor.normalize(node.get(_RESOURCE_CLASS))
    traits = frozenset(node.get(_TRAIT) or ())
    return _Offer(resource_class, traits, use)


def _offer_after_rules(
    entry: Plain, node: Plain
) -> tuple[_Offer, dict[str, str]]:
    """Return what a node offers after the rules, and which rules changed it.

    After a rule has made the change ``{'object': 'traits', 'op': 'add',
    'path': '/CUSTOM_GPU'}``, the offer has this trait, and the rules are
    ``{'CUSTOM_GPU': UUID}``.

    :param entry: the answer for the node, of a dry run that does not compare.
    :returns: the offer; and the UUIDs of the last rules to change something,
        by the name of a field, a trait or :data:`_FAILED`.
    """
    node_after = {name: node.get(name) for name in FIELDS}
    traits_after = set(node.get(_TRAIT) or ())
    rule_by_name: dict[str, str] = {}
    changes = entry.get('changes') or ()
    # The UUIDs of the rules that made the changes, in the same order.
    changed_by = entry.get('changed_by') or ()
    for change, rule in zip(changes, changed_by, strict=False):
        # Without the slash: the name of a trait, or of a field of the node.
        name = change['path'][1:]
        is_removed = change['op'] == 'remove'
        if change['object'] == _TRAIT and is_removed:
            traits_after.discard(name)
        elif change['object'] == _TRAIT:
            traits_after.add(name)
        elif change['object'] == 'node' and name in _CHANGED_FIELDS:
            node_after[name] = change['value']
            if is_removed:
                node_after[name] = None
        else:
            # No flavor asks for anything else.
            continue
        rule_by_name[name] = rule
    offer = _offer_of({**node_after, _TRAIT: traits_after})
    if entry['result'] == _FAILED:
        # A node whose inspection fails is out of service.
        failed_by = entry.get('failed_by') or {}
        rule_by_name[_FAILED] = failed_by.get('rule', '')
        offer = dataclasses.replace(offer, use=None)
    return offer, rule_by_name


def _rules_in_the_way(
    wanted: flavor.Flavor, offer: _Offer, rule_by_name: Mapping[str, str]
) -> list[str]:
    """Return the UUIDs of the rules that changed what does not fit a flavor.

    For a node that the flavor loses, these are the rules that made it unfit,
    such as by a forbidden trait; for a node that it gains, those that made it
    fit.

    :param offer: the offer that does not fit: the offer after the rules for a
        lost node, the offer before them for a gained node.
    :param rule_by_name: the UUID of the last rule to change something, by the
        name of a field, a trait or :data:`_FAILED`.
    """
    # Fields and traits by their names, such as "maintenance", "CUSTOM_GPU".
    names_in_the_way: list[str] = []
    if offer.use is None:
        names_in_the_way += [*_OUT_OF_SERVICE, _FAILED]
    if offer.resource_class != wanted.resource_class:
        names_in_the_way.append(_RESOURCE_CLASS)
    names_in_the_way += sorted(wanted.required - offer.traits)
    names_in_the_way += sorted(wanted.forbidden & offer.traits)
    # What no rule has changed cannot be why the node is lost or gained.
    rules = []
    for name in names_in_the_way:
        if rule_by_name.get(name):
            rules.append(rule_by_name[name])
    # Every rule once, the first reason first.
    return list(dict.fromkeys(rules))

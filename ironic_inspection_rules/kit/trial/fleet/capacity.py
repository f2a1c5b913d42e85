# SPDX-License-Identifier: Apache-2.0

"""Count the nodes that can take Nova's flavors, before and after rules.

The offer of a node is what ``update_provider_tree`` of ``nova.virt.ironic``
reports to Placement: one unit of its resource class, and its traits. A node is
``free``, ``in_use`` by an instance, or out of service, e.g. in maintenance.

A dry run of the rules gives an answer per node: the result of the inspection,
the changes of the node, and the rule that made each change::

    {'result': 'ok', 'changed_by': [UUID],
     'changes': [{'object': 'traits', 'op': 'add', 'path': '/CUSTOM_GPU'}]}
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
"""Those of :data:`FIELDS` that rules may change, except the traits."""

_TRAIT = 'traits'
_FAILED = 'failed'

Plain = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class _Offer:
    """The resource class and the traits that a node offers to Placement.

    :ivar use: :data:`FREE` or :data:`IN_USE`; None if the node is out of
        service.
    """

    resource_class: str | None
    traits: frozenset[str]
    use: str | None

    def serves(self, wanted: flavor.Flavor) -> bool:
        """Return whether a node with this offer can take a flavor.

        A node in use counts as well, because it can take the flavor when it is
        free again. A node out of service, e.g. in maintenance, cannot.
        """
        is_in_service = self.use is not None
        if not is_in_service:
            return False
        return wanted.fits(self.resource_class, self.traits)


class Capacity:
    """Count the nodes that can take flavors, node by node.

    A node cannot take any flavor if its inspection would fail, or if it has no
    instance and rules put it into maintenance. Changes by sensitive rules are
    ignored, because the answers do not contain them.
    """

    def __init__(self, flavors: Iterable[flavor.Flavor]) -> None:
        self._counts = [_Counts(wanted) for wanted in flavors]

    def add(self, entry: Plain, node: Plain) -> None:
        """Count a node for all flavors, before and after the rules.

        :param entry: the answer for the node from a dry run without
            comparison: the changes that the rules would make, and whether they
            would fail its inspection.
        :param node: the node before the rules, with :data:`FIELDS`, ``uuid``
            and ``name``.
        """
        if not self._counts:
            # Without flavors, callers also pass the answers of a comparison,
            # which do not name the rules of the changes.
            return
        offer_before = _offer_of(node)
        # rule_by_name has the rules that changed the offer, by the name of the
        # changed field or trait.
        offer_after, rule_by_name = _offer_after_rules(entry, node)
        for counts_of_flavor in self._counts:
            counts_of_flavor.add(node, offer_before, offer_after, rule_by_name)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the counts of all flavors as plain JSON data.

        A flavor has its ``name``, its ``problem`` and its ``ignored`` extra
        specs; the numbers of nodes ``before`` and ``after`` the rules, by use;
        the ``loss`` in percent; and the nodes that are ``lost`` or ``gained``.
        ``rules`` of such a node are the UUIDs of the rules that caused this.
        """
        return [counts.as_dict() for counts in self._counts]


class _Counts:
    """The nodes that can take one flavor, before and after the rules."""

    def __init__(self, wanted: flavor.Flavor) -> None:
        self._flavor = wanted
        # The numbers of nodes that can take the flavor, by use.
        self._before = {FREE: 0, IN_USE: 0}
        self._after = {FREE: 0, IN_USE: 0}
        # Nodes that can take the flavor only before the rules are lost. Nodes
        # that can take it only after the rules are gained.
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

        A lost or gained node is listed with the rules that caused this.

        :param before: the offer of the node before the rules.
        :param after: the offer of the node after the rules.
        :param rule_by_name: the UUID of the last rule that changed something,
            by the name of a field, a trait or :data:`_FAILED`, e.g.
            ``{'CUSTOM_GPU': UUID, 'maintenance': UUID}``.
        """
        served_before = before.serves(self._flavor)
        serves_after = after.serves(self._flavor)
        # A node that serves a flavor is in service, so its use is not None.
        if served_before and before.use is not None:
            self._before[before.use] += 1
        if serves_after and after.use is not None:
            self._after[after.use] += 1
        listed_node = {'uuid': node['uuid'], 'name': node['name']}
        if served_before and not serves_after:
            # These rules set the values that no longer fit.
            rules = _find_causing_rules(self._flavor, after, rule_by_name)
            self._lost.append(
                {**listed_node, 'use': before.use, 'rules': rules}
            )
        elif serves_after and not served_before:
            # These rules changed the values that did not fit before.
            rules = _find_causing_rules(self._flavor, before, rule_by_name)
            self._gained.append(
                {**listed_node, 'use': after.use, 'rules': rules}
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the counts of the flavor as plain JSON data.

        ``before`` and ``after`` are the numbers of nodes that can take the
        flavor, by use, e.g. ``{'free': 3, 'in_use': 1}``. ``lost`` and
        ``gained`` are lists of nodes. ``loss`` is the percentage by which the
        number of nodes decreases; it is 0 if the number increases.
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
    """Return the offer of a node to Placement, and its use.

    * A node with an instance is in use, regardless of its state.
    * Otherwise it is free if it is available, not in maintenance, not retired,
      and has no power error.
    * Any other node is out of service: its ``use`` is None.

    These are the rules of ``_node_resources_unavailable`` and
    ``_node_resources_used`` of Nova's driver.
    """
    is_available = node.get('provision_state') == 'available'
    has_power_error = node.get('power_state') == 'error'
    # In maintenance or retired.
    is_out_of_service = any(node.get(field) for field in _OUT_OF_SERVICE)
    use = None
    if node.get('instance_uuid'):
        use = IN_USE
    elif is_available and not has_power_error and not is_out_of_service:
        use = FREE
    resource_class = flavor.normalize(node.get(_RESOURCE_CLASS))
    traits = frozenset(node.get(_TRAIT) or ())
    return _Offer(resource_class, traits, use)


def _offer_after_rules(
    entry: Plain, node: Plain
) -> tuple[_Offer, dict[str, str]]:
    """Return a node's offer after the rules, and the rules that changed it.

    For example, if a rule makes the change ``{'object': 'traits', 'op': 'add',
    'path': '/CUSTOM_GPU'}``, the offer has this trait, and the rules are
    ``{'CUSTOM_GPU': UUID}``.

    :param entry: the answer for the node from a dry run without comparison,
        with one rule in ``changed_by`` for every change.
    :param node: the node before the rules.
    :returns: the offer; and the UUIDs of the last rules that changed
        something, by the name of a field, a trait or :data:`_FAILED`.
    """
    node_after = {name: node.get(name) for name in FIELDS}
    traits_after = set(node.get(_TRAIT) or ())
    rule_by_name: dict[str, str] = {}
    changes = entry.get('changes') or ()
    # The UUIDs of the rules that made the changes, in the same order.
    changed_by = entry.get('changed_by') or ()
    for change, rule in zip(changes, changed_by, strict=True):
        # The path is a slash and the name of a trait or a field of the node.
        name = change['path'][1:]
        is_removed = change['op'] == 'remove'
        is_of_field = change['object'] == 'node' and name in _CHANGED_FIELDS
        if change['object'] == _TRAIT and is_removed:
            traits_after.discard(name)
        elif change['object'] == _TRAIT:
            traits_after.add(name)
        elif is_of_field and is_removed:
            node_after[name] = None
        elif is_of_field:
            node_after[name] = change['value']
        else:
            # Flavors do not depend on any other data.
            continue
        rule_by_name[name] = rule
    offer = _offer_of({**node_after, _TRAIT: traits_after})
    if entry['result'] == _FAILED:
        # A node whose inspection fails is out of service. The answer may not
        # say which rule failed.
        failed_by = entry.get('failed_by') or {}
        rule_by_name[_FAILED] = failed_by.get('rule', '')
        offer = dataclasses.replace(offer, use=None)
    return offer, rule_by_name


def _find_causing_rules(
    wanted: flavor.Flavor, offer: _Offer, rule_by_name: Mapping[str, str]
) -> list[str]:
    """Return the UUIDs of the rules that cause a node to be lost or gained.

    One of the two offers of the node, before and after the rules, does not fit
    the flavor. The rules that changed the unfit values are the cause. For
    example, a rule that adds a forbidden trait causes a node to be lost, and a
    rule that removes it causes a node to be gained.

    :param wanted: the flavor.
    :param offer: the offer that does not fit: the offer after the rules for a
        lost node, the offer before the rules for a gained node.
    :param rule_by_name: the UUID of the last rule that changed something, by
        the name of a field, a trait or :data:`_FAILED`.
    """
    # The fields and traits that do not fit, e.g. "maintenance", "CUSTOM_GPU".
    unfit_names: list[str] = []
    if offer.use is None:
        # Any of these may be why the node is out of service.
        unfit_names += [*_OUT_OF_SERVICE, _FAILED]
    if offer.resource_class != wanted.resource_class:
        unfit_names.append(_RESOURCE_CLASS)
    missing_traits = wanted.required - offer.traits
    unfit_names += sorted(missing_traits)
    forbidden_traits = wanted.forbidden & offer.traits
    unfit_names += sorted(forbidden_traits)
    # A value that no rule has changed cannot be the cause.
    rules = []
    for name in unfit_names:
        if rule_by_name.get(name):
            rules.append(rule_by_name[name])
    # A rule may have changed several values, but is returned once.
    return list(dict.fromkeys(rules))

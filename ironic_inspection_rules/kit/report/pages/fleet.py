# SPDX-License-Identifier: Apache-2.0

"""Builds the page of evaluate --nodes: what rules would do to a fleet."""

import typing

from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial.fleet import summary

_ASSETS = (
    'fleet.css',
    'fleet_model.js',
    'fleet_tables.js',
    'fleet_capacity.js',
    'fleet_choices.js',
    'fleet_matters.js',
    'fleet_pictures.js',
    'fleet_map.js',
    'fleet.js',
)
# This number stands for a missing value, because the script of the page reads
# it that way.
_NO_NUMBER = -1

JsonObject = typing.Mapping[str, typing.Any]


def render(fleet: JsonObject) -> str:
    """Return an HTML page that shows what rules do to the nodes of a fleet.

    :param fleet: ``title``; ``made``, a time; ``compared``, whether
        ``changes`` are differences from the rules in force; ``filters``;
        ``rules`` with ``uuid``, ``description``, ``phase``, ``priority``
        and ``mode``; ``nodes`` in the form in which
        ``POST /v1/inspection_rules/evaluate`` returns them, with their
        current ``traits`` and ``resource_class``; and ``capacity`` if flavors
        were given.
    """
    return shell.render(str(fleet['title']), _ASSETS, _PackedFleet(fleet).data)


class _PackedNode(typing.NamedTuple):
    """One node in the data of the page.

    JSON has it as a list, so the script of the page must read the fields in
    the same order. Most numbers refer to values that the page has only once;
    -1 means that there is no value.

    :ivar result: ``ok``; ``failed`` by an action ``fail``; ``error`` if a rule
        had an error; or ``untried`` if the node could not be evaluated.
    :ivar matched: the number of the set of rules that match.
    :ivar audited: the number of the set of rules in mode ``audit`` that match.
    :ivar changes: the number of the list of changes.
    :ivar differs: 1 if the rules in force do something else to the node. If
        nothing is compared, 1 if anything would change.
    :ivar invalid: 1 if the instance of the node would no longer validate.
    """

    uuid: str
    name: str | None
    result: str
    error: int
    matched: int
    audited: int
    changes: int
    differs: int
    invalid: int
    result_in_force: str | None
    error_in_force: int
    traits: int
    resource_class: int


class _PackedFleet:
    """The data of the page of a fleet, which stores equal values only once.

    Wherever a value is used, the data has its number in the list of values.
    For example, if two nodes get the same attribute::

        {'nodes': […, …],  # Both have 0 as the number of their changes.
         'outcomes': [(0,)],
         'changes': [(1, 2, 3, 0, -1)],
         'texts': ['"r1"', 'node', 'add', '/extra/rack'], …}
    """

    def __init__(self, fleet: JsonObject) -> None:
        """Pack a fleet into ``data``, which becomes the JSON of the page.

        :param fleet: see :func:`render`.
        """
        self._compared = bool(fleet.get('compared'))
        # Texts: messages, JSON of values, paths, names of traits.
        self._texts = shell.DistinctValues()
        # Every change is a tuple of numbers of texts.
        self._changes = shell.DistinctValues()
        # All changes of a node are a tuple of numbers of changes.
        self._outcomes = shell.DistinctValues()
        # A set of matching rules is a sorted tuple of numbers of rules.
        self._matches = shell.DistinctValues()
        # The traits of a node are a sorted tuple of numbers of texts.
        self._traits = shell.DistinctValues()
        # These are UUIDs. The listed rules are added first and in order,
        # because the number of a rule must be its index in the list "rules" of
        # the page.
        self._rules = shell.DistinctValues()
        # The descriptions of rules, by UUID.
        self._names = {}
        for rule in fleet['rules']:
            self._rules.number_of(rule['uuid'])
            self._names[rule['uuid']] = rule.get('description')
        self.data = self._pack(fleet)

    def _pack(self, fleet: JsonObject) -> dict[str, typing.Any]:
        """Build the data of a fleet, and number its values."""
        # Pack nodes and flavors first, because they fill the lists of values.
        nodes = []
        place_by_uuid = {}
        for place, node in enumerate(fleet['nodes']):
            nodes.append(self._pack_node(node))
            place_by_uuid[node['uuid']] = place
        capacity = [
            self._pack_flavor(flavor, place_by_uuid)
            for flavor in fleet.get('capacity') or ()
        ]
        # Nodes may refer to rules that are not listed, e.g. deleted rules.
        # Their numbers follow the numbers of the listed rules.
        listed_rules = [dict(rule) for rule in fleet['rules']]
        unlisted_uuids = self._rules.values[len(listed_rules) :]
        unlisted_rules = [{'uuid': uuid} for uuid in unlisted_uuids]
        return {
            'title': fleet.get('title'),
            'made': fleet.get('made'),
            'compared': fleet.get('compared'),
            'filters': fleet.get('filters'),
            'rules': listed_rules + unlisted_rules,
            'nodes': nodes,
            'capacity': capacity,
            'changes': self._changes.values,
            'outcomes': self._outcomes.values,
            'matches': self._matches.values,
            'traits': self._traits.values,
            'texts': self._texts.values,
        }

    def _pack_node(self, node: JsonObject) -> _PackedNode:
        """Pack a node, with numbers for values that it may share with others.

        :param node: a node as :func:`render` takes it.
        """
        # Only a comparison with the rules in force has their result.
        in_force = node.get('in_force') or {}
        changes = tuple(
            self._number_change(change) for change in node.get('changes') or ()
        )
        # Skip rules that do not match, because the audit also lists them.
        audited = [
            rule['uuid']
            for rule in node.get('audit') or ()
            if rule.get('matched', True)
        ]
        traits = sorted(
            self._texts.number_of(name) for name in node.get('traits') or ()
        )
        # A comparison with the rules in force says "differs". Without one, a
        # node differs if anything would change.
        differs = node.get('differs', changes)
        invalid = summary.validation_newly_fails(node, self._compared)
        return _PackedNode(
            uuid=node['uuid'] or '',
            name=node.get('name'),
            result=_result_on_page(node),
            error=self._number_message(node.get('error')),
            matched=self._number_rule_set(node.get('matched') or ()),
            audited=self._number_rule_set(audited),
            changes=self._outcomes.number_of(changes),
            differs=int(bool(differs)),
            invalid=int(invalid),
            result_in_force=in_force.get('result'),
            error_in_force=self._number_message(in_force.get('error')),
            traits=self._traits.number_of(tuple(traits)),
            resource_class=self._number_text(node.get('resource_class')),
        )

    def _pack_flavor(
        self, flavor: JsonObject, place_by_uuid: typing.Mapping[str, int]
    ) -> dict[str, typing.Any]:
        """Pack a flavor with the nodes that it loses, and the rules to blame.

        A lost node is packed as its place in the list of nodes and the numbers
        of the rules, e.g. ``(7, (0, 2))``.

        :param place_by_uuid: the places of nodes in the list of the page.
        """
        lost = []
        for node in flavor['lost']:
            rules = tuple(
                self._rules.number_of(uuid) for uuid in node['rules']
            )
            lost.append((place_by_uuid[node['uuid']], rules))
        return {
            'name': flavor['name'],
            'problem': flavor['problem'],
            'before': flavor['before'],
            'after': flavor['after'],
            'loss': flavor['loss'],
            'gained': len(flavor['gained']),
            'lost': lost,
        }

    def _number_change(self, change: JsonObject) -> int:
        """Return the number of a change.

        The list of changes has it as ``(object, op, path, value, before)``,
        which are numbers of texts. ``value`` and ``before`` refer to JSON
        text. ``value`` is -1 if the change removes the value, and ``before``
        is -1 if the change adds it.
        """
        value = _NO_NUMBER
        if change['op'] != 'remove' and 'value' in change:
            value = self._number_json(change['value'])
        before = _NO_NUMBER
        if change['op'] != 'add' and 'before' in change:
            before = self._number_json(change['before'])
        changed_object = self._texts.number_of(change['object'])
        op = self._texts.number_of(change['op'])
        path = self._texts.number_of(change['path'])
        return self._changes.number_of(
            (changed_object, op, path, value, before)
        )

    def _number_json(self, value: typing.Any) -> int:
        """Return the number of the JSON text of a value."""
        # Sort keys so that equal mappings have equal texts.
        return self._texts.number_of(shell.dump_json(value, sort_keys=True))

    def _number_rule_set(self, uuids: typing.Iterable[str]) -> int:
        """Return the number of a set of rules, given by their UUIDs."""
        rules = sorted(self._rules.number_of(uuid) for uuid in uuids)
        return self._matches.number_of(tuple(rules))

    def _number_message(self, text: str | None) -> int:
        """Return the number of a message, with rules named by description."""
        if text is not None:
            text = shell.with_rule_names(text, self._names)
        return self._number_text(text)

    def _number_text(self, text: str | None) -> int:
        """Return the number of a text, or -1 if there is no text."""
        if text is None:
            return _NO_NUMBER
        return self._texts.number_of(text)


def _result_on_page(node: JsonObject) -> str:
    """Return the result of a node in the words of :class:`_PackedNode`.

    The API calls the result ``error`` if a node could not be evaluated. The
    page calls it ``untried``, because ``error`` means that a rule had an error
    there.
    """
    if node['result'] == summary.NOT_TRIED:
        return 'untried'
    failed_by = node.get('failed_by') or {}
    if failed_by.get('kind') == 'error':
        return 'error'
    return str(node['result'])

# SPDX-License-Identifier: Apache-2.0

"""Builds the page of ``evaluate --nodes``: what rules would do to a fleet.

A fleet may have many thousand nodes, but most nodes have equal values, e.g.
the same traits. The data of the page have every value only once, in a list.
Wherever the value is used, the data have its *number*, which is its index in
the list. For example, the name ``CUSTOM_GPU`` may be text 7. A tuple of such
numbers, e.g. the traits of a node, is again a value with a number.

Replacing values by numbers is called *packing*. The script of the page reads
the packed data.
"""

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
_NO_NUMBER = -1
"""The number of a missing value. The script of the page depends on it."""

JsonObject = typing.Mapping[str, typing.Any]


def render(fleet: JsonObject) -> str:
    """Return an HTML page that shows what rules do to the nodes of a fleet.

    :param fleet: a mapping with

        - ``title`` of the page, and ``made``, the time of the evaluation,
        - ``compared``: True if the changes are differences from the rules in
          force, which are the rules that Ironic has,
        - ``filters`` that chose the nodes,
        - ``rules`` with ``uuid``, ``description``, ``phase``, ``priority``
          and ``mode``,
        - ``nodes`` in the form in which ``POST
          /v1/inspection_rules/evaluate`` returns them, with their current
          ``traits`` and ``resource_class``,
        - ``capacity`` by flavor, if flavors were given.
    """
    packed_fleet = _PackedFleet(fleet)
    return shell.render(str(fleet['title']), _ASSETS, packed_fleet.data)


class _PackedNode(typing.NamedTuple):
    """One node in the data of the page.

    In JSON it is a list without names, so the script of the page reads the
    fields in this order. An integer is the number of a value, unless it is
    described below. The number -1 means that there is no value.

    :ivar result: ``ok``; ``failed`` by an action ``fail``; ``error`` if a rule
        had an error; or ``untried`` if the node could not be evaluated.
    :ivar error: the number of the error message.
    :ivar matched: the number of the set of rules that match.
    :ivar audited: the number of the set of rules in mode ``audit`` that match.
    :ivar changes: the number of the tuple of changes.
    :ivar differs: 1 if the rules in force do something else to the node. If
        nothing is compared, 1 if anything would change. Otherwise 0.
    :ivar invalid: 1 if the instance of the node would no longer validate,
        otherwise 0.
    :ivar result_in_force: the result with the rules in force; None if nothing
        is compared.
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
    """The data of the page of a fleet, in which equal values have one number.

    For example, rules set the same rack on two nodes::

        {'nodes': […, …],                 # Both nodes have outcome 0.
         'outcomes': [(0,)],              # Outcome 0 is change 0 only.
         'changes': [(1, 2, 3, 0, -1)],   # Change 0: node, add, /extra/rack,
                                          # "r1", and no value before.
         'texts': ['"r1"', 'node', 'add', '/extra/rack'], …}
    """

    def __init__(self, fleet: JsonObject) -> None:
        """Pack a fleet into ``data``, which becomes the JSON of the page.

        :param fleet: see :func:`render`.
        """
        self._is_compared = bool(fleet.get('compared'))
        # Every list below gives a number to a value that is new to it.
        # Texts: messages, JSON of values, paths, names of traits.
        self._texts = shell.DistinctValues()
        # A change is a tuple of numbers of texts.
        self._changes = shell.DistinctValues()
        # The outcome of a node, i.e. all of its changes, is a tuple of numbers
        # of changes.
        self._outcomes = shell.DistinctValues()
        # A set of matching rules is a sorted tuple of numbers of rules.
        self._matches = shell.DistinctValues()
        # The traits of a node are a sorted tuple of numbers of texts.
        self._traits = shell.DistinctValues()
        # The UUIDs of rules.
        self._rules = shell.DistinctValues()
        # The descriptions of rules, by UUID.
        self._description_by_uuid = {}
        for rule in fleet['rules']:
            # Number the rules here, in their order: the number of a rule must
            # be its index in the list "rules" of the page.
            self._rules.number_of(rule['uuid'])
            self._description_by_uuid[rule['uuid']] = rule.get('description')
        self.data = self._pack(fleet)

    def _pack(self, fleet: JsonObject) -> dict[str, typing.Any]:
        """Build the data of a fleet, and number its values.

        :param fleet: see :func:`render`.
        """
        # Pack nodes and flavors first, because this fills the lists of values
        # that are read below.
        packed_nodes = []
        index_by_uuid = {}
        for index, node in enumerate(fleet['nodes']):
            packed_nodes.append(self._pack_node(node))
            index_by_uuid[node['uuid']] = index
        packed_flavors = [
            self._pack_flavor(flavor, index_by_uuid)
            for flavor in fleet.get('capacity') or ()
        ]
        # Nodes may refer to rules that are not listed, e.g. deleted rules.
        # They were numbered later, so their UUIDs follow the listed rules.
        listed_rules = [dict(rule) for rule in fleet['rules']]
        unlisted_uuids = self._rules.values[len(listed_rules) :]
        unlisted_rules = [{'uuid': uuid} for uuid in unlisted_uuids]
        return {
            'title': fleet.get('title'),
            'made': fleet.get('made'),
            'compared': fleet.get('compared'),
            'filters': fleet.get('filters'),
            'rules': listed_rules + unlisted_rules,
            'nodes': packed_nodes,
            'capacity': packed_flavors,
            'changes': self._changes.values,
            'outcomes': self._outcomes.values,
            'matches': self._matches.values,
            'traits': self._traits.values,
            'texts': self._texts.values,
        }

    def _pack_node(self, node: JsonObject) -> _PackedNode:
        """Pack a node, with numbers for values that other nodes may share.

        :param node: an item of ``nodes``, see :func:`render`.
        """
        # A node has "in_force" only if rules are compared with those in force.
        in_force = node.get('in_force') or {}
        changes = tuple(
            self._number_change(change) for change in node.get('changes') or ()
        )
        # The audit also lists rules that do not match.
        audited = [
            rule['uuid']
            for rule in node.get('audit') or ()
            if rule.get('matched', True)
        ]
        traits = sorted(
            self._texts.number_of(name) for name in node.get('traits') or ()
        )
        # A node has "differs" only if rules are compared. Otherwise, it
        # differs if there are any changes.
        differs = bool(node.get('differs', changes))
        is_invalid = summary.validation_newly_fails(node, self._is_compared)
        return _PackedNode(
            uuid=node['uuid'] or '',
            name=node.get('name'),
            result=_result_on_page(node),
            error=self._number_message(node.get('error')),
            matched=self._number_rule_set(node.get('matched') or ()),
            audited=self._number_rule_set(audited),
            changes=self._outcomes.number_of(changes),
            differs=int(differs),
            invalid=int(is_invalid),
            result_in_force=in_force.get('result'),
            error_in_force=self._number_message(in_force.get('error')),
            traits=self._traits.number_of(tuple(traits)),
            resource_class=self._number_text(node.get('resource_class')),
        )

    def _pack_flavor(
        self, flavor: JsonObject, index_by_uuid: typing.Mapping[str, int]
    ) -> dict[str, typing.Any]:
        """Pack a flavor, with the nodes that no longer fit it.

        Such a lost node becomes its index in the list of nodes, and the
        numbers of the rules that cause the loss, e.g. ``(7, (0, 2))``.

        :param flavor: an item of ``capacity``, see :func:`render`.
        :param index_by_uuid: the indexes of nodes in the list of the page.
        """
        packed_lost_nodes = []
        for node in flavor['lost']:
            numbers_of_rules = tuple(
                self._rules.number_of(uuid) for uuid in node['rules']
            )
            index = index_by_uuid[node['uuid']]
            packed_lost_nodes.append((index, numbers_of_rules))
        return {
            'name': flavor['name'],
            'problem': flavor['problem'],
            'before': flavor['before'],
            'after': flavor['after'],
            'loss': flavor['loss'],
            'gained': len(flavor['gained']),
            'lost': packed_lost_nodes,
        }

    def _number_change(self, change: JsonObject) -> int:
        """Return the number of a change.

        The list of changes has the tuple ``(object, op, path, value, before)``
        of numbers of texts. The texts of ``value`` and ``before`` are JSON.

        - A change that adds a value has no ``before``, so its number is -1.
        - A change that removes a value has no ``value``, so its number is -1.
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
            text = shell.with_rule_names(text, self._description_by_uuid)
        return self._number_text(text)

    def _number_text(self, text: str | None) -> int:
        """Return the number of a text, or -1 if there is no text."""
        if text is None:
            return _NO_NUMBER
        return self._texts.number_of(text)


def _result_on_page(node: JsonObject) -> str:
    """Return the result of a node in the words of the page.

    - ``untried`` if the node could not be evaluated, which the API calls
      ``error``,
    - ``error`` if a rule had an error, which the API calls ``failed``,
    - otherwise the result of the API: ``ok``, or ``failed`` by an action.
    """
    if node['result'] == summary.NOT_TRIED:
        return 'untried'
    # What failed the inspection: an action, or an error of a rule.
    failed_by = node.get('failed_by') or {}
    if failed_by.get('kind') == 'error':
        return 'error'
    return str(node['result'])

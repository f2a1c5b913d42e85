# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Rules tried on machines that are only on paper."""

import dataclasses
import pathlib
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.actions import schema
from ironic_inspection_rules.engine import compiler
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import rehearsal
from ironic_inspection_rules.engine import target as engine_target
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import rulefile
from ironic_inspection_rules.ruleset import document
from ironic_inspection_rules.ruleset import machine
from ironic_inspection_rules.ruleset import repository

Plans = dict[str, list[compiler.Plan]]

_SUFFIXES = ('.json', '.yaml', '.yml')

# What every node has, as Ironic makes it.
_NODE = {name: attribute.default for name, attribute in schema.NODE.items()
         if attribute.default is not ...}


@dataclasses.dataclass(frozen=True)
class Node:
    """The node that every machine is taken for.

    ``ports`` is None where a machine has a port for each interface of its
    inventory.
    """

    fields: dict[str, typing.Any]
    ports: tuple[dict[str, typing.Any], ...] | None = None
    port_groups: tuple[dict[str, typing.Any], ...] = ()


@dataclasses.dataclass(frozen=True)
class Trial:
    """What rules would do to one machine."""

    path: str
    facts: engine_target.Facts
    outcome: rehearsal.Rehearsal

    @property
    def result(self) -> str:
        """``ok``, ``failed`` by a rule, or ``error`` in a rule."""
        if self.outcome.error is None:
            return 'ok'
        return 'failed' if isinstance(
            self.outcome.error, exceptions.RuleFailed) else 'error'

    @property
    def matched(self) -> list[str]:
        """What names the rules that matched."""
        return [title(each.rule) for each in self.outcome.traces
                if each.matched]


def title(rule: model.Rule) -> str:
    """Return the description of a rule, or its UUID if it has none."""
    return rule.description or rule.uuid


def load_rules(paths: typing.Iterable[str],
               ops: registry.Registry) -> list[model.Rule]:
    """Read all rules of some files, in their order.

    :raises: :class:`.exceptions.InvalidDocument` at the first problem, with
        the place of the rule.
    """
    rules: dict[str, model.Rule] = {}
    for path in paths:
        for written in rulefile.load(path):
            try:
                rule = written.parse(ops)
            except exceptions.InvalidRule as exc:
                raise exceptions.InvalidDocument(
                    path, str(exceptions.InvalidRule(exc.problems,
                                                     written.label)),
                    written.place(exc.problems[0].pointer)) from exc
            if rule.uuid in rules:
                raise exceptions.InvalidDocument(
                    path, _('rule %s is there twice') % written.label,
                    written.place())
            rules[rule.uuid] = rule
    return list(rules.values())


def compile_rules(rules: typing.Iterable[model.Rule],
                  ops: registry.Registry) -> Plans:
    """Compile rules, in the order they run in, by phase."""
    plans: Plans = {phase: [] for phase in model.PHASES}
    for rule in repository.order(rules):
        plans[rule.phase].append(compiler.compile_rule(rule, ops))
    return plans


def find_inventories(paths: typing.Iterable[str]) -> list[str]:
    """Return the files that paths name, directly or as directories.

    :raises: :class:`.exceptions.InvalidDocument` where there are none.
    """
    found: list[str] = []
    for path in map(pathlib.Path, paths):
        if not path.is_dir():
            found.append(str(path))
            continue
        inside = sorted(str(each) for each in path.rglob('*')
                        if each.suffix in _SUFFIXES)
        if not inside:
            raise exceptions.InvalidDocument(
                str(path), _('there are no inventories in this directory'))
        found += inside
    return list(dict.fromkeys(found))


def load_node(path: str | None) -> Node:
    """Read a file with a node as Ironic's API shows it.

    :param path: the node alone, or a mapping with ``node`` and perhaps
        ``ports`` and ``port_groups``. Without a file the node is a new one.
    :raises: :class:`.exceptions.InvalidDocument` where it has no node.
    """
    read = document.load_mapping(path) if path else {}
    fields = read.get('node', read)
    lists = {name: read.get(name) for name in ('ports', 'port_groups')
             } if fields is not read else {}
    if not isinstance(fields, dict) or not all(
            each is None or isinstance(each, list)
            for each in lists.values()):
        raise exceptions.InvalidDocument(path or '', _('there is no node'))
    ports = lists.get('ports')
    return Node({**_NODE, 'traits': [], **fields},
                None if ports is None else tuple(ports),
                tuple(lists.get('port_groups') or ()))


def run(path: str, plans: Plans, node: Node, explain: bool = True) -> Trial:
    """Try rules on one machine.

    :param path: file with its inventory, see :mod:`.ruleset.machine`.
    :raises: :class:`.exceptions.InvalidDocument` where it has none.
    """
    read = machine.load(path)
    facts = engine_target.Facts(
        read.inventory, read.plugin_data, node.fields,
        _ports(read.inventory) if node.ports is None else node.ports,
        node.port_groups)
    return Trial(path, facts,
                 rehearsal.rehearse(plans, facts, explain=explain))


def _ports(inventory: dict[str, typing.Any]
           ) -> tuple[dict[str, typing.Any], ...]:
    defaults = {name: attribute.default
                for name, attribute in schema.PORT.items()
                if attribute.default is not ...}
    interfaces = inventory.get('interfaces')
    return tuple({**defaults, 'address': interface['mac_address']}
                 for interface in interfaces
                 if isinstance(interface, dict)
                 and isinstance(interface.get('mac_address'), str)
                 ) if isinstance(interfaces, list) else ()

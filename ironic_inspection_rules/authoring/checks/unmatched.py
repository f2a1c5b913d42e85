# SPDX-License-Identifier: Apache-2.0

"""Rules that none of some machines meets."""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.engine import evaluation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import working_copy
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.trial import machine_test
from ironic_inspection_rules.trial import walk

_NODES = (False, True)
"""Whether a machine was just discovered: the node may be either."""

Broken = tuple[str, tuple[int, int], str]


class Tried(typing.NamedTuple):
    """What trying rules on machines tells.

    :param unmatched: rules that match none, each with a sentence.
    :param broken: files that cannot be read: path, place and reason.
    """

    unmatched: list[tuple[checked_rule.CheckedRule, str]]
    broken: list[Broken]


def check(rules: Sequence[checked_rule.CheckedRule], paths: Sequence[str],
          advance: Callable[[int], typing.Any]) -> Tried:
    """Find rules that match none of the machines, on all processors.

    Each machine is taken for a new node, and for one just discovered; scopes
    do not count. A rule behind one that fails the inspection is tried alone.

    :param paths: files with inventories.
    :param advance: called with the number of machines that were tried.
    """
    tried = [dataclasses.replace(each.rule, scope=None, mode=model.ENFORCE)
             for each in rules if each.rule.mode != model.OFF]
    left = {rule.uuid for rule in tried}
    broken: list[Broken] = []
    for count, (matched, problems) in walk.in_chunks(
            paths, functools.partial(_prepare, tried)):
        left -= matched
        broken += problems
        advance(count)
    count = len(paths) - len(broken)
    message = _P('this rule does not match the inventory',
                 'this rule matches none of the %(count)d inventories',
                 count) % {'count': count}
    return Tried([(rule, message) for rule in rules
                  if count and rule.rule.uuid in left], broken)


def _prepare(rules: Sequence[model.Rule]
             ) -> walk.Work[tuple[set[str], list[Broken]]]:
    ops = registry.installed()
    together = machine_test.compile_rules(rules, ops)
    alone = {rule.uuid: machine_test.compile_rules([rule], ops)
             for rule in rules}
    plain = machine_test.load_node(None)
    nodes = [{**plain.fields, 'auto_discovered': discovered}
             for discovered in _NODES]

    found: set[str] = set()

    def match(paths: Sequence[str]) -> tuple[set[str], list[Broken]]:
        broken: list[Broken] = []
        for path in paths:
            try:
                facts = machine_test.load_facts(path, plain)
            except exceptions.InvalidDocument as exc:
                broken.append((path, exc.place or (1, 1), exc.reason))
                continue
            for node in nodes:
                machine = dataclasses.replace(facts, node=node)
                failed = _note(found, together, machine)
                for uuid in alone.keys() - found if failed else ():
                    _note(found, alone[uuid], machine)
        return found, broken

    return match


def _note(found: set[str], plans: machine_test.Plans,
          machine: working_copy.Facts) -> bool:
    """Add the rules that match; return whether the inspection failed."""
    outcome = evaluation.evaluate(plans, machine, explain=False)
    found.update(each.rule.uuid for each in outcome.traces if each.matched)
    return outcome.error is not None

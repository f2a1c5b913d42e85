# SPDX-License-Identifier: Apache-2.0

"""Rules and actions that inspection does not get to, or no machine meets."""

from collections.abc import Sequence
import dataclasses
import functools
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import exclusion
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.kit.trial import walk
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_set import repository


def check_actions(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find actions behind one that fails the inspection."""
    failing = next(filter(_fails, rule.actions), None)
    if failing is None:
        return
    for action in rule.actions[rule.actions.index(failing) + 1:]:
        yield action.pointer, _(
            'this action is never reached: %s fails the inspection') % (
                file_rule.place_name(failing.pointer))


def check_rules(rules: Sequence[checked_rule.CheckedRule]
                ) -> checked_rule.FoundTogether:
    """Find rules whose conditions an earlier failing rule has too."""
    by_uuid = {each.rule.uuid: each for each in rules}
    failing: list[checked_rule.CheckedRule] = []
    asked = {rule.rule.uuid: {
        exclusion.Claim(each).identity for each in rule.conditions}
        for rule in rules}
    for rule in repository.order(each.rule for each in rules):
        current = by_uuid[rule.uuid]
        earlier = next((each for each in failing
                        if each.rule.phase == rule.phase
                        and each.rule.scope in (None, rule.scope)
                        and asked[each.rule.uuid] <= asked[rule.uuid]), None)
        if earlier:
            yield current, '', _(
                'this rule is never reached: on each machine that meets its '
                'conditions, rule %s fails the inspection before') % (
                    earlier.written.label)
        elif any(map(_fails, current.actions)):
            failing.append(current)


def _fails(action: file_rule.Operation) -> bool:
    return not action.loops and not action.inner and action.op.plugin.FAILS


Broken = tuple[str, tuple[int, int], str]


class Tried(typing.NamedTuple):
    """Result of trying rules on machines.

    :param unmatched: rules that match none, each with a sentence.
    :param broken: files that cannot be read: path, place and reason.
    """

    unmatched: list[tuple[checked_rule.CheckedRule, str]]
    broken: list[Broken]


def check_machines(rules: Sequence[checked_rule.CheckedRule],
                   paths: Sequence[str], advance: walk.Advance,
                   tables: table.Tables = machine_test.NO_TABLES) -> Tried:
    """Find rules that match none of the machines, on all processors.

    Each machine is taken for a new node, and for one just discovered; scopes
    do not count. A rule behind one that fails the inspection is tried alone.

    :param tables: those that the rules read.
    """
    tried = [dataclasses.replace(each.rule, scope=None, mode=model.ENFORCE)
             for each in rules if each.rule.mode != model.OFF]
    left = {rule.uuid for rule in tried}
    broken: list[Broken] = []
    for matched, problems in walk.in_chunks(
            paths, functools.partial(_prepare, tried, tables), advance):
        left -= matched
        broken += problems
    count = len(paths) - len(broken)
    message = _P('this rule does not match the inventory',
                 'this rule matches none of the %(count)d inventories',
                 count) % {'count': count}
    return Tried([(rule, message) for rule in rules
                  if count and rule.rule.uuid in left], broken)


def _prepare(rules: Sequence[model.Rule], tables: table.Tables
             ) -> walk.Work[tuple[set[str], list[Broken]]]:
    together = machine_test.compile_rules(rules, tables=tables)
    alone = {rule.uuid: machine_test.compile_rules([rule], tables=tables)
             for rule in rules}
    plain = machine_test.load_node(None)
    nodes = [{**plain.fields, 'auto_discovered': discovered}
             for discovered in (False, True)]

    found: set[str] = set()

    def fails(plans: machine_test.Plans, machine: working_copy.Facts) -> bool:
        """Add the rules that match; return whether the inspection failed."""
        outcome = evaluation.evaluate(plans, machine, explain=False)
        found.update(each.rule.uuid for each in outcome.traces if each.matched)
        return outcome.error is not None

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
                if fails(together, machine):
                    for uuid in alone.keys() - found:
                        fails(alone[uuid], machine)
        return found, broken

    return match

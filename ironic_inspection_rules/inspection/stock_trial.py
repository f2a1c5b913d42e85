# SPDX-License-Identifier: Apache-2.0

"""Tries whether converted rules do the same as the rules of stock Ironic.

An operator can convert the rules of stock Ironic's own engine to rules of this
project. Before the converted rules are stored, both are run on the data of
known machines: the stock rules in stock Ironic's engine, the converted rules
in this project's engine. The differences between the results are reported.
"""

from collections.abc import Iterator, Mapping, Sequence
import copy
import dataclasses
import functools
import json
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.run import difference
from ironic_inspection_rules.engine.run import evaluation
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import facts as machine_facts
from ironic_inspection_rules.patches import stock_engine

_LONGEST_VALUE = 200
"""Maximum number of characters of a value to print."""


@dataclasses.dataclass(frozen=True)
class TrialMachine:
    """A machine before inspection; node and ports are Ironic's objects."""

    name: str
    node: Any
    ports: Sequence[Any]
    port_groups: Sequence[Any]
    inventory: dict[str, Any]
    plugin_data: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Pair:
    """A rule of stock Ironic, ``stock``, and the rule it was converted to.

    ``ours`` is the converted rule; None if there is none.
    """

    name: str
    stock: Mapping[str, Any]
    ours: model.Rule | None
    mask_secrets: str = 'always'

    @functools.cached_property
    def plan(self) -> compiler.CompiledRule | None:
        """The compiled converted rule; None if it does not run."""
        if self.ours is None or self.ours.mode != model.ENFORCE:
            return None
        return compiler.compile_rule(
            self.ours, registry.installed(), self.mask_secrets
        )


@dataclasses.dataclass(frozen=True)
class TrialDifference:
    """A difference between the effects of both engines on a machine.

    :param rule: the name of the rule that was run alone, or a text that says
        that all rules were run together.
    :param machine: the name of the machine.
    :param what: the difference, as a sentence.
    """

    rule: str
    machine: str
    what: str


def compare(
    context: Any, machine: TrialMachine, pairs: Sequence[Pair]
) -> Iterator[TrialDifference]:
    """Yield the differences between stock and converted rules on a machine.

    First every rule runs alone, so that a difference names its rule. Then all
    rules run together, because a rule may depend on an earlier rule. A
    difference that was already found with one rule is not yielded again.

    :param pairs: pairs in the order in which stock Ironic runs its rules.
    """
    texts_of_single_rules = set()
    for pair in pairs:
        for text in _find_differences(context, machine, [pair]):
            texts_of_single_rules.add(text)
            yield TrialDifference(pair.name, machine.name, text)
    if len(pairs) > 1:
        for text in _find_differences(context, machine, pairs):
            if text not in texts_of_single_rules:
                yield TrialDifference(_('all together'), machine.name, text)


def _find_differences(
    context: Any, machine: TrialMachine, pairs: Sequence[Pair]
) -> Iterator[str]:
    """Run stock rules and converted rules, and yield how the results differ.

    The first text is about the end of the inspection, e.g. ``stock Ironic:
    passes; here: a rule fails it``. The others are about values of the node,
    its ports and its plugin data, e.g. ``node /extra/rack: stock Ironic "r1",
    here "r2"``.

    :param pairs: stock rules with the rules that they were converted to.
    """
    before = _read_facts(machine)
    # Run the converted rules.
    plans = [pair.plan for pair in pairs if pair.plan is not None]
    ours = evaluation.evaluate({model.MAIN: plans}, before, explain=False)
    # Run the stock rules.
    stock_rules = [pair.stock for pair in pairs]
    facts_of_stock, error_of_stock = _run_stock_rules(
        context, machine, stock_rules, before
    )
    # Compare the ends of both inspections.
    end_of_stock = _describe_ending(error_of_stock)
    our_end = _describe_ending(ours.error)
    if end_of_stock != our_end:
        yield _('stock Ironic: %(before)s; here: %(after)s') % {
            'before': end_of_stock,
            'after': our_end,
        }
    if _is_error(error_of_stock):
        # Stock Ironic does not store plugin data after an error, so do not
        # compare plugin data.
        facts_of_stock = dataclasses.replace(
            facts_of_stock, plugin_data=ours.facts.plugin_data
        )
    # Compare the values that both have left.
    differences = difference.between(
        _merge_capabilities(facts_of_stock),
        _merge_capabilities(ours.facts),
        facts_of_stock.ports,
    )
    for change in differences.changes:
        yield _(
            '%(object)s %(path)s: stock Ironic %(before)s, here %(after)s'
        ) % {
            'object': change.object,
            'path': change.path,
            'before': _shorten(change.before),
            'after': _shorten(change.value),
        }


def _run_stock_rules(
    context: Any,
    machine: TrialMachine,
    rules: Sequence[Mapping[str, Any]],
    before: working_copy.Facts,
) -> tuple[working_copy.Facts, Exception | None]:
    """Run rules in the engine of stock Ironic, on a copy of a machine.

    :param rules: rules in the form in which stock Ironic stores them.
    :param before: the facts of the machine before the rules run.
    :returns: the facts after the rules have run, and the error that would fail
        the inspection, or None.
    """
    task = stock_engine.Task.of(
        context, machine.node, machine.ports, (before.node or {})['traits']
    )
    plugin_data = copy.deepcopy(machine.plugin_data)
    error = stock_engine.run(
        rules, task, copy.deepcopy(machine.inventory), plugin_data
    )
    after = _read_facts(
        dataclasses.replace(
            machine,
            node=task.node,
            ports=task.ports,
            plugin_data=stock_engine.as_plain_data(plugin_data),
        )
    )
    # The task collects the traits apart from its node.
    node = {**(after.node or {}), 'traits': task.traits}
    return dataclasses.replace(after, node=node), error


def _read_facts(machine: TrialMachine) -> working_copy.Facts:
    """Return the data of a machine that rules of this project can read."""
    return machine_facts.build_for_node(
        machine.node,
        machine.ports,
        machine.port_groups,
        machine.inventory,
        machine.plugin_data,
    )


def _merge_capabilities(
    facts: working_copy.Facts,
) -> working_copy.Facts:
    """Return facts in which every capability of the node has one value.

    Ironic stores capabilities as text in ``properties``. Stock Ironic appends
    a capability even if its name already exists, and the last value counts, so
    ``a:1,b:2,a:3`` means the same as ``a:3,b:2``. An empty text means the same
    as no text. The two texts must not count as a difference.
    """
    node = facts.node or {}
    properties = node.get('properties') or {}
    text = properties.get('capabilities')
    if not isinstance(text, str):
        return facts
    last_values = {}
    for pair in text.split(','):
        if pair.strip():
            name, _colon, value = pair.partition(':')
            last_values[name.strip()] = value.strip()
    properties = dict(properties)
    if last_values:
        properties['capabilities'] = ','.join(
            f'{name}:{value}' for name, value in last_values.items()
        )
    else:
        del properties['capabilities']
    return dataclasses.replace(facts, node={**node, 'properties': properties})


def _describe_ending(error: Exception | None) -> str:
    """Return in words how an inspection ends, given the error of its rules.

    The three ends are: it passes, an error in a rule fails it, or the action
    ``fail`` of a rule fails it. The text of the error is not compared.
    """
    if error is None:
        return _('passes')
    if _is_error(error):
        return _('an error in a rule fails it')
    return _('a rule fails it')


def _is_error(error: Exception | None) -> bool:
    """Return whether an error in a rule, and not ``fail``, ended the rules."""
    # This project's engine raises RuleFailed for the action "fail".
    if error is None or isinstance(error, exceptions.RuleFailed):
        return False
    return not stock_engine.is_of_fail_action(error)


def _shorten(value: Any) -> str:
    """Return a value as JSON text, which is cut off after 200 characters.

    It is part of a line that is printed.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    if len(text) <= _LONGEST_VALUE:
        return text
    return f'{text[:_LONGEST_VALUE]}…'

# SPDX-License-Identifier: Apache-2.0

"""Values that are not there when a rule needs them."""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.authoring.checks import checked_rule
from ironic_inspection_rules.authoring.checks import facts
from ironic_inspection_rules.authoring.checks import reach
from ironic_inspection_rules.authoring.checks import values
from ironic_inspection_rules.authoring.checks import writes
from ironic_inspection_rules.engine import interpolation
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.machine import inventory_fields
from ironic_inspection_rules.rule_set import repository

_CLEAN = frozenset(('architecture', 'current_boot_mode'))
"""Text that is fit for names of traits but for its case."""


def check_missing(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find actions that use what a condition says is missing or null."""
    absent = {fact.field for condition in rule.conditions
              for fact in facts.of(condition)
              if fact.relation == 'one-of' and fact.value == [None]}
    for action in rule.actions:
        if action.op.plugin.FAILS:
            continue
        for name, value in action.templates.items():
            for field in interpolation.fields(value):
                if name != 'msg' and field.root and not field.filters and (
                        data_path.pointer([field.root, *field.steps])
                        in absent):
                    yield action.pointer_to(name), _(
                        '{%s} is missing or null wherever the conditions '
                        'hold') % field.text


def check_traits(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find names of traits made of text as machines have it."""
    for action in rule.actions:
        for each in writes.writes(action):
            names = each.value if each.kind == 'traits' else [each.name] if (
                each.kind == 'trait') else []
            for field in interpolation.fields(names):
                if field.root and field.is_plain and values.type_of(
                        data_path.pointer([field.root, *field.steps])
                        ) == 'text' and field.steps[-1] not in _CLEAN:
                    yield action.pointer_to(each.argument), _(
                        '{%(field)s} may hold blanks and lower case, which '
                        'no trait has; write {%(field)s | trait}') % {
                            'field': field.text}


def check_ports(rule: checked_rule.CheckedRule) -> checked_rule.Found:
    """Find ports that one machine has, in a rule for all of them."""
    if any('{' in str(condition.arguments) or condition.inner
           for condition in rule.conditions):
        return
    for action in rule.actions:
        for each in writes.writes(action):
            if isinstance(each.owner, str) and '{' not in each.owner:
                yield action.pointer, _(
                    'only one machine has the port %s, the inspection of all '
                    'others fails: add a condition') % each.owner
                break


def check_order(rules: Sequence[checked_rule.CheckedRule]
                ) -> Iterator[tuple[checked_rule.CheckedRule, str, str]]:
    """Find plugin data that are read before the rule that writes them.

    :returns: the rule that reads, a pointer and one sentence.
    """
    by_uuid = {each.rule.uuid: each for each in rules
               if each.rule.mode == model.ENFORCE}
    ordered = [by_uuid[each.uuid]
               for phase in model.PHASES
               for each in repository.order(
                   rule.rule for rule in by_uuid.values()
                   if rule.rule.phase == phase)]
    first: dict[str, int] = {}
    for place, rule in enumerate(ordered):
        for name in _written(rule):
            first.setdefault(name, place)
    known = inventory_fields.known().below['plugin_data'].below
    for place, rule in enumerate(ordered):
        for use in reach.uses(rule):
            steps = use.from_roots or ()
            if steps[:1] != ('plugin_data',) or len(steps) < 2 or (
                    steps[1] in known):
                continue
            written = first.get(steps[1])
            if written is not None and (written > place or (
                    written == place
                    and use.pointer.startswith('/conditions'))):
                yield rule, use.pointer, _(
                    '{%(field)s} is not there yet: rule %(label)s, which '
                    'writes it, runs later') % {
                        'field': use.text,
                        'label': ordered[written].written.label}


def _written(rule: checked_rule.CheckedRule) -> Iterator[str]:
    for action in rule.actions:
        for each in writes.writes(action):
            if each.kind == 'plugin_data' and isinstance(each.name, str) and (
                    each.value is not data_path.ABSENT):
                with contextlib.suppress(exceptions.OperationError):
                    yield from data_path.parse(each.name)[:1]

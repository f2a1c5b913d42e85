# SPDX-License-Identifier: Apache-2.0

"""Fields of inspection data that are not there, or not yet."""

from collections.abc import Iterator, Sequence
import string

from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring.checks import checked_rule
from ironic_inspection_rules.kit.authoring.checks import facts
from ironic_inspection_rules.kit.authoring.checks import reach
from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.plugins.legacy import document
from ironic_inspection_rules.plugins.legacy import field as legacy_field
from ironic_inspection_rules.plugins.legacy import text as legacy_text
from ironic_inspection_rules.rule_set import repository

Steps = tuple[str, ...]

_MOVED = {'lldp_processed': _('Ironic has it by interface in '
                              'plugin_data.parsed_lldp')}
"""Where Ironic has what ironic-inspector reported."""

_ALIKE = 0.8
"""Likeness to a known name from which on a site's own name is a slip."""


def check(rule: checked_rule.CheckedRule, own: frozenset[str],
          target: inventory_fields.Target
          ) -> Iterator[tuple[str, str, bool]]:
    """Find fields that no known machine has, or not every inspection reports.

    Of fields that need the same thing the first one of a rule is noted, and
    nothing of rules of ironic-inspector: their conversion says it. Fields of
    those that Ironic has under another name are found there.

    :param own: names in plugin data that are put there by rules.
    :returns: a pointer, one sentence and whether it is only a note.
    """
    noted = set()
    for pointer, text, steps in fields(rule):
        name = steps[1] if steps[0] == 'plugin_data' and steps[1:] else None
        if name in own:
            continue
        problem = _problem(text, steps) or _elsewhere(text, steps, target)
        if problem:
            yield pointer, problem, False
        if rule.written.is_old:
            continue
        if name in document.NOW:
            yield pointer, _('{%(field)s}: ironic-inspector made it, Ironic '
                             'does not; it has %(now)s') % {
                                 'field': text,
                                 'now': document.NOW[name]}, True
        needs = ', '.join(inventory_fields.needs(steps))
        if needs and needs not in noted and not problem:
            noted.add(needs)
            yield pointer, f'{{{text}}}: {needs}', True


def _problem(text: str, steps: Steps) -> str | None:
    found = inventory_fields.find(inventory_fields.known(), steps)
    if not isinstance(found, inventory_fields.Unknown):
        return None
    names = found.above.names
    if found.above.type in inventory_fields.PLAIN:
        if found.name == inventory_fields.MEMBER:
            # It has no items either, which other checks say.
            return None
        return _('{%(field)s}: %(above)s is a %(type)s, which has no '
                 '"%(name)s"') % {
                     'field': text, 'above': '.'.join(found.steps),
                     'type': found.above.type, 'name': found.name}
    near = suggestion.nearest(found.name, names)
    if found.steps == ('plugin_data',):
        # The document of ironic-inspector has all beside the inventory.
        names = [*names, *document.NOW, 'inventory']
        near = suggestion.nearest(found.name, names, cutoff=_ALIKE)
        if found.name in (*document.NOW, 'inventory') or not near:
            # Hooks of a site put there what they like.
            return None
    hint = _MOVED.get(found.name) or suggestion.hint(found.name, names)
    if near and found.name not in _MOVED:
        needs = inventory_fields.needs((*found.steps, near))
        hint += f' ({", ".join(needs)})' if needs else ''
    return _('{%(field)s}: no inspection reports "%(name)s" in %(above)s; '
             '%(hint)s') % {
                 'field': text, 'name': found.name,
                 'above': '.'.join(found.steps), 'hint': hint}


def _elsewhere(text: str, steps: Steps,
               target: inventory_fields.Target) -> str | None:
    """Return that only other inspections report a field, if so."""
    sources = inventory_fields.sources(steps)
    if not sources or any(map(target.has, sources)):
        return None
    needs = inventory_fields.needs(steps)
    if not needs or target.interface == inventory_fields.REDFISH and any(
            each.kind == 'collector' for each in sources):
        needs = [_('the ramdisk only')]
    said = [_('by %s') % target.interface] if target.interface else []
    said += [_('in Ironic %s') % target.release] if target.release else []
    return _('{%(field)s}: no inspection %(target)s reports it; '
             '%(needs)s') % {
                 'field': text, 'target': ' '.join(said),
                 'needs': ', '.join(needs)}


def fields(rule: checked_rule.CheckedRule) -> Iterator[tuple[str, str, Steps]]:
    """Yield pointer, text and steps of each field over inspection data."""
    for use in reach.uses(rule):
        steps = use.from_roots
        if steps and steps[0] == 'previous':
            steps = steps[1:]
        if steps and steps[0] in ('inventory', 'plugin_data'):
            yield use.pointer, use.text, steps
    for operation in rule.operations:
        # Those of ironic-inspector's language.
        path = operation.arguments.get('field')
        if isinstance(path, str) and 'field' in operation.op.plugin.LITERAL:
            scheme, _path = legacy_field.split(path)
            found = legacy_field.steps(path)
            if scheme == 'data' and found:
                yield operation.pointer_to('field'), path, document.in_ironic(
                    inventory_fields.MEMBER if step is legacy_field.ANY
                    else str(step) for step in found)
        for name in getattr(operation.op.plugin, 'FORMATTED', ()):
            for _pointer, text in checked_rule.texts(
                    operation.arguments.get(name)):
                # Another check names what is no field.
                pieces = () if any(legacy_text.problems(text)) else (
                    string.Formatter().parse(text))
                for _literal, field, _spec, _conversion in pieces:
                    if field:
                        keys = map(str, legacy_text.steps(field))
                        yield (operation.pointer_to(name), field,
                               document.in_ironic(keys))


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


def check_order(rules: Sequence[checked_rule.CheckedRule]
                ) -> checked_rule.FoundTogether:
    """Find plugin data that are read before the rule that writes them."""
    by_uuid = {each.rule.uuid: each for each in rules
               if each.rule.mode == model.ENFORCE}
    ordered = [by_uuid[each.uuid] for each in repository.order(
        rule.rule for rule in by_uuid.values())]
    first: dict[str, int] = {}
    for place, rule in enumerate(ordered):
        for name in effects.made_plugin_data(rule.actions):
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

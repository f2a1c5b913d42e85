# SPDX-License-Identifier: Apache-2.0

"""Adopts the rules of Ironic's own table, or of ironic-inspector."""

from collections.abc import Iterator, Mapping
import dataclasses
from typing import Any
import uuid

from ironic import objects
from ironic.common import context as ironic_context
from ironic.conf import CONF

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.inspection import stock_trial
from ironic_inspection_rules.kit.authoring.conversion import stock_rule
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.objects import machine as machine_object
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.patches import name as patch_name
from ironic_inspection_rules.patches import stock_engine
from ironic_inspection_rules.plugins.legacy import translate
from ironic_inspection_rules.rule_file import stock_form

_TAKEN = _('a rule with the UUID %s is here already')


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A rule to adopt.

    ``rule`` is None if it cannot be adopted; ``remark`` says why. ``stock`` is
    the rule as stock Ironic has it, ``row`` its row in Ironic's table;
    ``is_kept`` is False if the conversion loses a part of it.
    """

    name: str
    rule: model.Rule | None
    remark: str = ''
    stock: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    row: adoption.Row | None = None
    is_kept: bool = True


def from_ironic(dry_run: bool, inventories: str | None = None,
                accept_differences: bool = False) -> int:
    """Adopt the rules that stock Ironic would run, all or none.

    Those of its own table are set aside there, so that stock Ironic runs none
    of them. Those of the file in ``[inspection_rules]built_in_rules`` are
    copied, unless they are here already.

    :param inventories: directory with inventories to try the rules on, in
        addition to the stored ones.
    :param accept_differences: adopt the rules even if some behave differently
        here; a rule that cannot be one here is only set aside.
    :returns: 0 if nothing differs, 2 if something does.
    :raises: :class:`.exceptions.InspectionRulesError` if it is impossible;
        nothing has changed then.
    """
    migration.check()
    patch_name.check(stock_engine.NAMES)
    rows = adoption.read_ironic()
    candidates = _converted(rows)
    if not candidates:
        print(_('There are no rules to adopt.'))
        return 0
    _report(candidates)
    print(*stock_rule.IN_GENERAL, sep='\n')
    conf.register_opts(CONF)
    scope = CONF.inspection_rules.default_scope
    if scope:
        print(_('[inspection_rules]default_scope is "%s": the rules will run '
                'on the nodes of that scope only, and ran on all') % scope)
    found = _try(candidates, inventories)
    differs = bool(found or scope) or not all(
        each.is_kept for each in candidates)
    if dry_run:
        return 2 if differs else 0
    if differs and not accept_differences:
        print(_('Nothing was adopted; --accept-differences adopts them all '
                'the same.'))
        return 2
    adoption.store(
        _values(candidates), moved=rows, present=rows,
        origin=_origin(_("Adopted from Ironic's own inspection rules")))
    _report_done(candidates)
    return 2 if differs else 0


def _report_done(candidates: list[Candidate]) -> None:
    """Print what has become of the rules of stock Ironic."""
    adopted = sum(each.rule is not None for each in candidates)
    print(_P('%d rule was adopted; stock Ironic does not run it any more.',
             '%d rules were adopted; stock Ironic does not run them any more.',
             adopted) % adopted)
    for each in candidates:
        if each.rule is None and each.row is not None:
            print(_("%s is not adopted; it is set aside in Ironic's table, "
                    'and nobody runs it.') % each.name)
        elif each.rule is None:
            print(_('%s is not adopted; it stays in the file, and nobody runs '
                    'it.') % each.name)
    print(_('ironic-inspection-rules-dbsync adopt --undo puts all back.'))


def undo(dry_run: bool) -> int:
    """Restore Ironic's own rules, and remove them here."""
    migration.check()
    rows = adoption.read_ironic(set_aside=True)
    names = dict(db_rule.list_values('description'))
    changes = dict(db_rule.list_values('updated_at'))
    ours = [uuid for rule in (*rows, *_read_file())
            if (uuid := stock_rule.uuid_of(rule['uuid'])) in names]
    for row in rows:
        print((_("%s goes back to Ironic's own table")
               if stock_rule.uuid_of(row['uuid']) in names else
               _("%s goes back to Ironic's own table; it was removed here, "
                 'or never could be a rule here'))
              % (row['description'] or row['uuid']))
    for each in ours:
        print((_('%(rule)s is removed here, with what was changed in it '
                 'since, last at %(time)s UTC') if changes[each] else
               _('%(rule)s is removed here'))
              % {'rule': names[each] or each, 'time': changes[each]})
    if not rows and not ours:
        print(_('There is nothing to put back.'))
    elif not dry_run:
        adoption.restore(rows, ours, _origin(
            _("Given back to Ironic's own inspection rules")))
    return 0


def _converted(rows: list[adoption.Row]) -> list[Candidate]:
    """Convert all rules, in the order in which stock Ironic runs them."""
    taken = {uuid for uuid, _value in db_rule.list_values('uuid')}
    uuids = {stock_rule.uuid_of(row['uuid']): row['uuid'] for row in rows}
    if again := [given for uuid, given in uuids.items() if uuid in taken]:
        raise exceptions.Invalid(_TAKEN % again[0])
    entries: list[tuple[dict[str, Any], adoption.Row | None]] = [
        *(({key: value for key, value in row.items() if key != 'id'}, row)
          for row in rows),
        *((fields, None) for fields in _read_file()
          if stock_rule.uuid_of(fields['uuid']) not in {*taken, *uuids})]
    ops = registry.installed()
    candidates = []
    for (fields, row), priority in zip(entries, _in_range(
            [fields.get('priority') or 0 for fields, _row in entries]),
            strict=True):
        converted = stock_rule.convert({**fields, 'priority': priority}, ops,
                                       stock_engine.fills_values())
        remarks = [str(each) for each in (*converted.lost, *converted.hints)]
        if converted.rule is None:
            remarks.append(_('it cannot be a rule here, and is not adopted'))
        if priority != (fields.get('priority') or 0):
            remarks.append(_('priority %(old)d becomes %(new)d')
                           % {'old': fields['priority'], 'new': priority})
        candidates.append(Candidate(
            fields.get('description') or fields['uuid'],
            validation.parse(converted.rule, ops) if converted.rule
            else None, '\n'.join(remarks), fields, row, not converted.lost))
    return candidates


def _in_range(priorities: list[int]) -> list[int]:
    """Return priorities in the same order, none above the highest."""
    near: dict[int, int] = {}
    highest = schema.PRIORITIES[-1]
    for each in sorted(set(priorities), reverse=True):
        near[each] = min(each, highest)
        highest = near[each] - 1
    return [near[each] for each in priorities]


def _try(candidates: list[Candidate], inventories: str | None
         ) -> list[stock_trial.Difference]:
    """Run all rules in both engines on all available machines."""
    pairs = sorted(
        (stock_trial.Pair(each.name, {
            'sensitive': False, 'conditions': [], **each.stock}, each.rule,
            CONF.inspection_rules.mask_secrets)
         for each in candidates),
        key=lambda pair: -(pair.stock.get('priority') or 0))
    found: list[stock_trial.Difference] = []
    count = 0
    for machine in _machines(inventories):
        count += 1
        found += stock_trial.compare(ironic_context.get_admin_context(),
                                     machine, pairs)
    order = [pair.name for pair in pairs]
    for each in sorted(found, key=lambda found: (
            order.index(found.rule) if found.rule in order else len(order))):
        print(f'{each.rule}: {each.machine}: {each.what}')
    print(_P("Tried with Ironic's own engine and this one on %(all)d "
             'machine; differences: %(found)d',
             "Tried with Ironic's own engine and this one on %(all)d "
             'machines; differences: %(found)d', count)
          % {'all': count, 'found': len(found)})
    if any(action['op'] == 'api-call' for each in candidates if each.rule
           for action in each.rule.actions):
        print(_('What api-call does was not tried.'))
    return found


def _read_file() -> list[dict[str, Any]]:
    path = CONF.inspection_rules.built_in_rules
    try:
        return stock_form.load(path) if path else []
    except ValueError as exc:
        raise exceptions.Invalid(str(exc)) from exc


def from_inspector(url: str, dry_run: bool) -> None:
    """Copy the rules of ironic-inspector's database, all or none.

    :param url: of its database, which is only read.
    :raises: :class:`.exceptions.InspectionRulesError` if it is impossible;
        nothing has changed then.
    """
    migration.check()
    taken = {uuid for uuid, _value in db_rule.list_values('uuid')}
    candidates = []
    for row in adoption.read_inspector(url):
        name = row['description'] or row['uuid']
        try:
            rule = translate.parse(row, registry.installed())
            candidates.append(
                Candidate(name, None, _TAKEN % rule.uuid)
                if rule.uuid in taken else Candidate(name, rule))
        except exceptions.InvalidRule as exc:
            candidates.append(Candidate(
                name, None, '\n'.join(map(str, exc.problems))))
    _report(candidates)
    bad = sum(each.rule is None for each in candidates)
    if bad:
        raise exceptions.Invalid(
            _P('%(bad)d of %(all)d rule cannot be taken over; nothing was '
               'changed',
               '%(bad)d of %(all)d rules cannot be taken over; nothing was '
               'changed', len(candidates))
            % {'bad': bad, 'all': len(candidates)})
    if not dry_run:
        adoption.store(_values(candidates), origin=_origin(
            _('Adopted from ironic-inspector')))


def _origin(message: str) -> rule_set.Origin:
    conf.register_opts(CONF)
    return rule_set.Origin(
        keep_revisions=CONF.inspection_rules.keep_revisions, message=message)


def _report(candidates: list[Candidate]) -> None:
    print(table.render(
        [_('UUID'), _('Rule'), _('Remark')],
        [[each.rule.uuid if each.rule else '', each.name,
          each.remark or _('good')] for each in candidates]))


def _values(candidates: list[Candidate]) -> list[dict[str, Any]]:
    return [{**each.rule.to_mapping(),
             'uuid': str(uuid.UUID(each.rule.uuid)),
             'version': rule_object.Rule.VERSION}
            for each in candidates if each.rule]


def _machines(directory: str | None) -> Iterator[stock_trial.Machine]:
    """Return all machines with a stored inventory, then those of files."""
    objects.register_all()
    context = ironic_context.get_admin_context()
    marker = None
    while nodes := objects.Node.list(context, limit=100, marker=marker):
        by_id = {node.id: node for node in nodes}
        for row in machine_object.InspectedMachine.list_inventories(
                context, list(by_id)):
            node = by_id[row['node_id']]
            yield stock_trial.Machine(
                node.name or node.uuid, node,
                objects.Port.list_by_node_id(context, node.id),
                objects.Portgroup.list_by_node_id(context, node.id),
                row['inventory'] or {}, row['plugin_data'] or {})
        marker = nodes[-1]
    new = machine_test.load_node(None)
    for path in machine_test.find_inventories(
            [directory] if directory else []):
        facts = machine_test.load_facts(path, new)
        made = _object(objects.Node, 0, facts.node or {})
        made.traits = objects.TraitList(context, objects=[])
        yield stock_trial.Machine(
            path, made, [_object(objects.Port, number, port)
                         for number, port in enumerate(facts.ports, 1)], [],
            facts.inventory, facts.plugin_data)


def _object(kind: Any, number: int, given: Mapping[str, Any]) -> Any:
    """Return an object of Ironic with all fields set, in no database."""
    return kind(ironic_context.get_admin_context(), **{
        **{name: None if field.nullable else False
           for name, field in kind.fields.items()},
        **{name: value for name, value in given.items()
           if name in kind.fields and name != 'traits'},
        'id': number, 'uuid': str(uuid.UUID(int=number))})

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

"""Takes over the rules of Ironic's own table, or of ironic-inspector."""

from collections.abc import Iterable
import dataclasses
from typing import Any
import uuid

from ironic.conf import CONF
import prettytable

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import api
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.legacy import translate
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.ruleset import stock


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A rule that is to be taken over.

    ``rule`` is None where ``remark`` says why it cannot be.
    """

    name: str
    rule: model.Rule | None
    remark: str = ''


def from_ironic(dry_run: bool) -> None:
    """Take over the rules that stock Ironic would run, all or none.

    Those of its own table are moved. Those of the file in
    ``[inspection_rules]built_in_rules`` are copied; the ones that are here
    already are left out.

    :raises: :class:`.exceptions.InspectionRulesError` where that cannot be;
        nothing has changed then.
    """
    migration.check()
    rows = adoption.read_ironic()
    candidates = _without_taken(map(_from_table, rows))
    here = {each.rule.uuid for each in candidates if each.rule}
    here.update(uuid for uuid, _value in api.list_values('uuid'))
    candidates += [each for each in map(_from_ironic, _read_file())
                   if each.rule is None or each.rule.uuid not in here]
    _report(candidates)
    if not dry_run:
        adoption.store(_values(candidates), moved=rows, origin=_origin(
            _("Adopted from Ironic's own inspection rules")))


def _read_file() -> list[dict[str, Any]]:
    path = CONF.inspection_rules.built_in_rules
    try:
        return stock.load(path) if path else []
    except ValueError as exc:
        raise exceptions.Invalid(str(exc)) from exc


def from_inspector(url: str, dry_run: bool) -> None:
    """Copy the rules of ironic-inspector's database, all or none.

    :param url: of its database, which is only read.
    :raises: :class:`.exceptions.InspectionRulesError` where that cannot be;
        nothing has changed then.
    """
    migration.check()
    candidates = _without_taken(
        map(_from_inspector, adoption.read_inspector(url)))
    _report(candidates)
    if not dry_run:
        adoption.store(_values(candidates), origin=_origin(
            _('Adopted from ironic-inspector')))


def _origin(message: str) -> rule_set.Origin:
    conf.register_opts(CONF)
    return rule_set.Origin(
        message=message,
        keep_revisions=CONF.inspection_rules.keep_revisions)


def _from_table(row: adoption.Row) -> Candidate:
    return _from_ironic({key: value for key, value in row.items()
                         if key != 'id'})


def _from_ironic(fields: dict[str, Any]) -> Candidate:
    name = fields.get('description') or fields['uuid']
    ours, changed = stock.translate(fields)
    try:
        rule = validation.parse(ours, registry.installed())
    except exceptions.InvalidRule as exc:
        return Candidate(name, None, _problems(exc))
    return Candidate(name, rule, '\n'.join(changed))


def _from_inspector(row: adoption.Row) -> Candidate:
    name = row['description'] or row['uuid']
    try:
        return Candidate(name, translate.parse(row, registry.installed()))
    except exceptions.InvalidRule as exc:
        return Candidate(name, None, _problems(exc))


def _without_taken(candidates: Iterable[Candidate]) -> list[Candidate]:
    taken = {uuid for uuid, _value in api.list_values('uuid')}
    return [Candidate(each.name, None,
                      _('a rule with the UUID %s is here already')
                      % each.rule.uuid)
            if each.rule and each.rule.uuid in taken else each
            for each in candidates]


def _problems(exc: exceptions.InvalidRule) -> str:
    return '\n'.join(map(str, exc.problems))


def _report(candidates: list[Candidate]) -> None:
    """Print what becomes of each rule.

    :raises: :class:`.exceptions.Invalid` where one cannot be taken over.
    """
    table = prettytable.PrettyTable(
        [_('UUID'), _('Rule'), _('Remark')], align='l')
    table.max_width = {_('Rule'): 40, _('Remark'): 60}
    for each in candidates:
        table.add_row([each.rule.uuid if each.rule else '', each.name,
                       each.remark or _('good')])
    print(table)
    bad = sum(each.rule is None for each in candidates)
    if bad:
        raise exceptions.Invalid(
            _P('%(bad)d of %(all)d rule cannot be taken over; nothing was '
               'changed',
               '%(bad)d of %(all)d rules cannot be taken over; nothing was '
               'changed', len(candidates))
            % {'bad': bad, 'all': len(candidates)})


def _values(candidates: list[Candidate]) -> list[dict[str, Any]]:
    """Return the columns of rules as the object has them."""
    return [{**each.rule.to_mapping(),
             'uuid': str(uuid.UUID(each.rule.uuid)),
             'version': rule_object.Rule.VERSION}
            for each in candidates if each.rule]

# SPDX-License-Identifier: Apache-2.0

"""/v1/inspection_rules/revisions: what rules were, and who changed them."""

from typing import Any

from ironic import api
from ironic.api.controllers import link
from ironic.api.controllers.v1 import utils as api_utils
from ironic.common import args
import pecan

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import version
from ironic_inspection_rules.api import view
from ironic_inspection_rules.api.controllers import base
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.objects import rule as rule_object

_RESOURCE = f'{view.RESOURCE}/revisions'
_RESTORE = 'restore'


class RevisionController(base.RestController):
    """Revisions of the rule set.

    :param stored: the rule set that one can be put in the place of.
    """

    def __init__(self, stored: rule_set.RuleSet) -> None:
        self._stored = stored

    @base.expose()
    @version.since_inspection_rules_get
    def get_all(self) -> dict[str, Any]:
        """List revisions, the newest first."""
        api_utils.check_policy('baremetal:inspection_rule:get')
        query = request.query({'limit': args.integer,
                               'marker': _marker})
        limit = api_utils.validate_limit(query['limit'])
        found = rule_object.Rule.list_revisions(
            api.request.context, limit + 1, query['marker'])
        answer: dict[str, Any] = {'revisions': [
            {**each, 'links': _links(each['revision'])}
            for each in found[:limit]]}
        if len(found) > limit:
            marker = found[limit - 1]['revision']
            answer['next'] = link.build_url(
                _RESOURCE, f'?limit={limit}&marker={marker}')
        return answer

    @base.expose()
    @version.since_inspection_rules_get
    def get_one(self, revision: str) -> dict[str, Any]:
        """Show the rule set as it was."""
        api_utils.check_policy('baremetal:inspection_rule:get')
        request.query({})
        found = _read(revision)
        return {**found, 'rules': [_represent(rule)
                                   for rule in found['rules']],
                'links': _links(found['revision'])}

    @base.expose()
    @version.since_inspection_rules
    def post(self, revision: str, action: str) -> dict[str, Any]:
        """Put the rule set of a revision in force again."""
        if action != _RESTORE:
            pecan.abort(404)
        api_utils.check_policy('baremetal:inspection_rule:update')
        request.query({})
        found = _read(revision)
        return self._stored.restore(
            found['rules'],
            _('Restore revision %d') % found['revision'])


def _read(revision: str) -> dict[str, Any]:
    return rule_object.Rule.get_rules_of_revision(
        api.request.context, _number(revision))


def _marker(_name: str, value: str) -> int:
    return _number(value)


def _number(text: str) -> int:
    """Read the number of a revision, which a database can look for."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise exceptions.Invalid(
            _('Expected the number of a revision, got "%s"') % text)
    return int(text)


def _represent(rule: dict[str, Any]) -> dict[str, Any]:
    """Show a rule as it was; what is sensitive in any revision is hidden."""
    shown = {name: rule[name] for name in (*model.WRITABLE, 'revision',
                                           'created_at')}
    if rule['secret']:
        shown.update(dict.fromkeys(view.SECRET))
    return shown


def _links(revision: int) -> list[dict[str, Any]]:
    return [link.make_link('self', api.request.public_url, _RESOURCE,
                           str(revision)),
            link.make_link('bookmark', api.request.public_url, _RESOURCE,
                           str(revision), bookmark=True)]

# SPDX-License-Identifier: Apache-2.0

"""The API that lists, shows and restores revisions of the rule set.

The rule set is all stored rules and tables. Every change gives it a new
revision, a number, and earlier revisions are kept. A table is e.g. a list of
racks that rules look up; some of its columns may be secret, and are not shown.
"""

from typing import Any

from ironic import api
from ironic.api.controllers.v1 import utils as api_utils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.api import request
from ironic_inspection_rules.api import rule_set
from ironic_inspection_rules.api import view
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.objects import table as table_object

_RESOURCE = f'{view.RESOURCE}/revisions'

Answer = dict[str, Any]


def _number(_name: str, text: str) -> int:
    """Parse the number of a revision.

    :raises: Invalid if the text is not a number, or has more than 9 digits.
        Larger numbers might not fit into the column of the database.
    """
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise exceptions.Invalid(
            _('Expected the number of a revision, got "%s"') % text
        )
    return int(text)


LIST = {'limit': request.convert_integer, 'marker': _number}

_NOTHING: dict[str, Any] = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {},
}
"""The schema for the optional body of a restore request."""


def get_all(query: Answer) -> Answer:
    """Return a page of revisions, newest first."""
    limit = api_utils.validate_limit(query['limit'])
    revisions = rule_object.StoredRule.list_revisions(
        api.request.context, limit + 1, query['marker']
    )
    return view.build_page(
        _RESOURCE, revisions, limit, _with_links, marker='revision'
    )


def _with_links(revision: Answer) -> Answer:
    return {**revision, 'links': _links(revision['revision'])}


def get_one(revision: str) -> Answer:
    """Show the rules and tables of a revision, without their secrets."""
    rule_set_then = _read_rule_set(revision)
    number = rule_set_then['revision']
    return {
        **rule_set_then,
        'links': _links(number),
        'rules': list(map(_represent_rule, rule_set_then['rules'])),
        'tables': _represent_tables(number),
    }


def _represent_rule(rule: Answer) -> Answer:
    """Return a rule of a revision as clients see it."""
    disclosed = stored_rule.of_revision(rule)
    return {
        name: disclosed[name]
        for name in (*model.WRITABLE, 'revision', 'created_at')
    }


def _represent_tables(revision: int) -> list[Answer]:
    """Return the tables of a revision as clients see them.

    Columns that are secret are left out of the rows, whether they were secret
    in this revision or are secret now.
    """
    tables_now = start.rules().refresh(api.request.context).tables
    tables_then = _read_tables(revision)
    # The name, the size and the revision of every table.
    descriptions = table_object.RuleTable.list_plain(
        api.request.context, revision
    )
    represented = []
    for described in descriptions:
        name = described['name']
        definition = tables_then[name].definition
        secret_columns = {*definition.secret}
        if name in tables_now:
            secret_columns.update(tables_now[name].definition.secret)
        rows = [
            table.without_secret_columns(row, secret_columns)
            for row in tables_then[name].rows
        ]
        represented.append(
            {
                'name': name,
                'size': described['size'],
                'revision': described['revision'],
                **definition.as_dict(),
                'rows': rows,
            }
        )
    return represented


def restore(revision: str) -> Answer:
    """Restore the rule set of a revision, which creates a new revision.

    :param revision: the number of the revision, as it is in the path.
    :returns: the new revision, and what happens to every rule and table.
    :raises: Invalid if the request has a body with members.
    """
    if api.request.body:
        request.validate(request.parse_body(), _NOTHING)
    rule_set_then = _read_rule_set(revision)
    number = rule_set_then['revision']
    return rule_set.restore(
        rule_set_then['rules'],
        _read_tables(number),
        message=_('Restore revision %d') % number,
    )


def _read_tables(revision: int) -> table.Tables:
    """Read the stored tables of a revision, with their secrets."""
    rules = start.rules()
    return rules.stored_tables_of(api.request.context, revision)


def _read_rule_set(revision: str) -> Answer:
    return rule_object.StoredRule.get_rules_of_revision(
        api.request.context, _number('revision', revision)
    )


def _links(revision: int) -> list[Answer]:
    return view.build_links(_RESOURCE, str(revision))

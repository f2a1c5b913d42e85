# SPDX-License-Identifier: Apache-2.0

"""The routes of the API: path, method, microversion, policy, status.

:mod:`.routing` describes the fields of a route. The lists of nodes are not in
this table: they are a controller derived from Ironic's, because many calls of
Ironic are below them.
"""

from http import client as http_client
from typing import Any

from ironic_inspection_rules import policies
from ironic_inspection_rules.api import posted_rules
from ironic_inspection_rules.api.controllers import continue_inspection
from ironic_inspection_rules.api.controllers import evaluate
from ironic_inspection_rules.api.controllers import inspection_request
from ironic_inspection_rules.api.controllers import inspection_rule
from ironic_inspection_rules.api.controllers import inspection_rule_revision
from ironic_inspection_rules.api.controllers import inspection_run
from ironic_inspection_rules.api.controllers import inspection_table
from ironic_inspection_rules.api.controllers import inspector_rule
from ironic_inspection_rules.api.controllers import introspection
from ironic_inspection_rules.api.controllers import inventory_history
from ironic_inspection_rules.api.controllers import node_inventory
from ironic_inspection_rules.api.controllers import replay
from ironic_inspection_rules.api.controllers import rule_statistics
from ironic_inspection_rules.api.controllers import trait
from ironic_inspection_rules.api.routing import Route

RULE = 'baremetal:inspection_rule'
INVENTORY = 'baremetal:node:inventory:get'

ANY: dict[str, Any] = {}
"""The schema of a body that the engine validates, or an older language."""

TABLE = (
    Route(
        'GET',
        'inspection_rules',
        inspection_rule.get_all,
        f'{RULE}:get',
        query=inspection_rule.LIST,
    ),
    Route(
        'POST',
        'inspection_rules',
        inspection_rule.create,
        f'{RULE}:create',
        schema=ANY,
        status=http_client.CREATED,
    ),
    Route(
        'PUT',
        'inspection_rules',
        inspection_rule.replace_all,
        f'{RULE}:update',
        query=inspection_rule.REPLACE_SET,
        schema=inspection_rule.RULE_SET,
        check_refused_body=inspection_rule.check_all,
    ),
    Route(
        'DELETE',
        'inspection_rules',
        inspection_rule.delete_all,
        f'{RULE}:delete',
        status=http_client.NO_CONTENT,
    ),
    Route(
        'GET',
        'inspection_rules/{uuid}',
        inspection_rule.get_one,
        f'{RULE}:get',
        query=inspection_rule.SHOW,
    ),
    Route(
        'PATCH',
        'inspection_rules/{uuid}',
        inspection_rule.update,
        f'{RULE}:update',
        schema=ANY,
    ),
    Route(
        'PUT',
        'inspection_rules/{uuid}',
        inspection_rule.replace,
        f'{RULE}:update',
        schema=ANY,
    ),
    Route(
        'DELETE',
        'inspection_rules/{uuid}',
        inspection_rule.delete,
        f'{RULE}:delete',
        status=http_client.NO_CONTENT,
    ),
    Route(
        'POST',
        'inspection_rules/evaluate',
        evaluate.post,
        policies.EVALUATE,
        schema=evaluate.SCHEMA,
        check_refused_body=posted_rules.check,
    ),
    Route(
        'POST',
        'inspection_rules/replay',
        replay.post,
        policies.EVALUATE,
        schema=replay.SCHEMA,
        check_refused_body=posted_rules.check,
    ),
    Route(
        'GET',
        'inspection_rules/statistics',
        rule_statistics.get,
        policies.STATISTICS,
        query=rule_statistics.QUERY,
    ),
    Route(
        'GET',
        'inspection_rules/revisions',
        inspection_rule_revision.get_all,
        f'{RULE}:get',
        query=inspection_rule_revision.LIST,
    ),
    Route(
        'GET',
        'inspection_rules/revisions/{revision}',
        inspection_rule_revision.get_one,
        f'{RULE}:get',
    ),
    Route(
        'POST',
        'inspection_rules/revisions/{revision}/restore',
        inspection_rule_revision.restore,
        f'{RULE}:update',
    ),
    Route(
        'GET',
        'inspection_tables',
        inspection_table.get_all,
        policies.TABLE_GET,
    ),
    Route(
        'GET',
        'inspection_tables/{name}',
        inspection_table.get_one,
        policies.TABLE_GET,
        query=inspection_table.SHOW,
    ),
    Route(
        'GET',
        'inspection_tables/{name}/machines',
        inspection_table.machines,
        policies.TABLE_GET,
        query=inspection_table.MACHINES,
    ),
    Route(
        'GET',
        'nodes/{node}/inspection_runs',
        inspection_run.get_all,
        policies.RUN_GET,
        query=inspection_run.LIST,
    ),
    Route(
        'GET',
        'nodes/{node}/inspection_runs/{uuid}',
        inspection_run.get_one,
        policies.RUN_GET,
        query=inspection_run.SHOW,
    ),
    Route(
        'GET',
        'nodes/{node}/inspection_runs/explain',
        inspection_run.explain,
        policies.RUN_GET,
        query=inspection_run.EXPLAIN,
    ),
    Route('GET', 'nodes/{node}/inventory', node_inventory.get, since=None),
    Route(
        'GET',
        'nodes/{node}/inventory/unprocessed',
        node_inventory.get_unprocessed,
        INVENTORY,
        since=None,
        is_queue=True,
    ),
    Route(
        'POST',
        'nodes/{node}/inventory/reapply',
        node_inventory.reapply,
        policies.REAPPLY,
        since=None,
        status=http_client.ACCEPTED,
        is_queue=True,
    ),
    Route(
        'GET',
        'nodes/{node}/inventory/history',
        inventory_history.get_all,
        policies.HISTORY_GET,
        query=inventory_history.LIST,
    ),
    Route(
        'GET',
        'nodes/{node}/inventory/history/{uuid}',
        inventory_history.get_one,
        policies.HISTORY_GET,
    ),
    Route(
        'GET',
        'nodes/{node}/inventory/history/diff',
        inventory_history.diff,
        policies.HISTORY_GET,
        query=inventory_history.DIFF,
    ),
    Route(
        'GET',
        'inspection_parts',
        inventory_history.find_part,
        policies.PART_GET,
        query=inventory_history.FIND_PART,
    ),
    Route(
        'POST',
        'continue_inspection',
        continue_inspection.post,
        since=None,
        query=None,
        status=http_client.ACCEPTED,
    ),
    Route(
        'GET',
        'inspection_requests',
        inspection_request.get_all,
        policies.REQUEST_GET,
        since=None,
        query=inspection_request.LIST,
        is_queue=True,
    ),
    Route(
        'GET',
        'inspection_requests/{uuid}',
        inspection_request.get_one,
        policies.REQUEST_GET,
        since=None,
        is_queue=True,
    ),
    Route(
        'DELETE',
        'inspection_requests/{uuid}',
        inspection_request.delete,
        policies.REQUEST_DELETE,
        since=None,
        status=http_client.NO_CONTENT,
        is_queue=True,
    ),
    # Who may is checked by Ironic, and which trait is asked for may come as a
    # parameter.
    Route('GET', 'nodes/{node}/traits', trait.get_all_of_node, since=None),
    Route(
        'GET',
        'nodes/{node}/traits/{name}',
        trait.get_one_of_node,
        since=None,
        status=http_client.NO_CONTENT,
    ),
    *(
        Route(
            method,
            f'nodes/{{node}}/traits{name}',
            handler,
            since=None,
            query=trait.OF_NODE,
            status=http_client.NO_CONTENT,
        )
        for method, name, handler in (
            ('PUT', '', trait.put),
            ('PUT', '/{name}', trait.put_one),
            ('DELETE', '', trait.delete),
            ('DELETE', '/{name}', trait.delete_one),
        )
    ),
    Route('GET', 'traits', trait.get_all, since=None, query=trait.QUERY),
    Route(
        'GET',
        'traits/{name}',
        trait.get_one,
        since=None,
        status=http_client.NO_CONTENT,
    ),
    # ironic-inspector's, in the versions of its own API.
    Route('GET', 'rules', inspector_rule.get_all, f'{RULE}:get', query=None),
    Route(
        'POST',
        'rules',
        inspector_rule.create,
        f'{RULE}:create',
        query=None,
        schema=ANY,
        status=None,
    ),
    Route(
        'DELETE',
        'rules',
        inspector_rule.delete_all,
        f'{RULE}:delete',
        query=None,
        status=http_client.NO_CONTENT,
    ),
    Route(
        'GET',
        'rules/{uuid}',
        inspector_rule.get_one,
        f'{RULE}:get',
        query=None,
    ),
    Route(
        'PUT',
        'rules/{uuid}',
        inspector_rule.replace,
        f'{RULE}:update',
        query=None,
        schema=ANY,
    ),
    Route(
        'DELETE',
        'rules/{uuid}',
        inspector_rule.delete,
        f'{RULE}:delete',
        query=None,
        status=http_client.NO_CONTENT,
    ),
    Route(
        'GET', 'introspection', introspection.get_all, query=introspection.LIST
    ),
    Route(
        'GET',
        'introspection/{node}',
        introspection.get_one,
        'baremetal:node:get',
    ),
    Route(
        'POST',
        'introspection/{node}',
        introspection.begin,
        query=introspection.BEGIN,
        status=http_client.ACCEPTED,
    ),
    Route(
        'POST',
        'introspection/{node}/abort',
        introspection.abort,
        status=http_client.ACCEPTED,
    ),
    Route(
        'GET', 'introspection/{node}/data', introspection.get_data, INVENTORY
    ),
    Route(
        'GET',
        'introspection/{node}/data/unprocessed',
        introspection.get_unprocessed,
        INVENTORY,
        is_queue=True,
    ),
    Route(
        'POST',
        'introspection/{node}/data/unprocessed',
        introspection.reapply,
        policies.REAPPLY,
        status=http_client.ACCEPTED,
        is_queue=True,
    ),
)

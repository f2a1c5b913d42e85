# SPDX-License-Identifier: Apache-2.0

"""Formats a machine, its rules and its node for the demonstration."""

import json
import operator
from typing import Any

from rich import markup
from rich import table as rich_table
from rich import tree as rich_tree

_LONGEST = 50

Json = dict[str, Any]


def rules(rules_of_file: list[Json]) -> rich_table.Table:
    """Return a table of rules in the order in which they run.

    :param rules_of_file: the rules in the order of the file; all of them must
        have a priority.
    """
    table = rich_table.Table(box=None, show_header=False, pad_edge=False)
    by_priority = operator.itemgetter('priority')
    # "reverse" keeps rules of equal priority in the order of the file.
    for rule_of_file in sorted(rules_of_file, key=by_priority, reverse=True):
        actions = rule_of_file['actions']
        # Use a dictionary to remove duplicates and keep the order.
        ops = dict.fromkeys(action['op'] for action in actions)
        what_it_does = ', '.join(ops)
        if rule_of_file.get('sensitive'):
            what_it_does += ' (sensitive)'
        table.add_row(
            str(rule_of_file['priority']),
            rule_of_file['description'],
            what_it_does,
        )
    return table


def rule(result: Json) -> rich_tree.Tree:
    """Return a tree that shows why a rule matched or not, and what it did.

    :param result: the result of the rule in the response to a dry run.
    """
    name = markup.escape(result.get('description') or result['uuid'])
    if result['matched']:
        tree = rich_tree.Tree(f'[green]{name}: matched[/]')
    else:
        tree = rich_tree.Tree(f'[dim]{name}: did not match[/]')
    if result.get('withheld'):
        tree.add('[dim]the rest is withheld: the rule is sensitive[/]')
        return tree
    for condition in result['conditions']:
        reason = markup.escape(_short(condition['reason'] or ''))
        tree.add(
            f'[dim]because {condition["op"]} is '
            f'{str(condition["result"]).lower()}: {reason}[/]'
        )
    for action in result['actions'] or ():
        for change in action['changes']:
            tree.add(_change(change))
    return tree


def _change(change: Json) -> str:
    """Format a change, e.g. ``node /extra/rack = "b7"``."""
    if change['object'] == 'traits':
        return f'trait [cyan]{change["value"]}[/]'
    value = _short(json.dumps(change['value']))
    return (
        f'{change["object"]} {change["path"]} = '
        f'[cyan]{markup.escape(value)}[/]'
    )


def _short(text: str) -> str:
    """Return a text, cut after 50 characters if it is longer."""
    if len(text) <= _LONGEST:
        return text
    return f'{text[:_LONGEST]}…'


def machine(data: Json) -> str:
    """Describe the machine that will be inspected, on one line.

    :param data: the data that its ramdisk posts.
    """
    inventory = data['inventory']
    vendor = inventory['system_vendor']
    names = [vendor.get('manufacturer'), vendor.get('product_name')]
    model = ' '.join(filter(None, names))
    parts = []
    if model:
        parts.append(model)
    cpu = inventory['cpu']
    parts.append(f'{cpu["count"]} x {cpu.get("model_name") or "unknown"}')
    parts.append(f'{inventory["memory"]["physical_mb"]} MiB')
    for disk in inventory['disks']:
        parts.append(f'{disk["name"]} {disk["size"] // 10**9} GB')
    for nic in inventory['interfaces']:
        parts.append(f'{nic["name"]} {nic["mac_address"]}')
    return markup.escape(', '.join(parts))


def node(fields: Json) -> str:
    """Describe a node after its inspection.

    The text has its state, and either the error or the resource class and the
    traits.

    :param fields: the fields of the node from the API, and its ``traits``.
    """
    state = fields['provision_state']
    if fields['last_error']:
        # Show only the end, because Ironic puts several prefixes of its own
        # before the message of the rule.
        reason = fields['last_error'].rpartition('Reason: ')[2]
        return f'{state}: [red]{markup.escape(reason)}[/]'
    parts = [state]
    if fields['resource_class']:
        parts.append(f'resource class [cyan]{fields["resource_class"]}[/]')
    for trait in fields['traits']:
        parts.append(f'trait [cyan]{trait}[/]')
    return ', '.join(parts)

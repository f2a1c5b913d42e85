# SPDX-License-Identifier: Apache-2.0

"""What the demonstration shows of a machine, its rules and its node."""

import json
from typing import Any

from rich import box
from rich import markup
from rich import table as rich_table
from rich import tree as rich_tree

_LONGEST = 50

Json = dict[str, Any]


def table(*columns: str) -> rich_table.Table:
    """Make a table without rows."""
    made = rich_table.Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow='fold')
    return made


def rule(told: Json) -> rich_tree.Tree:
    """Say why a rule matched or not, and what it did.

    :param told: as a dry run answers.
    """
    colour, word = (('green', 'matched') if told['matched']
                    else ('dim', 'did not match'))
    tree = rich_tree.Tree(
        f'[{colour}]{markup.escape(told["description"] or told["uuid"])}: '
        f'{word}[/]')
    for condition in told['conditions'] or ():
        reason = markup.escape(_short(condition['reason'] or ''))
        tree.add(f'[dim]because {condition["op"]} is '
                 f'{str(condition["result"]).lower()}: {reason}[/]')
    for action in told['actions'] or ():
        for change in action['changes']:
            tree.add(_change(change))
    if told['actions'] is None:
        tree.add('[dim]its actions are hidden: the rule is sensitive[/]')
    return tree


def _change(change: Json) -> str:
    if change['object'] == 'traits':
        return f'trait [cyan]{change["value"]}[/]'
    value = _short(json.dumps(change['value']))
    return (f'{change["object"]} {change["path"]} = '
            f'[cyan]{markup.escape(value)}[/]')


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'


def machine(data: Json) -> rich_table.Table:
    """Say what the machine is that will be inspected.

    :param data: what its ramdisk posts.
    """
    inventory = data['inventory']
    vendor = ' '.join(filter(None, (
        inventory['system_vendor'].get(name)
        for name in ('manufacturer', 'product_name'))))
    shown = table('Machine', '')
    if vendor:
        shown.add_row('vendor', vendor)
    shown.add_row('processors', f'{inventory["cpu"]["count"]} x '
                  f'{inventory["cpu"].get("model_name") or "unknown"}')
    shown.add_row('memory', f'{inventory["memory"]["physical_mb"]} MiB')
    shown.add_row('disks', ', '.join(
        f'{disk["name"]} {disk["size"] // 10 ** 9} GB'
        for disk in inventory['disks']))
    shown.add_row('interfaces', ', '.join(
        f'{nic["name"]} {nic["mac_address"]}'
        for nic in inventory['interfaces']))
    return shown


def node(shown: Json) -> rich_table.Table:
    """Say what became of a node.

    :param shown: as the API shows it, with its ``traits``.
    """
    found = table('Node', '')
    found.add_row('state', shown['provision_state'])
    if shown['resource_class']:
        found.add_row('resource class', shown['resource_class'])
    if shown['traits']:
        found.add_row('traits', ', '.join(shown['traits']))
    if shown['last_error']:
        # Ironic puts its own words before the rule's, more than once.
        reason = shown['last_error'].rpartition('Reason: ')[2]
        found.add_row('last error', f'[red]{markup.escape(reason)}[/]')
    return found

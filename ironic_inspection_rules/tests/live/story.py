# SPDX-License-Identifier: Apache-2.0

"""What the demonstration shows of a machine, its rules and its node."""

import json
from typing import Any

from rich import markup
from rich import table as rich_table
from rich import tree as rich_tree

_LONGEST = 50

Json = dict[str, Any]


def rules(listed: list[Json]) -> rich_table.Table:
    """List rules in the order in which they run.

    :param listed: as a file has them.
    """
    shown = rich_table.Table(box=None, show_header=False, pad_edge=False)
    for each in sorted(listed, key=lambda each: -each['priority']):
        ops = dict.fromkeys(action['op'] for action in each['actions'])
        shown.add_row(
            str(each['priority']),
            each['description'],
            ', '.join(ops) + (' (sensitive)' if each.get('sensitive') else ''),
        )
    return shown


def rule(told: Json) -> rich_tree.Tree:
    """Say why a rule matched or not, and what it did.

    :param told: as a dry run answers.
    """
    colour, word = 'dim', 'did not match'
    if told['matched']:
        colour, word = 'green', 'matched'
    name = told.get('description') or told['uuid']
    tree = rich_tree.Tree(f'[{colour}]{markup.escape(name)}: {word}[/]')
    if told.get('withheld'):
        tree.add('[dim]the rest is withheld: the rule is sensitive[/]')
        return tree
    for condition in told['conditions']:
        reason = markup.escape(_short(condition['reason'] or ''))
        tree.add(
            f'[dim]because {condition["op"]} is '
            f'{str(condition["result"]).lower()}: {reason}[/]'
        )
    for action in told['actions'] or ():
        for change in action['changes']:
            tree.add(_change(change))
    return tree


def _change(change: Json) -> str:
    if change['object'] == 'traits':
        return f'trait [cyan]{change["value"]}[/]'
    value = _short(json.dumps(change['value']))
    return (
        f'{change["object"]} {change["path"]} = '
        f'[cyan]{markup.escape(value)}[/]'
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'


def machine(data: Json) -> str:
    """Say what the machine is that will be inspected, on one line.

    :param data: what its ramdisk posts.
    """
    inventory = data['inventory']
    vendor = ' '.join(
        filter(
            None,
            (
                inventory['system_vendor'].get(name)
                for name in ('manufacturer', 'product_name')
            ),
        )
    )
    parts = [
        f'{inventory["cpu"]["count"]} x '
        f'{inventory["cpu"].get("model_name") or "unknown"}',
        f'{inventory["memory"]["physical_mb"]} MiB',
        *(
            f'{disk["name"]} {disk["size"] // 10**9} GB'
            for disk in inventory['disks']
        ),
        *(
            f'{nic["name"]} {nic["mac_address"]}'
            for nic in inventory['interfaces']
        ),
    ]
    return markup.escape(', '.join([vendor, *parts] if vendor else parts))


def node(shown: Json) -> str:
    """Say what became of a node.

    :param shown: as the API shows it, with its ``traits``.
    """
    parts = [shown['provision_state']]
    if shown['resource_class']:
        parts.append(f'resource class [cyan]{shown["resource_class"]}[/]')
    parts += [f'trait [cyan]{trait}[/]' for trait in shown['traits']]
    if shown['last_error']:
        # Ironic puts its own words before the rule's, more than once.
        reason = shown['last_error'].rpartition('Reason: ')[2]
        parts = [f'{parts[0]}: [red]{markup.escape(reason)}[/]']
    return ', '.join(parts)

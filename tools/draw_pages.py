#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Draw the pictures of report pages and of a plan in the documents again."""

import argparse
import io
import json
import pathlib
import re
import tempfile
from typing import Any

from rich import console
from rich._export_format import CONSOLE_SVG_FORMAT
import yaml

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.report.pages import fleet
from ironic_inspection_rules.kit.report.pages import outliers
from ironic_inspection_rules.kit.report.pages import test
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_set import replacement
from ironic_inspection_rules.tests import browser
from ironic_inspection_rules.tests import page_samples

ROOT = pathlib.Path(__file__).parents[1]
STATIC = ROOT / 'doc' / 'source' / '_static'
SAMPLES = ROOT / 'tools' / 'samples'
GIB = 1024
MEMORY = (24, 64, 96, 192, 512, 1024, 6144, 8192)
SIZE = (1120, 800)
SCALE = 0.75


def machines(directory: pathlib.Path) -> list[str]:
    """Write inventories like the sample, in which some values differ.

    :param directory: the directory for the files.
    :returns: the paths of the files.
    """
    paths = []
    for number, size in enumerate(MEMORY * 2):
        sample = json.loads(
            (SAMPLES / 'inventory-virtual-machine.json').read_text()
        )
        inventory = sample['inventory']
        inventory['memory']['physical_mb'] = size * GIB
        if number % 3 == 0:
            inventory['cpu']['flags'].remove('avx2')
        if number == len(MEMORY):
            del inventory['memory']
        path = directory / f'rack{1 + number // 8}-{number % 8:02}.json'
        path.write_text(json.dumps(sample))
        paths.append(str(path))
    return paths


def matrix(directory: pathlib.Path) -> str:
    """Return the page of a test of the sample rules."""
    rules = machine_test.load_rules([str(SAMPLES / 'rules.yaml')])
    plans = machine_test.compile_rules(rules)
    page = test.Matrix(rules, ['rules.yaml'])
    for path in machines(directory):
        page.add(
            page.extract(
                machine_test.try_machine(path, plans, machine_test.Nodes())
            )
        )
    return page.render()


PLAN_COMMAND = '$ openstack baremetal inspection rule plan rules/'
PLAN_WIDTH = 92
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(model.WRITABLE),
    'priority': 0,
    'sensitive': False,
    'phase': 'main',
    'mode': 'enforce',
    'conditions': [],
    'vars': {},
}
"""What a rule is by default, in the order in which a plan shows it."""


def planned() -> list[str]:
    """Return the lines of a plan with two of the sample rules.

    One is new, and of the other the priority has changed.
    """
    rules = yaml.safe_load((SAMPLES / 'rules.yaml').read_text())
    by_name = {rule['description']: {**DEFAULTS, **rule} for rule in rules}
    created = by_name['Big memory is for databases']
    after = by_name['Vector units make a node fit for simulations']
    after['uuid'] = '8d3c1f0a-5a63-4c0b-9d6e-0b0d4e1f2a77'
    before = {**after, 'priority': 0}
    steps = [
        {
            'outcome': replacement.CREATED,
            'uuid': '(known after apply)',
            'description': created['description'],
            'matched_by': None,
            'before': None,
            'after': created,
            'fields': list(created),
        },
        {
            'outcome': replacement.UPDATED,
            'uuid': after['uuid'],
            'description': after['description'],
            'matched_by': None,
            'before': before,
            'after': after,
            'fields': ['priority'],
        },
    ]
    return list(replacement.plan_lines(steps))


def plan() -> str:
    """Return the picture of what ``plan`` prints on a terminal."""
    paper = console.Console(
        record=True,
        width=PLAN_WIDTH,
        file=io.StringIO(),
        highlight=False,
        force_terminal=True,
    )
    paper.print(PLAN_COMMAND)
    table.draw_diff(planned(), paper)
    # The URLs of the fonts are removed, because a browser would download them
    # from the network.
    form = re.sub(r',\s*url\([^)]*\) format\([^)]*\)', '', CONSOLE_SVG_FORMAT)
    # Without a fixed identifier, the picture would differ every time.
    return paper.export_svg(title='plan', code_format=form, unique_id='plan')


def main() -> None:
    """Draw all pictures, or only that of the plan, which needs no browser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--plan',
        action='store_true',
        help='draw only the plan, which needs no browser',
    )
    arguments = parser.parse_args()
    (STATIC / 'plan.svg').write_text(plan())
    if not arguments.plan:
        draw()


def draw() -> None:
    """Open every page in a browser, and store its picture."""
    chromium = browser.Chromium()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            directory = pathlib.Path(temporary) / 'inventories'
            directory.mkdir()
            for name, text, height in (
                ('page-of-a-test', matrix(directory), 1110),
                (
                    'odd-machines',
                    outliers.render(page_samples.odd_machines()),
                    1165,
                ),
                (
                    'report-of-a-fleet',
                    fleet.render(page_samples.fleet(10000)),
                    2010,
                ),
            ):
                path = directory / f'{name}.html'
                path.write_text(text)
                chromium.open(str(path), SIZE)
                chromium.settle(200)
                target = STATIC / f'{name}.webp'
                target.write_bytes(chromium.picture(height, SCALE))
                print(target.name, target.stat().st_size)
    finally:
        chromium.close()


if __name__ == '__main__':
    main()

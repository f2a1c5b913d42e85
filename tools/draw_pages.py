#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Draw the pictures of pages that the documents have anew."""

import json
import pathlib
import tempfile

from ironic_inspection_rules.kit.report.pages import fleet
from ironic_inspection_rules.kit.report.pages import outliers
from ironic_inspection_rules.kit.report.pages import test
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.tests import browser
from ironic_inspection_rules.tests import page_samples

ROOT = pathlib.Path(__file__).parents[1]
STATIC = ROOT / 'doc' / 'source' / '_static'
SAMPLES = ROOT / 'tools' / 'samples'
GIB = 1024
MEMORY = (24, 64, 96, 192, 512, 1024, 6144, 8192)
SIZE = (1120, 800)
SCALE = .75


def machines(directory: pathlib.Path) -> list[str]:
    """Write inventories like the sample, with other sizes."""
    paths = []
    for number, size in enumerate(MEMORY * 2):
        sample = json.loads(
            (SAMPLES / 'inventory-virtual-machine.json').read_text())
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
        page.add(page.extract(machine_test.attempt(
            path, plans, machine_test.Nodes())))
    return page.render().replace(str(directory), 'inventories')


def main() -> None:
    """Draw all."""
    chromium = browser.Browser()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            directory = pathlib.Path(temporary)
            for name, text, height in (
                    ('page-of-a-test', matrix(directory), 860),
                    ('odd-machines',
                     outliers.render(page_samples.odd_machines()), 1500),
                    ('report-of-a-fleet',
                     fleet.render(page_samples.fleet(10000)), 2010)):
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

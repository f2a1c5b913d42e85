#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure how long pages of many machines take: to write, and to open.

A page is opened in Chromium, several times; what counts is from the start of
the navigation until everything is drawn. Then the table is searched and
sorted, which is until the new rows are drawn.
"""

import argparse
from collections.abc import Callable, Iterable
import pathlib
import statistics
import tempfile
import time

from ironic_inspection_rules.engine import model
from ironic_inspection_rules.report.pages import diff
from ironic_inspection_rules.report.pages import fleet
from ironic_inspection_rules.report.pages import test
from ironic_inspection_rules.tests import browser
from ironic_inspection_rules.tests import page_samples

REPEATS = 5

DRAWN = """
const [work, done] = arguments;
const start = performance.now();
if (work === 'open') {
  requestAnimationFrame(() => requestAnimationFrame(
    () => done(performance.now())));
} else {
  if (work === 'sort') {
    document.querySelector('#machines thead button')?.click();
  } else {
    finder.search.value = 'r1';
    finder.find();
  }
  requestAnimationFrame(() => requestAnimationFrame(
    () => done(performance.now() - start)));
}
"""


def measure(chromium: browser.Browser, name: str,
            render: Callable[[], str], directory: pathlib.Path) -> None:
    """Print a line about one page."""
    start = time.perf_counter()
    text = render()
    written = time.perf_counter() - start
    path = directory / f'{name}.html'
    path.write_text(text)
    found: dict[str, list[float]] = {'open': [], 'search': [], 'sort': []}
    for _each in range(REPEATS):
        chromium.driver.get('about:blank')
        chromium.driver.get(f'file://{path}')
        for work, times in found.items():
            times.append(chromium.driver.execute_async_script(DRAWN, work))
            if work == 'open':
                chromium.go_to('machines')
    print(f'{name:<8}{written:>10.2f} s{len(text) / 1e6:>10.1f} MB', *(
        f'{statistics.median(times):>10.0f} ms'
        for times in found.values()))


def matrix(columns: Iterable[test.Column], rules: int) -> str:
    """Return the page of a test."""
    page = test.Matrix([model.Rule(
        uuid=f'r{number}', description=f'Rule {number}', priority=-number,
        conditions=({'op': 'gt', 'args': ['{inventory.size}', number]},),
        actions=({'op': 'set-attribute', 'args': ['/extra/a', number]},))
        for number in range(rules)], ['rules.yaml'])
    for column in columns:
        page.add(column)
    return page.render()


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--machines', type=int, default=10000)
    parser.add_argument('--rules', type=int, default=100)
    arguments = parser.parse_args()
    chromium = browser.Browser()
    chromium.driver.set_window_size(*browser.DESKTOP)
    data = page_samples.fleet(arguments.machines, arguments.rules)
    columns = list(page_samples.columns(arguments.machines,
                                        arguments.rules))
    other = page_samples.difference(arguments.machines)
    print(f'{arguments.machines} machines, {arguments.rules} rules\n'
          f'{"":<8}{"write":>12}{"size":>13}{"open":>14}{"search":>14}'
          f'{"sort":>14}')
    try:
        with tempfile.TemporaryDirectory() as directory:
            for name, render in (('fleet', lambda: fleet.render(data)),
                                 ('diff', lambda: diff.render(other)),
                                 ('test', lambda: matrix(
                                     columns, arguments.rules))):
                measure(chromium, name, render, pathlib.Path(directory))
    finally:
        chromium.close()


if __name__ == '__main__':
    main()

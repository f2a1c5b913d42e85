# SPDX-License-Identifier: Apache-2.0

"""The time to write and to open pages of many machines.

A page is opened several times in Chromium. The time is measured from the start
of the navigation until everything is drawn. Then the table is searched and
sorted, and the time is measured until the new rows are drawn.
"""

import argparse
from collections.abc import Callable, Iterable
import functools
import pathlib
import statistics
import tempfile
import time

from benchmark import common
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.kit.report.pages import diff
from ironic_inspection_rules.kit.report.pages import fleet
from ironic_inspection_rules.kit.report.pages import test
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
    const finder = finders.find(({id}) => id === 'machines');
    finder.search.value = 'r1';
    finder.find();
  }
  requestAnimationFrame(() => requestAnimationFrame(
    () => done(performance.now() - start)));
}
"""


def measure_page(
    chromium: browser.Chromium,
    table: common.Table,
    name: str,
    render: Callable[[], str],
    directory: pathlib.Path,
) -> None:
    """Write a page, open it several times, and add a row to the table.

    :param render: a function that returns the text of the page.
    :param directory: the directory for the file.
    """
    start = time.perf_counter()
    text = render()
    seconds_to_write = time.perf_counter() - start
    path = directory / f'{name}.html'
    path.write_text(text)
    times_by_work: dict[str, list[float]] = {
        'open': [],
        'search': [],
        'sort': [],
    }
    for _repeat in range(REPEATS):
        chromium.driver.get('about:blank')
        chromium.driver.get(f'file://{path}')
        for work, times in times_by_work.items():
            times.append(chromium.driver.execute_async_script(DRAWN, work))
            if work == 'open':
                chromium.go_to('machines')
    table.add(
        name,
        f'{seconds_to_write:.2f} s',
        f'{len(text) / 1e6:.1f} MB',
        *(
            f'{statistics.median(times):.0f} ms'
            for times in times_by_work.values()
        ),
    )


def matrix(columns: Iterable[test.MachineColumn], rules: int) -> str:
    """Return the page of a test of rules on machines.

    :param columns: the results of all rules, one column per machine.
    :param rules: the number of rules.
    """
    page = test.Matrix(
        [
            model.Rule(
                uuid=f'r{number}',
                description=f'Rule {number}',
                priority=-number,
                conditions=(
                    {'op': 'gt', 'args': ['{inventory.size}', number]},
                ),
                actions=(
                    {'op': 'set-attribute', 'args': ['/extra/a', number]},
                ),
            )
            for number in range(rules)
        ],
        ['rules.yaml'],
    )
    for column in columns:
        page.add(column)
    return page.render()


def measure(arguments: argparse.Namespace) -> None:
    """Measure the pages of a fleet, of a difference and of a test."""
    machines, rules = arguments.machines, arguments.page_rules
    data = page_samples.fleet(machines, rules)
    columns = list(page_samples.columns(machines, rules))
    other = page_samples.difference(machines)
    table = common.Table(
        f'Pages of {machines:,} machines and {rules} rules in Chromium',
        ('Page', 'To write', 'Size', 'To open', 'To search', 'To sort'),
    )
    chromium = browser.Chromium()
    try:
        chromium.driver.set_window_size(*browser.DESKTOP)
        with tempfile.TemporaryDirectory() as directory:
            for name, render in (
                ('fleet', functools.partial(fleet.render, data)),
                ('diff', functools.partial(diff.render, other)),
                ('test', functools.partial(matrix, columns, rules)),
            ):
                measure_page(
                    chromium, table, name, render, pathlib.Path(directory)
                )
    finally:
        chromium.close()
    table.print()


def _missing(_arguments: argparse.Namespace) -> str | None:
    """Return what this machine lacks for the benchmark, or None."""
    missing = browser.missing()
    if missing:
        return f'{missing}: apt-get install chromium chromium-driver'
    return None


def _add_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options of this part."""
    group.add_argument(
        '--machines',
        type=int,
        default=10_000,
        metavar='COUNT',
        help='number of machines on a page',
    )
    group.add_argument(
        '--page-rules',
        type=int,
        default=100,
        metavar='COUNT',
        help='number of rules on a page',
    )


PART = common.Part(
    'pages',
    'pages of many machines, in Chromium',
    measure,
    _add_arguments,
    _missing,
)

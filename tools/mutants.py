#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""See which small mistakes in the code no test would notice.

cosmic-ray makes the mistakes, in a copy of this repository, and runs the unit
tests of the same room after each. Its mutants of type hints are left out:
nothing runs these. What lives is printed as a diff; it is a test that is
missing, or a mutant that means the same.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from cosmic_ray import commands
from cosmic_ray import config
from cosmic_ray import work_db
from cosmic_ray.work_item import TestOutcome
from cosmic_ray.work_item import WorkItem

PACKAGE = 'ironic_inspection_rules'
ROOMS = ('engine', 'conditions', 'filters', 'runs', 'authoring', 'trial')
_SAME = ('_Is_Eq', '_Eq_Is', '_IsNot_NotEq', '_NotEq_IsNot')
"""Mutants that mean the same of what is None, true or a word."""

SECONDS = 600
"""After which tests count as failed: a mutant may run for ever."""


def sample(items: list[WorkItem], count: int, dice: random.Random
           ) -> list[WorkItem]:
    """Choose mutants, at most one of a line, as lines have many."""
    dice.shuffle(items)
    chosen: dict[tuple[str, int], WorkItem] = {}
    for item in items:
        [spec] = item.mutations
        place = str(spec.module_path), spec.start_pos[0]
        source = pathlib.Path(spec.module_path).read_text().splitlines()
        # A bar between types is no operator, and is never run.
        if 'BitOr' in spec.operator_name and ' | ' in source[place[1] - 1]:
            continue
        if spec.operator_name.endswith(_SAME):
            continue
        chosen.setdefault(place, item)
    return list(chosen.values())[:count]


def search(room: str, count: int, dice: random.Random) -> collections.Counter:
    """Try some mutants of a room, in the current directory.

    :returns: how many were killed, and how many survived.
    """
    command = (f'{sys.executable} -m unittest discover -f -t . '
               f'-s {PACKAGE}/tests/unit/{room}')
    subprocess.run(command.split(), check=True, capture_output=True)
    settings = config.ConfigDict({
        'module-path': [f'{PACKAGE}/{room}'], 'timeout': SECONDS,
        'test-command': command, 'excluded-modules': [],
        'distributor': {'name': 'local'}})
    outcomes: collections.Counter[str] = collections.Counter()
    with work_db.use_db(f'{room}.sqlite') as database:
        commands.init([pathlib.Path(each) for each in sorted(
            map(str, pathlib.Path(PACKAGE, room).rglob('*.py')))],
            database, {})
        chosen = sample(list(database.work_items), count, dice)
        database.clear()
        database.add_work_items(chosen)
        commands.execute(database, settings)
        for _job, result in database.completed_work_items:
            outcome = (result.test_outcome or TestOutcome.INCOMPETENT).value
            outcomes[outcome] += 1
            if outcome == TestOutcome.SURVIVED.value:
                print(result.diff, end='\n\n', flush=True)
    return outcomes


def main(argv: list[str]) -> int:
    """Search rooms, and say how many mutants lived.

    :returns: 0; a mutant that lives is something to look at.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('rooms', nargs='*', default=ROOMS, metavar='ROOM')
    parser.add_argument('--count', type=int, default=20,
                        help='mutants of each room')
    parser.add_argument('--seed', type=int, default=random.randrange(10 ** 6))
    parsed = parser.parse_args(argv)
    print(f'--seed {parsed.seed}', flush=True)
    root = pathlib.Path(__file__).parents[1]
    files = subprocess.run(['git', 'ls-files'], cwd=root, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    with tempfile.TemporaryDirectory() as directory:
        for each in files:
            target = pathlib.Path(directory, each)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / each, target, follow_symlinks=False)
        os.chdir(directory)
        for room in parsed.rooms:
            outcomes = search(room, parsed.count, random.Random(parsed.seed))
            print(f'{room}: {outcomes["survived"]} of {outcomes.total()} '
                  f'live', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

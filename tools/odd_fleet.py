#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Plant faults in generated fleets, and count which of them are found.

Without ``--write``, it prints for every size of groups how many faults were
planted and missed, and how many machines were reported without a fault. With
``--write``, it writes the inventories of one fleet to a directory, for
measurements, and prints the planted faults. The same seed gives the same fleet
again.
"""

import argparse
import collections
import json
import pathlib
import random
import sys

from ironic_inspection_rules.tests import odd_fleet
from ironic_inspection_rules.tests import odd_fleet_trial


def main() -> int:
    """Try fleets, or write one.

    :returns: 1 if more than one fault in a hundred is missed in groups of ten
        or more machines, or if more than one machine in a thousand is reported
        as odd without a fault; otherwise 0.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--seed',
        type=int,
        default=random.randrange(10**6),
        help='seed of the random choices, which gives the same fleet again '
        '(default: a random number)',
    )
    parser.add_argument(
        '--sizes',
        type=int,
        nargs='+',
        default=[5, 6, 8, 10, 20, 40, 100, 500],
        help='numbers of machines in a group (default: %(default)s)',
    )
    parser.add_argument(
        '--machines',
        type=int,
        default=2000,
        help='number of machines in all groups of one size, or in the fleet '
        'that is written (default: %(default)s)',
    )
    parser.add_argument(
        '--share',
        type=float,
        default=0.2,
        help='share of the machines that have a fault (default: %(default)s)',
    )
    parser.add_argument(
        '--two-kinds',
        action='store_true',
        help='make two populations of machines in every group',
    )
    parser.add_argument(
        '--write',
        type=pathlib.Path,
        metavar='DIRECTORY',
        help='write the inventories of one fleet to this directory instead',
    )
    parser.add_argument(
        '--details',
        action='store_true',
        help='print every missed fault and every wrong report',
    )
    parsed = parser.parse_args()
    draw = random.Random(parsed.seed)
    print(f'seed {parsed.seed}')
    if parsed.write:
        write(parsed, draw)
        return 0
    # The number of failures: sizes of groups for which too many faults are
    # missed, or for which too many machines are reported without a fault.
    bad_sizes = 0
    for size in parsed.sizes:
        score = odd_fleet_trial.Score()
        number = 0
        while score.machines < parsed.machines:
            number += 1
            if parsed.two_kinds:
                made = odd_fleet.two_kinds(draw, size, parsed.share)
            else:
                made = odd_fleet.group(draw, number, size, parsed.share)
            score += odd_fleet_trial.run(made)
        print(f'groups of {size}: {score}')
        for fault, count in sorted(score.missed_by_fault.items()):
            print(f'    {fault}: {count} of {score.planted[fault]} missed')
        if parsed.details:
            print('\n'.join(score.remarks))
        misses_many = score.missed > score.planted.total() / 100
        if misses_many and size >= 10:
            bad_sizes += 1
        if len(score.wrong) > score.machines / 1000:
            bad_sizes += 1
    return int(bad_sizes > 0)


def write(parsed: argparse.Namespace, draw: random.Random) -> None:
    """Write the inventories of a fleet, and print the faults in it.

    :param parsed: the parsed command line, whose ``write`` is the directory.
    :param draw: chooses sizes of groups, machines and faults.
    """
    parsed.write.mkdir(parents=True, exist_ok=True)
    counts: collections.Counter[str] = collections.Counter()
    made = 0
    while made < parsed.machines:
        size = min(parsed.machines - made, draw.choice(parsed.sizes))
        group = odd_fleet.group(draw, made, size, parsed.share)
        for name, machine in group.machines.items():
            parsed.write.joinpath(f'{name}.json').write_text(
                json.dumps(machine.inventory(), indent=2)
            )
        for planted in group.planted:
            counts[planted.fault.name] += 1
            print(planted.machine, planted.fault.name, planted.slot or '')
        made += size
    print(f'{made} machines, {counts.total()} faults')


if __name__ == '__main__':
    sys.exit(main())

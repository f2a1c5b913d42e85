# SPDX-License-Identifier: Apache-2.0

"""Inspect many nodes while worker processes are killed at random.

It starts an Ironic and worker processes, and posts the inventories of all
nodes. It kills or stops workers, and starts others, until all requests are
done. It exits with 1 unless every node is manageable, unlocked, and has every
effect of the rules exactly once.
"""

import argparse
import collections
import contextlib
import pathlib
import random
import signal
import sys
import tempfile
import time

from ironic_inspection_rules.tests.live import fleet
from ironic_inspection_rules.tests.live import launcher
from ironic_inspection_rules.tests.live import options
from ironic_inspection_rules.tests.live import service

WORKER = 'ironic-inspection-worker'


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--nodes',
        type=int,
        default=300,
        help='number of nodes to inspect (default: %(default)s)',
    )
    parser.add_argument(
        '--workers',
        type=int,
        default=3,
        help='number of worker processes (default: %(default)s)',
    )
    parser.add_argument(
        '--threads',
        type=int,
        default=2,
        help='number of threads of every worker (default: %(default)s)',
    )
    parser.add_argument(
        '--lease',
        type=int,
        default=5,
        help='seconds without a sign of life after which a worker counts as '
        'dead (default: %(default)s)',
    )
    parser.add_argument(
        '--every',
        type=float,
        default=4.0,
        help='mean number of seconds between the ends of two workers '
        '(default: %(default)s)',
    )
    parser.add_argument(
        '--signal',
        choices=('KILL', 'TERM', 'both'),
        default='KILL',
        help='the signal that ends a worker; "both" chooses one of the two '
        'at random (default: %(default)s)',
    )
    parser.add_argument(
        '--database',
        help='SQLAlchemy URL of an empty database (default: SQLite)',
    )
    parser.add_argument(
        '--seed',
        type=int,
        default=1,
        help='seed of the random choices (default: %(default)s)',
    )
    parser.add_argument(
        '--patience',
        type=float,
        default=900,
        help='seconds after which requests that are not done count as a '
        'problem (default: %(default)s)',
    )
    return parser.parse_args()


def make_configuration(settings: argparse.Namespace) -> options.Options:
    """Return the options of all services, by section.

    :param settings: the parsed command line.
    """
    database = {}
    if settings.database:
        database['connection'] = settings.database
    return {
        'database': database,
        'inspection_queue': {
            'enabled': True,
            'embedded': False,
            'workers': settings.threads,
            'lease': settings.lease,
            'get_timeout': 0.5,
            'clean_up_period': 2,
        },
    }


class Chaos:
    """Worker processes, which are killed or stopped one after another.

    :param ironic: the Ironic whose requests they process.
    :param settings: the parsed command line.
    :ivar faults: the number of workers that got a signal, by signal.
    """

    def __init__(
        self, ironic: launcher.Ironic, settings: argparse.Namespace
    ) -> None:
        self._ironic = ironic
        self._settings = settings
        self._dice = random.Random(settings.seed)
        self._workers = [ironic.spawn(WORKER) for _ in range(settings.workers)]
        self._fault_at = 0.0
        self.faults: collections.Counter[str] = collections.Counter()

    def tick(self) -> None:
        """End a worker if it is time, and start another one instead."""
        now = time.monotonic()
        if self._fault_at == 0:
            # In the first call, no worker is ended immediately.
            self._fault_at = now + self._pause()
        if now < self._fault_at:
            return
        victim = self._dice.randrange(len(self._workers))
        self._end(self._workers[victim])
        self._workers[victim] = self._ironic.spawn(WORKER)
        self._fault_at = now + self._pause()

    def _pause(self) -> float:
        """Return a random number of seconds until the next fault."""
        return self._dice.expovariate(1 / self._settings.every)

    def _end(self, worker: service.Service) -> None:
        """Send a worker the signal that the command line names."""
        signal_name = self._settings.signal
        if signal_name == 'both':
            signal_name = self._dice.choice(('KILL', 'TERM'))
        self.faults[signal_name] += 1
        if signal_name == 'KILL':
            worker.kill()
        else:
            # The worker may have ended on its own.
            with contextlib.suppress(ProcessLookupError):
                worker.process.send_signal(signal.SIGTERM)


def run(ironic: launcher.Ironic, settings: argparse.Namespace) -> list[str]:
    """Inspect all nodes while workers are killed or stopped.

    :returns: one line for every problem found afterwards.
    """
    nodes = fleet.Fleet(ironic)
    with contextlib.closing(nodes), ironic.client() as client:
        for rule in fleet.RULES:
            client.call('POST', '/v1/inspection_rules', rule)
        machines = nodes.make([f'node-{n}' for n in range(settings.nodes)])
        chaos = Chaos(ironic, settings)
        began = time.monotonic()
        statuses = collections.Counter(
            answer.status_code for answer in nodes.post(machines)
        )
        requests_left = settings.nodes
        while requests_left:
            chaos.tick()
            states = [request['state'] for request in nodes.requests()]
            requests_left = states.count('waiting') + states.count(
                'processing'
            )
            if time.monotonic() - began > settings.patience:
                return [f'{requests_left} requests are not done']
            time.sleep(0.5)
        seconds = time.monotonic() - began
        attempts = collections.Counter(
            request['attempts'] for request in nodes.requests()
        )
        print(
            f'answers {dict(statuses)}, {seconds:.0f} s, faults '
            f'{dict(chaos.faults)}, requests by number of attempts '
            f'{dict(sorted(attempts.items()))}'
        )
        return nodes.problems(machines)


def main() -> int:
    """Run the command.

    :returns: 1 if there are problems, otherwise 0.
    """
    settings = parse_arguments()
    directory = tempfile.mkdtemp(prefix='chaos-')
    with launcher.Ironic(directory, make_configuration(settings)) as ironic:
        problems = run(ironic, settings)
    for problem in problems:
        print(problem)
    print(
        f'{len(problems)} problems; the logs are in {pathlib.Path(directory)}'
    )
    return int(bool(problems))


if __name__ == '__main__':
    sys.exit(main())

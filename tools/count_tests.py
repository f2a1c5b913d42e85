# SPDX-License-Identifier: Apache-2.0

"""Sum up all test runs that stestr keeps in ``.stestr``.

Prints what failed and a sum, and exits with 1 when a test failed or no test
ran.
"""

import collections
import sys
import typing

from stestr.repository import file
import testtools

OUTCOMES = {
    'success': 'passed',
    'xfail': 'passed',
    'skip': 'skipped',
    'fail': 'failed',
    'uxsuccess': 'failed',
    'inprogress': 'failed',
}


def group_tests() -> dict[str, list[str]]:
    """Return the names of the tests by outcome: ``{'passed': ['a.b'], …}``.

    A test that never ended has failed. If a run tried a test again, its last
    outcome counts.
    """
    groups = collections.defaultdict(list)
    runs = file.RepositoryFactory().open('.')
    for number in range(runs.count()):
        outcomes: dict[str, str] = {}

        # The default binds the outcomes of this run, not of the last one.
        def add(test: typing.Any, outcomes: dict[str, str] = outcomes) -> None:
            # Any other status, such as "exists", is not that of a test that
            # ran.
            if test['status'] in OUTCOMES:
                outcomes[test['id']] = OUTCOMES[test['status']]

        result = testtools.StreamToDict(add)
        result.startTestRun()
        runs.get_test_run(number).get_test().run(result)
        result.stopTestRun()
        for name, outcome in outcomes.items():
            groups[outcome].append(name)
    return groups


def main() -> int:
    """Print the failures and the sum.

    :returns: 1 if a test failed or none passed, else 0.
    """
    groups = group_tests()
    for name in groups['failed']:
        print(f'FAILED: {name}')
    print(
        ', '.join(
            f'{len(groups[outcome])} {outcome}'
            for outcome in ('passed', 'failed', 'skipped')
        )
    )
    # Where nothing has passed, no test was found, or all were skipped.
    has_passed = bool(groups['passed']) and not groups['failed']
    return int(not has_passed)


if __name__ == '__main__':
    sys.exit(main())

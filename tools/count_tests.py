# SPDX-License-Identifier: Apache-2.0

"""Count the tests of all runs that stestr keeps in ``.stestr``.

It prints the names of the tests that failed, and the number of tests by
outcome. It exits with 1 if a test failed or if no test passed.
"""

import argparse
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

    A test that never ended counts as failed. If a run retried a test, its last
    outcome counts.
    """
    groups = collections.defaultdict(list)
    runs = file.RepositoryFactory().open('.')
    for number in range(runs.count()):
        outcomes: dict[str, str] = {}

        # The default value binds the outcomes of this run instead of the last
        # one.
        def add(test: typing.Any, outcomes: dict[str, str] = outcomes) -> None:
            """Store the outcome of a test that has ended."""
            # Tests with any other status, such as "exists", did not run.
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

    :returns: 1 if a test failed or none passed, otherwise 0.
    """
    # There are no arguments, but --help prints what the command does.
    argparse.ArgumentParser(description=__doc__).parse_args()
    groups = group_tests()
    for name in groups['failed']:
        print(f'FAILED: {name}')
    print(
        ', '.join(
            f'{len(groups[outcome])} {outcome}'
            for outcome in ('passed', 'failed', 'skipped')
        )
    )
    # If nothing has passed, no test was found, or all were skipped.
    has_passed = bool(groups['passed']) and not groups['failed']
    return int(not has_passed)


if __name__ == '__main__':
    sys.exit(main())

# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Sum up all test runs that stestr keeps in ``.stestr``.

Prints one line and exits with 1 when a test failed or no test ran.
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


def count_tests() -> collections.Counter[str]:
    """Count passed, failed, skipped; a test that never ended has failed."""
    outcomes = collections.Counter(passed=0, failed=0, skipped=0)

    def add(test: dict[str, typing.Any]) -> None:
        if test['status'] in OUTCOMES:
            outcomes[OUTCOMES[test['status']]] += 1

    runs = file.RepositoryFactory().open('.')
    for number in range(runs.count()):
        result = testtools.StreamToDict(add)
        result.startTestRun()
        runs.get_test_run(number).get_test().run(result)
        result.stopTestRun()
    return outcomes


def main() -> int:
    total = count_tests()
    print('{passed} passed, {failed} failed, {skipped} skipped'.format(
        **total))
    return 1 if total['failed'] or not total['passed'] else 0


if __name__ == '__main__':
    sys.exit(main())

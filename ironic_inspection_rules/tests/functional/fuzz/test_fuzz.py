# SPDX-License-Identifier: Apache-2.0

"""Whatever is sent, the service lives, answers and keeps its secrets.

``IR_FUZZ_CASES`` says how many cases to try, ``IR_FUZZ_SEED`` which ones: the
same seed gives the same cases. ``make fuzz`` tries many.
"""

import base64
import dataclasses
import json
import os
import subprocess
import sys

import hypothesis

from ironic_inspection_rules.tests.functional.fuzz import cases
from ironic_inspection_rules.tests.functional.fuzz import child
from ironic_inspection_rules.tests.unit import base

COUNT = int(os.environ.get('IR_FUZZ_CASES', '2000'))
SEED = int(os.environ.get('IR_FUZZ_SEED', '1'))

PROCESSOR_SECONDS = 2
"""What a case may take beyond what Ironic takes for it without the plugin."""


class Child:
    """The process that serves, begun anew after each death.

    :param arguments: of its command line.
    """

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None

    def judge(self, case: cases.Case) -> dict:
        """Have a case judged.

        :returns: as :meth:`.child.Service.judge`; empty if it was deadly.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, '-m', child.__name__, *self._arguments],
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        line = json.dumps(
            {
                **dataclasses.asdict(case),
                'body': base64.b64encode(case.body).decode(),
            }
        )
        try:
            print(line, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ''
        if not answer:
            self.stop()
        return json.loads(answer or '{}')

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class FuzzTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.child = Child()
        self.addCleanup(self.child.stop)
        # Begun for the first case that takes long, so hardly ever.
        self.stock = Child(child.STOCK)
        self.addCleanup(self.stock.stop)

    def seconds_of_stock(self, case):
        """Tell what a case takes without the plugin; 0 if it is deadly."""
        if case.method == 'FILE':
            return 0
        return self.stock.judge(case).get('seconds', 0)

    def test_no_case_kills_stalls_breaks_or_tells(self):
        judge = self.child.judge
        tried = []

        @hypothesis.seed(SEED)
        @hypothesis.settings(
            deadline=None,
            database=None,
            max_examples=COUNT,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(cases.CASES)
        def check(case):
            verdict = judge(case)
            tried.append(verdict)
            self.assertNotEqual({}, verdict, 'the process died')
            self.assertLess(verdict['status'], 500, verdict['text'])
            self.assertEqual([], verdict['leak'])
            if verdict['seconds'] >= PROCESSOR_SECONDS:
                self.assertLess(
                    verdict['seconds'] - self.seconds_of_stock(case),
                    PROCESSOR_SECONDS,
                )

        check()
        if COUNT < 1000:
            return
        # Most say no, but some must get through.
        self.assertLessEqual(
            {200, 201, 400}, {verdict['status'] for verdict in tried}
        )

# SPDX-License-Identifier: Apache-2.0

"""Ironic's own tests that fail with the plugin, by design."""

from collections.abc import Callable, Iterator
import pathlib
from typing import Any
import unittest

import yaml

_FILE = pathlib.Path(__file__).with_suffix('.yaml')


def load() -> dict[str, str]:
    """Return the tests that must fail, by the end of their IDs, and why."""
    found = yaml.safe_load(_FILE.read_text()) or []
    return {
        test: group['reason'] for group in found for test in group['tests']
    }


def expect(suite: unittest.TestSuite, differ: dict[str, str]) -> None:
    """Have tests that are said to differ pass where they fail, and only there.

    :raises: LookupError where there is no such test.
    """
    tests = {test.id(): test for test in _flat(suite)}
    for name, reason in differ.items():
        test = tests.get(f'ironic.tests.unit.{name}')
        if test is None:
            raise LookupError(
                f'{_FILE.name} names {name}, which is '
                'none of the tests of this Ironic'
            )
        method = test._testMethodName
        setattr(test, method, _inverted(getattr(test, method), reason))


def _flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Return the tests of a suite and of those in it."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def _inverted(method: Callable[[], Any], reason: str) -> Callable[[], None]:
    def must_fail() -> None:
        try:
            method()
        except unittest.SkipTest:
            raise
        except Exception:
            return
        raise AssertionError(
            f'passes, but {_FILE.name} says that it differs: {reason}'
        )

    return must_fail

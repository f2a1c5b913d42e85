#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Find small mistakes in the code that no unit test notices.

It runs every module of the unit tests once to find out which lines it runs.
Then cosmic-ray makes one mistake at a time in copies of this repository, and
the modules that run the changed line are tried, beginning with those of the
same package. Such a changed copy is called a mutant. Type hints are not
changed, because no test runs them. A mutant that no test notices is printed as
a diff. Either a test is missing, or the mutant means the same as the code.
"""

import argparse
from collections.abc import Callable
import concurrent.futures
import difflib
import functools
import importlib
import json
import math
import os
import pathlib
import queue
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import typing
import unittest
import warnings

from cosmic_ray import ast
from cosmic_ray import mutating
from cosmic_ray import plugins
import coverage
from coverage import parser as coverage_parser

PACKAGE = 'ironic_inspection_rules'
ROOMS = (
    'engine',
    'plugins/conditions',
    'plugins/filters',
    'runs',
    'kit/authoring',
    'kit/trial',
)
_SAME = ('_Is_Eq', '_Eq_Is', '_IsNot_NotEq', '_NotEq_IsNot')
"""Mutants of comparisons that do not change the result for None, booleans and
words."""

_LEFT_ALONE = ('@functools.cache', '@text_cache.', '@abc.abstractmethod')
"""Decorators whose removal no test can detect, because calls only become
slower, or because a class may then omit a method."""

_SLOW = (
    'hypothesis',
    'ironic.api.app',
    'ironic.conductor.manager',
    'oslotest.base',
    'z3',
)
"""Modules that take long to import. They are imported once, before the
processes of tests are forked."""

_CORPUS = '.unit.test_corpus'
"""Tests of the whole language, which may detect mistakes in any room."""

_AT_ONCE = 2
"""Number of mutants that are tried at the same time, each in its own copy of
the repository."""

_PATIENCE = 30
"""Seconds of processor time that a module of tests may take in addition to
twice its usual time. Wall-clock time would end it too early on a busy
machine."""

_WAITING = 20
"""Factor by which the wall-clock time may exceed the processor time. It ends a
mutant that waits forever without using the processor."""

_MEMORY = 4 << 30
"""Most bytes of memory for tests, because a mutant may allocate without
end."""


def copy(target: pathlib.Path) -> None:
    """Copy the files of this repository that git tracks, and compile them.

    :param target: the directory of the copy, which is created.
    """
    target.mkdir()
    repository = pathlib.Path(__file__).parents[1]
    subprocess.run(
        f'git ls-files -z | xargs -0 cp --parents -Pt {target}',
        shell=True,
        cwd=repository,
        check=True,
    )
    subprocess.run(
        [sys.executable, '-m', 'compileall', '-q', PACKAGE],
        cwd=target,
        check=True,
    )


def run_apart(directory: pathlib.Path, work: Callable[[], bool]) -> bool:
    """Run a function in a forked process, which has all slow modules imported.

    This process continues, whatever the function breaks.

    :param directory: the copy of the repository to work in.
    :param work: the function.
    :returns: the result of the function; False if an error or a limit ended
        the process.
    """
    child = os.fork()
    # fork() returns 0 in the new process.
    if not child:
        code = 1
        try:
            os.chdir(directory)
            sys.path.insert(0, str(directory))
            os.environ['PYTHONPATH'] = str(directory)
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(silence, stream)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            code = not work()
        finally:
            # sys.exit() must not be used, because it would continue in the
            # code of the parent.
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


class Mistake(typing.NamedTuple):
    """A small mistake in the code: a mutant of cosmic-ray.

    :ivar path: the path of the file, in the repository.
    :ivar operator: the name of the operator that makes the mistake, e.g. one
        that replaces ``<`` by ``<=``.
    :ivar number: the index of the mistake among all mistakes of this operator
        in the file.
    :ivar line: the number of the line that is changed.
    """

    path: pathlib.Path
    operator: str
    number: int
    line: int

    def in_text(self, source: str) -> str:
        """Return the text of the file with the mistake."""
        return mutating.mutate_code(
            source, plugins.get_operator(self.operator)(), self.number
        )


class Tests:
    """All modules of unit tests, with the lines of code that they run.

    :param learned: a directory that receives one file per module of tests. The
        file says whether the module passes, its seconds, and the lines that it
        runs.
    :param longest: the most seconds of tests to spend on a mistake.
    """

    def __init__(self, learned: pathlib.Path, longest: float) -> None:
        learned.mkdir(parents=True, exist_ok=True)
        self._learned = learned
        self._longest = longest
        self._seconds: dict[str, float] = {}
        self._lines: dict[str, dict[str, list[int]]] = {}

    def learn(self, directory: pathlib.Path, name: str) -> None:
        """Run a module of tests, and record its time and the lines it runs.

        A module that fails without a mistake is skipped.

        :param directory: a copy of the repository.
        :param name: the name of the module.
        """
        answer = self._learned / name

        def measure() -> bool:
            """Run the tests, and write what they have run to the file."""
            begin = time.monotonic()
            measured = coverage.Coverage(
                data_file=None,
                config_file=False,
                include=[f'{directory}/{PACKAGE}/{room}/*' for room in ROOMS],
            )
            with measured.collect():
                is_good = self.run_modules([name], failfast=False)
            if not is_good:
                # Coverage makes tests slow, so a test with a time limit may
                # fail. The module is good if it passes without coverage.
                is_good = self.run_modules([name])
            data = measured.get_data()
            lines = {}
            for file in data.measured_files():
                lines[os.path.relpath(file, directory)] = data.lines(file)
            seconds = time.monotonic() - begin
            answer.write_text(json.dumps([is_good, seconds, lines]))
            return True

        if not answer.exists():
            run_apart(directory, measure)
        is_good = False
        # If there is no file, the process was ended because it used too much
        # time or memory.
        if answer.exists():
            is_good, seconds, lines = json.loads(answer.read_text())
        if not is_good:
            print(f'Left out, as it fails without mistakes: {name}')
            return
        self._seconds[name] = seconds
        self._lines[name] = lines

    def find_modules(self, mistake: Mistake, source: str) -> list[str]:
        """Return the modules of tests that run the line of a mistake.

        The tests of the same room come first. Within both groups, the quickest
        tests come first.

        :param source: the text of the file, without the mistake.
        :returns: as many modules as there is time for.
        """
        parser = coverage_parser.PythonParser(text=source)
        parser.parse_source()
        # If a statement has several lines, coverage knows only the first one.
        line = parser.first_line(mistake.line)
        names = []
        for name, lines_by_path in self._lines.items():
            lines = lines_by_path.get(str(mistake.path), ())
            if line in map(parser.first_line, lines):
                names.append(name)
        # The tests of a room have its name in theirs, e.g. ".unit.engine.".
        near_parts = (f'.unit.{mistake.path.parts[1]}.', _CORPUS)

        def sort_key(name: str) -> tuple[bool, float]:
            """Return whether a module is of another room, and its seconds."""
            is_near = any(part in name for part in near_parts)
            # False comes before True.
            return not is_near, self._seconds[name]

        affordable = []
        spent = 0.0
        for name in sorted(names, key=sort_key):
            spent += self._seconds[name]
            if spent > self._longest:
                break
            affordable.append(name)
        return affordable

    def run_modules(self, names: list[str], failfast: bool = True) -> bool:
        """Run modules of tests, one by one, until a test fails.

        A signal ends this process if a module takes too long.

        :param failfast: whether to skip the other tests of a module after a
            failure.
        :returns: whether all tests passed.
        """
        for name in names:
            usual = self._seconds.get(name, 10 * _PATIENCE)
            most = _PATIENCE + 2 * int(usual)
            # The first limit is processor time, the second is wall-clock time.
            signal.setitimer(signal.ITIMER_PROF, most)
            signal.alarm(most * _WAITING)
            tests = unittest.defaultTestLoader.loadTestsFromName(name)
            runner = unittest.TextTestRunner(failfast=failfast)
            if not runner.run(tests).wasSuccessful():
                return False
        return True


def choose_mistakes(
    room: str, count: int, dice: random.Random
) -> list[Mistake]:
    """Choose mistakes at random, at most one per line.

    Long files get more mistakes than short ones.

    :param room: a folder of the package, such as ``plugins/filters``.
    :param count: the number of mistakes. The result may have fewer, because
        the number of attempts is limited.
    """
    paths = sorted(pathlib.Path(PACKAGE, room).rglob('*.py'))
    trees = {path: ast.get_ast_from_path(path) for path in paths}
    sizes = [path.stat().st_size for path in paths]
    operators = [
        name
        for name in sorted(plugins.operator_names())
        if not plugins.get_operator(name).arguments()
    ]
    chosen: dict[tuple[pathlib.Path, int], Mistake] = {}
    for _attempt in range(count * len(operators)):
        if len(chosen) == count:
            break
        [path] = dice.choices(paths, sizes)
        operator = dice.choice(operators)
        mutation = plugins.get_operator(operator)()
        # The line of every mistake that this operator can make in the file.
        lines = []
        for node in ast.ast_nodes(trees[path]):
            for (line, _column), _end in mutation.mutation_positions(node):
                lines.append(line)
        if not lines:
            continue
        number = dice.randrange(len(lines))
        mistake = Mistake(path, operator, number, lines[number])
        if may_be_noticed(mistake, path.read_text()):
            chosen.setdefault((path, mistake.line), mistake)
    return list(chosen.values())


def may_be_noticed(mistake: Mistake, source: str) -> bool:
    """Return whether any test could detect a mistake.

    No test can if the line is never run, or if the mistake changes nothing.

    :param source: the text of the file, without the mistake.
    """
    line = source.splitlines()[mistake.line - 1].strip()
    # A bar between types is not an operator, and is never run.
    if 'BitOr' in mistake.operator and ' | ' in line:
        return False
    if mistake.operator.endswith(_SAME) or line.startswith(_LEFT_ALONE):
        return False
    try:
        compile(mistake.in_text(source), mistake.path, 'exec')
    except (AttributeError, SyntaxError):
        # cosmic-ray cannot change "except module.Error".
        return False
    return True


def try_mistake(
    directory: pathlib.Path, mistake: Mistake, tests: Tests
) -> str:
    """Make a mistake, and run the tests that may detect it.

    :param directory: a copy of the repository, which is restored afterwards.
    :returns: the mistake as a diff if no test detected it, otherwise ''.
    """
    path = directory / mistake.path
    source = path.read_text()
    mistaken = mistake.in_text(source)
    names = tests.find_modules(mistake, source)
    path.write_text(mistaken)
    try:
        if not run_apart(
            directory, functools.partial(tests.run_modules, names)
        ):
            return ''
    finally:
        path.write_text(source)
    return '\n'.join(
        difflib.unified_diff(
            source.splitlines(),
            mistaken.splitlines(),
            f'a/{mistake.path}',
            f'b/{mistake.path}',
            f'{len(names)} modules tried',
            lineterm='',
        )
    )


def main(argv: list[str]) -> int:
    """Make mistakes in rooms, and print those that no test detected.

    :returns: always 0, because such a mistake must be looked at, but is not a
        failure.
    """
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('rooms', nargs='*', default=ROOMS, metavar='ROOM')
    arguments.add_argument(
        '--count',
        type=int,
        default=20,
        help='number of mutants of each package (default: %(default)s)',
    )
    arguments.add_argument(
        '--seed',
        type=int,
        default=random.randrange(10**6),
        help='seed of the random choice of mutants',
    )
    arguments.add_argument(
        '--seconds',
        type=float,
        default=math.inf,
        help='seconds that the tests of one mutant may take together; the '
        'nearest and quickest tests run first',
    )
    arguments.add_argument(
        '--learned',
        type=pathlib.Path,
        help='a directory in which the lines that tests run are stored for '
        'the next run with the same code',
    )
    parsed = arguments.parse_args(argv)
    print(f'--seed {parsed.seed}', flush=True)
    for name in _SLOW:
        importlib.import_module(name)
    warnings.simplefilter('ignore', SyntaxWarning)
    sys.dont_write_bytecode = True
    os.environ['PYTHONDONTWRITEBYTECODE'] = '1'
    free: queue.SimpleQueue[pathlib.Path] = queue.SimpleQueue()

    def in_copy(work: Callable[[pathlib.Path], str | None]) -> str | None:
        """Call a function with a copy that no other thread uses."""
        directory = free.get()
        try:
            return work(directory)
        finally:
            free.put(directory)

    with (
        tempfile.TemporaryDirectory() as scratch,
        concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        for number in range(_AT_ONCE):
            copy(pathlib.Path(scratch, str(number)))
            free.put(pathlib.Path(scratch, str(number)))
        tests = Tests(
            (parsed.learned or pathlib.Path(scratch)).resolve(), parsed.seconds
        )
        os.chdir(pathlib.Path(scratch, '0'))
        names = [
            str(path.with_suffix('')).replace('/', '.')
            for path in pathlib.Path(PACKAGE, 'tests/unit').rglob('test_*.py')
        ]

        def learn(name: str) -> None:
            """Learn which lines a module of tests runs."""
            in_copy(functools.partial(tests.learn, name=name))

        def survivor(mistake: Mistake) -> str | None:
            """Return a mistake as a diff if no test detects it."""
            return in_copy(
                functools.partial(try_mistake, mistake=mistake, tests=tests)
            )

        # list() reads the results, so that an error in a thread ends the
        # command.
        list(pool.map(learn, sorted(names)))
        for room in parsed.rooms:
            mistakes = choose_mistakes(
                room, parsed.count, random.Random(parsed.seed)
            )
            alive = 0
            for text in pool.map(survivor, mistakes):
                if text:
                    alive += 1
                    print(text, end='\n\n', flush=True)
            print(f'{room}: {alive} of {len(mistakes)} live', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

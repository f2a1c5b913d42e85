#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measure this project, and in most cases stock Ironic for comparison.

It prints tables in reStructuredText to standard output. The exit code does not
depend on the measured times. It is 0 if everything was measured, and 1 if
something fails, if the two sides give different results, or if this machine
lacks something for a part that --only names.
"""

import argparse
from collections.abc import Sequence
import importlib
import shlex
import sys
import types
import warnings

BENCHMARKS = {
    'engine': 'the rule engine beside those of Ironic and ironic-inspector',
    'inspection': "whole inspections beside stock Ironic's",
    'queue': "durable inspection beside stock Ironic's",
    'fleet': "the API with many nodes and rules beside stock Ironic's",
    'offline': "the commands for files beside a loop around Ironic's engine",
}
"""Descriptions of the benchmarks, by name."""


def main(argv: Sequence[str]) -> int:
    """Measure the parts of a benchmark that are asked for.

    :param argv: the arguments of the command.
    :returns: the exit code: 1 if nothing could be measured, else 0.
    """
    name = _read_name(argv)
    # Libraries of Ironic still import Eventlet, which emits a warning.
    warnings.filterwarnings('ignore', r'\s*Eventlet is deprecated')
    # Importing Ironic takes seconds, so only the module of this benchmark is
    # imported.
    module = importlib.import_module(f'benchmark.{name}')
    arguments = _read_options(module, name, argv[1:])
    parts = []
    for part in module.PARTS:
        if arguments.only and part.name not in arguments.only:
            continue
        # This may be e.g. a server that is not installed.
        missing = part.missing(arguments)
        if missing is None:
            parts.append(part)
        elif arguments.only:
            sys.exit(f'{name} --only {part.name}: {missing}')
        else:
            print(f'Left out: {part.name}: {missing}', file=sys.stderr)
    if not parts:
        return 1
    from benchmark import common

    print(
        f'{common.machine()}\n'
        f'To repeat: ``tox -e bench -- {shlex.join(argv)}``',
        flush=True,
    )
    for part in parts:
        part.run(arguments)
    return 0


def _read_name(argv: Sequence[str]) -> str:
    """Return the name of the benchmark, which is the first argument."""
    parser = argparse.ArgumentParser(
        prog='tox -e bench --',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='Benchmarks:\n'
        + '\n'.join(
            f'  {name:11} {summary}' for name, summary in BENCHMARKS.items()
        )
        + '\n\nNAME --help explains the options of a benchmark.',
    )
    parser.add_argument(
        'name',
        metavar='NAME',
        choices=BENCHMARKS,
        help=f'the benchmark: {", ".join(BENCHMARKS)}',
    )
    return parser.parse_args(argv[:1]).name


def _read_options(
    module: types.ModuleType, name: str, argv: Sequence[str]
) -> argparse.Namespace:
    """Read the arguments that follow the name of a benchmark.

    :param module: the benchmark, whose parts have their own options.
    :param name: the name of the benchmark.
    :param argv: the arguments that follow the name.
    """
    parser = argparse.ArgumentParser(
        prog=f'tox -e bench -- {name}',
        description=module.__doc__,
        formatter_class=Formatter,
    )
    names = [part.name for part in module.PARTS]
    parser.add_argument(
        '--only',
        nargs='+',
        metavar='PART',
        choices=names,
        help=f'the parts to measure: {", ".join(names)} (default: all)',
    )
    if hasattr(module, 'add_arguments'):
        module.add_arguments(parser)
    for part in module.PARTS:
        part.add_arguments(parser.add_argument_group(part.name, part.summary))
    return parser.parse_args(argv)


class Formatter(
    argparse.RawDescriptionHelpFormatter,
    argparse.ArgumentDefaultsHelpFormatter,
):
    """Displays a docstring unchanged, and the default of every option."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        """Return the help of an option with its default, if it has one."""
        if action.default is None:
            return action.help
        if isinstance(action.default, list):
            default = ' '.join(map(str, action.default))
            return f'{action.help} (default: {default})'
        return super()._get_help_string(action)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

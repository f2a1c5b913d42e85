# SPDX-License-Identifier: Apache-2.0

"""Implement ``test``: options, output, comparison and exit codes.

The command tries rules on machines, which are given as inventories. The result
of a machine is ``ok``, ``failed`` if a rule fails its inspection on purpose,
or ``error``. What the rules do is printed, written as a page for a browser,
or compared with a file of expectations (``--expect``). ``--coverage`` instead
measures which conditions and actions of the rules the machines reach.

Machines are tried in worker processes while earlier machines are printed, so
the results are passed along as iterators.
"""

import argparse
import collections
import functools
import json
import typing

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.report import coverage_text
from ironic_inspection_rules.kit.report import junit
from ironic_inspection_rules.kit.report import trial_text
from ironic_inspection_rules.kit.report.pages import coverage as coverage_page
from ironic_inspection_rules.kit.report.pages import test as test_page
from ironic_inspection_rules.kit.terminal import progress
from ironic_inspection_rules.kit.trial import coverage
from ironic_inspection_rules.kit.trial import expectation
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import yaml_text

EXIT_ERROR = 1
EXIT_FAILED = 2
EXIT_UNCOVERED = 3


class Test(arguments.FileCommand):
    """Try rules on inventories, without changing anything.

    Needs neither Ironic nor a database. Returns 1 when a rule has an error
    or a file cannot be read, and 2 when the inspection of a machine would
    fail. With --expect it returns 1 when anything is not as expected, and 0
    otherwise. With --coverage it returns 3 when the machines reach less than
    --threshold of the rules.
    """

    example = 'rules.yaml --inventory machines'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add rules, machines, what to compare or measure, and output options.

        The parser is kept, so that :meth:`take_action` can report options that
        exclude each other.
        """
        arguments.add_files(parser)
        arguments.add_inventories(
            parser,
            _(
                'File with an inventory, as the ramdisk sends it, or '
                'as Ironic or ironic-inspector gives it; or a '
                'directory with such files'
            ),
            required=True,
        )
        arguments.add_node(parser)
        parser.add_argument(
            '--expect',
            metavar='<file>',
            type=arguments.check_path,
            help=_('File with what is expected of each inventory'),
        )
        parser.add_argument(
            '--update',
            action='store_true',
            help=_('Write what happens to the file of --expect'),
        )
        parser.add_argument(
            '--coverage',
            action='store_true',
            help=_(
                'Tell how much of the rules the machines reach: how often '
                'each condition was true and false, and each action ran'
            ),
        )
        parser.add_argument(
            '--threshold',
            metavar='<percent>',
            type=arguments.parse_percent,
            help=_(
                'The share of the rules that must be reached, 0 to 100; '
                'means --coverage'
            ),
        )
        parser.add_argument(
            '--html',
            metavar='<file>',
            type=arguments.check_new_file,
            help=_(
                'Write a page for a browser: rules and machines as a '
                'matrix, or with --coverage the rules as text with what '
                'was reached of them'
            ),
        )
        parser.add_argument(
            '--details',
            action='store_true',
            help=_('Tell all about each machine, also of many'),
        )
        parser.add_argument(
            '-f',
            '--format',
            choices=('table', 'json', 'yaml', 'junit'),
            default='table',
            help=_('How to print what happens'),
        )
        self._parser = parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Try the rules, or measure their coverage.

        :returns: the exit code, as documented by the class.
        """
        # --threshold implies --coverage.
        wants_coverage = (
            parsed_args.coverage or parsed_args.threshold is not None
        )
        # Refuse options that would be ignored, because the test might then
        # pass although it should not.
        if parsed_args.expect and wants_coverage:
            self._parser.error(_('--expect and --coverage: one at a time'))
        if parsed_args.update and not parsed_args.expect:
            self._parser.error(_('--update needs --expect'))
        if parsed_args.format == 'junit' and wants_coverage:
            self._parser.error(_('-f junit has no form for --coverage'))
        rules = machine_test.load_rule_set(
            parsed_args.files, self.app.stderr.write
        )
        paths = machine_test.find_inventories(parsed_args.inventory)
        nodes = machine_test.Nodes(parsed_args.node)
        if wants_coverage:
            return self._measure_coverage(rules, nodes, paths, parsed_args)
        return self._try_rules(rules, nodes, paths, parsed_args)

    def _measure_coverage(
        self,
        rule_set: machine_test.RuleSet,
        nodes: machine_test.Nodes,
        paths: list[str],
        parsed_args: argparse.Namespace,
    ) -> int:
        """Print how much of the rules the machines reach.

        :param paths: the files with the inventories.
        :returns: the exit code: EXIT_ERROR if a machine could not be tried or
            a rule had an error; EXIT_UNCOVERED if the coverage is below
            ``--threshold``; otherwise 0.
        """
        with progress.show_machine_bar(len(paths)) as advance:
            measured = coverage.measure(
                rule_set.rules, nodes, paths, advance, rule_set.tables
            )
        if parsed_args.html:
            page = coverage_page.render(measured, len(paths), rule_set.paths)
            arguments.write(parsed_args.html, page, self.app.stdout)
        if parsed_args.format == 'json':
            text = json.dumps(measured.as_dict(), indent=2)
        elif parsed_args.format == 'yaml':
            text = yaml_text.dump(measured.as_dict())
        else:
            text = coverage_text.render(measured)
        # "--html -" writes the page to standard output. The text is discarded
        # then.
        output = arguments.choose_output(parsed_args.html, self.app.stdout)
        output.write(f'{text}\n')
        for problem in measured.problems:
            self.app.stderr.write(f'{problem}\n')
        if measured.broken:
            # "broken" counts machines on which a rule has an error. A rule
            # that fails an inspection on purpose has none.
            warning = _P(
                '%d inspection ends in an error of a rule; the test without '
                '--coverage shows it\n',
                '%d inspections end in an error of a rule; the test without '
                '--coverage shows them\n',
                measured.broken,
            )
            self.app.stderr.write(warning % measured.broken)
        if measured.problems or measured.broken:
            return EXIT_ERROR
        # If there is no threshold, any coverage is enough.
        threshold = parsed_args.threshold or 0
        if measured.percent < threshold:
            return EXIT_UNCOVERED
        return 0

    def _try_rules(
        self,
        rule_set: machine_test.RuleSet,
        nodes: machine_test.Nodes,
        paths: list[str],
        parsed_args: argparse.Namespace,
    ) -> int:
        """Print what rules do to machines, or compare it with ``--expect``.

        With ``--expect --update``, it is written to the file instead. With
        ``--html``, a page is written as well.

        :param paths: the files with the inventories.
        :returns: the exit code, see :func:`_exit_code` and :meth:`_compare`.
        """
        page = None
        if parsed_args.html:
            page = test_page.Matrix(rule_set.rules, rule_set.paths)
        # On a terminal, the progress bar would mix with the printed machines.
        with progress.show_machine_bar(
            len(paths), hidden=self.app.stdout.isatty()
        ) as advance:
            trial = _Trial(rule_set, nodes, paths, advance, page)
            if parsed_args.expect:
                code = self._compare(trial, parsed_args)
            else:
                code = self._print_machines(trial, parsed_args)
        if page is not None:
            arguments.write(parsed_args.html, page.render(), self.app.stdout)
        return code

    def _print_machines(
        self, trial: '_Trial', parsed_args: argparse.Namespace
    ) -> int:
        """Print what the rules do to every machine, as soon as it is tried.

        :returns: the exit code, see :func:`_exit_code`.
        """
        count = len(trial.paths)
        in_detail = parsed_args.details or count == 1
        output = arguments.choose_output(parsed_args.html, self.app.stdout)
        listing = _choose_listing(parsed_args.format, output, count, in_detail)
        # Reasons, e.g. why a condition is false, take time. Only the table of
        # many machines does not show them.
        is_without_reasons = parsed_args.format == 'table' and not in_detail
        for entry in trial.run(
            listing.extract, explain=not is_without_reasons
        ):
            listing.add(entry)
        listing.end(trial.results)
        return _exit_code(trial.results)

    def _compare(
        self, trial: '_Trial', parsed_args: argparse.Namespace
    ) -> int:
        """Compare machines with the file of ``--expect``; print differences.

        With ``--update``, write the file instead.

        :returns: the exit code: EXIT_ERROR if there is a difference; 0 if
            there is none, or if the file was written.
        """
        path = parsed_args.expect
        # Expectations are about what rules do. They have no reasons.
        actual = trial.run(expectation.build_actual_outcome, explain=False)
        if parsed_args.update:
            expectation.dump(path, actual)
            return 0
        expected = expectation.load(path)
        # Making the list tries all machines.
        comparisons = list(expectation.compare(path, expected, actual))
        differences = [
            comparison.difference
            for comparison in comparisons
            if comparison.difference
        ]
        output = arguments.choose_output(parsed_args.html, self.app.stdout)
        if parsed_args.format == 'junit':
            output.write(junit.render(_junit_cases(comparisons)))
        else:
            for difference in differences:
                output.write(f'{difference}\n')
            machines = len(trial.paths)
            output.write(
                _P(
                    '%(machines)d inventory, %(differences)d not as '
                    'expected\n',
                    '%(machines)d inventories, %(differences)d not as '
                    'expected\n',
                    machines,
                )
                % {'machines': machines, 'differences': len(differences)}
            )
        if differences:
            return EXIT_ERROR
        return 0


class _Trial:
    """The trial of rules on machines, whose results are counted.

    :ivar paths: the files with the inventories.
    :ivar results: the number of machines that have been tried, by result, e.g.
        ``{'ok': 38, 'failed': 2}``.
    :param advance: called with the number of machines of each finished chunk.
    :param page: the page of ``--html``, to which the machines are added; None
        without the option.
    """

    def __init__(
        self,
        rule_set: machine_test.RuleSet,
        nodes: machine_test.Nodes,
        paths: list[str],
        advance: typing.Callable[[int], None],
        page: test_page.Matrix | None,
    ) -> None:
        self._rule_set = rule_set
        self._nodes = nodes
        self.paths = paths
        self._advance = advance
        self._page = page
        self.results: collections.Counter[str] = collections.Counter()

    def run(
        self, extract: machine_test.Extract, explain: bool
    ) -> typing.Iterator[typing.Any]:
        """Try the rules; yield what is printed or compared of each machine.

        A machine is yielded as soon as it has been tried, and has been counted
        and added to the page before.

        :param extract: returns the part of a machine's test to yield. It is
            called in a worker process, because whole tests are too large to
            send to this process.
        :param explain: whether this part has reasons, e.g. why a condition is
            false. The page always has them.
        """
        extract_column = None
        if self._page is not None:
            extract_column = self._page.extract
            explain = True
        # A partial function can be sent to other processes, unlike a nested
        # function.
        extract_printed = functools.partial(
            _extract_printed, extract_column, extract
        )
        all_tried = machine_test.run_all(
            self._rule_set.rules,
            self._nodes,
            self.paths,
            extract_printed,
            self._advance,
            explain,
            self._rule_set.tables,
        )
        for tried in all_tried:
            self.results[tried.result] += 1
            if self._page is not None:
                self._page.add(tried.column)
            yield tried.entry


def _choose_listing(
    output_format: str, output: typing.TextIO, count: int, in_detail: bool
) -> trial_text.Listing:
    """Return the listing that prints machines in a format.

    :param output_format: ``table``, ``json``, ``yaml`` or ``junit``.
    :param output: the stream to which the listing prints.
    :param count: the number of machines. In JSON, a single machine is
        indented; several machines have one line each.
    :param in_detail: whether the format ``table`` prints a section per machine
        instead of a line.
    """
    if output_format == 'json':
        is_single = count == 1
        return trial_text.JsonListing(output, indented=is_single)
    if output_format == 'yaml':
        return trial_text.YamlListing(output)
    if output_format == 'junit':
        return trial_text.JunitListing(output)
    if in_detail:
        return trial_text.DetailsListing(output)
    return trial_text.TableListing(output)


class _Tried(typing.NamedTuple):
    """A machine on which rules were tried: the part that is printed.

    :ivar result: the result of the machine.
    :ivar column: the column of the machine on the page; None if there is no
        page.
    :ivar entry: the data of the machine that the listing prints or that
        ``--expect`` compares.
    """

    result: str
    column: test_page.MachineColumn | None
    entry: typing.Any


def _extract_printed(
    extract_column: machine_test.Extract | None,
    extract_entry: machine_test.Extract,
    test: machine_test.MachineTest,
) -> _Tried:
    """Return the part of a machine's test that is printed.

    This is called in the worker process that tried the machine.

    :param extract_column: returns the machine's column on the page; None if
        there is no page.
    :param extract_entry: returns what the listing prints of the machine, or
        what ``--expect`` compares.
    """
    column = None
    if extract_column is not None:
        column = extract_column(test)
    return _Tried(test.result, column, extract_entry(test))


def _exit_code(results: collections.Counter[str]) -> int:
    """Return the exit code of a test without ``--expect``.

    - EXIT_ERROR if a machine has the result ``error``: an error of a rule, or
      a file that cannot be read;
    - EXIT_FAILED if a machine has the result ``failed``: the action ``fail``
      of a rule ended its inspection;
    - otherwise 0.

    :param results: the number of machines by result, e.g. ``{'ok': 38,
        'failed': 2}``.
    """
    if results['error']:
        return EXIT_ERROR
    if results['failed']:
        return EXIT_FAILED
    return 0


def _junit_cases(
    comparisons: typing.Iterable[expectation.Comparison],
) -> list[junit.JunitCase]:
    """Return a test case for each machine, for a JUnit report.

    A machine that is not as expected is a failed test case.
    """
    cases = []
    for comparison in comparisons:
        result = 'ok'
        if comparison.difference:
            result = 'failed'
        cases.append(
            junit.JunitCase(comparison.name, result, comparison.difference)
        )
    return cases

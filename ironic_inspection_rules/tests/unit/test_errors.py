# SPDX-License-Identifier: Apache-2.0

"""Where any error is caught: few places, and none forgets the error."""

import ast
import pathlib

import ironic_inspection_rules
from ironic_inspection_rules.tests.unit import base

PACKAGE = pathlib.Path(ironic_inspection_rules.__file__).parent

RAISED = 'raised again, or as one that names what failed'
TOLD = 'told to the user, with its cause'
LOGGED = 'logged; what runs goes on'

ALLOWED = {
    # The code of others, whatever it raises.
    ('engine/language/registry.py', '_register'): RAISED,
    ('inspection/refusal.py', '_accepts_any_interface'): LOGGED,
    # The rule and the op of an error.
    ('engine/language/condition.py', 'check_part'): RAISED,
    ('engine/run/step.py', 'compute_vars'): RAISED,
    ('engine/run/step.py', 'matches'): RAISED,
    ('engine/run/step.py', 'decide'): RAISED,
    ('engine/run/step.py', '_carry_out'): TOLD,
    # The reason of a condition is its error.
    ('engine/run/explanation.py', 'explain'): TOLD,
    ('engine/run/explanation.py', 'reason'): TOLD,
    # One machine or inspection of many in an answer.
    ('api/controllers/replay.py', '_try'): LOGGED,
    ('api/fleet/trial.py', '_try'): LOGGED,
    ('api/inspection_data.py', 'fetch'): LOGGED,
    # Ironic's own engine fails an inspection for any error.
    ('patches/stock_engine.py', 'run'): TOLD,
    # What was done is undone or kept first.
    ('kit/authoring/mended_file.py', '_replace_file'): RAISED,
    ('db/fence.py', '_check_fence'): RAISED,
    ('inspection/inspection.py', 'of_task'): RAISED,
    ('inspection/saving.py', 'save'): RAISED,
    # Errors of databases, brokers and coordinators are of many libraries.
    ('coordination/coordinator.py', '__exit__'): LOGGED,
    ('coordination/coordinator.py', 'connect'): TOLD,
    ('coordination/election.py', '_hold_lock'): RAISED,
    ('queue/attempt.py', 'guard'): RAISED,
    ('queue/power_on.py', '_get_lock'): RAISED,
    ('queue/wakeup.py', '_run'): LOGGED,
    ('runs/statistics.py', 'flush'): LOGGED,
    # Threads and loops that go on, or hand the error to another thread.
    ('coordination/watchdog.py', '_work_in_rounds'): LOGGED,
    ('inspection/side_effects.py', '_send'): LOGGED,
    ('pxe_filter/service.py', '_run_until_failure'): RAISED,
    ('pxe_filter/watcher.py', 'run'): RAISED,
    ('queue/maintenance.py', '_run_round'): LOGGED,
    ('queue/maintenance.py', 'settle_nodes'): LOGGED,
    ('queue/worker.py', '_claim_request'): LOGGED,
    ('queue/worker.py', '_send_heartbeat'): LOGGED,
    ('queue/worker.py', '_deliver'): LOGGED,
    # Every request ends, or is tried again.
    ('queue/delivery.py', '_refuse'): LOGGED,
    ('queue/delivery.py', '_retry'): LOGGED,
    ('queue/delivery.py', '_process'): LOGGED,
    ('queue/delivery.py', 'carry_out'): LOGGED,
    ('queue/failure.py', '_clean_up'): LOGGED,
    ('queue/attempt.py', 'process'): LOGGED,
    # Text of strangers is escaped.
    ('kit/osc/command.py', 'run'): RAISED,
}
"""Functions that catch any error, and what becomes of it."""

_ANY = ('Exception', 'BaseException')


def _names(node):
    """Return the names of classes in an expression."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _catches_any(node):
    if isinstance(node, ast.ExceptHandler):
        return node.type is None or bool(_names(node.type) & set(_ANY))
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == 'suppress'
        and any(_names(each) & set(_ANY) for each in node.args)
    )


def _of(node, function='<module>'):
    """Yield what catches any error, with the function that it is in."""
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = child.name
        if _catches_any(child):
            yield inside, child
        yield from _of(child, inside)


def _remembers(handler):
    """Return whether a handler raises, logs or uses its error."""
    if not isinstance(handler, ast.ExceptHandler):
        return False
    for node in handler.body:
        for each in ast.walk(node):
            if isinstance(each, ast.Raise):
                return True
            if isinstance(each, ast.Name) and each.id in ('LOG', handler.name):
                return True
    return False


class AnyErrorTestCase(base.TestCase):
    def setUp(self):
        super().setUp()
        self.found = {}
        for path in PACKAGE.rglob('*.py'):
            name = str(path.relative_to(PACKAGE))
            if not name.startswith('tests/'):
                for function, handler in _of(ast.parse(path.read_text())):
                    self.found.setdefault((name, function), []).append(handler)

    def test_it_is_caught_in_few_places(self):
        self.assertEqual(set(ALLOWED), set(self.found))

    def test_none_forgets_it(self):
        for place, handlers in self.found.items():
            for handler in handlers:
                self.assertTrue(_remembers(handler), place)

    def test_what_is_said_of_a_place_is_so(self):
        for place, what in ALLOWED.items():
            raises = [
                any(isinstance(each, ast.Raise) for each in ast.walk(handler))
                for handler in self.found.get(place, ())
            ]
            # A watcher hands its error to the thread that asks it.
            if what is RAISED and place[0] != 'pxe_filter/watcher.py':
                self.assertTrue(all(raises), place)


class SearchTestCase(base.TestCase):
    def caught(self, text):
        return [
            (function, _remembers(handler))
            for function, handler in _of(ast.parse(text))
        ]

    def test_all_forms_are_found(self):
        for clause in (
            'except:',
            'except Exception:',
            'except BaseException as exc:',
            'except (OSError, Exception):',
        ):
            self.assertEqual(
                [('f', False)],
                self.caught(f'def f():\n  try: pass\n  {clause} pass'),
                clause,
            )
        self.assertEqual(
            [('<module>', False)],
            self.caught('with contextlib.suppress(OSError, Exception): pass'),
        )
        for clause in ('except OSError:', 'except exceptions.Invalid:'):
            self.assertEqual([], self.caught(f'try: pass\n{clause} pass'))

    def test_an_error_is_remembered_that_is_raised_logged_or_used(self):
        for body, remembers in (
            ('raise', True),
            ('LOG.exception("x")', True),
            ('note(exc)', True),
            ('return None', False),
        ):
            self.assertEqual(
                [('f', remembers)],
                self.caught(
                    f'def f():\n  try: pass\n  except Exception as exc: {body}'
                ),
                body,
            )

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

"""Everything that is amiss in files of rules, with the place of each."""

import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.engine import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.offline import finding
from ironic_inspection_rules.offline import rulefile
from ironic_inspection_rules.offline.checks import names
from ironic_inspection_rules.offline.checks import never
from ironic_inspection_rules.offline.checks import reach
from ironic_inspection_rules.offline.checks import secrets
from ironic_inspection_rules.offline.checks import subject

Finding = finding.Finding

CHECKS: dict[str, typing.Callable[[subject.Subject], subject.Found]] = {
    'unknown-field': names.check,
    'jinja': names.check_jinja,
    'never-holds': never.check,
    'unreachable-action': reach.check_actions,
    'secret': secrets.check,
}
"""The checks of single valid rules, by the name that findings give."""

FILE, INVALID, DUPLICATE = 'file', 'invalid', 'duplicate-uuid'
BUILT_IN_ONLY, UNREACHABLE = 'built-in-only', 'unreachable-rule'

DESCRIPTIONS = {
    FILE: _('The file cannot be read.'),
    INVALID: _('The rule would be refused.'),
    DUPLICATE: _('Two rules have the same UUID.'),
    BUILT_IN_ONLY: _('Only a built-in rule may have this.'),
    'unknown-field': _('A replacement field can never exist.'),
    'jinja': _('A variable of a template engine was not replaced.'),
    'never-holds': _('No machine can meet the condition.'),
    'unreachable-action': _('An earlier action fails the inspection.'),
    UNREACHABLE: _('An earlier rule fails the inspection.'),
    'secret': _('A secret is in a rule that is not marked sensitive.'),
}
"""What each check finds, in one sentence."""


def lint(paths: typing.Iterable[str],
         ops: registry.Registry) -> list[Finding]:
    """Check files of rules.

    Rules of all files count as one set: a rule may make one of another file
    unreachable.

    :param ops: the conditions and actions there are.
    """
    findings: list[Finding] = []
    subjects: list[subject.Subject] = []
    for path in paths:
        try:
            written = rulefile.load(path)
        except exceptions.InvalidDocument as exc:
            line, column = exc.place or (1, 1)
            findings.append(Finding(path, line, column, finding.ERROR, FILE,
                                    None, exc.reason))
            continue
        for rule in written:
            try:
                subjects.append(subject.of(rule, ops))
            except exceptions.InvalidRule as exc:
                findings += [_found(rule, problem.pointer, problem.message,
                                    INVALID, finding.ERROR)
                             for problem in exc.problems]
    findings += _duplicates(subjects)
    for each in subjects:
        findings += _check(each)
    findings += [_found(each.written, '', message, UNREACHABLE)
                 for each, message in reach.check_rules(subjects)]
    return sorted(dict.fromkeys(findings),
                  key=lambda each: (each.path, each.line, each.column))


def _check(rule: subject.Subject) -> typing.Iterator[Finding]:
    for name, check in CHECKS.items():
        for pointer, message in check(rule):
            yield _found(rule.written, pointer, message, name)
    if rule.written.is_old:
        return
    # What a built-in rule may have and a stored one may not.
    for problem in validation.validate(rule.written.entry, NO_OPS):
        if problem.pointer in ('/uuid', '/priority'):
            yield _found(rule.written, problem.pointer,
                         _('%s, unless the rule is built-in')
                         % problem.message, BUILT_IN_ONLY)


NO_OPS = registry.Registry({}, {})


def _duplicates(rules: typing.Iterable[subject.Subject]
                ) -> typing.Iterator[Finding]:
    first: dict[str, rulefile.WrittenRule] = {}
    for each in rules:
        written = each.written
        other = first.setdefault(each.rule.uuid, written)
        if other is not written:
            line, _column = other.place()
            yield _found(
                written, '/uuid',
                _('rule %(label)s at %(path)s:%(line)d has this UUID too, or '
                  'neither has one and they are the same') % {
                      'label': other.label, 'path': other.source.path,
                      'line': line}, DUPLICATE, finding.ERROR)


def _found(rule: rulefile.WrittenRule, pointer: str, message: str,
           check: str, level: str = finding.WARNING) -> Finding:
    line, column = rule.place(pointer)
    return Finding(rule.source.path, line, column, level, check, rule.label,
                   message)

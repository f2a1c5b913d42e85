# SPDX-License-Identifier: Apache-2.0

"""The page of inspections that were decided again."""

import typing

from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial import machine_diff

_ASSETS = ('finder.js', 'replay.js')


def render(title: str, found: typing.Mapping[str, typing.Any],
           names: typing.Mapping[str, str | None]) -> str:
    """Return the page.

    :param title: which rules decided, and on what.
    :param found: the numbers ``same``, ``different``, ``incomparable`` and
        ``error``; ``reasons`` with how often each was one; ``runs``, those
        that end otherwise or could not be decided, as ``POST
        /v1/inspection_rules/replay`` answers, each with the ``name`` of its
        node. What the answer withholds is not in the page.
    :param names: descriptions of rules by their UUIDs.
    """
    lines, details = shell.Numbers(), shell.Numbers()
    runs = []
    for run in found['runs']:
        then, now = run.get('then') or {}, run.get('now') or {}
        error = now.get('error')
        lost, gained = (
            tuple(names.get(uuid) or uuid for uuid in one.get('matched', ())
                  if uuid not in other.get('matched', ()))
            for one, other in ((then, now), (now, then)))
        runs.append((
            run['name'] or run['node'],
            # To the second, which is what fits.
            (run.get('created_at') or '').replace('T', ' ')[:19],
            run['outcome'], then.get('result'), now.get('result'),
            details.of((
                run['reason'], None if error == then.get('error') else error,
                lines.of(tuple(machine_diff.change_lines(
                    now.get('changes', ())))), lost, gained))))
    made = shell.now()
    return shell.render(f'{title}, {made}', _ASSETS, {
        'made': made, 'title': title,
        **{name: found[name] for name in (
            'same', 'different', 'incomparable', 'error')},
        'reasons': list(found['reasons'].items()),
        'runs': runs, 'details': details.all, 'lines': lines.all})

# SPDX-License-Identifier: Apache-2.0

"""The page of a change of rules: the rules, and machines it affects."""

import typing

from ironic_inspection_rules.kit.report.pages import shell

_ASSETS = ('finder.js', 'diff.js')


def render(difference: typing.Mapping[str, typing.Any]) -> str:
    """Return the page.

    :param difference: ``old`` and ``new``, paths of files; ``rules`` with
        ``title``, ``change`` (``added``, ``removed``, ``changed``, ``moved``,
        ``renamed`` or ``rewritten``) and ``lines``, those of a unified diff;
        ``machines`` with ``name``, ``differs``, ``lines`` and their results
        ``old`` and ``new``.
    """
    lines = shell.Numbers()
    machines = [(each['name'], bool(each['differs']),
                 lines.of(tuple(each['lines'])), each['old'], each['new'])
                for each in difference['machines']]
    made = shell.now()
    change = ' → '.join(shell.names(difference[name])
                        for name in ('old', 'new'))
    return shell.render(f'{change}, {made}', _ASSETS, {
        'made': made,
        **{name: list(difference[name]) for name in ('old', 'new', 'rules')},
        'machines': machines, 'lines': lines.all})

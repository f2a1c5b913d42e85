# SPDX-License-Identifier: Apache-2.0

"""Checking the configuration when a service starts."""

from collections.abc import Iterator

from oslo_config import cfg

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine import suggestion
from ironic_inspection_rules.i18n import _


def check(config: cfg.ConfigOpts) -> None:
    """Read every option of this project once.

    :raises: :class:`.exceptions.Invalid` naming each option with a bad
        value, and what is wrong with it.
    """
    problems = []
    for group, opts in conf.list_opts():
        for opt in opts:
            try:
                getattr(config[group], opt.dest)
            except (cfg.Error, ValueError) as exc:
                # The cause is the reason without oslo.config's own words.
                problems.append(f'[{group}]{opt.name}: '
                                f'{exc.__context__ or exc}')
    if problems:
        raise exceptions.Invalid(
            _('The configuration cannot be used: %s') % '; '.join(problems))


def unknown(config: cfg.ConfigOpts) -> Iterator[str]:
    """Return warnings of options in this project's groups that nothing reads.

    :returns: one message for each, with the file and the name that was
        perhaps meant.
    """
    # Ironic has options of its own in one of the groups.
    groups = {
        group: [*config[group], *(old.name for opt in opts
                                  for old in opt.deprecated_opts if old.name)]
        for group, opts in conf.list_opts()}
    for path in config.config_file or ():
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(path, sections).parse()
        for group, known in groups.items():
            for name in sections.get(group, ()):
                if name.replace('-', '_') not in known:
                    yield f'{path}: ' + suggestion.unknown(
                        _('option in [%s]') % group, name, known)

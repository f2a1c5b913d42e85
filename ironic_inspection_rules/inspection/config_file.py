# SPDX-License-Identifier: Apache-2.0

"""Warnings of unknown sections and options in configuration files.

oslo.config ignores unknown options, so an option whose name has a typing error
has no effect.
"""

from collections.abc import Iterator
import os
import pathlib
from typing import NamedTuple

from ironic.conf import CONF
from oslo_config import cfg

from ironic_inspection_rules import conf
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _

PLUGIN = 'inspection-rules'
"""The name of the middleware, and of the hook."""

_SWITCHING_GROUPS = ('api', 'auto_discovery', 'inspector', 'redfish')
"""Groups of Ironic with options that enable rules: if one of their sections is
misspelled, the rules stay disabled."""

_RULES_GROUP = 'inspection_rules'
_SIMILAR = 0.75
"""How similar a name must be to the name that was probably meant, 0 to 1."""


class Setting(NamedTuple):
    """An option as it is written.

    ``place`` is the path of a file, e.g. ``/etc/ironic/ironic.conf``, or the
    name of an environment variable.
    """

    place: str
    group: str
    name: str
    value: str


def unknown() -> Iterator[str]:
    """Yield a warning for every section and option that is not read.

    These are:

    - unknown options in groups of this project;
    - unknown options with the name of an option of this project: in
      ``[DEFAULT]`` an option of any group, in other groups of Ironic an option
      of ``[inspection_rules]``;
    - unknown options in groups of Ironic whose value names the plugin, or
      nearly;
    - unknown sections with a name like that of any group of this project, or
      of a group of Ironic with options that enable rules.
    """
    # The names of this project's options, by group.
    names = conf.option_names(CONF)
    # A section has a single warning instead of one per option.
    checked_sections = set()
    for setting in settings():
        place, group, name, _value = setting
        if group in names:
            # This is a group of this project.
            if name not in names[group]:
                yield _describe_unknown_option(setting, names)
        elif group == 'DEFAULT' or group in CONF:
            yield from _check_option_of_ironic(setting, names)
        elif (place, group) not in checked_sections:
            checked_sections.add((place, group))
            yield from _check_unknown_section(place, group, names)


def _check_unknown_section(
    place: str, group: str, names: dict[str, list[str]]
) -> Iterator[str]:
    """Yield a warning about an unknown section, if a known name is similar.

    For example, it suggests ``[inspection_rules]`` for ``[inspection_rulse]``.
    """
    # A name that differs by one letter is the best guess.
    near = suggestion.find_intended(group, (*names, *_SWITCHING_GROUPS))
    # Among names that are only similar, prefer those of this project.
    if near is None:
        near = suggestion.find_nearest(group, names, _SIMILAR)
    if near is None:
        near = suggestion.find_nearest(group, _SWITCHING_GROUPS, _SIMILAR)
    if near is not None:
        yield _(
            '%(place)s: unknown section [%(group)s], nothing in it is '
            'read; did you mean [%(near)s]?'
        ) % {'place': place, 'group': group, 'near': near}


def _describe_unknown_option(
    setting: Setting, names: dict[str, list[str]]
) -> str:
    """Return a warning about an unknown option in a group of this project.

    :param names: the names of this project's options, by group.
    """
    owner = _find_owner(setting.name, names)
    if owner is not None:
        return _describe_wrong_group(setting, owner)
    return f'{setting.place}: ' + suggestion.unknown(
        _('option in [%s]') % setting.group, setting.name, names[setting.group]
    )


def _check_option_of_ironic(
    setting: Setting, names: dict[str, list[str]]
) -> Iterator[str]:
    """Yield a warning about an unknown option in a group of Ironic.

    Most unknown options of Ironic do not concern this project. There is a
    warning if the option has the name of one of this project's options, or if
    its value names the plugin, or nearly.

    :param names: the names of this project's options, by group.
    """
    options = CONF
    if setting.group != 'DEFAULT':
        options = CONF[setting.group]
        # Names such as "enabled" and "interface" would cause false warnings,
        # because many options have them, and libraries register some options
        # later.
        names = {_RULES_GROUP: names[_RULES_GROUP]}
    known = list(options)
    if setting.name in known:
        return
    owner = _find_owner(setting.name, names)
    if owner is not None:
        yield _describe_wrong_group(setting, owner)
    elif is_near_plugin(setting.value):
        yield f'{setting.place}: ' + suggestion.unknown(
            _('option in [%s]') % setting.group, setting.name, known
        )


def _find_owner(name: str, names: dict[str, list[str]]) -> str | None:
    """Return the group that has an option with a name, or None."""
    for group, options in names.items():
        if name in options:
            return group
    return None


def _describe_wrong_group(setting: Setting, owner: str) -> str:
    """Return a warning about an option that is read in another group.

    :param owner: the group in which it is read.
    """
    return _(
        '%(place)s: unknown option in [%(group)s] "%(name)s"; did you mean '
        '"%(name)s" in [%(owner)s]?'
    ) % {
        'place': setting.place,
        'group': setting.group,
        'name': setting.name,
        'owner': owner,
    }


def is_near_plugin(value: str) -> bool:
    """Return whether a list of names has the plugin's or a similar one."""
    return any(
        suggestion.find_nearest(name, (PLUGIN,), _SIMILAR)
        for name in value.split(',')
    )


def value_of(group: str, name: str) -> str | None:
    """Return the last value of an option as it is written, or None.

    For example, oslo.config would replace ``$default_hooks`` in it.
    """
    value = None
    for setting in settings():
        if setting.group == group and setting.name == name:
            value = setting.value
    return value


def settings() -> Iterator[Setting]:
    """Yield all settings of files, directories and the environment.

    The environment comes last, because it takes precedence. If a file sets an
    option several times, the last value counts. A file that can no longer be
    read is skipped.
    """
    for path in _list_files():
        sections: dict[str, dict[str, list[str]]] = {}
        try:
            cfg.ConfigParser(str(path), sections).parse()
        except (cfg.ConfigFileParseError, OSError):
            # The service could read the file when it started.
            continue
        for group, options in sections.items():
            # oslo.config also converts the names of groups to lower case.
            if group != 'DEFAULT':
                group = group.lower()
            for name, values in options.items():
                yield Setting(str(path), group, name, values[-1])
    for variable, value in os.environ.items():
        # oslo.config reads variables of the form OS_GROUP__OPTION.
        group, separator, name = variable.partition('__')
        if separator and group.startswith('OS_'):
            group = group.removeprefix('OS_')
            if group != 'DEFAULT':
                group = group.lower()
            yield Setting(variable, group, name.lower(), value)


def _list_files() -> Iterator[pathlib.Path]:
    yield from map(pathlib.Path, CONF.config_file or ())
    for directory in CONF.config_dir or ():
        yield from sorted(pathlib.Path(directory).glob('*.conf'))

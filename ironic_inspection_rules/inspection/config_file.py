# SPDX-License-Identifier: Apache-2.0

"""Warnings of unknown sections and options in configuration files.

oslo.config ignores unknown options, so an option whose name has a typing error
has no effect. A *group* is what oslo.config calls the section of a file: the
section ``[api]`` has the options of the group ``api``. Ironic has most groups,
and this project has a few of its own, e.g. ``inspection_rules``.
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


def find_unknown_options() -> Iterator[str]:
    """Yield a warning for every section and option that has no effect.

    There is a warning for:

    - an unknown option in a group of this project;
    - an unknown option in a group of Ironic, if it has the name of an option
      of this project, or if its value names this plugin;
    - an unknown section, if its name is similar to a group of this project, or
      to a group of Ironic with options that enable rules.
    """
    # For example {'inspection_rules': ['built_in', …], …}.
    own_options = conf.list_option_names(CONF)
    # Warn only once about an unknown section, not for every option in it.
    checked_sections = set()
    for setting in list_settings():
        place, group, name, _value = setting
        is_group_of_ironic = group == 'DEFAULT' or group in CONF
        if group in own_options:
            if name not in own_options[group]:
                yield _describe_unknown_option(setting, own_options)
        elif is_group_of_ironic:
            yield from _check_option_of_ironic(setting, own_options)
        elif (place, group) not in checked_sections:
            checked_sections.add((place, group))
            yield from _check_unknown_section(place, group, own_options)


def _check_unknown_section(
    place: str, group: str, own_options: dict[str, list[str]]
) -> Iterator[str]:
    """Yield a warning about an unknown section, if a known name is similar.

    For example, it suggests ``[inspection_rules]`` for ``[inspection_rulse]``.

    :param place: the file or the environment variable with the section.
    :param group: the name of the section.
    :param own_options: the names of this project's options, by group.
    """
    # Prefer a name that differs by one letter, then a similar name of this
    # project, then a similar name of Ironic.
    near = suggestion.find_intended(group, (*own_options, *_SWITCHING_GROUPS))
    if near is None:
        near = suggestion.find_nearest(group, own_options, _SIMILAR)
    if near is None:
        near = suggestion.find_nearest(group, _SWITCHING_GROUPS, _SIMILAR)
    if near is not None:
        yield _(
            '%(place)s: unknown section [%(group)s], nothing in it is '
            'read; did you mean [%(near)s]?'
        ) % {'place': place, 'group': group, 'near': near}


def _describe_unknown_option(
    setting: Setting, own_options: dict[str, list[str]]
) -> str:
    """Return a warning about an unknown option in a group of this project.

    If another group of this project has an option with this name, the warning
    suggests that group. Otherwise it suggests a similar name in this group.

    :param own_options: the names of this project's options, by group.
    """
    right_group = _find_group_with_option(setting.name, own_options)
    if right_group is not None:
        return _describe_wrong_group(setting, right_group)
    return f'{setting.place}: ' + suggestion.unknown_message(
        _('option in [%s]') % setting.group,
        setting.name,
        own_options[setting.group],
    )


def _check_option_of_ironic(
    setting: Setting, own_options: dict[str, list[str]]
) -> Iterator[str]:
    """Yield a warning about an unknown option in a group of Ironic.

    Most unknown options of Ironic do not concern this project. There is a
    warning in two cases:

    - The option has the name of an option of this project. In ``[DEFAULT]``
      the names of all its options count, in other groups only the names in
      ``[inspection_rules]``.
    - The value of the option names this plugin, e.g. ``hook =
      inspection-rules`` instead of ``hooks``.

    :param own_options: the names of this project's options, by group.
    """
    if setting.group == 'DEFAULT':
        known_names = list(CONF)
        distinctive_options = own_options
    else:
        known_names = list(CONF[setting.group])
        # The other groups have names such as "enabled" and "interface". These
        # would cause false warnings, because many groups of Ironic have such
        # options, and libraries register some of them later.
        distinctive_options = {_RULES_GROUP: own_options[_RULES_GROUP]}
    if setting.name in known_names:
        return
    right_group = _find_group_with_option(setting.name, distinctive_options)
    if right_group is not None:
        yield _describe_wrong_group(setting, right_group)
    elif is_near_plugin(setting.value):
        yield f'{setting.place}: ' + suggestion.unknown_message(
            _('option in [%s]') % setting.group, setting.name, known_names
        )


def _find_group_with_option(
    name: str, options_to_search: dict[str, list[str]]
) -> str | None:
    """Return the group of this project that has an option, or None.

    :param name: the name of the option.
    :param options_to_search: names of options of this project, by group; the
        caller may leave groups out.
    """
    for group, names in options_to_search.items():
        if name in names:
            return group
    return None


def _describe_wrong_group(setting: Setting, right_group: str) -> str:
    """Return a warning about an option that belongs into another group."""
    return _(
        '%(place)s: unknown option in [%(group)s] "%(name)s"; did you mean '
        '"%(name)s" in [%(owner)s]?'
    ) % {
        'place': setting.place,
        'group': setting.group,
        'name': setting.name,
        'owner': right_group,
    }


def is_near_plugin(value: str) -> bool:
    """Return whether a value has the name of this plugin or a similar one.

    :param value: names separated by commas.
    """
    return any(
        suggestion.find_nearest(name, (PLUGIN,), _SIMILAR)
        for name in value.split(',')
    )


def find_value(group: str, name: str) -> str | None:
    """Return the text of an option as it is written, or None.

    For example, oslo.config would replace ``$default_hooks`` in the text, and
    this function does not. If the option is set several times, the last text
    counts.
    """
    value = None
    for setting in list_settings():
        if setting.group == group and setting.name == name:
            value = setting.value
    return value


def list_settings() -> Iterator[Setting]:
    """Yield all settings from configuration files and the environment.

    The environment comes last, because it takes precedence. If a file sets an
    option several times, only the last value is yielded.
    """
    for path in _list_files():
        sections: dict[str, dict[str, list[str]]] = {}
        try:
            cfg.ConfigParser(str(path), sections).parse()
        except (cfg.ConfigFileParseError, OSError):
            # The service has read the file when it started, but the file was
            # removed or changed since then.
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
    """Yield the configuration files, in the order in which they are read."""
    yield from map(pathlib.Path, CONF.config_file or ())
    for directory in CONF.config_dir or ():
        yield from sorted(pathlib.Path(directory).glob('*.conf'))

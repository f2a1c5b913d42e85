# SPDX-License-Identifier: Apache-2.0

"""Warnings of options that keep rules, or Ironic's hooks, from running.

Rules run where Ironic's options name this plugin, ``inspection-rules``: as an
inspection hook of conductors, in ``[inspector]hooks`` or
``[redfish]inspection_hooks``, and as a middleware of the API, in
``[api]middleware``.

Some functions have a parameter ``conducts``. It is True if a conductor has
this configuration, and False in an API on a separate host, which needs neither
hooks nor inspect interfaces.
"""

from collections.abc import Iterable, Iterator
import functools
import importlib.metadata
import re

from ironic.conf import CONF
from ironic.db import api as ironic_db
from oslo_config import cfg

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import suggestion
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.inspection import config_file
from ironic_inspection_rules.inspection import facts
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.objects import storage
from ironic_inspection_rules.rule_set import repository

PLUGIN = config_file.PLUGIN

NEAR_NAMES = frozenset(
    {
        'inspection_rules',
        'inspection-rule',
        'inspection_rule',
        'ironic-inspection-rules',
        'ironic_inspection_rules',
    }
)
"""Entry points of hook and middleware that only report a misspelled name.

Without them Ironic would end with a traceback before it loads anything of
this plugin.
"""

_HOOKS = {
    'inspector': ('hooks', 'default_hooks'),
    'redfish': ('inspection_hooks', 'default_inspection_hooks'),
}
"""By group: the option that lists the hooks, and the option with Ironic's own.

``[inspector]hooks`` is by default ``$default_hooks``, the value of
``[inspector]default_hooks``.
"""

_NO_RULES = 'no-inspect'
"""The inspect interface of nodes that are not inspected."""


def list_warnings(conducts: bool = True) -> Iterator[str]:
    """Yield a warning for every value that keeps rules or hooks from running.

    :param conducts: whether a conductor has this configuration.
    """
    yield from list_warnings_of_values(conducts)
    yield from config_file.find_unknown_options()


def list_warnings_of_values(conducts: bool = True) -> Iterator[str]:
    """Yield the warnings about values of known options.

    The API shows them with every list of rules. This is faster than
    :func:`list_warnings`, which reads all configuration files again.

    :param conducts: whether a conductor has this configuration.
    """
    yield from find_options_without_plugin(conducts)
    yield from find_unknown_hooks(conducts)
    yield from find_misspelled_middleware()
    yield from find_hooks_without_defaults()
    yield from find_unmatched_interfaces(conducts)


def list_hook_names(group: str) -> list[str]:
    """Return the names of the hooks of an interface, in order.

    :param group: ``inspector`` or ``redfish``.
    """
    return _read_names(group, _HOOKS[group][0])


def _read_names(group: str, option: str) -> list[str]:
    """Return the names in an option that lists names, in their order.

    For example, ``ramdisk-error, ports`` has two names.

    :param group: the group of the option, e.g. ``inspector``.
    :param option: the name of the option, e.g. ``hooks``.
    """
    try:
        value = getattr(CONF[group], option)
    except (cfg.NoSuchOptError, cfg.TemplateSubstitutionError):
        # The value refers to an unknown option, e.g. "$defualt_hooks". Use the
        # text as it is written, so that find_unknown_hooks() finds it.
        value = config_file.find_value(group, option) or ''
    return [name for name in value.replace(' ', '').split(',') if name]


def is_configured() -> bool:
    """Return whether the configuration names the plugin anywhere.

    If so, the conductors with this configuration use the plugin's tables.
    """
    return PLUGIN in (
        *CONF.api.middleware,
        *list_hook_names('inspector'),
        *list_hook_names('redfish'),
    )


def find_options_without_plugin(conducts: bool = True) -> Iterator[str]:
    """Yield a warning for every option that does not name this plugin.

    - If the inspect interface ``agent`` is enabled, or if API and conductor
      share one process, ``[inspector]hooks`` must name the plugin.
    - Otherwise ``[redfish]inspection_hooks`` must name it.
    - ``[api]middleware`` must name it in any case.

    A misspelled name of the plugin counts as its name, because another
    function warns about it.

    :param conducts: whether a conductor has this configuration.
    """
    if _is_agent_enabled(conducts):
        if not _names_plugin(list_hook_names('inspector')):
            yield _describe_missing_hook()
    elif not _names_plugin(list_hook_names('redfish')):
        yield (
            _(
                '[DEFAULT]enabled_inspect_interfaces does not name agent: '
                'a conductor with this configuration runs no inspection '
                'rules unless [redfish]inspection_hooks names %s'
            )
            % PLUGIN
        )
    if not _names_plugin(CONF.api.middleware):
        yield (
            _(
                '[api]middleware does not name %s: an API with this '
                'configuration neither stores rules nor runs early '
                'ones'
            )
            % PLUGIN
        )


def _describe_missing_hook() -> str:
    """Return the warning that ``[inspector]hooks`` does not name the plugin.

    If something else loads the plugin in the conductor, rules of the phase
    ``main`` run nevertheless, because they replace stock Ironic's rules.
    """
    has_redfish = any(
        name.endswith('redfish') for name in CONF.enabled_inspect_interfaces
    )
    is_loaded_by_redfish = has_redfish and PLUGIN in list_hook_names('redfish')
    is_loaded_by_api = start.is_all_in_one() and PLUGIN in CONF.api.middleware
    if is_loaded_by_redfish or is_loaded_by_api:
        text = _(
            '[inspector]hooks does not name %s: a conductor with this '
            'configuration runs no rules of the phase preprocess on nodes '
            'with the inspect interface agent'
        )
    else:
        text = _(
            '[inspector]hooks does not name %s: a conductor with this '
            'configuration runs no inspection rules'
        )
    return text % PLUGIN


def _is_agent_enabled(conducts: bool) -> bool:
    """Return whether the inspect interface ``agent`` is enabled anywhere.

    If API and conductor share one process, it counts as enabled.

    :param conducts: whether a conductor has this configuration.
    """
    if start.is_all_in_one() or 'agent' in CONF.enabled_inspect_interfaces:
        return True
    # An API asks the database, because the conductors have their own
    # configurations, and store there which interfaces they have enabled.
    return not conducts and 'agent' in list_interfaces_of_conductors()


def _names_plugin(names: Iterable[str]) -> bool:
    """Return whether names include the plugin's name, even if misspelled."""
    return any(map(config_file.is_near_plugin, names))


def find_unknown_hooks(conducts: bool = True) -> Iterator[str]:
    """Yield a warning for every named hook that is not installed.

    A conductor with such a hook does not start. An API needs no hooks, so for
    an API a name is reported only if it resembles a known hook.

    :param conducts: whether a conductor has this configuration.
    """
    installed = _list_installed('ironic.inspection.hooks')
    for group, (option, default_option) in _HOOKS.items():
        # _read_names() replaces "$default_hooks" with the names of hooks. Only
        # a misspelled "$defualt_hooks" is left, which resembles this text.
        known = {*installed, f'${default_option}'}
        for name in _read_names(group, option):
            if name in installed:
                continue
            resembles_hook = suggestion.find_nearest(name, known) is not None
            if conducts or resembles_hook:
                yield f'[{group}]{option}: ' + suggestion.unknown_message(
                    _('hook'), name, known
                )


def find_misspelled_middleware() -> Iterator[str]:
    """Yield a message for every misspelled name of the plugin's middleware.

    An API with such a name in ``[api]middleware`` does not start, so a service
    that has an API stops with these messages. Other services, which may share
    its configuration, only warn of them.
    """
    installed = _list_installed('ironic.api.middleware')
    for name in CONF.api.middleware:
        if name not in installed and config_file.is_near_plugin(name):
            yield '[api]middleware: ' + suggestion.unknown_message(
                _('middleware'), name, (PLUGIN,)
            )


# Cached, because reading the installed entry points takes milliseconds, and
# every list of rules asks for the warnings of this module.
@functools.cache
def _list_installed(group: str) -> frozenset[str]:
    """Return the names of the entry points of a group.

    Entry points that only report a misspelled name are left out, see
    :data:`NEAR_NAMES`.
    """
    entry_points = importlib.metadata.entry_points(group=group)
    names = frozenset(entry_point.name for entry_point in entry_points)
    return names - NEAR_NAMES


def find_hooks_without_defaults() -> Iterator[str]:
    """Yield a warning for options that name our hook but no default hooks.

    For example, with ``hooks = inspection-rules`` no hook of Ironic runs. The
    operator probably meant ``hooks = $default_hooks,inspection-rules``.
    """
    installed = _list_installed('ironic.inspection.hooks')
    for group, (option, default_option) in _HOOKS.items():
        names = _read_names(group, option)
        defaults = _read_names(group, default_option)
        has_unknown_name = not installed.issuperset(names)
        if has_unknown_name:
            # It may be a misspelled "$default_hooks", and find_unknown_hooks()
            # warns about it.
            continue
        lacks_defaults = set(defaults).isdisjoint(names)
        if PLUGIN in names and defaults and lacks_defaults:
            yield _(
                '[%(group)s]%(option)s is "%(value)s": Ironic\'s default '
                'hooks, %(defaults)s, do not run; did you mean '
                '"$%(default_option)s,%(value)s"?'
            ) % {
                'group': group,
                'option': option,
                'value': ','.join(names),
                'defaults': ', '.join(defaults),
                'default_option': default_option,
            }


def find_unmatched_interfaces(conducts: bool = True) -> Iterator[str]:
    """Yield a warning if rules run with no enabled inspect interface.

    Rules run with the interfaces that match the regular expression in the
    option ``supported_interfaces``.

    :param conducts: whether a conductor has this configuration.
    """
    enabled = [
        name for name in CONF.enabled_inspect_interfaces if name != _NO_RULES
    ]
    if any(map(facts.is_supported, enabled)):
        return
    if not conducts:
        # In an API, the interfaces of the conductors count.
        of_conductors = list_interfaces_of_conductors()
        if any(map(facts.is_supported, of_conductors)):
            return
    yield _(
        '[inspection_rules]supported_interfaces is "%(value)s", which '
        'matches none of [DEFAULT]enabled_inspect_interfaces, %(enabled)s:'
        ' inspection rules run on no node%(hint)s'
    ) % {
        'value': CONF.inspection_rules.supported_interfaces,
        'enabled': ', '.join(CONF.enabled_inspect_interfaces),
        'hint': _suggest_pattern(enabled),
    }


def list_interfaces_of_conductors() -> set[str]:
    """Return the inspect interfaces of all running conductors.

    ``no-inspect`` is left out, because no rules run with it. The set is empty
    in an API without a database.
    """
    if not storage.has_database():
        return set()
    database = ironic_db.get_instance()
    # The keys of this mapping are the hardware types of running conductors.
    hardware_types = list(database.get_active_hardware_type_dict())
    enabled = set()
    for row in database.list_hardware_type_interfaces(hardware_types):
        if row.interface_type == 'inspect':
            enabled.add(row.interface_name)
    enabled.discard(_NO_RULES)
    return enabled


def _suggest_pattern(interfaces: list[str]) -> str:
    """Return a hint which ``supported_interfaces`` was probably meant.

    For example, if the option is ``^agnet$``, the hint is ``; it is a regular
    expression, did you mean "^(agent)$"?``. It is empty if no word of the
    option resembles an interface.

    :param interfaces: the enabled inspect interfaces.
    """
    near_names = []
    # Find the words of the expression, without its special characters.
    words = re.findall(
        '[A-Za-z0-9_-]+', CONF.inspection_rules.supported_interfaces
    )
    for word in words:
        near_name = suggestion.find_nearest(word, interfaces)
        if near_name and near_name not in near_names:
            near_names.append(near_name)
    if not near_names:
        return ''
    return _('; it is a regular expression, did you mean "^(%s)$"?') % (
        '|'.join(near_names)
    )


def list_reasons_for_node(interface: str | None) -> Iterator[str]:
    """Yield the reasons why no rules may run in inspections of a node.

    The API shows them when an operator tries rules on the node.

    :param interface: the inspect interface of the node.
    """
    if not facts.is_supported(interface):
        yield _(
            'No inspection rules run on this node: its inspect interface, '
            '%(interface)s, does not match '
            '[inspection_rules]supported_interfaces, "%(value)s"'
        ) % {
            'interface': interface,
            'value': CONF.inspection_rules.supported_interfaces,
        }
    yield from list_warnings(start.is_all_in_one())


def unused_scope() -> Iterator[str]:
    """Yield a warning if no node has the scope in ``default_scope``.

    Stored rules without a scope of their own get this scope. A rule with a
    scope runs only on nodes that have it as their
    ``properties.inspection_scope``. There is no warning if there are no nodes,
    or if auto-discovery gives new nodes this scope.
    """
    scope = CONF.inspection_rules.default_scope
    if not scope or scope == CONF.auto_discovery.inspection_scope:
        return
    rows = ironic_db.get_instance().get_nodeinfo_list(columns=['properties'])
    scopes_of_nodes = set()
    for (properties,) in rows:
        scopes_of_nodes.add(properties.get(model.SCOPE_PROPERTY))
    if not rows or scope in scopes_of_nodes:
        return
    # A node without a scope has None, and no text, among the scopes.
    known_scopes = {
        known for known in scopes_of_nodes if isinstance(known, str)
    }
    near_scope = suggestion.find_nearest(scope, known_scopes)
    hint = ''
    if near_scope:
        hint = _('; did you mean "%s"?') % near_scope
    yield _(
        '[inspection_rules]default_scope is "%(scope)s": stored rules '
        'without a scope of their own run on no node, since none has it '
        'as its properties.inspection_scope%(hint)s'
    ) % {'scope': scope, 'hint': hint}


def empty_file(rules: repository.Repository) -> Iterator[str]:
    """Yield a warning if the file of built-in rules contains no rules."""
    path = CONF.inspection_rules.built_in
    if path and not rules.built_in:
        yield _('[inspection_rules]built_in: %s has no rules') % path

# SPDX-License-Identifier: Apache-2.0

"""The configuration options of this project.

The ranges and defaults of the options for the queue and the PXE filter are
defined by spec 001 ("Deployer impact").
"""

from collections.abc import Sequence
import itertools
import math
import re
import typing

from oslo_config import cfg
from oslo_config import types

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.i18n import _


class Port(types.String):
    """A port of a transport protocol, such as ``67/udp``."""

    def __init__(self) -> None:
        super().__init__(type_name='port value')

    def __call__(self, value: str) -> str:
        port = value.strip().lower()
        match = re.fullmatch(r'([0-9]{1,5})/(?:udp|tcp)', port)
        if not match or not 0 < int(match[1]) < 65536:
            raise ValueError(_('"%s" is not a port such as "67/udp"') % value)
        return port


class RegularExpression(types.String):
    """A string that compiles as a regular expression."""

    def __init__(self) -> None:
        super().__init__(type_name='regular expression value')

    def __call__(self, value: str) -> str:
        try:
            re.compile(value)
        except re.error as exc:
            raise ValueError(
                _('"%(value)s" is not a regular expression: %(reason)s')
                % {'value': value, 'reason': exc}
            ) from exc
        return super().__call__(value)


class WholeNumber(types.Integer):
    """A whole number whose error message names the value and the range."""

    def __call__(self, value: typing.Any) -> typing.Any:
        try:
            return super().__call__(value)
        except ValueError as exc:
            raise _not_in_range(value, _('a whole number'), self) from exc


class Number(types.Float):
    """A number whose error message names the value and the range."""

    def __call__(self, value: typing.Any) -> typing.Any:
        try:
            return super().__call__(value)
        except ValueError as exc:
            raise _not_in_range(value, _('a number'), self) from exc


class Switch(types.Boolean):
    """A boolean whose error message names the value."""

    def __call__(self, value: typing.Any) -> typing.Any:
        try:
            return super().__call__(value)
        except ValueError as exc:
            raise ValueError(
                _('"%s" is neither True nor False') % value
            ) from exc


def _not_in_range(
    value: object, form: str, type_: types.Integer | types.Float
) -> ValueError:
    """Return the error for an option whose value is invalid.

    For example, ``"x" is not a number of at least 0.1 and at most 30``.

    :param value: the invalid value.
    :param form: the expected form of the value in words, e.g. ``a number``.
    :param type_: the type of the option, which has the range.
    """
    text = _('"%(value)s" is not %(form)s') % {'value': value, 'form': form}
    if type_.min is not None:
        text += _(' of at least %s') % type_.min
    if type_.max is not None:
        text += _(' and at most %s') % type_.max
    return ValueError(text)


# These are upper limits: threads, database sessions and dates overflow if they
# get longer times.
_DAY = 86400
_CENTURY = 36500 * _DAY

# OpenStack services that use tooz usually have this section, but Ironic has
# none.
_COORDINATION = [
    cfg.StrOpt(
        'backend_url',
        default='file://$state_path/coordination',
        secret=True,
        help=_(
            'URL of the coordination service: '
            '"redis://host:6379", "etcd3+http://host:2379", '
            '"zookeeper://host:2181" or "file:///directory". '
            'The default and any other directory do for services '
            'on one host only, which all run as the same user.'
        ),
    ),
]

_PXE_FILTER = [
    # Linux does not allow longer names, and nft gives quotes and "*" in a name
    # a special meaning.
    cfg.StrOpt(
        'interface',
        regex=r'^[^\s/:@*"]{1,15}$',
        help=_(
            'Name of the network interface that the DHCP server '
            'for unmanaged inspection listens on. Required by '
            'the PXE filter.'
        ),
    ),
    cfg.ListOpt(
        'ports',
        item_type=Port(),
        default=['67/udp', '69/udp'],
        help=_(
            'Ports of that interface that only machines in '
            'inspection may reach. Add "547/udp" where machines '
            'get IPv6 addresses by DHCPv6.'
        ),
    ),
    cfg.FloatOpt(
        'sync_period',
        default=15.0,
        min=0.0,
        max=30.0,
        help=_(
            'Seconds between two reads of all MAC addresses '
            'that Ironic knows from the database. 0 means one '
            'read at the start and then messages only.'
        ),
    ),
    cfg.FloatOpt(
        'whitelist_period',
        default=15.0,
        min=0.0,
        max=30.0,
        help=_(
            'Seconds between two reads of the nodes in '
            'inspection from the database. 0 means messages '
            'only.'
        ),
    ),
    cfg.ListOpt(
        'supported_inspect_interfaces',
        default=['agent'],
        help=_(
            'Inspect interfaces of the nodes that are let '
            'through while in inspection.'
        ),
    ),
]

_QUEUE = [
    cfg.BoolOpt(
        'enabled',
        default=False,
        help=_(
            'Whether a posted inventory is stored before the '
            'ramdisk is answered, and processed by inspection '
            'workers. All services must agree on it.'
        ),
    ),
    cfg.IntOpt(
        'workers',
        min=1,
        max=1000,
        sample_default='<number of processors>',
        help=_(
            'Number of threads of one inspection worker, which is '
            'the number of inventories it processes at once. '
            'Defaults to the number of processors.'
        ),
    ),
    cfg.BoolOpt(
        'embedded',
        sample_default='<True if rpc_transport is none or local>',
        help=_(
            'Whether the all-in-one ironic service runs an '
            'inspection worker in its own process. Defaults to '
            'True if rpc_transport is "none" or "local".'
        ),
    ),
    cfg.FloatOpt(
        'get_timeout',
        default=3.0,
        min=0.01,
        max=_DAY,
        help=_(
            'Seconds that an idle worker waits for work before '
            'it asks the queue again, and the longest time '
            'before it notices that it shall stop.'
        ),
    ),
    cfg.IntOpt(
        'lease',
        default=60,
        min=1,
        max=_DAY,
        help=_(
            'Seconds without a sign of life after which a worker '
            'counts as dead, and others take over what it was '
            'processing. They are measured by the clock of the '
            'database. PostgreSQL and MariaDB also end every '
            'transaction of an API, a conductor or a worker that is '
            'idle for that long: where a machine stalls for longer, '
            'calls of Ironic itself fail.'
        ),
    ),
    cfg.IntOpt(
        'max_attempts',
        default=3,
        min=1,
        help=_(
            'Number of times that the processing of one request '
            'is begun before its node fails inspection.'
        ),
    ),
    cfg.IntOpt(
        'processing_time_limit',
        default=600,
        min=1,
        help=_(
            'Seconds that one delivery of a request may take. '
            'After that its worker does not renew its lease any '
            'more, another one takes over, and what the first one '
            'still writes is refused. Loops of a worker that hang '
            'for that long are restarted.'
        ),
    ),
    cfg.ListOpt(
        'conductor_groups',
        default=[],
        help=_(
            'Conductor groups whose nodes this worker processes; '
            'the group "" is that of nodes without one. All nodes '
            'if empty. Nodes with hardware types that are not in '
            '[DEFAULT]enabled_hardware_types are left to other '
            'workers as well.'
        ),
    ),
    cfg.FloatOpt(
        'inspection_timeout',
        default=900.0,
        min=1.0,
        max=900.0,
        help=_(
            'Seconds that a node may be in "inspect wait" '
            'before it fails inspection. The timeout of the '
            'conductor, [conductor]inspect_wait_timeout, '
            'applies too. Neither counts once the data of the '
            'node are accepted.'
        ),
    ),
    cfg.FloatOpt(
        'clean_up_period',
        default=30.0,
        min=0.01,
        max=_DAY,
        help=_(
            'Seconds between two rounds of the tasks that one '
            'worker does for all: timeouts, returning what dead '
            'workers held, removing old requests and those of '
            'deleted nodes.'
        ),
    ),
    cfg.FloatOpt(
        'report_expiration',
        default=86400.0,
        min=1.0,
        max=_CENTURY,
        help=_(
            'Seconds that a request which is done stays visible.'
            ' What the ramdisk sent last is kept as long as '
            'the node.'
        ),
    ),
    cfg.FloatOpt(
        'reboot_throttle',
        default=0.0,
        min=0.0,
        max=_DAY,
        help=_(
            'Seconds between two machines being powered on for '
            'inspection in the whole cluster. 0 does not hold '
            'any machine back.'
        ),
    ),
    cfg.IntOpt(
        'connection_retries',
        default=10,
        min=0,
        help=_(
            'Number of times that a database or a coordination '
            'service which is out of reach is tried again every '
            'connection_retry_interval, before that is an error in '
            'the log. After that a worker tries the database less '
            'often. Services try for as long as they run. Counts '
            'for the PXE filter as well; the message broker has '
            'options of its own, in [oslo_messaging_rabbit].'
        ),
    ),
    cfg.FloatOpt(
        'connection_retry_interval',
        default=1.0,
        min=0.01,
        max=_DAY,
        help=_('Seconds between two such retries.'),
    ),
]

# Ironic registers mask_secrets in the same group, and that option is used,
# too.
_RULES = [
    cfg.FloatOpt(
        'phase_time_limit',
        default=10.0,
        min=0.1,
        help=_(
            'Seconds that the inspection rules of one phase may '
            'take for one machine. Beyond, the inspection fails '
            'and nothing of the phase is saved.'
        ),
    ),
    cfg.FloatOpt(
        'early_phase_time_limit',
        default=2.0,
        min=0.1,
        help=_(
            'The same for the early phase, which runs in the API '
            'service on data that nobody has authenticated.'
        ),
    ),
    cfg.IntOpt(
        'phase_operation_limit',
        default=1_000_000,
        min=100,
        help=_(
            'How many operations the inspection rules of one phase '
            'may do for one machine. Each rule, each action '
            'and each item of a loop is one; values count by their '
            'size.'
        ),
    ),
    cfg.IntOpt(
        'early_phase_operation_limit',
        default=100_000,
        min=100,
        help=_('The same for the early phase.'),
    ),
    cfg.IntOpt(
        'loop_limit',
        default=100_000,
        min=1,
        help=_('How many items one loop may have.'),
    ),
    cfg.StrOpt(
        'built_in',
        help=_(
            'Path to a YAML file with the built-in inspection '
            'rules. It is read once, when a service starts.'
        ),
    ),
    cfg.StrOpt(
        'default_scope',
        help=_(
            'Scope of the stored inspection rules that have none of their own.'
        ),
    ),
    cfg.Opt(
        'supported_interfaces',
        type=RegularExpression(),
        default='^(agent|inspector|redfish|idrac-redfish)$',
        help=_(
            'Regular expression for the inspect interfaces of the '
            'nodes that the rules run on. Rules need an interface that '
            'has inspection hooks or applies inspection rules: agent, '
            'redfish and what is made of these. A conductor warns '
            'about any other that matches.'
        ),
    ),
    cfg.IntOpt(
        'keep_revisions',
        default=100,
        min=1,
        # Databases do not accept much higher numbers in a query.
        max=2**31 - 1,
        help=_(
            'Number of revisions of the rule set that are kept: '
            'who changed which inspection rules, and what they '
            'were.'
        ),
    ),
    cfg.IntOpt(
        'keep_runs',
        default=5,
        min=0,
        max=1000,
        help=_(
            'How many of its last inspections, and as many '
            'reapplications, are kept of each node: which rules '
            'matched, and what they changed. 0 keeps none.'
        ),
    ),
    cfg.IntOpt(
        'keep_history',
        default=0,
        min=0,
        max=36500,
        help=_(
            'For how many days the data of each inspection are '
            'kept: inventory and plugin data without the logs of '
            'the ramdisk, what the rules found and what they did. '
            'What did not change is stored once. 0 keeps none, '
            'and removes what was kept.'
        ),
    ),
    cfg.FloatOpt(
        'statistics_period',
        default=5.0,
        min=0.1,
        max=_DAY,
        help=_(
            'Seconds after which a process writes what it has '
            'counted of the rules to the database.'
        ),
    ),
]

_GROUPS: dict[str, Sequence[cfg.Opt]] = {
    'coordination': _COORDINATION,
    'inspection_pxe_filter': _PXE_FILTER,
    'inspection_queue': _QUEUE,
    'inspection_rules': _RULES,
}


def _explain_errors(opt: cfg.Opt) -> None:
    """Give an option a type whose errors name the value and the range.

    The types of oslo.config quote Python's own error, such as "could not
    convert string to float". Only the type is replaced. The class of the
    option must stay, because the generator of the sample configuration checks
    it.
    """
    stock_type: typing.Any = opt.type
    if isinstance(opt, cfg.IntOpt):
        opt.type = WholeNumber(min=stock_type.min, max=stock_type.max)
    elif isinstance(opt, cfg.FloatOpt):
        opt.type = Number(min=stock_type.min, max=stock_type.max)
    elif isinstance(opt, cfg.BoolOpt):
        opt.type = Switch()


for _opt in itertools.chain(*_GROUPS.values()):
    _explain_errors(_opt)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register all options; registering them again changes nothing."""
    for group, opts in _GROUPS.items():
        conf.register_opts(opts, group=group)


def list_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """List the options for the sample configuration generator."""
    return list(_GROUPS.items())


def check(config: cfg.ConfigOpts) -> None:
    """Check the values of all options of this project.

    :raises: :class:`.exceptions.Invalid` with all invalid values and the
        reasons.
    """
    problems = []
    for group, opts in _GROUPS.items():
        for opt in opts:
            reason = _why_invalid(config, group, opt)
            if reason is not None:
                problems.append(f'[{group}]{opt.name}: {reason}')
    if problems:
        raise exceptions.Invalid(
            _('The configuration cannot be used: %s') % '; '.join(problems)
        )


def _why_invalid(
    config: cfg.ConfigOpts, group: str, opt: cfg.Opt
) -> str | None:
    """Return why the value of an option is invalid, or None if it is valid."""
    try:
        # oslo.config converts and checks a value when it is read.
        value = getattr(config[group], opt.dest)
    except (cfg.Error, ValueError) as exc:
        # oslo.config wraps the error of the type in another message.
        return str(exc.__context__ or exc)
    # NaN is neither below the minimum nor above the maximum, so the range does
    # not refuse it.
    if isinstance(value, float) and math.isnan(value):
        return _('"nan" is not a number')
    return None


def list_option_names(config: cfg.ConfigOpts) -> dict[str, list[str]]:
    """Return the names of all options in this project's groups, by group.

    Options of Ironic in these groups are among them.
    """
    return {group: list(config[group]) for group in _GROUPS}

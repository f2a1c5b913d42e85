# SPDX-License-Identifier: Apache-2.0

"""The configuration of an Ironic that needs nothing but one machine."""

from collections.abc import Mapping
import pathlib
import shutil
import socket
from typing import Any

import bcrypt

Options = Mapping[str, Mapping[str, Any]]
"""Configuration by group and option; None takes an option out."""


_kept: list[socket.socket] = []


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on.

    It stays ours as long as this process lasts. Who has bound a port with
    SO_REUSEADDR and does not listen lets a server have it that sets this
    option too, but nobody who takes any port.
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(('127.0.0.1', 0))
    _kept.append(kept)
    return int(kept.getsockname()[1])


def database_file(directory: pathlib.Path) -> pathlib.Path:
    """Where an Ironic keeps its SQLite database."""
    return directory / 'ironic.sqlite'


def _hardware() -> dict[str, str]:
    """What Ironic can load here: all of ipmi needs ipmitool."""
    if shutil.which('ipmitool'):
        return {'enabled_hardware_types': 'fake-hardware,ipmi,redfish'}
    return {
        'enabled_hardware_types': 'fake-hardware,redfish',
        'enabled_vendor_interfaces': 'redfish,no-vendor',
    }


def all_in_one(directory: pathlib.Path) -> Options:
    """A self-contained Ironic: API and conductor in one.

    Its nodes are of fake hardware, but may be given other drivers.

    :param directory: where it may write; must exist.
    """
    files = {
        name: directory / name
        for name in ('state', 'http', 'tftp', 'images', 'logs')
    }
    for path in files.values():
        path.mkdir(exist_ok=True)
    return {
        'DEFAULT': {
            'auth_strategy': 'noauth',
            'rpc_transport': 'none',
            'host': '127.0.0.1',
            'state_path': files['state'],
            **_hardware(),
            'enabled_inspect_interfaces': 'agent,redfish,no-inspect',
            'default_inspect_interface': 'agent',
            'enabled_network_interfaces': 'noop',
        },
        'agent': {'deploy_logs_local_path': files['logs']},
        'api': {
            'host_ip': '127.0.0.1',
            'port': free_port(),
            'api_workers': 1,
            'middleware': 'inspection-rules',
        },
        'database': {'connection': f'sqlite:///{database_file(directory)}'},
        'deploy': {'http_root': files['http']},
        'dhcp': {'dhcp_provider': 'none'},
        'inspector': {
            'hooks': '$default_hooks,inspection-rules',
            'require_managed_boot': False,
        },
        'pxe': {
            'tftp_root': files['tftp'],
            'tftp_master_path': files['tftp'],
            'instance_master_path': files['images'],
            'images_path': files['images'],
        },
    }


def split() -> Options:
    """API and conductor as services of their own that speak JSON-RPC."""
    return {
        'DEFAULT': {'rpc_transport': 'json-rpc'},
        'json_rpc': {
            'auth_strategy': 'noauth',
            'host_ip': '127.0.0.1',
            'port': free_port(),
        },
    }


def merged(*layers: Options) -> dict[str, dict[str, Any]]:
    """Options where a later layer wins, option by option."""
    result: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for group, options in layer.items():
            result.setdefault(group, {}).update(options)
    return result


def basic_auth(directory: pathlib.Path, user: str, password: str) -> Options:
    """HTTP basic authentication that lets in one user.

    :param directory: where the file of users goes.
    """
    users = directory / 'htpasswd'
    digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()
    users.write_text(f'{user}:{digest}\n')
    return {
        'DEFAULT': {
            'auth_strategy': 'http_basic',
            'http_basic_auth_user_file': users,
        }
    }


def as_ini(options: Options) -> str:
    """The options as the text of a configuration file."""
    lines = []
    for group, values in options.items():
        lines.append(f'[{group}]')
        lines.extend(
            f'{name} = {value}'
            for name, value in values.items()
            if value is not None
        )
    return '\n'.join(lines) + '\n'

# SPDX-License-Identifier: Apache-2.0

"""Builds the configuration of an Ironic that runs on a single machine."""

from collections.abc import Mapping
import pathlib
import shutil
import socket
from typing import Any

import bcrypt

Options = Mapping[str, Mapping[str, Any]]
"""Values of options by group and name; None removes an option."""


_kept: list[socket.socket] = []


def free_port() -> int:
    """Return a TCP port of the loopback interface on which nobody listens.

    The port stays reserved until this process ends, because a socket is bound
    to it with SO_REUSEADDR but does not listen. A server that also sets this
    option can use the port, but the kernel does not assign it to programs that
    ask for any free port.
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(('127.0.0.1', 0))
    _kept.append(kept)
    return int(kept.getsockname()[1])


def database_file(directory: pathlib.Path) -> pathlib.Path:
    """Return the path of the SQLite database of an Ironic."""
    return directory / 'ironic.sqlite'


def _hardware() -> dict[str, str]:
    """Return options for the hardware types that Ironic can load here.

    The type ``ipmi`` is enabled only if ipmitool is installed, because it
    needs this program.
    """
    if shutil.which('ipmitool'):
        return {'enabled_hardware_types': 'fake-hardware,ipmi,redfish'}
    return {
        'enabled_hardware_types': 'fake-hardware,redfish',
        'enabled_vendor_interfaces': 'redfish,no-vendor',
    }


def all_in_one(directory: pathlib.Path) -> Options:
    """Build options for an Ironic that has API and conductor in one process.

    Fake hardware and Redfish are always enabled, and IPMI where it works.

    :param directory: an existing directory for its files.
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
    """Build options for separate API and conductor services with JSON-RPC."""
    return {
        'DEFAULT': {'rpc_transport': 'json-rpc'},
        'json_rpc': {
            'auth_strategy': 'noauth',
            'host_ip': '127.0.0.1',
            'port': free_port(),
        },
    }


def merged(*layers: Options) -> dict[str, dict[str, Any]]:
    """Merge options; for every option, the last layer that has it wins."""
    result: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for group, options in layer.items():
            result.setdefault(group, {}).update(options)
    return result


def basic_auth(directory: pathlib.Path, user: str, password: str) -> Options:
    """Build options for HTTP basic authentication with one user.

    :param directory: the directory in which to write the file of users.
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
    """Return options as the text of a configuration file."""
    lines = []
    for group, values in options.items():
        lines.append(f'[{group}]')
        lines.extend(
            f'{name} = {value}'
            for name, value in values.items()
            if value is not None
        )
    return '\n'.join(lines) + '\n'

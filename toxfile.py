# SPDX-License-Identifier: Apache-2.0

"""Lets tox environments that name the same ``env_dir`` share it.

tox recreates a directory whenever an environment of another name comes to
it. Here that would install Ironic a dozen times; the environments of one
directory have the same packages, so only their names differ.
"""

from tox.plugin import impl
from tox.tox_env.api import ToxEnv
from tox.tox_env.info import Info
from tox.tox_env.python.virtual_env.runner import VirtualEnvRunner


class SharedInfo(Info):
    """What tox knows of a directory, whichever environment asks."""

    def compare(self, value, section, sub_section=None):
        if section == ToxEnv.__name__:
            value = {**value, 'name': 'shared'}
        return super().compare(value, section, sub_section)


class SharedRunner(VirtualEnvRunner):
    """tox's own runner (``runner = shared`` in tox.ini)."""

    @staticmethod
    def id():
        return 'shared'

    @property
    def cache(self):
        return SharedInfo(self.env_dir)


@impl
def tox_register_tox_env(register):
    register.add_run_env(SharedRunner)

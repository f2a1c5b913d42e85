# SPDX-License-Identifier: Apache-2.0

"""The ramdisk that machines boot for inspection."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from ironic_inspection_rules.tests import guide
from ironic_inspection_rules.tests.iron import progress

CACHE = guide.ROOT / '.tox' / 'iron-cache'
"""What is made once: images and the emulator of BMCs."""

FAILED = CACHE / 'failed'
"""Consoles and logs of the cases that failed in the last run."""

_HERE = pathlib.Path(__file__).parent
_SOURCES = (_HERE / 'build_image', _HERE / 'ramdisk_init')
_ISOLATED = (
    'unshare',
    '--mount',
    '--pid',
    '--mount-proc',
    '--fork',
    '--kill-child=KILL',
)
"""The build mounts file systems, which end with it, however it ends."""

_AGENT = re.compile(r'^ironic-python-agent==(\S+)$', re.MULTILINE)


def agent_release(constraints: pathlib.Path) -> str:
    """Return the release of the agent that belongs to an Ironic.

    :param constraints: the file of that Ironic in ``constraints/``.
    """
    found = _AGENT.search(constraints.read_text())
    if found is None:
        raise ValueError(f'{constraints} has no ironic-python-agent')
    return found[1]


def of_environment() -> 'BootImage':
    """Return the image for the Ironic that this environment has."""
    constraints = pathlib.Path(os.environ['IR_CONSTRAINTS'])
    return BootImage(agent_release(constraints))


class BootImage:
    """Kernel and initramfs, built once for all runs.

    :param agent: the release of ironic-python-agent in it.
    :param cache: the directory that keeps images.
    """

    def __init__(self, agent: str, cache: pathlib.Path = CACHE) -> None:
        self._agent = agent
        self._cache = cache

    @property
    def directory(self) -> pathlib.Path:
        """Where ``ipa.kernel`` and ``ipa.initramfs`` are, or will be.

        Its name is a digest of all that the image is made from.
        """
        digest = hashlib.sha256(self._agent.encode())
        for source in _SOURCES:
            digest.update(source.read_bytes())
        return self._cache / f'image-{digest.hexdigest()[:16]}'

    def prepare(self) -> None:
        """Build the image unless that was done before.

        :raises: subprocess.CalledProcessError when it cannot be built.
        """
        if self.directory.exists():
            progress.say(f'The ramdisk is there: {self.directory.name}')
            return
        progress.say('Building the ramdisk, which takes minutes')
        self._cache.mkdir(parents=True, exist_ok=True)
        for old in self._cache.glob('image-*'):
            shutil.rmtree(old)
        # A build that is killed leaves nothing of the final name.
        scratch = pathlib.Path(
            tempfile.mkdtemp(prefix='image-', dir=self._cache)
        )
        try:
            self._build(scratch)
        except BaseException:
            shutil.rmtree(scratch)
            raise
        scratch.rename(self.directory)
        progress.say('The ramdisk is built')

    def _build(self, directory: pathlib.Path) -> None:
        """Build the image in an empty directory."""
        with subprocess.Popen(
            [
                *_ISOLATED,
                'bash',
                str(_SOURCES[0]),
                str(directory),
                sys.executable,
                self._agent,
            ],
            stdout=subprocess.PIPE,
            text=True,
        ) as building:
            for line in building.stdout:
                progress.say(f'  {line.rstrip()}')
        if building.returncode:
            raise subprocess.CalledProcessError(
                building.returncode, building.args
            )

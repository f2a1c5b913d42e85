# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A page of the documentation, to be done as it is written.

Blocks with a caption are files. In blocks of the language ``console`` lines
with ``$`` are commands, and the others what they print.
"""

import pathlib
import re
import subprocess
import typing

import ironic_inspection_rules

_SOURCE = pathlib.Path(ironic_inspection_rules.__file__).parents[1].joinpath(
    'doc', 'source')
_BLOCK = re.compile(r'^\.\. code-block:: (?P<language>\w+)\n'
                    r'(?:   :caption: (?P<name>\S+)\n)?\n'
                    r'(?P<text>(?:(?:   .*)?\n)+)', re.MULTILINE)
_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class Step(typing.NamedTuple):
    """A command and what it is said to print."""

    command: str
    output: str


def exists(name: str) -> bool:
    """Tell whether the page is here; it is in a checkout only."""
    return _SOURCE.joinpath(name).is_file()


def files(name: str) -> dict[str, str]:
    """Return the files of a page by their names."""
    return {block['name']: _unindent(block['text'])
            for block in _blocks(name) if block['name']}


def steps(name: str) -> list[Step]:
    """Return the commands of a page, but not those of the root user."""
    found = []
    for block in _blocks(name):
        if block['language'] != 'console':
            continue
        for part in _unindent(block['text']).split('$ ')[1:]:
            command, _newline, output = part.partition('\n')
            found.append(Step(command, output.rstrip('\n')))
    return found


def carry_out(step: Step, directory: str,
              environment: dict[str, str]) -> str:
    """Run a command.

    :returns: what it prints.
    """
    done = subprocess.run(
        step.command, shell=True, cwd=directory, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.rstrip('\n')


def without_uuids(text: str) -> str:
    """Make UUIDs that are made up anew each time all the same."""
    return _UUID.sub('UUID', text)


def _blocks(name: str) -> list[re.Match[str]]:
    return list(_BLOCK.finditer(_SOURCE.joinpath(name).read_text()))


def _unindent(text: str) -> str:
    return '\n'.join(line[3:] for line in text.rstrip('\n').split('\n')
                     ) + '\n'

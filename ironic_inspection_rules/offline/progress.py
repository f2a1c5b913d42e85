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

"""How far a command is, for who looks at a terminal."""

import sys

from rich import console
from rich import progress


def bar() -> progress.Progress:
    """Return a bar on standard error that goes when it is done."""
    return progress.Progress(console=console.Console(stderr=True),
                             transient=True,
                             disable=not sys.stderr.isatty())

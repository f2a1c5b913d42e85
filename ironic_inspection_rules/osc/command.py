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

"""Commands of ``openstack baremetal``, which show what strangers wrote."""

from typing import Any

from ironicclient.osc import command
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.terminal import escapes


class _Application:
    """The application of a command, with guarded streams."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.stdout = escapes.Guard(app.stdout)
        self.stderr = escapes.Guard(app.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


class Guarded:
    """A command whose output and errors do not command the terminal."""

    app: Any

    def run(self, parsed_args: Any) -> Any:
        """Run it, with streams that escape what is no text."""
        app, self.app = self.app, _Application(self.app)
        try:
            return super().run(parsed_args)  # type: ignore[misc]
        except Exception as exc:
            text = str(exc)
            if escapes.shown(text) == text:
                raise
            raise osc_exceptions.CommandError(escapes.shown(text)) from exc
        finally:
            self.app = app


class Command(Guarded, command.Command):
    """A command that prints what it likes."""


class Lister(Guarded, command.Lister):
    """A command that lists things."""


class ShowOne(Guarded, command.ShowOne):
    """A command that shows one thing."""

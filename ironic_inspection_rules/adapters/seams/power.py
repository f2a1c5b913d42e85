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

"""The moment at which Ironic powers a machine on for inspection."""

from collections.abc import Callable
import contextlib
import typing

from ironic.drivers.modules.inspector import interface

_stock_power_on_or_reboot = interface.Common._power_on_or_reboot


def around_power_on(turn: Callable[[], contextlib.AbstractContextManager]
                    ) -> None:
    """Power machines on inside a context only.

    :param turn: makes the context of one machine.
    """
    def power_on_or_reboot(self: interface.Common, task: typing.Any) -> None:
        with turn():
            _stock_power_on_or_reboot(self, task)

    interface.Common._power_on_or_reboot = power_on_or_reboot

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

"""Holds machines back that are to be powered on for inspection."""

from ironic.conf import CONF

from ironic_inspection_rules.coordination import coordinator
from ironic_inspection_rules.coordination import leased_lock
from ironic_inspection_rules.coordination import throttle
from ironic_inspection_rules.patches import conductor
from ironic_inspection_rules.patches import power

LOCK = 'inspection-power-on'


def install() -> None:
    """Keep the pace of ``[inspection_queue]reboot_throttle`` if there is one.

    For the process that powers machines on, the conductor.

    :raises: Invalid when ``[coordination]`` cannot be used.
    """
    options = CONF.inspection_queue
    if not options.enabled or not options.reboot_throttle:
        return
    coordinator.check(CONF)
    power.around_power_on(throttle.Throttle(
        _make_lock, options.reboot_throttle, _wait,
        CONF.coordination.connection_retries,
        CONF.coordination.connection_retry_interval).turn)


def _make_lock() -> leased_lock.LeasedLock:
    return coordinator.make_lock(CONF, LOCK, CONF.host)


def _wait(seconds: float) -> bool:
    # Asked each time: hooks are loaded before the conductor can be found.
    return conductor.stop_event().wait(seconds)

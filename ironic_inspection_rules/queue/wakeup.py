# SPDX-License-Identifier: Apache-2.0

"""Messages that tell workers to look for work in the queue.

The API sends such a message, a wake-up, after it has stored an inspection
request. Messages go through oslo.messaging to all workers. A lost message only
costs time, because workers also poll the queue. Therefore messages are neither
confirmed nor sent again.
"""

from collections.abc import Callable
import threading

from ironic.common import context as ironic_context
from ironic.common import rpc
from ironic.conf import CONF
import oslo_messaging

from ironic_inspection_rules.coordination import watchdog

TOPIC = 'ironic.inspection_worker'

_VERSION = '1.0'


def is_available() -> bool:
    """Return whether the services of this Ironic use oslo.messaging."""
    return CONF.rpc_transport == 'oslo'


class WakeupSender:
    """Sends wake-ups to all workers, from a separate thread.

    Because of the thread, an unreachable message broker does not delay the
    caller of :meth:`wake`. If :meth:`wake` is called several times while a
    message is being sent, the thread sends one more message for all of them.
    """

    def __init__(self) -> None:
        # Set while a message remains to be sent.
        self._pending = threading.Event()
        # Held while the thread is started, so that two callers do not start
        # two threads.
        self._lock = threading.Lock()
        # The thread that sends the messages; the first wake() starts it.
        self._thread: threading.Thread | None = None
        # Logs that messages cannot be sent, once and not for every message.
        self._outage = watchdog.Outage(
            'Waking up inspection workers',
            CONF.inspection_queue.connection_retries,
        )

    def wake(self) -> None:
        """Make the thread send a wake-up; start the thread if it is not alive.

        This does not wait until the message is sent. If the thread cannot be
        started, no message is sent, and this is only logged.
        """
        self._pending.set()
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            # This is the first call, or the web server has forked after it: a
            # forked process does not have the threads of its parent.
            thread = threading.Thread(
                target=self._run, name='wake-up', daemon=True
            )
            try:
                thread.start()
            except RuntimeError as exc:
                # The process cannot create more threads. Workers find the
                # request when they next poll, and the next call tries again.
                self._outage.failed(exc)
                return
            self._thread = thread

    def _run(self) -> None:
        """Send a message whenever :meth:`wake` has been called.

        This is the function of the thread, and never returns. All calls during
        one message are followed by a single further message.
        """
        # "fanout" sends a message to all workers.
        client = rpc.get_client(
            oslo_messaging.Target(topic=TOPIC, version=_VERSION, fanout=True)
        )
        context = ironic_context.get_admin_context()
        while True:
            self._pending.wait()
            # Clear the event before the message is sent, so that a request
            # that is stored meanwhile causes another message.
            self._pending.clear()
            try:
                # This calls _Endpoint.wake_up() of every worker.
                client.prepare(retry=0).cast(context, 'wake_up')
            # Catch everything, because a driver may raise any error.
            except Exception as exc:
                self._outage.failed(exc)
            else:
                self._outage.over()


class Listener:
    """Receives wake-ups.

    :param name: the name of the worker.
    :param wake: called for every wake-up.
    """

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self._server = rpc.get_server(
            oslo_messaging.Target(topic=TOPIC, server=name), [_Endpoint(wake)]
        )

    def start(self) -> None:
        """Listen as soon as the message broker can be reached."""
        threading.Thread(
            target=self._server.start, name='listener', daemon=True
        ).start()


class _Endpoint:
    """Methods that are called over oslo.messaging."""

    target = oslo_messaging.Target(version=_VERSION)

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def wake_up(self, context: object) -> None:
        """Wake the worker."""
        self._wake()

# SPDX-License-Identifier: Apache-2.0

"""A real browser, which opens pages from files.

It is Chromium, or Firefox where ``IR_BROWSER=firefox`` is set.
"""

import base64
from collections.abc import Sequence
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import typing

from selenium import webdriver
from selenium.webdriver.chrome import service
import websocket

DESKTOP = (1280, 900)
PHONE = (390, 844)

_ARGUMENTS = (
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--hide-scrollbars',
)
_TIME_LIMIT = 60
_REPORTED = 200
"""Milliseconds."""

_PREFERENCES = {
    'ui.prefersReducedMotion': 1,
    'ui.useOverlayScrollbars': 1,
    # 1 is light, whatever the desktop has.
    'layout.css.prefers-color-scheme.content-override': 1,
}


def missing() -> str | None:
    """Say what there has to be and is not."""
    needed: tuple[tuple[str, ...], ...] = (
        ('chromium', 'chromium-browser', 'google-chrome'),
        ('chromedriver',),
    )
    if _wants_firefox():
        needed = (('firefox', 'firefox-esr'),)
    for names in needed:
        if not _program(names):
            return f'there is no {names[0]}'
    return None


def start() -> 'Browser':
    """Start the browser that is asked for."""
    if _wants_firefox():
        return Firefox()
    return Chromium()


def _wants_firefox() -> bool:
    return os.environ.get('IR_BROWSER') == 'firefox'


def _program(names: Sequence[str]) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """A browser without a window.

    :cvar has_touch: whether it has a touch screen where it plays a phone.
    """

    has_touch = False

    def close(self) -> None:
        """End it."""
        raise NotImplementedError

    def open(
        self, path: str, size: tuple[int, int] = DESKTOP, dark: bool = False
    ) -> None:
        """Open a page and wait until it is drawn.

        :param path: a file.
        """
        raise NotImplementedError

    def run(self, script: str, *arguments: typing.Any) -> typing.Any:
        """Return what a script returns, or what its promise becomes."""
        raise NotImplementedError

    def complaints(self) -> list[str]:
        """Return what the console has been told since the last call."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """The title of the page."""
        title: str = self.run('return document.title')
        return title

    def settle(self, milliseconds: int = 0) -> None:
        """Wait until what a page does next is drawn."""
        self.run(
            'return new Promise((done) => setTimeout(() => '
            'requestAnimationFrame(() => requestAnimationFrame(() => '
            'done())), arguments[0]))',
            milliseconds,
        )

    def go_to(self, place: str) -> None:
        """Bring an element into sight, by its id."""
        self.run(
            'document.getElementById(arguments[0]).scrollIntoView()', place
        )
        self.settle(50)

    def click(self, selector: str) -> None:
        """Click what a CSS selector finds first."""
        self.run('document.querySelector(arguments[0]).click()', selector)
        self.settle()

    def search(self, text: str, selector: str = 'input[type=search]') -> None:
        """Type into a search field."""
        self.run(
            'const field = document.querySelector(arguments[1]);'
            'field.value = arguments[0];'
            'field.dispatchEvent(new Event("input"))',
            text,
            selector,
        )
        self.settle(100)

    def texts(self, selector: str) -> list[str]:
        """Return the text of all that a CSS selector finds."""
        texts: list[str] = self.run(
            'return [...document.querySelectorAll(arguments[0])]'
            '.map((each) => each.textContent)',
            selector,
        )
        return texts


class Chromium(Browser):
    """Chromium, by its driver."""

    has_touch = True

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = (
            _program(('chromium', 'chromium-browser', 'google-chrome')) or ''
        )
        for argument in _ARGUMENTS:
            options.add_argument(argument)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(
            options, service.Service(_program(('chromedriver',)))
        )
        self.driver.set_script_timeout(_TIME_LIMIT)

    def close(self) -> None:
        """End it."""
        self.driver.quit()

    def open(
        self, path: str, size: tuple[int, int] = DESKTOP, dark: bool = False
    ) -> None:
        """Open a page and wait until it is drawn.

        :param path: a file.
        """
        self.driver.execute_cdp_cmd(
            'Emulation.setDeviceMetricsOverride',
            {
                'width': size[0],
                'height': size[1],
                'deviceScaleFactor': 1,
                'mobile': size == PHONE,
            },
        )
        self.driver.execute_cdp_cmd(
            'Emulation.setTouchEmulationEnabled', {'enabled': size == PHONE}
        )
        self.driver.execute_cdp_cmd(
            'Emulation.setEmulatedMedia',
            {
                'features': [
                    {'name': 'prefers-reduced-motion', 'value': 'reduce'},
                    {
                        'name': 'prefers-color-scheme',
                        'value': 'dark' if dark else 'light',
                    },
                ]
            },
        )
        self.driver.get('about:blank')
        self.driver.get(f'file://{path}')
        self.settle()

    def run(self, script: str, *arguments: typing.Any) -> typing.Any:
        """Return what a script returns, or what its promise becomes."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """Return what the console has been told since the last call."""
        return [json.dumps(each) for each in self.driver.get_log('browser')]

    def picture(self, height: int, scale: float = 1) -> bytes:
        """Return what the page looks like from its top, as WebP."""
        size = self.run('return [innerWidth, innerHeight]')
        shot = self.driver.execute_cdp_cmd(
            'Page.captureScreenshot',
            {
                'format': 'webp',
                'quality': 60,
                'captureBeyondViewport': True,
                'clip': {
                    'x': 0,
                    'y': 0,
                    'width': size[0],
                    'height': height,
                    'scale': scale,
                },
            },
        )
        return base64.b64decode(shot['data'])


class Firefox(Browser):
    """Firefox, by WebDriver BiDi: it needs no driver.

    A dark page is one whose reader has chosen so.
    """

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory()
        with open(f'{self._profile.name}/user.js', 'w') as file:
            for name, value in _PREFERENCES.items():
                file.write(f'user_pref("{name}", {value});\n')
        self._process = subprocess.Popen(
            [
                _program(('firefox', 'firefox-esr')) or 'firefox',
                '--headless',
                '--no-remote',
                '--profile',
                self._profile.name,
                '--remote-debugging-port',
                '0',
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._socket = websocket.create_connection(
            f'{self._address()}/session',
            suppress_origin=True,
            timeout=_TIME_LIMIT,
        )
        self._number = 0
        self._complaints: list[str] = []
        self._call('session.new', capabilities={})
        self._call('session.subscribe', events=['log.entryAdded'])
        [tab] = self._call('browsingContext.getTree')['contexts']
        self._tab = tab['context']
        self._preload: str | None = None

    def _address(self) -> str:
        """Return where it listens, which it says when it has started."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            found = re.search(r'BiDi listening on (ws://\S+)', line)
            if found:
                # Firefox would stop where it writes to a full pipe.
                threading.Thread(
                    target=self._process.stderr.read, daemon=True
                ).start()
                return found[1]
        raise RuntimeError('Firefox has ended')

    def _call(self, method: str, **parameters: typing.Any) -> typing.Any:
        """Return the result of a command; events before it are kept."""
        self._number += 1
        self._socket.send(
            json.dumps(
                {'id': self._number, 'method': method, 'params': parameters}
            )
        )
        while True:
            answer = json.loads(self._socket.recv())
            if answer['type'] == 'event':
                self._complaints.append(json.dumps(answer['params']))
            elif answer['type'] == 'error':
                raise RuntimeError(f'{method}: {answer["message"]}')
            elif answer['id'] == self._number:
                return answer['result']

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.terminate()
        self._process.communicate()
        self._profile.cleanup()

    def open(
        self, path: str, size: tuple[int, int] = DESKTOP, dark: bool = False
    ) -> None:
        """Open a page and wait until it is drawn.

        :param path: a file.
        """
        self._call(
            'browsingContext.setViewport',
            context=self._tab,
            viewport={'width': size[0], 'height': size[1]},
        )
        self._go('about:blank')
        if self._preload is not None:
            self._call('script.removePreloadScript', script=self._preload)
        choose = "localStorage.removeItem('theme')"
        if dark:
            choose = "localStorage.setItem('theme', 'dark')"
        self._preload = self._call(
            'script.addPreloadScript',
            contexts=[self._tab],
            functionDeclaration="() => { if (location.protocol === 'file:') "
            f'{{ {choose} }} }}',
        )['script']
        self._go(f'file://{path}')
        self.settle()

    def _go(self, url: str) -> None:
        self._call(
            'browsingContext.navigate',
            context=self._tab,
            url=url,
            wait='complete',
        )

    def run(self, script: str, *arguments: typing.Any) -> typing.Any:
        """Return what a script returns, or what its promise becomes."""
        answer = self._call(
            'script.callFunction',
            target={'context': self._tab},
            functionDeclaration='async (text) => JSON.stringify(await '
            f'(function () {{ {script} }}).apply(null, '
            'JSON.parse(text)) ?? null)',
            arguments=[{'type': 'string', 'value': json.dumps(arguments)}],
            awaitPromise=True,
        )
        if 'result' not in answer:
            raise RuntimeError(answer['exceptionDetails']['text'])
        return json.loads(answer['result']['value'])

    def complaints(self) -> list[str]:
        """Return what the console has been told since the last call."""
        # What a page was not allowed to do is reported a little later.
        self.settle(_REPORTED)
        found, self._complaints = self._complaints, []
        return found

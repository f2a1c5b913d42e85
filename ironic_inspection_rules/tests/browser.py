# SPDX-License-Identifier: Apache-2.0

"""A real browser, which opens pages from files."""

import base64
from collections.abc import Sequence
import json
import shutil
import typing

from selenium import webdriver
from selenium.webdriver.chrome import service

DESKTOP = (1280, 900)
PHONE = (390, 844)

_ARGUMENTS = ('--headless=new', '--no-sandbox', '--disable-gpu',
              '--disable-dev-shm-usage', '--hide-scrollbars')


def missing() -> str | None:
    """Say what there has to be and is not."""
    for names in (('chromium', 'chromium-browser', 'google-chrome'),
                  ('chromedriver',)):
        if not _program(names):
            return f'there is no {names[0]}'
    return None


def _program(names: Sequence[str]) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """Chromium without a window."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = _program(
            ('chromium', 'chromium-browser', 'google-chrome')) or ''
        for argument in _ARGUMENTS:
            options.add_argument(argument)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(options, service.Service(
            _program(('chromedriver',))))
        self.driver.set_script_timeout(60)

    def close(self) -> None:
        """End it."""
        self.driver.quit()

    def open(self, path: str, size: tuple[int, int] = DESKTOP,
             dark: bool = False) -> None:
        """Open a page and wait until it is drawn.

        :param path: a file.
        """
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': size[0], 'height': size[1], 'deviceScaleFactor': 1,
            'mobile': size == PHONE})
        self.driver.execute_cdp_cmd('Emulation.setTouchEmulationEnabled', {
            'enabled': size == PHONE})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-reduced-motion',
                          'value': 'reduce'},
                         {'name': 'prefers-color-scheme',
                          'value': 'dark' if dark else 'light'}]})
        self.driver.get('about:blank')
        self.driver.get(f'file://{path}')
        self.settle()

    def run(self, script: str, *arguments: typing.Any) -> typing.Any:
        """Return what a script returns."""
        return self.driver.execute_script(script, *arguments)

    def settle(self, milliseconds: int = 0) -> None:
        """Wait until what a page does next is drawn."""
        self.driver.execute_async_script(
            'const done = arguments[1]; setTimeout(() => '
            'requestAnimationFrame(() => requestAnimationFrame(() => '
            'done())), arguments[0])', milliseconds)

    def go_to(self, place: str) -> None:
        """Bring an element into sight, by its id."""
        self.run('document.getElementById(arguments[0]).scrollIntoView()',
                 place)
        self.settle(50)

    def click(self, selector: str) -> None:
        """Click what a CSS selector finds first."""
        self.run('document.querySelector(arguments[0]).click()', selector)
        self.settle()

    def search(self, text: str, selector: str = 'input[type=search]'
               ) -> None:
        """Type into a search field."""
        self.run('const field = document.querySelector(arguments[1]);'
                 'field.value = arguments[0];'
                 'field.dispatchEvent(new Event("input"))', text, selector)
        self.settle(100)

    def texts(self, selector: str) -> list[str]:
        """Return the text of all that a CSS selector finds."""
        return self.run(
            'return [...document.querySelectorAll(arguments[0])]'
            '.map((each) => each.textContent)', selector)

    def picture(self, height: int, scale: float = 1) -> bytes:
        """Return what the page looks like from its top, as WebP."""
        size = self.run('return [innerWidth, innerHeight]')
        shot = self.driver.execute_cdp_cmd('Page.captureScreenshot', {
            'format': 'webp', 'quality': 60, 'captureBeyondViewport': True,
            'clip': {'x': 0, 'y': 0, 'width': size[0], 'height': height,
                     'scale': scale}})
        return base64.b64decode(shot['data'])

    def complaints(self) -> list[str]:
        """Return what the console has been told since the last call."""
        return [json.dumps(each) for each in self.driver.get_log('browser')]

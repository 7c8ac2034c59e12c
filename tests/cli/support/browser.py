"""A page as a browser shows it: headless Chromium, driven through its pipe for debugging. Where there is none, the script is skipped."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile

from support.command import skip

NAMES = ("chromium", "chromium-browser", "google-chrome")


def needed():
    """The browser's path; the script is skipped where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or skip(f"none of {', '.join(NAMES)} is installed")


class Browser:
    """One page at a time. What the page asks of the network, and what it writes to the console, is kept."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tessera-browser-")
        ours, self.said, self.count = [os.pipe(), os.pipe()], b"", 0

        def place():  # the browser reads from 3 and writes to 4
            read, write = os.dup(ours[0][0]), os.dup(ours[1][1])
            os.dup2(read, 3)
            os.dup2(write, 4)
        self.process = subprocess.Popen([needed(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={self.folder}",
                                         "--remote-debugging-pipe", "about:blank"], preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self.folder))
        self.write, self.read = ours[0][1], ours[1][0]
        os.close(ours[0][0])
        os.close(ours[1][1])
        self.session, self.events = None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{part}.enable")

    def next(self):
        while b"\0" not in self.said:
            more = os.read(self.read, 1 << 20)
            assert more, "the browser ended"
            self.said += more
        text, self.said = self.said.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.count:
                assert "error" not in answer, f"{method}: {answer}"
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1200, height=900, dark=False):
        """Shows a file, or an address, and waits until it is loaded."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events = []
        self.ask("Page.navigate", url=path if "://" in str(path) else f"file://{path}")
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.next())
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def complaints(self):
        """What the page asked of the network, and what went wrong in it."""
        told = []
        for event in self.events:
            method, p = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("file:", "data:", "about:")):
                told.append(f"asks for {p['request']['url']}")
            elif method == "Runtime.exceptionThrown":
                told.append(p["exceptionDetails"].get("exception", {}).get("description") or p["exceptionDetails"]["text"])
            elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                told.append(f"console: {p['args']}")
            elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                told.append(p["entry"]["text"])
        return told

    def overflow(self):
        """By how many pixels the page is wider than the window, and the first elements that are."""
        return self.value("""(() => { const wide = document.documentElement.scrollWidth - innerWidth; if (wide <= 0) return null;
            const out = [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.wide, .scroll'));
            return [wide, ...out.slice(0, 4).map(e => e.outerHTML.slice(0, 120))]; })()""")

    def picture(self, path, whole=True, **clip):
        options = {"clip": {"scale": 1, **clip}} if clip else {}
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **options)["data"]
        path.write_bytes(base64.b64decode(data))

    def printed(self, width, height):
        """How far the page is wider than paper of this many pixels, as in overflow(), and the pages of its PDF on A4."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", media="print")
        wide = self.overflow()
        self.ask("Emulation.setEmulatedMedia", media="")
        pdf = base64.b64decode(self.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
        assert pdf.startswith(b"%PDF-"), pdf[:20]
        return wide, len(re.findall(rb"/Type ?/Page\b", pdf))

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

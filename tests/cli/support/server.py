"""A running tessera serve."""

import http.client
import json
import re
import signal
import subprocess
import time

from support.command import COMMAND, PLAY, SOURCE, environment, equal, run, skip

REFERENCE = ("-d", "reference", "-q")
ENCODER = SOURCE / "tests" / "golden" / "encoders" / "sentence"
# A chat template that writes calls of functions, behind a $.
TEMPLATE = ("{% for m in messages %}{{ m.role[0] | upper }} {{ m.content }}{% for c in m.tool_calls or [] %}$ {\"name\": \"{{ c.function.name }}\", "
            "\"arguments\": {{ c.function.arguments | tojson }}} {% endfor %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}A {% endif %}")


class Server:
    """A server, as a context. port 0: a free one."""

    def __init__(self, *options, model=PLAY, device=REFERENCE, port=0, **how):
        self.arguments = ("serve", *device, "-m", model, "--port", port, *options)
        self.how = {"env": environment(), **how}

    def __enter__(self):
        self.process = subprocess.Popen([COMMAND, *map(str, self.arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.how)
        line = self.process.stdout.readline().decode()
        assert re.search(r" served at https?://(127\.0\.0\.1|0\.0\.0\.0):", line), (line, self.process.stderr.read() if self.process.poll() is not None else "")
        self.port, self.ended = int(line.rsplit(":", 1)[1]), False
        return self

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.ended = True

    def __exit__(self, *error):
        if not self.ended:
            self.end()
        self.err = self.process.communicate()[1].decode()
        if not error[0]:
            equal(self.process.returncode, 143, self.err)

    def ask(self, path, body=None, method=None, **headers):
        """(status, the answer as JSON or bytes)"""
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method or ("GET" if body is None else "POST"), path, data, headers)
        answer = connection.getresponse()
        got = answer.read()
        connection.close()
        return answer.status, json.loads(got) if answer.headers["Content-Type"] == "application/json" else got

    def fine(self, path, body=None, **headers):
        status, got = self.ask(path, body, **headers)
        equal(status, 200, got)
        return got

    def events(self, path, body):
        """The chunks of a stream, which must end with [DONE]."""
        got = self.fine(path, body | {"stream": True}).decode()
        lines = got.split("\n\n")
        equal(lines[-2:], ["data: [DONE]", ""])
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]

    def metric(self, name, **headers):
        return value(self.fine("/metrics", **headers).decode(), name)

    def wrong(self, status, fragment, path, body=None, param=None, **headers):
        got, answer = self.ask(path, body, **headers)
        equal(got, status, answer)
        equal(sorted(answer["error"]), ["code", "message", "param", "type"])
        assert fragment in answer["error"]["message"], answer
        equal(answer["error"]["param"], param, answer)


def value(metrics, name, model=""):
    return next(float(line.split()[-1]) for line in metrics.splitlines() if line.startswith(f'tessera_{name}{{model_name="{model}'))


def until(true, what):
    for _ in range(600):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError(what)


def has_server():
    """Whether the command was built with its server."""
    return "was built without" not in run("serve", *REFERENCE, "-m", PLAY, "--host", "nowhere.invalid", code=None).err


def skip_without_server():
    """Ends the script where the command was built without its server."""
    if not has_server():
        skip("built without libmicrohttpd")

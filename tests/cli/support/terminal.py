"""A shell on a terminal, for tests of completion."""

import os
import pty
import select
import time


def typed(shell, setup, keys, wanted, env):
    """Starts the shell on a terminal, types, and waits until it shows what is wanted."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(shell[0], shell, {**env, "TERM": "dumb", "PS1": "$ "})
    shown, end = b"", time.monotonic() + 120
    try:
        os.write(terminal, f"{setup}; echo rea''dy\n".encode())
        sent = False
        while time.monotonic() < end and wanted not in shown:
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 65536)
            if not sent and b"ready" in shown.replace(b"rea''dy", b""):
                sent, shown = True, b""
                os.write(terminal, keys)
    except OSError:  # the shell has ended
        pass
    finally:
        os.close(terminal)
        os.kill(process, 9)
        os.waitpid(process, 0)
    assert wanted in shown, f"{shell[0]} showed {shown!r}"

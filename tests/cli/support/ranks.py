"""Starting several ranks by mpirun."""

import shutil
import subprocess

from support.command import BUILD, PATIENCE, Result, environment, skip

PLUGIN = BUILD / "lib" / "tessera" / "transports" / "mpi.so"
LIMITED = BUILD / "bench" / "transports" / "limited.so"  # makes another transport slower (bench/network)
# Ranks may be more than cores, and none is bound to one. `root` may start them, as it may in a container.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def need_mpi():
    if not PLUGIN.exists() or not shutil.which("mpirun"):
        skip("the transport mpi was not built, or there is no mpirun")


def own_lines(text):
    """What ranks wrote, without the lines that mpirun adds when it ends a run."""
    return [line for line in text.splitlines() if line.startswith(("tessera: ", "failed: ", "step "))]


def ranks(n, command, *arguments, env=None, code=0, options=(), cwd=None):
    """Runs n ranks; mpirun's exit code must be `code`, unless that is None."""
    env = env or environment()
    env = dict(env, TESSERA_TRANSPORT_PATH=f"{PLUGIN.parent}:{LIMITED.parent}", LIMITED_TRANSPORT=str(PLUGIN))
    done = subprocess.run([*MPIRUN, *options, "-n", str(n), str(command), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd, timeout=PATIENCE, check=False)
    result = Result(done)
    assert code is None or result.code == code, f"{n} ranks of {command} {arguments}: wanted exit code {code}, got {result}"
    return result

"""pocl made to look like a GPU by tests/opencl/gpu_layer.c."""

import json
import os
import subprocess


def environment(source, build, profile, **more):
    """In which the built command takes pocl for the device of a profile. Exits with one sentence where it would not, because kernels for CPUs
    would be taken for those of a GPU."""
    command, layer = build / "bin/tessera", build / "tests/gpu_layer.so"
    env = dict(os.environ, OPENCL_LAYERS=str(layer), TSR_GPU_PROFILE=str(source / "tests/opencl/profiles" / profile), **more)
    for path in (command, layer):
        if not path.exists():
            raise SystemExit(f"{path} is missing; cmake --preset dev && cmake --build --preset dev makes it (the layer only where Criterion, for the tests, is installed)")
    done = subprocess.run([command, "devices", "--json"], env=env, capture_output=True, text=True, check=False)
    devices = json.loads(done.stdout)["devices"] if done.returncode == 0 else []
    pocl = next((device for device in devices if device["platform"] == "Portable Computing Language"), None)
    if not pocl:
        raise SystemExit(f"pocl is not among the devices that {command} finds; install it (Debian: apt-get install pocl-opencl-icd)")
    if pocl["type"] != "gpu":
        raise SystemExit(f"the OpenCL loader ignores OPENCL_LAYERS={layer}, so pocl does not look like a GPU; install a loader of 2021 or later (Debian: ocl-icd-libopencl1 2.3)")
    return env

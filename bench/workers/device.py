"""Which device the library opens: device.py LIBRARY DEVICE prints {"device": "platform/name", as bench/kernels names it, "cpu": whether it is a CPU}.
Of several devices it is the first."""

import ctypes as c
import json
import sys

from tessera_library import Library

CPU = 1  # of tsr_device_type


class DeviceInfo(c.Structure):
    """The first fields of the struct and of its tsr_facts, as many as are needed."""
    _fields_ = [("struct_size", c.c_uint32), ("is_default", c.c_uint32), ("backend", c.c_char_p), ("facts_size", c.c_uint32), ("type", c.c_uint32),
                ("usable", c.c_uint32), ("score", c.c_int32), ("platform", c.c_char_p), ("name", c.c_char_p)]


try:
    opened = Library(*sys.argv[1:])
except (OSError, RuntimeError) as error:
    sys.exit(str(error))
index = c.c_size_t()
info = DeviceInfo(struct_size=c.sizeof(DeviceInfo))
opened.lib.tsr_device_indices(opened.device, c.byref(index), c.c_size_t(1))
opened.ok(opened.lib.tsr_device_info_get(opened.engine, index, c.byref(info)))
print(json.dumps({"device": f"{info.platform.decode()}/{info.name.decode()}", "cpu": info.type == CPU}))

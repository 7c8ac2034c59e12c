/* backends/opencl/program/probe.h - whether a risky variant may be given to this device's compiler.
 *
 * Inline assembly crashes some compilers, and instructions that a CPU does not have end the
 * process. So such a variant is tried first in a process of its own, libexec/tessera/probe, with a
 * time limit. Its answer, or that it crashed, is cached with the programs. Where the trial could not
 * be made (say, the device's memory was full), ended late or was killed, a warning says so and
 * nothing is cached. TESSERA_PROBE names another helper and bypasses the cache. */
#ifndef TSRI_OPENCL_PROGRAM_PROBE_H
#define TSRI_OPENCL_PROGRAM_PROBE_H

#include "backends/opencl/bind/variant.h"
#include "backends/opencl/device/device.h"

/* The answers for one device, each asked for at most once. */
struct tsri_opencl_probes {
    bool looked[TSRI_OPENCL_PROBES]; /* whether the device can have what is probed */
    bool asked[TSRI_OPENCL_PROBES];
    bool plain[TSRI_OPENCL_PROBES];    /* it passed as UNIT_PLAIN alone (cl/units/unit.clh) */
    char why[TSRI_OPENCL_PROBES][160]; /* why each probe failed; "": it passed, or was not asked */
};

/* Whether the probe passed. The first call costs a build where the cache has no answer. *why is set
 * where it did not pass, and stays valid as long as the device. */
bool tsri_opencl_probe_passed(const tsr_dev *dev, tsri_opencl_probe probe, const char **why);
/* Whether it is known without a trial that the probe does not pass: the device can't have its
 * instructions, or they were tried. *why is set then, as above. */
bool tsri_opencl_probe_refused(const tsr_dev *dev, tsri_opencl_probe probe, const char **why);
/* What the source of a kernel with this probe begins with on this device: "#define UNIT_PLAIN 1\n" or "". */
const char *tsri_opencl_probe_defines(const tsr_dev *dev, tsri_opencl_probe probe);

#endif

/* backends/opencl/program/probe.h - may this device's compiler be shown a risky row?
 *
 * Inline assembly crashes some compilers, and instructions that a CPU lacks end the process. So
 * such a row is tried first in a process of its own, libexec/tessera/probe, with a deadline. What
 * that said, or that it crashed, is cached with the programs; an answer that it could not give is
 * not. TESSERA_PROBE names another helper, and bypasses the cache. */
#ifndef TSRI_OPENCL_PROGRAM_PROBE_H
#define TSRI_OPENCL_PROGRAM_PROBE_H

#include "backends/opencl/bind/row.h"
#include "backends/opencl/device/device.h"

/* Answers of one device, asked for at most once each. */
struct tsri_opencl_probes {
    bool asked[TSRI_OPENCL_PROBES];
    char why[TSRI_OPENCL_PROBES][160]; /* "": passed */
};

/* The first question costs a build where the cache has no answer. *why is set where the answer is
 * no, and stays valid as long as the device. */
bool tsri_opencl_probe_passed(const tsr_dev *dev, tsri_opencl_probe probe, const char **why);
/* Sets *why where it was asked and the answer is no; asks nothing. */
void tsri_opencl_probe_refused(const tsr_dev *dev, tsri_opencl_probe probe, const char **why);

#endif

/* backends/opencl/peak_units.c - the peak of a GPU's matrix unit. */
#include "backends/opencl/peak_kernel.h"
#include "backends/opencl/program/probe.h"
#include "backends/opencl/variants/shared/group.h"
#include "base/error.h"

#include <stdio.h>

enum { CHAINS = 4 }; /* as in peak/units.cl */

/* The unit that a trial has found; false where there is none. */
static bool find(const tsr_dev *dev, tsri_opencl_unit *out) {
    const char *why;
    static const tsri_opencl_probe probes[] = {TSRI_OPENCL_PROBE_MMA,    TSRI_OPENCL_PROBE_MFMA,
                                               TSRI_OPENCL_PROBE_WMMA11, TSRI_OPENCL_PROBE_WMMA12,
                                               TSRI_OPENCL_PROBE_DPAS8,  TSRI_OPENCL_PROBE_DPAS16};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        if (tsri_opencl_probe_passed(dev, probes[i], &why)) {
            *out = tsri_opencl_unit_of(probes[i]);
            return true;
        }
    return false;
}

tsr_status tsri_opencl_peak_units(tsr_dev *dev, uint32_t peak, uint32_t repeats, double *values) {
    const bool bytes = peak == TSR_PEAK_MATRIX_INT8;
    tsri_opencl_peak_kernel p = {.dev = dev, .common = true};
    tsri_opencl_unit unit;
    char defines[64];
    if (!find(dev, &unit))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s has none of the matrix units that kernels use (docs/devices.md)",
                              dev->facts.common.name);
    snprintf(defines, sizeof defines, "-D%s=1 %s", unit.constant,
             bytes                         ? "-DPRODUCT=2 -DINT8"
             : peak == TSR_PEAK_MATRIX_F16 ? "-DPRODUCT=2"
                                           : "-DPRODUCT=3");
    tsr_status status = tsri_opencl_peak_build(&p, "peak/units.cl", "peak_units", defines);
    p.group = (size_t)unit.lanes;
    p.items = tsri_opencl_peak_items(dev) / p.group * p.group;
    if (status == TSR_OK)
        status = tsri_opencl_peak_buffer(&p, p.items * sizeof(cl_int), TSR_KIND_ACTIVATION, &p.out);
    if (status == TSR_OK)
        status = tsri_opencl_peak_set(&p, 0, sizeof(cl_mem), &p.out->mem);
    if (status == TSR_OK)
        status = tsri_opencl_peak_calibrate(&p, 1);
    if (status == TSR_OK)
        status = tsri_opencl_peak_rates(
            &p, 2.0 * CHAINS * unit.m * unit.n * unit.k * (bytes ? 2 : 1) / unit.lanes, repeats,
            values);
    tsri_opencl_peak_clear(&p);
    return status;
}

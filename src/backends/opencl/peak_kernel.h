/* backends/opencl/peak_kernel.h - a kernel of cl/peak with its arguments. */
#ifndef TSRI_OPENCL_PEAK_KERNEL_H
#define TSRI_OPENCL_PEAK_KERNEL_H

#include "backends/opencl/device/device.h"

/* Begins as {.dev = dev}; clear frees what it has. */
typedef struct tsri_opencl_peak_kernel {
    tsr_dev *dev;
    cl_program program;
    cl_kernel kernel;
    tsr_buf *out, *data;
    size_t items, group; /* group 0: the driver chooses */
    int rounds;
    bool common; /* cl/common comes first, and the newest OpenCL C is asked for, as variants do */
} tsri_opencl_peak_kernel;

void tsri_opencl_peak_clear(tsri_opencl_peak_kernel *p);
/* Sets program, kernel and group. TSR_E_UNSUPPORTED where it does not build. */
tsr_status tsri_opencl_peak_build(tsri_opencl_peak_kernel *p, const char *file, const char *name,
                                  const char *defines);
/* Makes a buffer whose pages are touched. */
tsr_status tsri_opencl_peak_buffer(tsri_opencl_peak_kernel *p, uint64_t bytes, uint32_t kind,
                                   tsr_buf **out);
tsr_status tsri_opencl_peak_set(tsri_opencl_peak_kernel *p, cl_uint index, size_t size,
                                const void *value);
/* Enqueues it `launches` times and waits for the last. */
tsr_status tsri_opencl_peak_run(tsri_opencl_peak_kernel *p, int launches, uint64_t *enqueue_ns,
                                uint64_t *ns);
/* The rounds are the kernel's argument at `index`. */
tsr_status tsri_opencl_peak_set_rounds(tsri_opencl_peak_kernel *p, cl_uint index, int rounds);
/* Finds the rounds, the argument at `index`, with which a run takes long enough for the clock. */
tsr_status tsri_opencl_peak_calibrate(tsri_opencl_peak_kernel *p, cl_uint index);
/* A way to run something `times` in a row; *ns: until the last has ended. */
typedef tsr_status tsri_opencl_peak_way(tsri_opencl_peak_kernel *p, uint64_t bytes, int times,
                                        uint64_t *ns);
/* Measures bytes a second of a way that takes `bytes` each time: as often in a row as takes long enough
 * for the clock, so that what a launch and the wait for it cost does not count. */
tsr_status tsri_opencl_peak_stream(tsri_opencl_peak_kernel *p, tsri_opencl_peak_way *way,
                                   uint64_t bytes, uint32_t repeats, double *values);
/* Measures operations a second; `operations` are those of a work-item's round. */
tsr_status tsri_opencl_peak_rates(tsri_opencl_peak_kernel *p, double operations, uint32_t repeats,
                                  double *values);
/* Work-items that keep the device busy. */
size_t tsri_opencl_peak_items(const tsr_dev *dev);

/* ---- peak_memory.c ---- */

tsr_status tsri_opencl_peak_read(tsr_dev *dev, uint32_t repeats, double *values);
tsr_status tsri_opencl_peak_write(tsr_dev *dev, uint32_t repeats, double *values);
tsr_status tsri_opencl_peak_local(tsr_dev *dev, uint32_t repeats, double *values);
/* Of `bytes` that are read, or written, again and again. */
tsr_status tsri_opencl_peak_again(tsr_dev *dev, uint64_t bytes, bool writes, uint32_t repeats,
                                  double *values);

/* ---- peak_units.c ---- */

/* peak: TSR_PEAK_MATRIX_F16, _BF16 or _INT8. */
tsr_status tsri_opencl_peak_units(tsr_dev *dev, uint32_t peak, uint32_t repeats, double *values);

/* ---- peak_time.c ---- */

/* Seconds to build a program whose text no cache has. */
tsr_status tsri_opencl_peak_compile(tsr_dev *dev, uint32_t repeats, double *values);
/* The seconds that the events of a launch claim, over those that the host saw. */
tsr_status tsri_opencl_peak_clock(tsr_dev *dev, uint32_t repeats, double *values);

#endif

/* backend/opened.h - what is behind a public tsr_device, for code that runs graphs on it. */
#ifndef TSRI_BACKEND_OPENED_H
#define TSRI_BACKEND_OPENED_H

#include "backend/host.h"
#include "tessera/device.h"

/* Borrowed: valid until the device is closed. */
typedef struct tsri_backend_opened_device {
    tsri_backend_device *const *devices;
    size_t n_devices; /* >= 1 */
    tsri_backend_set *set;
    const char *kernels; /* forced kernel variants, or NULL */
    const char *bundle;  /* that it was opened with, or NULL */
    uint32_t threads;    /* the most of a CPU device; 0: all */
    bool profile;
    bool record; /* kernels are chosen for a bundle, not built */
    void (*log)(void *data, tsr_log_level level, const char *line); /* the engine's; may be NULL */
    void *log_data;
} tsri_backend_opened_device;

const tsri_backend_opened_device *tsri_backend_opened(const tsr_device *device);

#endif

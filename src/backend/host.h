/* backend/host.h - the host's side of the seam: backends found and checked, devices ranked, chosen
 * and opened. */
#ifndef TSRI_BACKEND_HOST_H
#define TSRI_BACKEND_HOST_H

#include "tessera/backend.h"

#include <stdbool.h>

typedef struct tsri_backend_set
    tsri_backend_set; /* the backends of a process that were asked for, and their devices */

typedef struct tsri_backend_options {
    const char *const *
        plugins; /* paths given by the user (--backend): failing to load one of these is an error */
    size_t n_plugins;
    void (*log)(void *data, tsr_log_level level, const char *line); /* may be NULL */
    void *log_data;
    uint32_t threads; /* 0: all; given to each backend as its option "threads" */
    /* What takes long, and whether to stop: tsr_host.progress. May be NULL. */
    int (*progress)(void *data, const tsr_progress *progress);
    void *progress_data;
    bool reference_alone; /* plugins aren't searched for, so no driver is loaded */
} tsri_backend_options;

/* One device of one backend. */
typedef struct tsri_backend_entry {
    const tsr_backend *backend;
    tsr_state *state;
    uint32_t index; /* within the backend */
    tsr_facts facts;
} tsri_backend_entry;

/* Loads the given plugins, those found in TESSERA_BACKEND_PATH (folders, ':'-separated) and in the
 * install folder (beside the library: <lib>/tessera/backends), and the built-in reference. A plugin
 * found by search that can't be used becomes a note, not an error. */
tsr_status tsri_backend_set_open(const tsri_backend_options *options, tsri_backend_set **out);
void tsri_backend_set_close(tsri_backend_set **set);

size_t tsri_backend_count(const tsri_backend_set *set); /* devices, in listing order: by backend,
                                                           best score first; reference last */
const tsri_backend_entry *tsri_backend_at(const tsri_backend_set *set, size_t device);
/* What was found and gives no device, and why ("rusticl: platform without devices (RUSTICL_ENABLE
 * is not set)"). */
size_t tsri_backend_note_count(const tsri_backend_set *set);
const char *tsri_backend_note(const tsri_backend_set *set, size_t i);

/* Where backends keep files between runs; NULL where there is no folder that can be written. */
/* A named addition of a device's backend; NULL: it hasn't that. */
const void *tsri_backend_extension(const tsri_backend_set *set, size_t device, const char *name);

const char *tsri_backend_cache_folder(const tsri_backend_set *set);

/* The default: best positive score among the usable; the reference where there is none. */
size_t tsri_backend_default(const tsri_backend_set *set);
/* One selector: index, `platform/device` or part of it (case-insensitive substring of
 * "platform/name"), a type (gpu, cpu, accelerator: its best), or a backend's name (its best). No
 * match, two matches of a substring, or an unusable device: TSR_E_ARGUMENT, listing them. NULL or
 * "": TESSERA_DEVICE, else the default. */
tsr_status tsri_backend_select(const tsri_backend_set *set, const char *selector, size_t *device);

/* An open device: table and handle side by side. */
typedef struct tsri_backend_device {
    const tsr_backend *backend;
    tsr_dev *dev;
    tsr_facts facts;
    size_t entry; /* its number in the set */
} tsri_backend_device;
tsr_status tsri_backend_device_open(tsri_backend_set *set, size_t device,
                                    const tsr_device_options *options, tsri_backend_device **out);
void tsri_backend_device_close(tsri_backend_device **device);
/* The built-in reference, for ops that a device lacks. */
tsr_status tsri_backend_reference_open(tsri_backend_set *set, tsri_backend_device **out);

/* oracle.c: what tsr_host.reference is; data is not read. */
tsr_status tsri_backend_compute(void *data, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS],
                                void *const *operands);

/* The built-in backend's table (src/backends/reference). Declared here so that the host can list
 * it. */
const tsr_backend *tsri_reference_get(uint32_t abi);

#endif

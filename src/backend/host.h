/* backend/host.h - the host's side of the plugin interface: finds and checks backends; ranks,
 * chooses and opens devices. */
#ifndef TSRI_BACKEND_HOST_H
#define TSRI_BACKEND_HOST_H

#include "tessera/backend.h"

#include <stdbool.h>

typedef struct tsri_backend_set tsri_backend_set; /* the backends of an engine, and their devices */

typedef struct tsri_backend_options {
    const char *const
        *plugins; /* paths given by the user (--backend); one that can't be loaded is an error */
    size_t n_plugins;
    void (*log)(void *data, tsr_log_level level, const char *line); /* may be NULL */
    void *log_data;
    uint32_t threads; /* 0: all; given to each backend as its option "threads" */
    /* As tsr_host.progress: the progress of long work, and whether to stop. May be NULL. */
    int (*progress)(void *data, const tsr_progress *progress);
    void *progress_data;
    bool reference_alone; /* plugins are not searched for, so no driver is loaded */
} tsri_backend_options;

/* One device of one backend. */
typedef struct tsri_backend_entry {
    const tsr_backend *backend;
    tsr_state *state;
    uint32_t index; /* within the backend */
    tsr_facts facts;
} tsri_backend_entry;

/* Loads the given plugins, those in TESSERA_BACKEND_PATH (folders, ':'-separated) and in the
 * install folder (beside the library: <lib>/tessera/backends), and the built-in reference. A plugin
 * that was found by search and can't be used becomes a note, not an error. */
tsr_status tsri_backend_set_open(const tsri_backend_options *options, tsri_backend_set **out);
void tsri_backend_set_close(tsri_backend_set **set);

/* The number of devices; they are listed by backend, best score first, the reference last */
size_t tsri_backend_count(const tsri_backend_set *set);
const tsri_backend_entry *tsri_backend_at(const tsri_backend_set *set, size_t device);
/* What was found but gives no device, and why ("rusticl: platform without devices (RUSTICL_ENABLE
 * is not set)"). */
size_t tsri_backend_note_count(const tsri_backend_set *set);
const char *tsri_backend_note(const tsri_backend_set *set, size_t i);

/* Where backends keep files between runs; NULL where there is no folder that can be written. */
/* An extension of a device's backend, by name; NULL where the backend does not have it. */
const void *tsri_backend_extension(const tsri_backend_set *set, size_t device, const char *name);

const char *tsri_backend_cache_folder(const tsri_backend_set *set);

/* The default device: the usable one with the best positive score; the reference where there is
 * none. */
size_t tsri_backend_default(const tsri_backend_set *set);
/* Finds the device that a selector names: an index, `platform/device` or part of it (a
 * case-insensitive substring of "platform/name"), a type (gpu, cpu, accelerator: the best one) or a
 * backend's name (its best). NULL or "": TESSERA_DEVICE, else the default. `turn`: for the best one, where there
 * are several of its driver, type and score, number `turn` of these, counted from 0 and round. TSR_E_ARGUMENT, with a
 * list of devices, where nothing matches, a substring matches two, or the device is unusable. */
tsr_status tsri_backend_select(const tsri_backend_set *set, const char *selector, uint32_t turn,
                               size_t *device);

/* An open device: its backend's table and its handle. */
typedef struct tsri_backend_device {
    const tsr_backend *backend;
    tsr_dev *dev;
    tsr_facts facts;
    size_t entry; /* the index of the device in the set */
} tsri_backend_device;
tsr_status tsri_backend_device_open(tsri_backend_set *set, size_t device,
                                    const tsr_device_options *options, tsri_backend_device **out);
void tsri_backend_device_close(tsri_backend_device **device);
/* Opens the built-in reference, for ops that a device does not offer. */
tsr_status tsri_backend_reference_open(tsri_backend_set *set, tsri_backend_device **out);

/* In oracle.c: the function behind tsr_host.reference; data is not read. */
tsr_status tsri_backend_compute(void *data, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS],
                                void *const *operands);

/* The built-in backend's table (src/backends/reference). Declared here so that the host can list
 * it. */
const tsr_backend *tsri_reference_get(uint32_t abi);

#endif

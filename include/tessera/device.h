/* tessera/device.h - the engine, the devices it finds, and one or more of them opened. */
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include "tessera/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_engine tsr_engine; /**< the backends in use, and the devices that they found */
typedef struct tsr_device
    tsr_device; /**< opened devices: one, or several that share a model's layers */

typedef struct tsr_engine_options {
    uint32_t struct_size;
    uint32_t n_backends;         /**< length of `backends` */
    const char *const *backends; /**< plugin files to load before those found by search */
    void (*log)(
        void *data, tsr_log_level level,
        const char *line); /**< lines for the user; may be NULL. From any thread that calls */
    void *log_data;
    uint32_t threads; /**< a CPU device uses at most so many, where tsr_device_open says nothing
                           else; 0: all */
    uint32_t reserved;
    const char *device; /**< the selector that devices will be opened with. "reference" loads no
                           driver: only the built-in reference and `backends` are listed. NULL, or
                           any other: everything is */
    /** Called while a driver is tried and while kernels are built and tested, from the thread that
     * waits for it; may be NULL. `progress` NULL: nothing is new. Not 0: the call that waits stops
     * as soon as it can, with TSR_E_CANCELLED; a driver's compiler can't be stopped within a kernel. */
    int (*progress)(void *data, const tsr_progress *progress);
    void *progress_data;
} tsr_engine_options;

/**
 * Loads the backends and finds their devices: the given plugins, those in the folders of
 * TESSERA_BACKEND_PATH (':'-separated, absolute), those installed beside the library
 * (tessera/backends), and the built-in reference. A plugin found by search that can't be used is a
 * note.
 *
 * owner   the caller destroys *out, after every device opened from it
 * thread  any, and several at once; different engines are independent, and may be destroyed in any
 *         order. Of one engine, devices may be opened, used and closed in different threads. Neither
 *         the environment nor signals are changed. A program that calls OpenCL itself doesn't make
 *         its first call while an engine is created: drivers may not load in two threads at once
 * fork    a process forked after an engine was created has none of its drivers' threads: devices that
 *         are open fail there (TSR_E_STATE), and engines created there find the reference alone. What
 *         is destroyed there is left as it is. Fork first, or exec
 * error   TSR_E_IO, TSR_E_UNSUPPORTED   a given plugin is missing or refused
 *         TSR_E_UNSUPPORTED             a newer field of options is set
 */
TSR_API tsr_status tsr_engine_create(const tsr_engine_options *options, tsr_engine **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_engine_destroy(tsr_engine **engine);

/** What was found and gives no device, a sentence each: platforms without devices, plugins refused.
 * owner  the engine */
TSR_API size_t tsr_engine_note_count(const tsr_engine *engine);
TSR_API const char *tsr_engine_note(const tsr_engine *engine,
                                    size_t note); /**< NULL past the last */

/** The folder in which backends keep what they built and measured; NULL where there is none that
 * can be written.  owner  the engine */
TSR_API const char *tsr_engine_cache_folder(const tsr_engine *engine);

/** Devices of all backends, usable or not: by backend, best first; the reference last. Never 0. */
TSR_API size_t tsr_device_count(const tsr_engine *engine);

typedef struct tsr_device_info {
    uint32_t struct_size;
    uint32_t is_default; /**< 1: what a NULL selector opens, without TESSERA_DEVICE */
    const char *backend; /**< its name: "opencl" */
    tsr_facts facts;     /**< strings live as long as the engine */
} tsr_device_info;

/** What is known of device number `index`, without opening it.  error  TSR_E_ARGUMENT: index is not
 * below the count */
TSR_API tsr_status tsr_device_info_get(const tsr_engine *engine, size_t index,
                                       tsr_device_info *out);

typedef struct tsr_device_open_options {
    uint32_t struct_size;
    uint32_t threads;      /**< a CPU device uses at most so many; 0: all */
    uint32_t profile;      /**< 1: each launch is measured */
    uint32_t no_self_test; /**< 1: kernel rows are used without their self-test */
    const char *kernels;   /**< forced kernel rows, "op=row,op=row:TUNABLE=4"; NULL: the best. A row
                              that can't be used is an error later */
    const char *bundle;    /**< a folder of built kernels, the only ones then; NULL: TESSERA_BUNDLE,
                              else kernels are built. TSR_E_UNSUPPORTED on a backend without bundles */
    uint32_t record;       /**< 1: kernels are chosen for a bundle, not built; runs give nothing */
    uint32_t reserved;
} tsr_device_open_options;

/**
 * Opens a device, or several that split a model's layers.
 *
 * selector  a number; `platform/device` or part of it, case aside; gpu, cpu or accelerator (the
 * best-scored of that type); a backend's name; or some of these with ',' between. NULL or "":
 * TESSERA_DEVICE, else the default: the best-scored, never an emulator, the reference where there
 * is nothing else (the log says so). owner     the caller closes *out before the engine is
 * destroyed. Options are borrowed for the call. thread    a device: one thread at a time error
 * TSR_E_ARGUMENT     no device fits, or two fit a name: the sentence lists them TSR_E_DEVICE, ...
 * what the backend says TSR_E_UNSUPPORTED  a newer field of options is set
 */
TSR_API tsr_status tsr_device_open(tsr_engine *engine, const char *selector,
                                   const tsr_device_open_options *options, tsr_device **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_device_close(tsr_device **device);

/** One line: "Portable Computing Language / pthread-x (OpenCL 3.0, 2 compute units)", several
 * joined by " + ".  owner  the device */
TSR_API const char *tsr_device_describe(const tsr_device *device);

#ifdef __cplusplus
}
#endif
#endif

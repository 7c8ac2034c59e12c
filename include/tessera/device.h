/* tessera/device.h - the engine, the devices it finds, and one or more of them opened. */
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include "tessera/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_engine tsr_engine; /**< the backends in use, and the devices that they found */
typedef struct tsr_device tsr_device; /**< one open device, or several that split a model */

typedef struct tsr_engine_options {
    uint32_t struct_size;
    uint32_t n_backends;         /**< length of `backends` */
    const char *const *backends; /**< plugin files to load before those found by search */
    /** Gets lines for the user, from any thread that calls the library; may be NULL. */
    void (*log)(void *data, tsr_log_level level, const char *line);
    void *log_data;
    /** The most threads that a CPU device uses, where tsr_device_open says nothing else; 0: all. */
    uint32_t threads;
    uint32_t reserved;
    /** The selector that devices will be opened with. "reference" loads no driver: only the
     * built-in reference and `backends` are listed. NULL, or any other: everything is. */
    const char *device;
    /** Called while a driver is tried and while kernels are built and tested, from the thread that
     * waits for it; may be NULL. `progress` NULL: nothing is new. Returns not 0 to make the call
     * that waits stop as soon as it can, with TSR_E_CANCELLED; a driver's compiler can't be stopped
     * within a kernel. */
    int (*progress)(void *data, const tsr_progress *progress);
    void *progress_data;
} tsr_engine_options;

/**
 * Loads the backends and finds their devices: the given plugins, those in the folders of
 * TESSERA_BACKEND_PATH (':'-separated, absolute), those installed beside the library
 * (tessera/backends), and the built-in reference. A plugin that was found by search and can't be
 * used becomes a note.
 *
 * options may be NULL
 * owner   the caller destroys *out, after all devices that were opened from it
 * thread  any, and several at once. Different engines are independent, and may be destroyed in any
 *         order. Devices of one engine may be opened, used and closed in different threads. The
 *         environment and signals are not changed, with one exception: where a driver crashed when
 *         it was tried, OCL_ICD_VENDORS names another folder while the loader reads its list, and is
 *         then what it was: a program that reads or sets variables in other threads must not do so
 *         while an engine is being created. A program that calls OpenCL itself must not make its
 *         first call then: drivers may not load in two threads at once
 * fork    a process that was forked after an engine was created has none of its drivers' threads:
 *         open devices fail there (TSR_E_STATE), and engines created there find the reference only.
 *         Destroying them there leaves the drivers' objects as they are. Fork first, or exec
 * error   TSR_E_IO, TSR_E_UNSUPPORTED  a given plugin is missing or refused
 *         TSR_E_ARGUMENT               an entry of options->backends is NULL
 *         TSR_E_UNSUPPORTED            a newer field of options is set
 */
TSR_API tsr_status tsr_engine_create(const tsr_engine_options *options, tsr_engine **out);
/** Destroys an engine. *engine may be NULL, and is NULL afterwards. */
TSR_API void tsr_engine_destroy(tsr_engine **engine);

/** How many notes there are: one sentence for each thing that was found and gives no device, such
 * as a platform without devices or a plugin that was refused. */
TSR_API size_t tsr_engine_note_count(const tsr_engine *engine);
/**
 * A note; NULL past the last.
 *
 * owner   the engine
 */
TSR_API const char *tsr_engine_note(const tsr_engine *engine, size_t note);

/**
 * The folder in which backends keep what they built and measured; NULL where there is none that can
 * be written.
 *
 * owner   the engine
 */
TSR_API const char *tsr_engine_cache_folder(const tsr_engine *engine);

/** How many devices there are, over all backends, usable or not. They are ordered by backend, best
 * first; the reference is last, so the number is never 0. */
TSR_API size_t tsr_device_count(const tsr_engine *engine);

typedef struct tsr_device_info {
    uint32_t struct_size;
    uint32_t is_default; /**< 1: what a NULL selector opens, without TESSERA_DEVICE */
    const char *backend; /**< the name of its backend: "opencl" */
    tsr_facts facts;     /**< strings live as long as the engine */
} tsr_device_info;

/**
 * Tells what is known of device number `index` without opening it.
 *
 * owner   strings belong to the engine
 * error   TSR_E_ARGUMENT  index is not below the count
 */
TSR_API tsr_status tsr_device_info_get(const tsr_engine *engine, size_t index,
                                       tsr_device_info *out);

typedef struct tsr_device_open_options {
    uint32_t struct_size;
    uint32_t threads;      /**< the most threads that a CPU device uses; 0: all */
    uint32_t profile;      /**< 1: each launch is measured */
    uint32_t no_self_test; /**< 1: kernel variants are used without their self-test */
    /** Forced kernel variants, "op=variant,op=variant:TUNABLE=4"; NULL: the best. A variant that
     * can't be used is an error when a plan is made. */
    const char *kernels;
    /** A folder of built kernels, which are then the only ones; NULL: TESSERA_BUNDLE, or where that
     * is not set, kernels are built. TSR_E_UNSUPPORTED on a backend without bundles. */
    const char *bundle;
    uint32_t record; /**< 1: kernels are chosen for a bundle, not built; runs give nothing */
    /** Where the selector is a type, a backend or the default, and there are several usable devices of the
     * chosen one's driver, type and score: number `turn` of them, best first, from 0; after the last, the first again.
     * For several processes on one machine. */
    uint32_t turn;
    uint64_t memory; /**< the bytes that a model may need on each device; 0: what it has */
} tsr_device_open_options;

/**
 * Opens a device, or several that split a model's layers.
 *
 * selector  one of
 *             a number, as in tsr_device_info_get
 *             `platform/device` or a part of it, in any case
 *             gpu, cpu or accelerator: the one of that type with the highest score
 *             the name of a backend
 *           or several of these, separated by ','. A type or a backend that is given again means
 *           another device like its first one; where there is none, a device is opened again, and
 *           the log warns. NULL or "": TESSERA_DEVICE; where that is not
 *           set, the default: the highest score that is not an emulator, or the reference where
 *           there is no other device (the log says so)
 * options   may be NULL
 * owner     the caller closes *out, before the engine is destroyed. Options are borrowed for the
 *           call
 * thread    one thread at a time for a device
 * error     TSR_E_ARGUMENT     no device fits, or two fit a name: the sentence lists them
 *           TSR_E_UNSUPPORTED  a newer field of options is set; a bundle on a backend without them
 *           TSR_E_DEVICE, ...  what the backend reports
 */
TSR_API tsr_status tsr_device_open(tsr_engine *engine, const char *selector,
                                   const tsr_device_open_options *options, tsr_device **out);
/** Closes a device. *device may be NULL, and is NULL afterwards. */
TSR_API void tsr_device_close(tsr_device **device);

/**
 * One line: "Portable Computing Language / pthread-x (OpenCL 3.0, 2 compute units)"; several
 * devices are joined by " + ".
 *
 * owner   the device
 */
TSR_API const char *tsr_device_describe(const tsr_device *device);

/**
 * Which devices it is, as numbers of tsr_device_info_get, in the order of the selector. Returns how many
 * there are: 1, or more where they split a model.
 *
 * indices  [room]; those for which there is room are written. May be NULL where room is 0
 */
TSR_API size_t tsr_device_indices(const tsr_device *device, size_t *indices, size_t room);

#ifdef __cplusplus
}
#endif
#endif

/* tessera/backend.h - the plugin interface: all that a backend needs, and nothing of Tessera's
 * internals.
 *
 * A backend is a shared library that exports one symbol,
 *
 *     const tsr_backend *tsr_backend_get(uint32_t abi);
 *
 * which returns its table, or NULL where it can't serve a host of that ABI. Built-in backends use
 * the same table.
 *
 * Rules for every struct and call below
 *   - Structs are passed by pointer and start with struct_size, which is set by the side that fills
 *     the struct. They grow at the end, and zero is the default. A reader uses the bytes that it
 *     knows; a non-zero byte beyond them is TSR_E_UNSUPPORTED ("newer field").
 *   - Arrays are arrays of pointers. Arguments are borrowed for the call, unless it says "keeps".
 *   - No call aborts, exits, prints or blocks, except event_wait. A call that fails reports one
 *     sentence to host->report and returns a status.
 *   - One thread at a time uses a device and all that belongs to it. Different devices may be used,
 *     opened and closed in different threads. `open` is called in one thread at a time.
 *   - A device whose driver failed (lost, out of resources) is poisoned: later calls fail without
 *     calling the driver.
 *   - A call that fails because of its driver returns once what was in flight has ended, so that
 *     the host may free the memory that transfers were given. Where that does not end in time, the
 *     sentence says so, and what the device may still use is never released.
 *   - The side that creates an object destroys it; destroying NULL is allowed and does nothing.
 * Entries may be NULL only where that is said.
 */
#ifndef TESSERA_BACKEND_H
#define TESSERA_BACKEND_H

#include "tessera/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** major << 16 | minor. A host loads a plugin of its own major and any minor. */
#define TSR_BACKEND_ABI ((0u << 16) | 1u)

typedef struct tsr_state tsr_state; /**< a backend in use; belongs to the backend */
typedef struct tsr_dev tsr_dev;     /**< an open device */
typedef struct tsr_plan tsr_plan;   /**< ops made ready to run on a device */
typedef struct tsr_event tsr_event; /**< the completion of something enqueued */

typedef enum tsr_log_level {
    TSR_LOG_ERROR = 0,
    TSR_LOG_WARNING = 1,
    TSR_LOG_INFO = 2,
    TSR_LOG_DEBUG = 3
} tsr_log_level;

/** The progress of work that takes long: "building kernels", 3 of 17. done == total: it has
 * ended. */
typedef struct tsr_progress {
    uint32_t struct_size, reserved;
    const char *doing; /**< a phrase for the user; valid for the call */
    uint64_t done, total;
} tsr_progress;

/** What the host gives a backend. It lives until close returns, and may be called from the thread
 * of any call. */
typedef struct tsr_host {
    uint32_t struct_size, abi;
    void *data;
    /** Says, in one sentence, why the call that is about to fail fails. */
    void (*report)(void *data, tsr_status status, const char *sentence);
    /** Logs a line for the user, without a newline at its end. */
    void (*log)(void *data, tsr_log_level level, const char *line);
    const char *cache_folder; /**< where the backend may keep files (exists, writable), or NULL */
    const char *version;      /**< of the engine: a part of every cache key */
    /** Called between the steps of work that takes long, where struct_size reaches it and it is not
     * NULL; `progress` NULL: nothing is new. Returns not 0 where the user wants to stop: the
     * backend then stops as soon as it can, and its call fails with TSR_E_CANCELLED. */
    int (*progress)(void *data, const tsr_progress *progress);
    /** Runs an op on the host in plain C; a backend tests its kernels against it. Operand i
     * (inputs, then outputs; NULL where missing) lies at operands[i], as its tensor describes but
     * without regard to `origin`, `layout` and `buf`. The op's results are there afterwards. NULL:
     * the backend can't test its kernels. */
    tsr_status (*reference)(void *data, const tsr_op *op, const int64_t sizes[TSR_SYMBOLS],
                            void *const *operands);
    /** Why this thread's last call of `reference` failed, as one sentence that is valid until the
     * host is called again; where struct_size reaches it and it is not NULL. */
    const char *(*reported)(void *data);
} tsr_host;

/** Settings that users give a backend by name; it ignores those that it doesn't know. "threads":
 * the most threads that a CPU device uses, where device_open says nothing else. */
typedef struct tsr_options {
    uint32_t struct_size, count;
    const char *const *names;
    const char *const *values;
} tsr_options;

typedef enum tsr_device_type {
    TSR_DEVICE_OTHER = 0,
    TSR_DEVICE_CPU = 1,
    TSR_DEVICE_GPU = 2,
    TSR_DEVICE_ACCELERATOR = 3
} tsr_device_type;

/** What is known of a device without opening it. Strings belong to the backend, are valid until
 * close, and are never NULL ("" = unknown). */
typedef struct tsr_facts {
    uint32_t struct_size;
    uint32_t type;   /**< tsr_device_type */
    uint32_t usable; /**< 0: `reason` says why not; device_open would fail with it */
    /** Higher is a better default; <= 0 is never a default. GPU 300 (290 where it shares the
     * processor's memory, 280 by a driver that is not its vendor's), CPU 200, accelerator 100, emulator 0. */
    int32_t score;
    const char *platform, *name, *vendor, *driver;
    const char *version;   /**< of the interface, e.g. "OpenCL 3.0" */
    const char *c_version; /**< of the kernel language, e.g. "OpenCL C 1.2" */
    const char *reason;    /**< one sentence: why it is or isn't usable, and its limits */
    uint32_t compute_units, clock_mhz;
    uint64_t memory, max_allocation, local_memory; /**< bytes */
    uint32_t max_work_group;
    uint32_t base_alignment;    /**< a tensor's origin is a multiple of it; a power of two */
    uint32_t subgroup_sizes[8]; /**< ascending, 0 after the last; all 0: no sub-groups */
    uint32_t fp16, fp64, bf16;  /**< 1: arithmetic in this type */
    uint32_t int_dot;           /**< 1: 4x8-bit integer dot product */
    uint32_t command_buffers;   /**< 1: recorded launches */
    uint32_t unified_memory;    /**< 1: shares the host's memory */
    uint32_t emulator;          /**< 1: simulates another kind of device */
    uint32_t compiler;          /**< 1: builds kernels from source */
    uint32_t needs_bundle;      /**< 1: device_open needs a bundle of built kernels, or `record` */
} tsr_facts;

typedef struct tsr_device_options {
    uint32_t struct_size;
    uint32_t threads;      /**< the most threads that a CPU device uses; 0: all */
    uint32_t profile;      /**< 1: plans measure each launch */
    uint32_t no_self_test; /**< 1: kernel variants are used without a self-test (tessera verify) */
    /** 1: plans choose kernels for a bundle; nothing is built, and runs do nothing (extension
     * "tsr.bundle/1"). */
    uint32_t record;
    uint32_t reserved;
    /** A folder of built kernels, which are then the only ones; NULL: kernels are built (extension
     * "tsr.bundle/1"). */
    const char *bundle;
} tsr_device_options;

typedef struct tsr_buffer_spec {
    uint32_t struct_size;
    uint32_t kind;   /**< tsr_kind of its contents, a hint */
    uint64_t bytes;  /**< > 0 */
    uint32_t zeroed; /**< 1: the contents are zeros, and bytes is a multiple of 4; 0: undefined */
    uint32_t reserved;
} tsr_buffer_spec;

typedef enum tsr_transfer_kind {
    TSR_TRANSFER_WRITE = 1, /**< host -> dst. `host` is read until the event completes */
    TSR_TRANSFER_READ = 2,  /**< src -> host */
    TSR_TRANSFER_COPY = 3,  /**< src -> dst, both of this device; they do not overlap */
    TSR_TRANSFER_FILL = 4   /**< dst = pattern, repeated; offset and bytes are multiples of 4 */
} tsr_transfer_kind;

typedef struct tsr_transfer {
    uint32_t struct_size, kind;
    tsr_buf *dst, *src;
    uint64_t dst_offset, src_offset, bytes; /**< bytes may be 0 */
    void *host;
    uint32_t pattern;
} tsr_transfer;

/** Events of the same device that must complete first, besides what was enqueued on it before. NULL
 * or count 0: no others. */
typedef struct tsr_waits {
    uint32_t struct_size, count;
    tsr_event *const *events;
} tsr_waits;

/** A kernel variant: one way to run an op on a device. */
typedef struct tsr_variant {
    uint32_t struct_size;
    uint32_t fits;   /**< 0: `why` says what is missing */
    uint32_t chosen; /**< plan_explain: 1 for the variant that the plan runs */
    int32_t score;
    /** Canonical, e.g. "linear/packed:MR=6"; op_variants may give "linear/packed". */
    const char *name;
    /** Why it does not fit, was refused, or was chosen; "" where there is nothing to say. */
    const char *why;
    const char *tunables; /**< "MR=6 (default)", or "" */
    /** 1: may give other bytes in a batch than alone (partial sums); 0: batch-invariant. */
    uint32_t batch_variant;
    /** plan_explain, of the chosen variant: the launches that a run of the plan has for the op; 0: the op
     * is part of the launch of an op before it, or nothing is launched. */
    uint32_t launches;
} tsr_variant;
typedef void (*tsr_variant_visitor)(void *data, const tsr_variant *variant);

/** One place where a weight is read. */
typedef struct tsr_weight_use {
    uint32_t struct_size;
    uint32_t operand; /**< op->in[operand] is the weight */
    const tsr_op *op;
    uint32_t updated; /**< 1: an op writes it (training), so it stays plain */
} tsr_weight_use;

/** How a weight [rows, columns] is stored in a buffer of a device. */
typedef struct tsr_layout {
    uint32_t struct_size;
    uint32_t id;    /**< chosen by the backend; 0 = plain: row-major, `dtype`, no padding */
    uint32_t dtype; /**< of the stored elements */
    /** weight_store takes a multiple of this many rows, starting at a multiple of it (fewer at the
     * end); >= 1. */
    uint32_t row_block;
    int64_t rows, columns;
    uint64_t bytes; /**< of the buffer */
    char name[48];  /**< "plain", "panels64" */
} tsr_layout;

/** Plain rows of a matrix in host memory: first .. first + count - 1, row-major without gaps. */
typedef struct tsr_rows {
    uint32_t struct_size, dtype;
    int64_t first, count, columns;
    void *data;
} tsr_rows;

/** What plan_create is given. The plan keeps copies of the descriptors and attributes, and uses the
 * buffers until it is destroyed. */
typedef struct tsr_plan_spec {
    uint32_t struct_size, n_ops;
    /** In the order in which they run; every operand that is not missing has its buf. */
    const tsr_op *const *ops;
    const tsr_bounds *bounds;
    /** int32 [TSR_SYMBOL_SETS] at dims_offset: before a run the host writes the product of the
     * symbols in set i at index i (entry 0 is 1), so a size is factor * dims[symbols]. */
    tsr_buf *dims;
    uint64_t dims_offset;
    /** Forced kernel variants, "op=variant,op=variant:TUNABLE=4", or NULL. One that can't be used
     * is an error that says why. */
    const char *kernels;
} tsr_plan_spec;

typedef struct tsr_run {
    uint32_t struct_size, reserved;
    /** B T S U N, the same from which the dims buffer was written; within the plan's bounds. */
    int64_t sizes[TSR_SYMBOLS];
} tsr_run;

/** The launches of one kernel that a plan measured. */
typedef struct tsr_profile_entry {
    uint32_t struct_size;
    uint32_t op;                    /**< index in the plan's ops */
    const char *kernel;             /**< canonical name of the kernel variant */
    uint64_t launches, nanoseconds; /**< since the plan was made */
    uint64_t enqueue_nanoseconds;   /**< host time inside the enqueue calls */
} tsr_profile_entry;
typedef void (*tsr_profile_visitor)(void *data, const tsr_profile_entry *entry);

/** The functions of a backend. */
typedef struct tsr_backend {
    uint32_t struct_size, abi;
    const char *name; /**< lower case, one word: "opencl" */
    const char *version, *description;

    /** Starts the backend and finds devices without opening them. TSR_E_UNSUPPORTED: there is
     * nothing here that it can serve. */
    tsr_status (*open)(const tsr_host *host, const tsr_options *options, tsr_state **out);
    /** Waits for what is in flight and frees everything; the library may be unloaded then. All
     * devices are closed by then. */
    void (*close)(tsr_state *state);

    tsr_status (*device_count)(tsr_state *state, uint32_t *count);
    /** Fills at most facts->struct_size bytes. */
    tsr_status (*device_facts)(tsr_state *state, uint32_t index, tsr_facts *facts);
    tsr_status (*device_open)(tsr_state *state, uint32_t index, const tsr_device_options *options,
                              tsr_dev **out);
    void (*device_close)(tsr_dev *dev);

    /** Creates memory. TSR_E_DEVICE_MEMORY where there is too little. */
    tsr_status (*buffer_create)(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out);
    void (*buffer_destroy)(tsr_buf *buf);

    /** Enqueues a transfer. Where `done` is not NULL, *done becomes its event. A range outside a
     * buffer is TSR_E_ARGUMENT. */
    tsr_status (*transfer)(tsr_dev *dev, const tsr_transfer *transfer, const tsr_waits *waits,
                           tsr_event **done);
    /** Waits until the event completes or the timeout passes (TSR_E_STATE). The failure of a
     * command is the failure of the wait. UINT64_MAX: no limit. */
    tsr_status (*event_wait)(tsr_event *event, uint64_t timeout_ns);
    void (*event_destroy)(tsr_event *event);

    /** Visits each kernel variant that exists for op->id, best first, without side effects. Where
     * it visits none, the op is not offered. */
    tsr_status (*op_variants)(tsr_dev *dev, const tsr_op *op, tsr_variant_visitor visit,
                              void *data);

    /** Given ALL uses of one weight (op->in[operand] has its storage dtype and all its rows as they
     * are stored, perhaps as [E,outputs,inputs] of [E*outputs,inputs]), gives one layout that the
     * kernel variant of each use can read. It is not called for a weight that some op reads by
     * another view, which stays plain. NULL entry: always plain. `kernels` is as in tsr_plan_spec,
     * so that a forced variant gets its layout. */
    tsr_status (*weight_layout)(tsr_dev *dev, const tsr_weight_use *const *uses, size_t n,
                                const char *kernels, tsr_layout *layout);
    /** Stores plain rows of a matrix (f32, f16 or bf16; converted to what the layout needs).
     * Returns when `rows` may be reused. */
    tsr_status (*weight_store)(tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                               tsr_buf *buf);
    /** The reverse of weight_store: rows->first, count, columns, dtype (f32) and data are given;
     * fills data. */
    tsr_status (*weight_load)(tsr_dev *dev, const tsr_layout *layout, tsr_buf *buf, tsr_rows *rows);

    /** Chooses kernel variants, builds them and binds operands. After this, plan_run compiles, sets
     * and allocates nothing. */
    tsr_status (*plan_create)(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out);
    void (*plan_destroy)(tsr_plan *plan);
    /** Enqueues all ops. The host has enqueued the write of the dims buffer before. */
    tsr_status (*plan_run)(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                           tsr_event **done);
    /** Visits the kernel variants of op number `op` in the order in which they were tried; the
     * chosen one has chosen = 1. */
    tsr_status (*plan_explain)(tsr_plan *plan, size_t op, tsr_variant_visitor visit, void *data);
    /** Visits what was measured; nothing where the device was opened without profile. Waits for
     * runs in flight. */
    tsr_status (*plan_profile)(tsr_plan *plan, tsr_profile_visitor visit, void *data);

    /** Gives a named addition ("tsr.notes/1"); NULL for an unknown name. The entry may be NULL. */
    const void *(*extension)(tsr_state *state, const char *name);
} tsr_backend;

/** The type of the function that a plugin exports. */
typedef const tsr_backend *(*tsr_backend_get_fn)(uint32_t abi);

/** Extension "tsr.notes/1": one sentence for each platform or driver that was found but gives no
 * device. */
typedef struct tsr_backend_notes {
    uint32_t struct_size;
    uint32_t (*count)(tsr_state *state);
    const char *(*note)(tsr_state *state, uint32_t index);
} tsr_backend_notes;

/** A build constant of a kernel variant that changes only its speed. */
typedef struct tsr_tunable {
    uint32_t struct_size;
    int32_t value, lowest, highest; /**< the value in force; the range that matters on the device */
    const char *name;               /**< "MR" */
} tsr_tunable;

/** A kernel variant with tunables that fits an op. */
typedef struct tsr_tunable_variant {
    uint32_t struct_size;
    uint32_t n_tunables;
    const tsr_tunable *const *tunables;
    const char *op, *variant; /**< "linear"; the kernel variant, "packed" */
    /** What its best values may depend on in the op; results are kept by it
     * ("W_DTYPE=F32,rows=64-"). */
    const char *condition;
    uint32_t batch_variant; /**< as tsr_variant.variant: 0: its bytes are the same for all values */
} tsr_tunable_variant;
typedef void (*tsr_tunable_visitor)(void *data, const tsr_tunable_variant *variant);

/** The best values that were found on a device. */
typedef struct tsr_tuned {
    uint32_t struct_size, reserved;
    const char *op, *variant, *condition; /**< as visited */
    const char *values;                   /**< "MR=4,NV=2" */
    const char *note;                     /**< a line for a person who reads the file, or NULL */
} tsr_tuned;

/** Extension "tsr.tune/1": lists the kernel variants that can be tuned, and keeps what was found.
 * Values are tried by forcing them: "linear=packed:MR=4:NV=2" in tsr_plan_spec.kernels. */
typedef struct tsr_backend_tune {
    uint32_t struct_size;
    /** Visits the kernel variants that have tunables and fit the op in any layout of its weight. */
    tsr_status (*rows)(tsr_dev *dev, const tsr_op *op, tsr_tunable_visitor visit, void *data);
    /** Keeps values for this device and driver, where devices that are opened later find them; or,
     * where path is not NULL, as lines of the file there. Replaces lines about the same variant, op
     * and condition; atomic. */
    tsr_status (*keep)(tsr_dev *dev, const char *path, const tsr_tuned *const *found, size_t n);
} tsr_backend_tune;

/** Extension "tsr.bundle/1": a folder of kernels for devices that can't compile. */
typedef struct tsr_backend_bundle {
    uint32_t struct_size;
    /** Writes the kernels that the plans of a device opened with `record` chose, as source and
     * manifest. */
    tsr_status (*write)(tsr_dev *dev, const char *folder);
    /** Builds the folder's source on this device, or takes `binary`, a file that the vendor's
     * offline compiler made of it (NULL: none). Checks that it is complete, and adds it to the
     * folder. */
    tsr_status (*build)(tsr_dev *dev, const char *folder, const char *binary);
} tsr_backend_bundle;

/** What "tsr.peaks/1" measures. */
typedef enum tsr_peak {
    TSR_PEAK_FMA_F32 = 1,        /**< flops a second (a multiply-add is two), in registers */
    TSR_PEAK_FMA_F16 = 2,        /**< the same in half precision */
    TSR_PEAK_DOT_INT8 = 3,       /**< operations a second, in 8-bit dot products */
    TSR_PEAK_READ = 4,           /**< bytes read a second, from more memory than caches hold */
    TSR_PEAK_LAUNCH = 5,         /**< seconds from a launch to its end, for a kernel without work */
    TSR_PEAK_LAUNCH_BATCHED = 6, /**< seconds for a launch among many, enqueued in a row */
    TSR_PEAK_ENQUEUE = 7,        /**< seconds for a launch, inside the enqueue call */
    TSR_PEAK_WRITE = 8,          /**< bytes written a second, to more memory than caches hold */
    TSR_PEAK_LOCAL = 9,          /**< bytes read a second from local memory */
    TSR_PEAK_COMPILE = 10,       /**< seconds to build a small program that no cache has */
    TSR_PEAK_CLOCK = 11,    /**< seconds that events claim for a launch, for each of the host's */
    TSR_PEAK_FMA_BF16 = 12, /**< flops a second in products of bf16, summed in f32 */
    /** Operations a second of a GPU's matrix unit, where a trial has shown that it has one: products of
     * f16, bf16 and bytes */
    TSR_PEAK_MATRIX_F16 = 13,
    TSR_PEAK_MATRIX_BF16 = 14,
    TSR_PEAK_MATRIX_INT8 = 15,
    /** TSR_PEAK_READ_AGAIN + n: bytes a second of 2^n bytes that are read again and again, by each
     * compute unit up to 1 MiB, else shared by all */
    TSR_PEAK_READ_AGAIN = 64,
    /** TSR_PEAK_WRITE_AGAIN + n: bytes a second of 2^n bytes that are written again and again, by all
     * compute units together */
    TSR_PEAK_WRITE_AGAIN = 128
} tsr_peak;

/** Extension "tsr.peaks/1": the most that a device can do. */
typedef struct tsr_backend_peaks {
    uint32_t struct_size;
    /** Measures a peak `repeats` (>= 1) times: values[0 .. repeats). It may take seconds, and
     * waits.
     * TSR_E_UNSUPPORTED: the device can't do it. */
    tsr_status (*measure)(tsr_dev *dev, uint32_t peak, uint32_t repeats, double *values);
} tsr_backend_peaks;

/** Extension "tsr.ahead/1": what a backend may begin before a plan is made. */
typedef struct tsr_backend_ahead {
    uint32_t struct_size;
    /** Tells that plan_create is going to be given this. A backend that builds kernels in other
     * processes begins to build them, and does not wait. The buffers are not used afterwards. */
    tsr_status (*plan_announce)(tsr_dev *dev, const tsr_plan_spec *spec);
} tsr_backend_ahead;

#ifdef __cplusplus
}
#endif
#endif

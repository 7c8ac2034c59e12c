/* The plugin, opened as a host opens it, and one linear op on one of its devices. */
#ifndef TEST_OPENCL_RIG_H
#define TEST_OPENCL_RIG_H

#include "tessera/backend.h"

#include <stdbool.h>

typedef struct rig {
    const tsr_backend *backend;
    tsr_host host;
    tsr_state *state;
    tsr_dev *dev;
    uint32_t index;      /* of dev */
    char sentence[2048]; /* the message of the last failure */
    char log[16384];
    char cache[128]; /* this rig's folder, made by rig_begin */
} rig;

enum { RIG_T = 9, RIG_K = 75, RIG_N = 70 }; /* not multiples of any tile */

/* y = relu(x w' + b), [1,T,K] by [N,K], with its buffers and plan. */
typedef struct rig_linear {
    tsr_buf *x, *w, *bias, *y, *dims;
    tsr_plan *plan;
    tsr_layout layout;
    int32_t table[TSR_SYMBOL_SETS];
    float result[RIG_T * RIG_N];
} rig_linear;

/* Loads the plugin and opens its backend with an empty cache folder, and with option NAME=VALUE
 * where name is not NULL. */
void rig_begin(rig *r, const char *name, const char *value);
/* Opens the first usable device whose platform has `platform` (or TESSERA_TEST_PLATFORM, where it
 * is set) in its name. Skips the test where there is none. */
void rig_open(rig *r, const char *platform, bool profile);
tsr_status rig_open_index(rig *r, uint32_t index, bool profile, tsr_dev **dev);
void rig_end(rig *r);
/* Copies between the host and the start of a buffer of the open device, and waits for it; `host` is written by
 * TSR_TRANSFER_READ alone. The test fails where that fails. */
void rig_transfer(rig *r, tsr_transfer_kind kind, tsr_buf *buf, const void *host, uint64_t bytes);

/* A linear op with these operands; it borrows all of them. */
tsr_op rig_linear_op(uint32_t n_in, const tsr_tensor *const *in, const tsr_tensor *const *out,
                     const tsr_linear_attrs *attrs, const tsr_bounds *bounds);
tsr_status rig_linear_make(rig *r, tsr_dev *dev, const char *kernels, rig_linear *linear);
tsr_status rig_linear_run(rig *r, tsr_dev *dev, rig_linear *linear);
void rig_linear_free(rig *r, rig_linear *linear);
/* The largest error of the result, compared with sums in double. */
double rig_linear_error(const rig_linear *linear);

#endif

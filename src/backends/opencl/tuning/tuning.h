/* backends/opencl/tuning/tuning.h - the values in force of a variant's tunables, and where each
 * comes from.
 *
 * In rising priority: the variant's default; the tables cl/tuned/<name>.tsv; what was tuned on this
 * machine for this device and driver (a file of the cache folder); what the user forces. A line of
 * a table has six fields with a tab between:
 *
 *     platform  device  type  variant  condition  values
 *
 *   platform, device  patterns with * and ?; platform is compared with the platform's and the
 *                     vendor's name
 *   type              cpu, gpu, accelerator, other or *
 *   variant           a kernel variant: "linear/packed"
 *   condition         - or a list, "W_DTYPE=F32,rows=2-8": constants that the op decides; rows,
 *                     how many rows of the result a plan may have ("64-": 64 and more); and columns,
 *                     the elements of a row of the first operand, if they are the same in every run
 *   values            a list, "MR=4,NV=2". "score=95" in place of the variant's own score makes
 *                     the variant preferred or not; its condition may name rows only
 *
 * For each tunable the most specific line wins: one that names the device before one that names the
 * platform, that one before one that names a type, and among those the one with more conditions;
 * among equals the later one. # begins a comment.
 */
#ifndef TSRI_OPENCL_TUNING_TUNING_H
#define TSRI_OPENCL_TUNING_TUNING_H

#include "backends/opencl/bind/defines.h"
#include "backends/opencl/device/device.h"
#include "base/bytes.h"

/* A variant that the user asks for, and values of its tunables. */
typedef struct tsri_opencl_wish {
    const tsri_opencl_variant *variant; /* NULL: the choice is free */
    bool set[TSRI_OPENCL_TUNABLES];
    int value[TSRI_OPENCL_TUNABLES];
} tsri_opencl_wish;

/* Reads the tables and the user's file, and keeps the lines that are about this device. A fault in
 * a table is TSR_E_FORMAT, with file and line; a user's file that is damaged or of another device
 * gives a warning. */
tsr_status tsri_opencl_tuning_load(tsr_dev *dev, tsri_opencl_tuning **out);
void tsri_opencl_tuning_free(tsri_opencl_tuning *tuning);

/* constants: what the op decides, as in the canonical name ("W_DTYPE=F32,ACT=0"). wish may be NULL,
 * or for another variant. */
void tsri_opencl_values_of(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                           const tsri_opencl_wish *wish, const char *constants,
                           tsri_opencl_values *out);
/* Whether some line names a tunable of the variant, so that its values may differ from the
 * defaults. */
bool tsri_opencl_is_tuned(const tsr_dev *dev, const tsri_opencl_variant *variant);
int tsri_opencl_score_of(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op);

/* Reads "MR=4,NV=2" with `separator` between the items. TSR_E_FORMAT: the message begins with
 * `place`. */
tsr_status tsri_opencl_read_values(const tsri_opencl_variant *variant, const char *place,
                                   const char *text, size_t n, char separator,
                                   tsri_opencl_wish *out);

/* The most rows that an op's result may have in a plan: what "rows" means in a condition. */
int64_t tsri_opencl_result_rows(const tsr_op *op);
/* Its bucket as a condition: "rows=1", "rows=2-8", "rows=9-63", "rows=64-". */
const char *tsri_opencl_rows_condition(const tsr_op *op);

/* A device's type as the tables spell it: "cpu". */
const char *tsri_opencl_type_name(uint32_t type);

#endif

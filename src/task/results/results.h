/* task/results/results.h - a file of results as the reports and the comparison see it. */
#ifndef TSRI_TASK_RESULTS_RESULTS_H
#define TSRI_TASK_RESULTS_RESULTS_H

#include "base/bytes.h"
#include "base/json.h"
#include "tessera/results.h"

/* All texts are borrowed from the file's JSON; what it has as null is NULL, NaN or -1 here. */
typedef struct tsri_results_row {
    const json_t *json, *device, *model; /* model: NULL for a peak and an op, and in older
                                              files for a start */
    const char *test, *kind, *class_name, *scenario, *peer, *status, *reason, *unit, *bound_by;
    const char *model_name, *model_hash;
    const char *processor; /* tsri_results_processor of its device */
    size_t device_index;
    bool noisy, lower; /* lower: less is better */
    double *samples;
    size_t n; /* samples; 0: the row has no rate */
    double median, lowest, highest, p90, p99, roofline, predicted, flops, bytes;
    int64_t tokens, depth, batch, requests;
} tsri_results_row;

struct tsr_results {
    char *path, *name; /* name: the end of the path, for people, without control bytes */
    json_t *root;
    const json_t *suite, *engine, *host, *devices, *models;
    tsri_results_row *rows;
    double *samples; /* of all rows */
    size_t n;
};

/* Members of an object that the schema has checked. */
const char *tsri_results_text(const json_t *object, const char *key); /* NULL: null */
double tsri_results_number(const json_t *object, const char *key);    /* NaN: null */
int64_t tsri_results_whole(const json_t *object, const char *key);    /* -1: null */
bool tsri_results_is(const char *text, const char *other);            /* both NULL: true */

/* What the host's processor is, where the device is that: drivers may call two processors alike.
 * NULL: it is another device, or the file doesn't say it. */
const char *tsri_results_processor(const tsr_results *results, const json_t *device);
/* Whether a device of the file was measured. */
bool tsri_results_has_rows(const tsr_results *results, size_t device);
/* Why a device has no rows. */
const char *tsri_results_unmeasured(const tsr_results *results, const json_t *device);
bool tsri_results_is_partial(const tsr_results *results);

/* Seconds of a run that has this value in the row's unit; 0: not known. */
double tsri_results_seconds(const tsri_results_row *row, double value);

/* A value for people, with a prefix: "236 GFLOP/s", "3.1 us", "190 tokens/s"; "-" of NaN. */
enum { TSRI_RESULTS_VALUE = 48 };
void tsri_results_print_value(double value, const char *unit, char out[TSRI_RESULTS_VALUE]);
/* How many bytes of a text are whole characters within `most` bytes, for "%.*s". */
int tsri_results_cut(const char *text, size_t most);
/* "pp512@4096 q8 batch 8": a row's name within its model and device. */
enum { TSRI_RESULTS_NAME = 160 };
void tsri_results_row_name(const tsri_results_row *row, char out[TSRI_RESULTS_NAME]);
/* What sensors said beside the rows of a device: "clock 2.10 GHz to 3.40 GHz, temperature not
 * measured, energy 123 J". */
tsr_status tsri_results_sensors(const tsr_results *results, size_t device, tsri_bytes *out);
/* "tessera 1.2.3 (0123456789ab)" */
void tsri_results_engine_name(const tsr_results *results, char out[TSRI_RESULTS_NAME]);

/* The formats; each appends to `out`. */
typedef tsr_status tsri_results_format(const tsr_results *const *results, size_t count,
                                       tsri_bytes *out);
tsri_results_format tsri_results_html, tsri_results_md, tsri_results_csv, tsri_results_junit,
    tsri_results_llama_bench, tsri_results_badge;

#endif

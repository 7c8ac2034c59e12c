/* tessera/results.h - files that `tessera bench` wrote: they are checked, shown and compared. */
#ifndef TESSERA_RESULTS_H
#define TESSERA_RESULTS_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_results tsr_results; /**< the contents of a file, which never change */

/**
 * Reads a file of results: docs/benchmark.md.
 *
 * owner   the caller closes *out
 * thread  any; what was opened may be read by several threads at once
 * error   TSR_E_IO      the file cannot be read
 *         TSR_E_FORMAT  it is not JSON, breaks docs/benchmark-schema.json, has more than 64 MiB, or
 *                       was changed after it was written: its hash is not that of its bytes
 */
TSR_API tsr_status tsr_results_open(const char *path, tsr_results **out);
/** Closes it. *results may be NULL, and is NULL afterwards. */
TSR_API void tsr_results_close(tsr_results **results);

/**
 * Shows results in one of these formats: "html", a page for a browser that needs no other file; "md", tables for people; "csv", a line for each row;
 * "junit", a test case for each row, for continuous integration; "llama-bench", the fields of
 * llama.cpp's llama-bench as JSON, of prompts and generations of one sequence; "badge", the JSON of
 * a badge (shields.io's endpoint).
 *
 * results  [count] files; at least one
 * n        the length in bytes; may be NULL
 * owner    *text is new memory; the caller frees it with tsr_text_free
 * error    TSR_E_ARGUMENT     no file, or another format
 *          TSR_E_HOST_MEMORY  there is too little memory
 */
TSR_API tsr_status tsr_results_report(const tsr_results *const *results, size_t count,
                                      const char *format, char **text, size_t *n);

typedef enum tsr_verdict {
    /** No difference is shown, or less than fail_above. Samples of one run beside which the device's
     * peaks fell show nothing. */
    TSR_VERDICT_SAME = 0,
    TSR_VERDICT_FASTER = 1,  /**< better by more than fail_above, and that is shown */
    TSR_VERDICT_SLOWER = 2,  /**< worse by more than fail_above, and that is shown: a regression */
    /** A row that had a rate has none, or is missing from a run that was stopped: a regression. */
    TSR_VERDICT_LOST = 3,
    TSR_VERDICT_GAINED = 4,  /**< a row that had no rate has one */
    TSR_VERDICT_NO_RATE = 5, /**< neither has one */
    TSR_VERDICT_ONLY_BEFORE = 6, /**< `after` doesn't have this row */
    TSR_VERDICT_ONLY_AFTER = 7
} tsr_verdict;

typedef struct tsr_compare_options {
    uint32_t struct_size;
    uint32_t across_devices; /**< 1: the devices may differ; each file has one */
    double fail_above;       /**< a share: smaller losses do not fail; 0: 0.03 */
    double confidence;       /**< of the intervals, 0.5 to 0.9999; 0: 0.95 */
} tsr_compare_options;

/** A row of both sides. Texts are valid during the visit. */
typedef struct tsr_compared {
    uint32_t struct_size;
    uint32_t verdict;                                      /**< tsr_verdict */
    const char *device, *model, *test, *class_name, *peer; /**< NULL: the row has none */
    const char *unit;
    const char *why;      /**< what a row without a rate says; else "" */
    int64_t batch;        /**< 0: none */
    double before, after; /**< medians in the row's unit; NaN: no rate */
    /** How many times as fast `after` is (of seconds, the inverse of their ratio): the median of the
     * ratios of all pairs of values, and its interval of confidence; NaN: no rate on one side. */
    double ratio, low, high;
    double p; /**< of the rank test: how likely such ranks are where nothing differs */
    uint32_t n_before, n_after; /**< values compared */
    uint32_t by_runs;           /**< 1: a value is the median of a file, not a sample */
    uint32_t throttled;         /**< 1: the device's peaks fell beside the row, on either side */
    uint32_t peak,
        reserved; /**< 1: of the device, not of the engine; never counted as regression */
} tsr_compared;

/** Peaks, and the rows of peers (other engines), are in `rows` alone. */
typedef struct tsr_compare_summary {
    uint32_t struct_size;
    uint32_t rows, same, faster, regressions, gained, without_rate, only_before, only_after;
    uint32_t reserved;
    double ratio; /**< geometric mean of the ratios; NaN: no row has one */
    uint32_t partial_before, partial_after; /**< files of runs that were stopped before their end */
} tsr_compare_summary;

/**
 * Compares results: the same rows of the files `before` and of the files `after`. Where each side
 * has one file, its samples are compared; they show what changed between two runs, be it the build
 * or the machine. Where each side has four files or more, as a duel makes them, the medians of the
 * files are compared, which shows what differs between the builds. Ratios are compared by the
 * Mann-Whitney test, their interval is that of Hodges and Lehmann, both exact up to 30 values a
 * side without ties; nothing is drawn by chance, so the same files give the same result.
 *
 * before   [n_before] files; after likewise
 * options  may be NULL
 * visit    called with each row; returns not 0 to stop. May be NULL
 * summary  may be NULL
 * error    TSR_E_ARGUMENT  the files can't be compared: version or class of the suite, devices,
 *                          hash or dtype of a model, dtype of its keys and values or of its products
 *                          (with across_devices, the last is the devices' choice) differ, or no row but
 *                          peaks and those of peers is on both sides; the sentence says what differs
 *          TSR_E_HOST_MEMORY  there is too little memory
 * source   Mann, Whitney 1947; Hodges, Lehmann 1963
 */
TSR_API tsr_status tsr_results_compare(const tsr_results *const *before, size_t n_before,
                                       const tsr_results *const *after, size_t n_after,
                                       const tsr_compare_options *options,
                                       int (*visit)(void *data, const tsr_compared *row),
                                       void *data, tsr_compare_summary *summary);

#ifdef __cplusplus
}
#endif
#endif

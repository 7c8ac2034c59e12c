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
 * Shows results in one of these formats: "md", tables for people; "csv", a line for each row;
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

#ifdef __cplusplus
}
#endif
#endif

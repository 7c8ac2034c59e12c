/* tessera/plot.h - what training runs logged, as one page for a browser. */
#ifndef TESSERA_PLOT_H
#define TESSERA_PLOT_H

#include "tessera/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_plot tsr_plot; /**< a page that is being made */

/** What a log contained. */
typedef struct tsr_plot_log {
    uint32_t struct_size;
    uint32_t cut;           /**< 1: the last line has no end and was left out */
    uint64_t points;        /**< numbers that are drawn */
    uint64_t skipped;       /**< lines that are not a JSON object */
    uint64_t first_skipped; /**< number of the first such line, from 1 */
} tsr_plot_log;

/**
 * Begins a page without runs.
 *
 * owner   the caller destroys *out
 * error   TSR_E_HOST_MEMORY  there is too little memory
 */
TSR_API tsr_status tsr_plot_create(tsr_plot **out);
/** Destroys it. *plot may be NULL, and is NULL afterwards. */
TSR_API void tsr_plot_destroy(tsr_plot **plot);

/**
 * Adds a run: a file of JSON lines with "step" and any of "loss", "eval_loss", "lr" (or
 * "learning_rate"), "grad_norm", "tokens_per_second", "waiting". Other fields, and objects without a step, are
 * ignored; null is left out. Where a step occurs again, because the run was resumed from a
 * checkpoint, it replaces that step and all after it.
 *
 * name    what the page calls the run
 * log     what the file contained; may be NULL
 * alloc   16 bytes for each number
 * error   TSR_E_IO      the file cannot be read
 *         TSR_E_FORMAT  no line has a step and a number that can be drawn
 */
TSR_API tsr_status tsr_plot_add(tsr_plot *plot, const char *path, const char *name,
                                tsr_plot_log *log);

/**
 * Writes the page as one file that needs no other, whole or not at all. A series of more than 4000
 * numbers is drawn as means of neighbours.
 *
 * error   TSR_E_STATE  no run was added
 *         TSR_E_IO     the file cannot be written
 */
TSR_API tsr_status tsr_plot_write_page(const tsr_plot *plot, const char *path);

#ifdef __cplusplus
}
#endif
#endif

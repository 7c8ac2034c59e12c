/* tessera/plot.h - what training runs logged, as one page for a browser. */
#ifndef TESSERA_PLOT_H
#define TESSERA_PLOT_H

#include "tessera/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_plot tsr_plot;

/** What a log held. */
typedef struct tsr_plot_log {
    uint32_t struct_size;
    uint32_t cut;           /**< 1: the last line has no end and was left out */
    uint64_t points;        /**< numbers that are drawn */
    uint64_t skipped;       /**< lines that are no JSON object */
    uint64_t first_skipped; /**< number of the first of them, from 1 */
} tsr_plot_log;

/** owner  the caller: tsr_plot_destroy */
TSR_API tsr_status tsr_plot_create(tsr_plot **out);
TSR_API void tsr_plot_destroy(tsr_plot **plot); /**< takes NULL content */

/**
 * Adds a run: a file of JSON lines with "step" and any of "loss", "eval_loss", "lr" (or
 * "learning_rate"), "grad_norm", "tokens_per_second". Other fields, and objects
 * without a step, are not read; numbers that are none (null) are gaps. A step that was logged
 * before, by a run that went on from a checkpoint, takes the place of all from there on.
 *
 * name   what the page calls it
 * log    may be NULL
 * alloc  16 bytes a number
 * error  TSR_E_IO      the file cannot be read
 *        TSR_E_FORMAT  no line of it is a step with a number that can be drawn
 */
TSR_API tsr_status tsr_plot_add(tsr_plot *plot, const char *path, const char *name,
                                tsr_plot_log *log);

/**
 * Writes the page: whole or not at all, and it needs nothing but itself. Of a series of more than
 * 4000 numbers, means of neighbours are drawn.
 *
 * error  TSR_E_STATE  no run was added
 *        TSR_E_IO     the file cannot be written
 */
TSR_API tsr_status tsr_plot_write_page(const tsr_plot *plot, const char *path);

#ifdef __cplusplus
}
#endif
#endif

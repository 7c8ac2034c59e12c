/* train/run/log.h - log.jsonl: a line for each logged step and each validation.
 *
 *     {"step": 10, "loss": 2.5, "kl": 0.1, "lr": 0.001, "grad_norm": 0.7, "tokens": 7680,
 *      "tokens_per_second": 12345.6, "seconds": 0.62}
 *     {"step": 500, "eval_loss": 1.9, "eval_accuracy": 0.8, "eval_f1": 0.7, "sample": "..."}
 *
 *     {"step": 6, "dealt": [5, 3], "shard_seconds": [0.0201, 0.0334]}
 *
 * The last of these says which of several ranks has how many shards from the next step on, with --balance; at
 * the beginning without the seconds that each takes for one. The first line of a run is {"run": {...}}. Each line is written at once and completely.
 */
#ifndef TSRI_TRAIN_RUN_LOG_H
#define TSRI_TRAIN_RUN_LOG_H

#include "base/json.h"

typedef struct tsri_train_log tsri_train_log;

/* Opens the log. Removes the lines of steps after `step`, because a resumed run does these steps
 * again, and a last line that is not JSON. */
tsr_status tsri_train_log_open(const char *path, int64_t step, tsri_train_log **out);
/* Whether the log has a line already. */
bool tsri_train_log_has_begun(const tsri_train_log *log);
/* Takes the reference to `line`, even where it fails. */
tsr_status tsri_train_log_write(tsri_train_log *log, json_t *line);
tsr_status tsri_train_log_sync(tsri_train_log *log);
void tsri_train_log_close(tsri_train_log **log);

#endif

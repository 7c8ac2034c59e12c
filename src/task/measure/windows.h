/* task/measure/windows.h - cuts a long text into overlapping windows, so that each token is scored
 * once. */
#ifndef TSRI_TASK_MEASURE_WINDOWS_H
#define TSRI_TASK_MEASURE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/* Tokens begin .. end - 1 are read; those from `from` on are scored. */
typedef struct tsri_task_window {
    int64_t begin, from, end;
} tsri_task_window;

/* Replaces *w by the next window (all zero: by the first) of a text of n tokens. Windows have at
 * most `size` tokens and are `stride` apart; 1 <= stride < size. False: *w was the last. No window
 * scores token 0. */
bool tsri_task_window_next(int64_t n, int64_t size, int64_t stride, tsri_task_window *w);

#endif

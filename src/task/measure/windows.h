/* task/measure/windows.h - a long text in overlapping windows, each of its tokens scored once. */
#ifndef TSRI_TASK_MEASURE_WINDOWS_H
#define TSRI_TASK_MEASURE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/* Tokens begin .. end - 1 are read; of them, those from `from` on are scored. */
typedef struct tsri_task_window {
    int64_t begin, from, end;
} tsri_task_window;

/* The window after *w (all zero: the first) of a text of n tokens, size tokens at most, stride
 * apart; 1 <= stride < size. False where *w reached the end. Token 0 is scored by none. */
bool tsri_task_window_next(int64_t n, int64_t size, int64_t stride, tsri_task_window *w);

#endif

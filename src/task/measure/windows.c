/* task/measure/windows.c - cuts a long text into overlapping windows. */
#include "task/measure/windows.h"

bool tsri_task_window_next(int64_t n, int64_t size, int64_t stride, tsri_task_window *w) {
    const bool first = w->end == 0;
    if (w->end >= n)
        return false;
    w->begin = first ? 0 : w->begin + stride;
    w->from = first ? 1 : w->end;
    w->end = n - w->begin > size ? w->begin + size : n;
    return true;
}

/* Windows over a long text: each token but the first is scored once, with enough tokens before it.
 */
#include "task/measure/windows.h"

#include <criterion/criterion.h>

Test(windows, every_token_once) {
    for (int64_t n = 2; n < 40; n++)
        for (int64_t size = 2; size < 45; size++)
            for (int64_t stride = 1; stride < size; stride++) {
                tsri_task_window w = {0};
                int64_t scored = 1, windows = 0;
                while (tsri_task_window_next(n, size, stride, &w)) {
                    cr_assert(w.from == scored && w.end > w.from && w.end <= n);
                    cr_assert(w.begin >= 0 && w.begin < w.from && w.end - w.begin <= size);
                    cr_assert(windows == 0 || w.from - w.begin >= size - stride);
                    cr_assert(w.begin == windows * stride);
                    scored = w.end;
                    windows++;
                }
                cr_assert(scored == n, "n %d size %d stride %d", (int)n, (int)size, (int)stride);
            }
}

Test(windows, nothing_to_score) {
    tsri_task_window w = {0};
    cr_assert(!tsri_task_window_next(0, 4, 2, &w));
}

Test(windows, as_hugging_face) {
    /* n 10, window 4, stride 2: [0,4) scores tokens 1..3, [2,6) 4 5, [4,8) 6 7, [6,10) 8 9 */
    static const tsri_task_window wanted[] = {{0, 1, 4}, {2, 4, 6}, {4, 6, 8}, {6, 8, 10}};
    tsri_task_window w = {0};
    for (int i = 0; i < 4; i++) {
        cr_assert(tsri_task_window_next(10, 4, 2, &w));
        cr_assert(w.begin == wanted[i].begin && w.from == wanted[i].from && w.end == wanted[i].end);
    }
    cr_assert(!tsri_task_window_next(10, 4, 2, &w));
}

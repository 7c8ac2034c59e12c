/* cli/base/progress.c - draws the line that shows how far a long job has come. */
#include "cli/base/progress.h"

#include "cli/base/shown.h"

#include <inttypes.h>

enum { EVERY_NS = 200000000 };

int tsri_cli_progress_show(tsri_cli_progress *p, uint64_t done, double share) {
    const uint64_t now = tsri_cli_now_ns();
    if (!p->begun)
        p->begun = p->shown = now;
    p->done = done;
    if (now - p->shown < EVERY_NS || tsri_cli_shown_as(p->app) == CLI_SHOWN_NOT)
        return tsri_cli_signal();
    const double seconds = (double)(now - p->begun) * 1e-9;
    char far[16] = "", left[48] = "", text[192];
    p->shown = now;
    if (share >= 0)
        snprintf(far, sizeof far, " %3d%%", (int)(100 * share));
    if (share > 0.001) {
        const uint64_t rest = (uint64_t)(seconds * (1 - share) / share + 0.5);
        snprintf(left, sizeof left, ", %" PRIu64 ":%02d left", rest / 60, (int)(rest % 60));
    }
    snprintf(text, sizeof text, "%s%s  %" PRIu64 " %s, %.0f a second%s", p->doing, far, done,
             p->unit, (double)done / seconds, left);
    tsri_cli_show(p->app, text);
    return tsri_cli_signal();
}

void tsri_cli_progress_end(tsri_cli_progress *p, bool tell) {
    tsri_cli_clear_progress(p->app);
    if (!tell || !p->begun)
        return;
    const double seconds = (double)(tsri_cli_now_ns() - p->begun) * 1e-9;
    tsri_cli_note(p->app, "%" PRIu64 " %s in %.2f s, %.0f a second", p->done, p->unit, seconds,
                  seconds > 0 ? (double)p->done / seconds : 0.0);
}

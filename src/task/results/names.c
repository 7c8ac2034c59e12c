/* task/results/names.c - how values, rows and engines are called in reports. */
#include "task/results/results.h"

#include "base/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void tsri_results_print_value(double value, const char *unit, char out[TSRI_RESULTS_VALUE]) {
    static const struct {
        double size;
        const char *letter;
    } large[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}},
      small[] = {{1, ""}, {1e-3, "m"}, {1e-6, "u"}, {0, "n"}};
    const bool seconds = !strcmp(unit, "s"), counted = strchr(unit, '/') && strlen(unit) > 6;
    size_t i = 0;
    if (!isfinite(value)) {
        snprintf(out, TSRI_RESULTS_VALUE, "-");
        return;
    }
    if (seconds)
        while (small[i].size > value)
            i++;
    else
        while (large[i].size > value)
            i++;
    const double size = seconds                         ? (small[i].size > 0 ? small[i].size : 1e-9)
                        : counted || large[i].size <= 0 ? 1
                                                        : large[i].size;
    value /= size;
    tsri_base_print(out, TSRI_RESULTS_VALUE, "%.*f %s%s",
                    value < 10    ? 2
                    : value < 100 ? 1
                                  : 0,
                    value,
                    seconds   ? small[i].letter
                    : counted ? ""
                              : large[i].letter,
                    unit);
}

int tsri_results_cut(const char *text, size_t most) {
    size_t n = strnlen(text, most + 1);
    if (n > most)
        for (n = most; n && ((unsigned char)text[n] & 0xC0) == 0x80;)
            n--;
    return (int)n;
}

void tsri_results_row_name(const tsri_results_row *r, char out[TSRI_RESULTS_NAME]) {
    char batch[32] = "";
    if (r->batch > 0)
        snprintf(batch, sizeof batch, " batch %" PRId64, r->batch);
    snprintf(out, TSRI_RESULTS_NAME, "%.*s%s%s%s%s", tsri_results_cut(r->test, 80), r->test,
             r->class_name ? " " : "", r->class_name ? r->class_name : "", batch,
             tsri_results_is(r->scenario, "offline") && r->batch == 1 ? " offline" : "");
}

void tsri_results_engine_name(const tsr_results *t, char out[TSRI_RESULTS_NAME]) {
    const char *name = tsri_results_text(t->engine, "name"),
               *version = tsri_results_text(t->engine, "version"),
               *commit = tsri_results_text(t->engine, "commit"), *build = commit ? commit : "";
    snprintf(out, TSRI_RESULTS_NAME, "%.*s %.*s%s%.*s%s", tsri_results_cut(name, 40), name,
             tsri_results_cut(version, 40), version, commit ? " (" : "",
             tsri_results_cut(build, 12), build, commit ? ")" : "");
}

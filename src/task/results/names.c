/* task/results/names.c - how values, rows, engines and the state of a machine are called in
 * reports. */
#include "task/results/results.h"

#include "base/error.h"
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
        while (small[i].size > 0 && small[i].size > value)
            i++;
    else
        while (large[i].size > 0 && large[i].size > value)
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

/* ---- what sensors said ---- */

/* NaN where nothing is known yet, which fmin and fmax leave out. */
static void widen(double span[2], const json_t *pair) {
    const json_t *value;
    size_t i;
    json_array_foreach(pair, i, value) if (json_is_number(value)) {
        span[0] = fmin(span[0], json_number_value(value));
        span[1] = fmax(span[1], json_number_value(value));
    }
}

static tsr_status print_span(const char *what, const double span[2], const char *unit,
                             tsri_bytes *out) {
    char lowest[TSRI_RESULTS_VALUE], highest[TSRI_RESULTS_VALUE];
    if (isnan(span[0]))
        return tsri_base_bytes_printf(out, "%s not measured", what);
    tsri_results_print_value(span[0], unit, lowest);
    tsri_results_print_value(span[1], unit, highest);
    return strcmp(lowest, highest) != 0
               ? tsri_base_bytes_printf(out, "%s %s to %s", what, lowest, highest)
               : tsri_base_bytes_printf(out, "%s %s", what, lowest);
}

/* Latencies of a scheduler's requests are rows beside that of their rate, of the same runs: what
 * these took counts once. */
tsr_status tsri_results_sensors(const tsr_results *t, size_t device, tsri_bytes *out) {
    double clock[2] = {NAN, NAN}, temperature[2] = {NAN, NAN}, energy[2] = {NAN, NAN};
    for (size_t i = 0; i < t->n; i++) {
        const tsri_results_row *r = &t->rows[i];
        const json_t *told = json_object_get(r->json, "conditions");
        const double joules = tsri_results_number(told, "energy");
        if (r->device_index != device)
            continue;
        widen(clock, json_object_get(told, "clock"));
        widen(temperature, json_object_get(told, "temperature"));
        if (!isnan(joules) && !(!strcmp(r->kind, "serve") && !strcmp(r->unit, "s")))
            energy[0] = energy[1] = isnan(energy[0]) ? joules : energy[0] + joules;
    }
    TRY(print_span("clock", clock, "Hz", out));
    TRY(tsri_base_bytes_append(out, ", ", 2));
    TRY(print_span("temperature", temperature, "°C", out));
    TRY(tsri_base_bytes_append(out, ", ", 2));
    return print_span("energy", energy, "J", out);
}

/* task/results/report.c - the formats of a report. */
#include "task/results/results.h"

#include "base/error.h"
#include "base/structs.h"

#include <string.h>

static const struct {
    const char *name;
    tsri_results_format *write;
} formats[] = {{"html", tsri_results_html},
               {"md", tsri_results_md},
               {"csv", tsri_results_csv},
               {"junit", tsri_results_junit},
               {"llama-bench", tsri_results_llama_bench},
               {"badge", tsri_results_badge}};

tsr_status tsr_results_report(const tsr_results *const *results, size_t count, const char *format,
                              char **text, size_t *n) {
    tsri_bytes out = {0};
    size_t i = 0;
    TRY(NEED(text));
    *text = NULL;
    TRY(NEED(results));
    TRY(NEED(format));
    if (!count)
        return tsri_base_fail(TSR_E_ARGUMENT, "a report needs at least one file of results");
    while (i < sizeof formats / sizeof *formats && strcmp(formats[i].name, format) != 0)
        i++;
    if (i == sizeof formats / sizeof *formats)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the format \"%s\": give html, md, csv, junit, llama-bench or badge",
                              format);
    const tsr_status status = formats[i].write(results, count, &out);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&out);
        return status;
    }
    *text = out.data;
    if (n)
        *n = out.size;
    return TSR_OK;
}

/* task/measure/chrf.c - chrF2 as sacrebleu computes it: character n-grams of one to six, without
 * white space. */
#include "base/error.h"
#include "base/structs.h"
#include "task/measure/ngrams.h"
#include "tessera/evaluate.h"
#include "text/base/unicode.h"

enum { ORDERS = 6, BETA = 2 };

static tsr_status take(tsri_task_ngrams *sequence, const tsr_string *line) {
    tsri_task_ngrams_empty(sequence);
    for (size_t at = 0; at < line->size;) {
        int32_t c;
        at += tsri_text_utf8_next(line->data + at, line->size - at, &c);
        if (!tsri_task_splits(c))
            TRY(tsri_task_ngrams_add(sequence, c < 0 ? 0xfffd : c));
    }
    return tsri_task_ngrams_sort(sequence);
}

/* Where the reference has no n-gram of an order, the translation's do not count. */
static void count(const tsri_task_ngrams *translation, const tsri_task_ngrams *reference,
                  tsr_chrf *out) {
    for (int n = 1; n <= ORDERS; n++) {
        const uint64_t wanted = tsri_task_ngrams_count(reference, n);
        out->ngrams[n - 1] += wanted ? tsri_task_ngrams_count(translation, n) : 0;
        out->reference_ngrams[n - 1] += wanted;
        out->matches[n - 1] += tsri_task_ngrams_common(translation, reference, n);
    }
}

static void finish(tsr_chrf *c) {
    int orders = 0;
    for (int i = 0; i < ORDERS; i++) {
        if (!c->ngrams[i] || !c->reference_ngrams[i])
            continue;
        c->precision += (double)c->matches[i] / (double)c->ngrams[i];
        c->recall += (double)c->matches[i] / (double)c->reference_ngrams[i];
        orders++;
    }
    c->precision /= orders ? orders : 1;
    c->recall /= orders ? orders : 1;
    const double factor = BETA * BETA;
    if (c->precision + c->recall > 0)
        c->score =
            100 * ((1 + factor) * c->precision * c->recall / (factor * c->precision + c->recall));
    c->precision *= 100;
    c->recall *= 100;
}

tsr_status tsr_evaluate_chrf(const tsr_string *translations, const tsr_string *references, size_t n,
                             tsr_chrf *out) {
    tsri_task_ngrams a = {0}, b = {0};
    tsr_chrf c = {.struct_size = sizeof c};
    TRY(NEED_ARRAY(translations, n));
    TRY(NEED_ARRAY(references, n));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_chrf", out));
    tsr_status status = tsri_task_check_lines(translations, references, n);
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        status = take(&a, &translations[i]);
        if (status == TSR_OK)
            status = take(&b, &references[i]);
        if (status == TSR_OK)
            count(&a, &b, &c);
    }
    tsri_task_ngrams_clear(&a);
    tsri_task_ngrams_clear(&b);
    if (status != TSR_OK)
        return status;
    finish(&c);
    tsri_base_give(&c, sizeof c, out);
    return TSR_OK;
}

const char *tsr_chrf_signature(void) {
    return "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:tessera-" TESSERA_VERSION;
}

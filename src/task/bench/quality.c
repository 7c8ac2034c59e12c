/* task/bench/quality.c - compares a model in its dtype with the same model in f32: by the perplexity
 * of a text where it can read one, else by the cosines of its logits or vectors. */
#include "task/bench/quality.h"

#include "base/error.h"
#include "tessera/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Shakespeare, sonnets 18 and 116. */
static const char text[] =
    "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough "
    "winds "
    "do shake the darling buds of May,\nAnd summer's lease hath all too short a date:\nSometime "
    "too "
    "hot the eye of heaven shines,\nAnd often is his gold complexion dimm'd;\nAnd every fair from "
    "fair sometime declines,\nBy chance or nature's changing course untrimm'd;\nBut thy eternal "
    "summer shall not fade\nNor lose possession of that fair thou owest;\nNor shall Death brag "
    "thou "
    "wander'st in his shade,\nWhen in eternal lines to time thou growest:\nSo long as men can "
    "breathe or eyes can see,\nSo long lives this and this gives life to thee.\n\nLet me not to "
    "the "
    "marriage of true minds\nAdmit impediments. Love is not love\nWhich alters when it alteration "
    "finds,\nOr bends with the remover to remove:\nO no! it is an ever-fixed mark\nThat looks on "
    "tempests and is never shaken;\nIt is the star to every wandering bark,\nWhose worth's "
    "unknown, "
    "although his height be taken.\nLove's not Time's fool, though rosy lips and cheeks\nWithin "
    "his "
    "bending sickle's compass come:\nLove alters not with his brief hours and weeks,\nBut bears it "
    "out even to the edge of doom.\nIf this be error and upon me proved,\nI never writ, nor no man "
    "ever loved.\n";

tsr_status tsri_task_quality_measure(tsr_model *model, tsri_task_gate *gate,
                                     tsri_task_quality *out) {
    const tsri_model *m = tsri_model_of(model);
    *out = (tsri_task_quality){.gate = *gate};
    *gate = (tsri_task_gate){0};
    if (!m->tokenizer || m->spec.encoder.layers)
        return TSR_OK;
    const tsr_perplexity_options options = {.struct_size = sizeof options,
                                            .window = m->spec.context < 256 ? 0 : 256};
    tsr_perplexity found = {.struct_size = sizeof found};
    TRY(tsr_evaluate_perplexity(model, text, sizeof text - 1, &options, &found));
    out->perplexity = found.perplexity;
    return TSR_OK;
}

void tsri_task_quality_clear(tsri_task_quality *quality) {
    tsri_task_gate_clear(&quality->gate);
    quality->perplexity = 0;
}

double tsri_task_quality_cosine(const float *a, const float *b, size_t n) {
    double aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < n; i++) {
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
        ab += (double)a[i] * b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* The mean over the tokens of the gate's prompt. */
static double cosines(const tsri_task_gate *a, const tsri_task_gate *b) {
    const size_t rows = a->encoder ? 1 : TSRI_TASK_GATE_TOKENS, width = (size_t)a->width;
    double sum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += tsri_task_quality_cosine(a->next + i * width, b->next + i * width, width);
    return sum / (double)rows;
}

static double least_of(const char *class_name) {
    return strcmp(class_name, "q4") != 0 ? 0.99 : 0.97;
}

tsr_bench_quality tsri_task_quality_of_cosine(double cosine, const char *class_name) {
    return (tsr_bench_quality){.measure = TSR_BENCH_COSINE,
                               .value = cosine,
                               .f32 = 1,
                               .kept = cosine,
                               .least = least_of(class_name)};
}

tsr_bench_quality tsri_task_quality_compare(const tsri_task_quality *f32,
                                            const tsri_task_quality *got, const char *class_name) {
    if (!(f32->perplexity > 0))
        return tsri_task_quality_of_cosine(cosines(&f32->gate, &got->gate), class_name);
    return (tsr_bench_quality){.measure = TSR_BENCH_PERPLEXITY,
                               .value = got->perplexity,
                               .f32 = f32->perplexity,
                               .kept = f32->perplexity / got->perplexity,
                               .least = least_of(class_name)};
}

void tsri_task_memo_clear(tsri_task_memo *memo) {
    tsri_task_quality_clear(&memo->f32);
    *memo = (tsri_task_memo){0};
}

void tsri_task_memo_begin(tsri_task_memo *memo, const char *name) {
    if (!strcmp(memo->name, name))
        return;
    tsri_task_memo_clear(memo);
    snprintf(memo->name, sizeof memo->name, "%s", name);
}

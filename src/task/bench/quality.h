/* task/bench/quality.h - the second gate: what a dtype costs against f32. */
#ifndef TSRI_TASK_BENCH_QUALITY_H
#define TSRI_TASK_BENCH_QUALITY_H

#include "task/bench/bench.h"

/* What f32 and another dtype of one model are compared by. */
typedef struct tsri_task_quality {
    tsri_task_gate gate;
    double perplexity; /* of a text; 0: the model has no tokenizer, or no decoder alone */
    double bleu;       /* of German sentences in English; 0: the model does not translate them */
} tsri_task_quality;

/* Takes over `gate`, which it leaves empty. */
tsr_status tsri_task_quality_measure(tsr_model *model, tsri_task_gate *gate,
                                     tsri_task_quality *out);
void tsri_task_quality_clear(tsri_task_quality *quality);

/* kept: the share of f32's quality; least: what `class_name` must keep. */
tsr_bench_quality tsri_task_quality_compare(const tsri_task_quality *f32,
                                            const tsri_task_quality *got, const char *class_name);

/* 0 where one of them has no length. */
double tsri_task_quality_cosine(const float *a, const float *b, size_t n);
/* The same from a cosine with f32's results. */
tsr_bench_quality tsri_task_quality_of_cosine(double cosine, const char *class_name);

/* What is known of the model that a run had last. */
struct tsri_task_memo {
    char name[256], hash[65]; /* hash "": not known */
    bool has_f32;
    tsri_task_quality f32;
};
/* Empties it, unless it is about this model. */
void tsri_task_memo_begin(tsri_task_memo *memo, const char *name);
void tsri_task_memo_clear(tsri_task_memo *memo);

#endif

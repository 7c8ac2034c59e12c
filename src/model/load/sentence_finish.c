/* model/load/sentence_finish.c - makes the vector of a text from its hidden states, and applies the steps
 * that follow the pooling. All sums are in double. */
#include "model/load/sentence.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *name;
    int device; /* the tsr_pool of an encoder's own vectors; -1: they have none like it */
} kinds[TSRI_POOLINGS] = {[TSRI_POOLING_FIRST] = {"first", TSR_POOL_FIRST},
                          [TSRI_POOLING_MAX] = {"max", TSR_POOL_MAX},
                          [TSRI_POOLING_MEAN] = {"mean", TSR_POOL_MEAN},
                          [TSRI_POOLING_SQRT_MEAN] = {"sqrt-mean", -1},
                          [TSRI_POOLING_WEIGHTED_MEAN] = {"weighted-mean", -1},
                          [TSRI_POOLING_LAST] = {"last", TSR_POOL_LAST}};

const char *tsri_model_pooling_name(tsri_model_pooling kind) {
    return kinds[kind].name;
}

int tsri_model_sentence_device_pool(const tsri_model_sentence *s, size_t skipped) {
    return s->n_poolings == 1 && !skipped ? kinds[s->poolings[0]].device : -1;
}

void tsri_model_sentence_set_width(tsri_model_sentence *s, int32_t width) {
    s->is_cut = s->cut && s->cut < width;
    s->width = s->is_cut ? s->cut : width;
}

tsr_status tsri_model_sentence_pool_by(tsri_model_sentence *s, const char *name, int32_t width) {
    int kind = strcmp(name, "cls") == 0 ? TSRI_POOLING_FIRST : 0;
    while (kind < TSRI_POOLINGS && strcmp(name, "cls") != 0 && strcmp(name, kinds[kind].name) != 0)
        kind++;
    if (kind == TSRI_POOLINGS)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "there is no pooling \"%s\"; mean, cls, last, max, sqrt-mean and "
                              "weighted-mean are there",
                              name);
    for (int i = 0; i < s->n_steps && s->n_poolings > 1; i++)
        if (s->steps[i].kind != TSRI_STEP_NORMALIZE)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "the model pools in %d ways side by side, and layers behind them "
                                  "need all of these: the pooling %s can't replace them",
                                  s->n_poolings, name);
    if (s->n_poolings > 1)
        tsri_model_sentence_set_width(s, width);
    s->poolings[0] = (tsri_model_pooling)kind;
    s->n_poolings = 1;
    return TSR_OK;
}

/* ---- pooling ---- */

static double weight_of(tsri_model_pooling kind, size_t t) {
    return kind == TSRI_POOLING_WEIGHTED_MEAN ? (double)(t + 1) : 1;
}

/* Column c of rows [n, C] from row `first` on. */
static double pooled(tsri_model_pooling kind, const float *rows, size_t first, size_t n, size_t C,
                     size_t c) {
    double sum = 0, weights = 0, most = rows[first * C + c];
    for (size_t t = first; t < n; t++) {
        const double x = rows[t * C + c], w = weight_of(kind, t);
        sum += w * x;
        weights += w;
        most = x > most ? x : most;
    }
    switch (kind) {
    case TSRI_POOLING_FIRST:
        return rows[first * C + c];
    case TSRI_POOLING_LAST:
        return rows[(n - 1) * C + c];
    case TSRI_POOLING_MAX:
        return most;
    case TSRI_POOLING_SQRT_MEAN:
        return sum / sqrt(weights);
    default:
        return sum / weights;
    }
}

void tsri_model_sentence_pool(const tsri_model_sentence *s, const float *rows, size_t skipped,
                              size_t n, int32_t width, float *out) {
    const size_t C = (size_t)width;
    for (int i = 0; i < s->n_poolings; i++)
        for (size_t c = 0; c < C; c++)
            out[(size_t)i * C + c] =
                skipped < n ? (float)pooled(s->poolings[i], rows, skipped, n, C, c) : 0;
}

/* ---- steps ---- */

static void normalize(float *row, int32_t C) {
    double square = 0;
    for (int32_t c = 0; c < C; c++)
        square += (double)row[c] * (double)row[c];
    const double norm = sqrt(square), scale = 1 / (norm > 1e-12 ? norm : 1e-12);
    for (int32_t c = 0; c < C; c++)
        row[c] = (float)(row[c] * scale);
}

static void layer_norm(const tsri_model_step *step, float *row) {
    const int32_t C = step->in;
    double mean = 0, variance = 0;
    for (int32_t c = 0; c < C; c++)
        mean += row[c];
    mean /= C;
    for (int32_t c = 0; c < C; c++)
        variance += (row[c] - mean) * (row[c] - mean);
    const double scale =
        1 / sqrt(variance / C + 1e-5); /* PyTorch's own eps: no file names another */
    for (int32_t c = 0; c < C; c++)
        row[c] = (float)((row[c] - mean) * scale * (double)step->weight[c] + (double)step->bias[c]);
}

static double product(const float *weight, const float *x, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += (double)weight[i] * (double)x[i];
    return sum;
}

static void dense(const tsri_model_step *step, const float *x, float *y) {
    for (int32_t o = 0; o < step->out; o++) {
        const size_t at = (size_t)o * (size_t)step->in;
        const double bias = step->bias ? step->bias[o] : 0,
                     value = step->activation(product(step->weight + at, x, step->in) + bias),
                     residual = !step->adds      ? 0
                                : step->residual ? product(step->residual + at, x, step->in)
                                                 : x[o];
        y[o] = (float)(value + residual);
    }
}

/* Applies the steps to one row in *now; *next has room for the results of each step. */
static void apply(const tsri_model_sentence *s, int32_t C, float **now, float **next) {
    for (int i = 0; i < s->n_steps; i++) {
        const tsri_model_step *step = &s->steps[i];
        if (step->kind == TSRI_STEP_NORMALIZE) {
            normalize(*now, C);
        } else if (step->kind == TSRI_STEP_LAYER_NORM) {
            layer_norm(step, *now);
        } else {
            dense(step, *now, *next);
            float *const other = *now;
            *now = *next;
            *next = other;
            C = step->out;
        }
    }
}

tsr_status tsri_model_sentence_finish(const tsri_model_sentence *s, const float *rows, size_t n,
                                      int32_t width, float *out) {
    const size_t last = (size_t)s->width;
    int32_t most = width;
    float *now = NULL, *next = NULL;
    for (int i = 0; i < s->n_steps; i++)
        most = s->steps[i].out > most ? s->steps[i].out : most;
    tsr_status status = tsri_base_new((size_t)most, sizeof *now, &now);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)most, sizeof *next, &next);
    for (size_t row = 0; status == TSR_OK && row < n; row++) {
        memcpy(now, rows + row * (size_t)width, (size_t)width * sizeof *now);
        apply(s, width, &now, &next);
        memcpy(out + row * last, now, last * sizeof *out);
    }
    free(now);
    free(next);
    return status;
}

/* train/data/mask.c - BERT's masking: of the tokens chosen, 8 of 10 become the mask token, 1
 * becomes a token drawn from the vocabulary, and 1 stays; the targets are the original tokens. A
 * draw is a function of (seed, number of the row over all batches, position).
 * source  Devlin et al. 2018, arXiv:1810.04805, A.1 */
#include "base/random.h"
#include "train/data/data_parts.h"

#define MASK_KEY 0x6D61736B65640001u

static double share_of(uint32_t bits) {
    return bits * 0x1p-32;
}

static void replace(const tsri_train_data *d, const uint32_t bits[4], int32_t *id,
                    int32_t *target) {
    const double what = share_of(bits[1]);
    const int32_t pieces = tsri_text_vocabulary_size(d->encoder.model->tokenizer),
                  vocab = d->encoder.model->spec.vocab;
    *target = *id;
    if (what < 0.8)
        *id = d->encoder.mask;
    else if (what < 0.9)
        *id = (int32_t)((uint64_t)bits[2] * (uint64_t)(pieces < vocab ? pieces : vocab) >> 32);
}

static uint64_t key_of(const tsri_train_data *d) {
    return d->options.seed ^ MASK_KEY ^ (d->is_held ? (uint64_t)1 << 63 : 0);
}

size_t tsri_train_mask_row(const tsri_train_data *d, uint64_t draw, int32_t *ids, int32_t *targets,
                           int32_t n) {
    size_t chosen = 0;
    for (int32_t i = 0; i < n; i++) {
        uint32_t bits[4];
        if (tsri_text_is_special(d->encoder.model->tokenizer, ids[i]))
            continue;
        tsri_base_philox(key_of(d), draw, (uint64_t)i, bits);
        if (share_of(bits[0]) >= d->options.mask_probability)
            continue;
        replace(d, bits, &ids[i], &targets[i]);
        chosen++;
    }
    return chosen;
}

void tsri_train_mask_one(const tsri_train_data *d, uint64_t draw, int32_t *ids, int32_t *targets,
                         const int32_t *len, int32_t B, int32_t T) {
    uint64_t candidates = 0, at;
    uint32_t bits[4];
    const tsri_text_tokenizer *t = d->encoder.model->tokenizer;
    for (int32_t b = 0; b < B; b++)
        for (int32_t i = 0; i < len[b]; i++)
            candidates += !tsri_text_is_special(t, ids[b * T + i]);
    tsri_base_philox(key_of(d), draw, UINT64_MAX, bits);
    at = candidates ? (uint64_t)bits[3] * candidates >> 32 : 0;
    for (int32_t b = 0; b < B; b++)
        for (int32_t i = 0; i < len[b]; i++)
            if ((!candidates || !tsri_text_is_special(t, ids[b * T + i])) && at-- == 0) {
                replace(d, bits, &ids[b * T + i], &targets[b * T + i]);
                return;
            }
}

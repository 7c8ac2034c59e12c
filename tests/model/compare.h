/* tests/model/compare.h - golden batches, reduced to their visible tokens, and golden arrays. */
#ifndef TESTS_MODEL_COMPARE_H
#define TESTS_MODEL_COMPARE_H

#include "model/fixture.h"

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { MOST_TOKENS = 512, MOST_BATCH = 8 };

/* The visible tokens of a padded batch. */
typedef struct batch {
    int32_t ids[MOST_BATCH][MOST_TOKENS], positions[MOST_BATCH][MOST_TOKENS],
        types[MOST_BATCH][MOST_TOKENS];
    int64_t place[MOST_BATCH][MOST_TOKENS]; /* column in the padded batch */
    tsri_model_sequence sequences[MOST_BATCH];
    int32_t B;
    int64_t T, tokens;
} batch;

/* Reads the rows of `ids` where `mask` is not 0; either key may be missing. */
void read_batch(const json_t *object, const char *ids, const char *mask, batch *batch);

typedef struct expected {
    float *data;
    const tsri_io_array *array;
    double largest;
} expected;
bool read_expected(const tsri_io_archive *archive, const char *name, expected *out);

/* |got - want| <= 1e-6 + 5e-5 max |want|: float32 sums in any order, and fast exp and tanh, stay
 * within this. */
void compare_row(const char *name, const expected *want, uint64_t at, const float *got, int64_t n);
void compare_tokens(const tsri_io_archive *archive, const char *name, const batch *batch,
                    const float *got, int64_t width);
/* Compares one row for each sequence, made from its first token: padding there means nothing. */
void compare_sequences(const tsri_io_archive *archive, const char *name, const batch *batch,
                       const float *got, int64_t width);
/* Compares golden probabilities [B,H,T,S] with ours, [H,n,m] for each sequence; only some cases
 * have them. */
void compare_attention(const tsri_io_archive *archive, const char *name, const batch *queries,
                       const batch *keys, const float *got, int64_t H);

#endif

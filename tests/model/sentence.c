/* What a GGUF file says of its vectors: pooling, and the dense layers of EmbeddingGemma. */
#include "model/load/sentence.h"
#include "base/error.h"
#include "io/archive.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char path[] = TESSERA_SOURCE_DIR "/tests/golden/models/gemma-embedding/model.gguf";

enum { WIDTH = 24, INNER = 10, OUT = 6 };

static void read_matrix(const tsri_io_archive *archive, const char *name, size_t n, float *out) {
    const tsri_io_array *a = tsri_io_find(archive, name);
    cr_assert(a && a->elements == n, "%s", name);
    cr_assert_eq(tsri_io_read_as(archive, a, TSR_F32, 0, n, out), TSR_OK);
}

Test(sentence, dense_layers_of_a_gguf_file) {
    tsri_io_archive *archive = NULL;
    tsri_model_sentence s;
    float first[INNER * WIDTH], second[OUT * INNER], rows[2 * WIDTH], got[2 * OUT];
    cr_assert_eq(tsri_io_open(path, &archive), TSR_OK, "%s", tsri_base_reported());
    cr_assert_eq(tsri_model_sentence_read(archive, path, false, WIDTH, 48, &s), TSR_OK, "%s",
                 tsri_base_reported());
    cr_assert(s.found && s.width == OUT && s.n_steps == 3);
    cr_expect(tsri_model_sentence_device_pool(&s, 0) == TSR_POOL_MEAN);
    read_matrix(archive, "dense_2.weight", INNER * WIDTH, first);
    read_matrix(archive, "dense_3.weight", OUT * INNER, second);
    for (int i = 0; i < 2 * WIDTH; i++)
        rows[i] = (float)(i % 7) - 2.5f;
    cr_assert_eq(tsri_model_sentence_finish(&s, rows, 2, WIDTH, got), TSR_OK);
    for (int row = 0; row < 2; row++) {
        double wanted[OUT] = {0}, square = 0;
        for (int o = 0; o < OUT; o++) {
            for (int k = 0; k < INNER; k++)
                for (int i = 0; i < WIDTH; i++)
                    wanted[o] += (double)second[o * INNER + k] * (double)first[k * WIDTH + i] *
                                 (double)rows[row * WIDTH + i];
            square += wanted[o] * wanted[o];
        }
        for (int o = 0; o < OUT; o++)
            cr_expect_float_eq(got[row * OUT + o], wanted[o] / sqrt(square), 1e-6);
    }
    tsri_model_sentence_clear(&s);
    tsri_io_close(&archive);
}

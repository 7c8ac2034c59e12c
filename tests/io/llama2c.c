/* llama2.c's files, of both versions. */
#include "io/forge.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(llama2c, .init = forge_folder, .fini = forge_clean);

/* dim 8, hidden_dim 12, 2 layers, 4 heads, 2 key heads, vocabulary 5, context 6: heads of 2 */
static const int32_t sizes[7] = {8, 12, 2, 4, 2, 5, 6};

/* Layers of: norm 8, q 64, k 32, v 32, o 64, norm 8, three of 96; besides these, embedding 40 and
 * norm 8. */
enum { COMMON = 2 * (8 + 64 + 32 + 32 + 64 + 8 + 3 * 96) + 40 + 8, ANGLES = 6 * 2, HEAD = 40 };

/* Floats 0, 1, 2, ..., so that a value gives its place in the file. */
static void floats(tsri_bytes *file, int n) {
    for (int i = 0; i < n; i++) {
        const float x = (float)i;
        forge_put(file, &x, sizeof x);
    }
}

static void legacy(tsri_bytes *file, bool shared) {
    forge_put(file, sizes, sizeof sizes);
    if (!shared) {
        const int32_t vocab = -sizes[5];
        memcpy(file->data + 20, &vocab, sizeof vocab);
    }
    floats(file, COMMON + ANGLES + (shared ? 0 : HEAD));
}

static void version1(tsri_bytes *file, bool shared) {
    forge_u32(file, 0x616b3432);
    forge_u32(file, 1);
    forge_put(file, sizes, sizeof sizes);
    forge_put(file, shared ? "\1" : "\0", 1);
    forge_zeros(file, 256 - file->size);
    floats(file, COMMON + (shared ? 0 : HEAD));
}

typedef struct place {
    const char *name;
    int legacy, version1; /* the first number of the array */
    int64_t rows, columns;
} place;

static const place places[] = {
    {"model.embed_tokens.weight", 0, 40, 5, 8},
    {"model.layers.0.input_layernorm.weight", 40, 0, 8, 0},
    {"model.layers.1.input_layernorm.weight", 48, 8, 8, 0},
    {"model.layers.0.self_attn.q_proj.weight", 56, 80, 8, 8},
    {"model.layers.1.self_attn.q_proj.weight", 120, 144, 8, 8},
    {"model.layers.0.self_attn.k_proj.weight", 184, 208, 4, 8},
    {"model.layers.1.self_attn.k_proj.weight", 216, 240, 4, 8},
    {"model.layers.1.self_attn.v_proj.weight", 280, 304, 4, 8},
    {"model.layers.0.self_attn.o_proj.weight", 312, 336, 8, 8},
    {"model.layers.0.post_attention_layernorm.weight", 440, 16, 8, 0},
    {"model.layers.0.mlp.gate_proj.weight", 456, 464, 12, 8},
    {"model.layers.0.mlp.down_proj.weight", 648, 656, 8, 12},
    {"model.layers.1.mlp.up_proj.weight", 936, 944, 12, 8},
    {"model.norm.weight", 1032, 32, 8, 0},
    {"lm_head.weight", COMMON + ANGLES, COMMON, 5, 8},
};

static void expect_places(const char *path, bool old, bool shared) {
    tsri_io_archive *a = NULL;
    cr_assert_eq(tsri_io_open(path, &a), TSR_OK, "%s", tsri_base_reported());
    cr_expect_eq(a->n_arrays, shared ? 20 : 21);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const tsri_io_array *array = tsri_io_find(a, places[i].name);
        if (shared && i + 1 == sizeof places / sizeof *places) {
            cr_expect_null(array);
            continue;
        }
        float first = -1;
        cr_assert_not_null(array, "%s", places[i].name);
        cr_assert_eq(tsri_io_read(a, array, 0, 4, &first), TSR_OK);
        cr_expect_eq(first, (float)(old ? places[i].legacy : places[i].version1), "%s begins at %g",
                     array->name, (double)first);
        cr_expect(array->rank == (places[i].columns ? 2 : 1) && array->dims[0] == places[i].rows &&
                      array->dims[1] == places[i].columns,
                  "%s", array->name);
    }
    int64_t vocab = 0, version = -1;
    bool tied = !shared;
    cr_expect(tsri_io_meta_int(a, "vocab_size", 1, 100, &vocab) == TSR_OK && vocab == 5);
    cr_expect(tsri_io_meta_int(a, "version", 0, 1, &version) == TSR_OK && version == !old);
    cr_expect(tsri_io_meta_bool(a, "shared_classifier", &tied) == TSR_OK && tied == shared);
    cr_expect_eq(tsri_io_meta_int(a, "vocab_size", 6, 100, &vocab), TSR_E_FORMAT);
    cr_expect_not_null(
        strstr(tsri_base_reported(), "\"vocab_size\" is 5; it must be from 6 to 100"));
    cr_expect_eq(tsri_io_meta_bool(a, "dim", &tied), TSR_E_FORMAT);
    tsri_io_close(&a);
}

Test(llama2c, both_versions_give_the_same_names_from_their_own_places) {
    for (int shared = 0; shared < 2; shared++) {
        tsri_bytes file = {0};
        legacy(&file, shared);
        forge_file("m.bin", file.data, file.size);
        expect_places("m.bin", true, shared);
        tsri_base_bytes_clear(&file);
        version1(&file, shared);
        forge_file("m.bin", file.data, file.size);
        expect_places("m.bin", false, shared);
        tsri_base_bytes_clear(&file);
    }
}

/* Seven numbers of a legacy header, one of them bad; if that is plausible, the file's size refuses
 * it. */
Test(llama2c, each_bad_header_has_its_sentence) {
    static const struct {
        int field;
        int32_t value;
        const char *fragment;
    } rows[] = {
        {0, 0, "dim must be"},
        {0, 1 << 21, "dim must be"},
        {1, 0, "hidden_dim must be"},
        {2, 0, "n_layers must be"},
        {2, 1025, "n_layers must be"},
        {3, 0, "n_heads must divide"},
        {3, 3, "n_heads must divide"},
        {3, 8, "heads of an even size"},
        {4, 0, "n_kv_heads must divide"},
        {4, 3, "n_kv_heads must divide"},
        {5, 0, "vocab_size must be"},
        {5, 1 << 25, "vocab_size must be"},
        {5, -5, "vocab_size must be"},
        {6, 0, "seq_len must be"},
        {6, INT32_MAX, "seq_len must be"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes file = {0};
        version1(&file, true);
        memcpy(file.data + 8 + 4 * rows[i].field, &rows[i].value, 4);
        forge_file("m.bin", file.data, file.size);
        forge_refused("m.bin", TSR_E_FORMAT, rows[i].fragment, "42");
        tsri_base_bytes_clear(&file);
    }
    tsri_bytes file = {0};
    version1(&file, true);
    file.data[36] = 2;
    forge_file("m.bin", file.data, file.size);
    forge_refused("m.bin", TSR_E_FORMAT, "flag must be 0 or 1", "42");
    file.data[4] = 2;
    forge_file("m.bin", file.data, file.size);
    forge_refused("m.bin", TSR_E_UNSUPPORTED, "version 2 (int8, q80)", "version 2");
    tsri_base_bytes_clear(&file);
}

Test(llama2c, a_size_that_is_not_exactly_the_headers_is_refused) {
    tsri_bytes file = {0};
    legacy(&file, true);
    forge_zeros(&file, 4);
    forge_file("m.bin", file.data, file.size);
    forge_refused("m.bin", TSR_E_FORMAT,
                  "has 4240 bytes; a llama2.c checkpoint with its header (dim 8, 2 layers, "
                  "vocabulary 5) has 4236",
                  "17");
    tsri_base_bytes_clear(&file);
}

Test(llama2c, cut_off_anywhere_it_never_crashes) {
    tsri_bytes file = {0};
    version1(&file, false);
    file.size = 400; /* the rest is no different */
    forge_cut("m.bin", &file);
    tsri_base_bytes_clear(&file);
    legacy(&file, true);
    forge_cut("m.bin", &file);
    tsri_base_bytes_clear(&file);
}

Test(llama2c, changed_anywhere_in_its_header_it_never_crashes) {
    tsri_bytes file = {0};
    legacy(&file, true);
    forge_change("m.bin", &file, 40);
    tsri_base_bytes_clear(&file);
}

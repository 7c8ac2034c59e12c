/* CTranslate2's model.bin: versions 1 to 6, types, scales, and files that are cut off or changed. */
#include "io/forge.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(ctranslate2, .init = forge_folder, .fini = forge_clean);

static void text(tsri_bytes *file, const char *value) {
    const uint16_t n = (uint16_t)(strlen(value) + 1);
    forge_put(file, &n, sizeof n);
    forge_put(file, value, n);
}

static void head(tsri_bytes *file, uint32_t version, uint32_t variables) {
    forge_u32(file, version);
    text(file, "TransformerSpec");
    forge_u32(file, 7);
    forge_u32(file, variables);
}

/* A variable of up to two dims (0: absent), as versions from 4 on write it. */
static void variable(tsri_bytes *file, const char *name, unsigned char type, uint32_t rows,
                     uint32_t columns, const void *data, uint32_t bytes) {
    const unsigned char rank = (unsigned char)((rows > 0) + (columns > 0));
    text(file, name);
    forge_put(file, &rank, 1);
    if (rows)
        forge_u32(file, rows);
    if (columns)
        forge_u32(file, columns);
    forge_put(file, &type, 1);
    forge_u32(file, bytes);
    forge_put(file, data, bytes);
}

static const int8_t bytes[6] = {127, -127, 0, 5, -10, 1};
static const int16_t shorts[4] = {1024, -512, 1, 0};
static const float scales[2] = {127, 0.5f}, scale = 1024;
static const float gamma_of[2] = {1.5f, -2};

enum { VARIABLES = 9 };
static void whole(tsri_bytes *file) {
    const int16_t heads = 8;
    const int8_t yes = 1;
    const uint16_t half = 0x3c00; /* 1 as a half */
    const float one = 2.5f;
    head(file, 6, VARIABLES);
    variable(file, "decoder/projection/weight", 1, 2, 3, bytes, sizeof bytes);
    variable(file, "decoder/projection/weight_scale", 0, 2, 0, scales, sizeof scales);
    variable(file, "decoder/layer_0/ffn/linear_0/weight", 2, 2, 2, shorts, sizeof shorts);
    variable(file, "decoder/layer_0/ffn/linear_0/weight_scale", 0, 0, 0, &scale, sizeof scale);
    variable(file, "decoder/layer_norm/gamma", 0, 2, 0, gamma_of, sizeof gamma_of);
    variable(file, "decoder/num_heads", 2, 0, 0, &heads, sizeof heads);
    variable(file, "decoder/pre_norm", 1, 0, 0, &yes, sizeof yes);
    variable(file, "decoder/scale_embeddings", 0, 0, 0, &one, sizeof one);
    variable(file, "decoder/half", 4, 0, 0, &half, sizeof half);
    forge_u32(file, 1);
    text(file, "encoder/embeddings/weight");
    text(file, "decoder/projection/weight");
}

static void expect_floats(const tsri_io_archive *a, const char *name, int rank, size_t n,
                          const float *wanted) {
    const tsri_io_array *array = tsri_io_find(a, name);
    float got[8];
    cr_assert_not_null(array, "%s", name);
    cr_expect_eq(array->rank, rank);
    cr_assert_eq(array->elements, n);
    for (size_t first = 0; first < n; first++) { /* from each element to the end */
        cr_assert_eq(tsri_io_read_as(a, array, TSR_F32, first, n - first, got), TSR_OK, "%s",
                     tsri_base_reported());
        for (size_t i = first; i < n; i++)
            cr_expect_eq(got[i - first], wanted[i], "%s[%zu] is %g", name, i,
                         (double)got[i - first]);
    }
}

Test(ctranslate2, weights_are_divided_by_their_scale_and_scalars_are_metadata) {
    static const float per_row[6] = {1, -1, 0, 10, -20, 2},
                       whole_scale[4] = {1, -0.5f, 1 / 1024.0f, 0};
    tsri_bytes file = {0};
    tsri_io_archive *a = NULL;
    tsri_io_format format;
    int64_t heads = 0, pre_norm = 0, revision = 0;
    double scale_embeddings = 0, half = 0;
    const char *spec = NULL;
    whole(&file);
    forge_file("model.bin", file.data, file.size);
    cr_assert_eq(tsri_io_detect("model.bin", &format), TSR_OK);
    cr_expect_eq(format, TSRI_IO_CTRANSLATE2);
    cr_assert_eq(tsri_io_detect(".", &format), TSR_OK);
    cr_expect_eq(format, TSRI_IO_FOLDER);
    cr_assert_eq(tsri_io_open(".", &a), TSR_OK, "%s", tsri_base_reported());
    cr_expect_eq(a->format, TSRI_IO_CTRANSLATE2);
    cr_expect_eq(a->n_arrays, 4);
    expect_floats(a, "decoder.projection.weight", 2, 6, per_row);
    expect_floats(a, "encoder.embeddings_0.weight", 2, 6, per_row);
    expect_floats(a, "decoder.layer_0.ffn.linear_0.weight", 2, 4, whole_scale);
    expect_floats(a, "decoder.layer_norm.weight", 1, 2, gamma_of);
    cr_expect_eq(tsri_io_find(a, "encoder.embeddings_0.weight")->offset,
                 tsri_io_find(a, "decoder.projection.weight")->offset);
    cr_expect(tsri_io_meta_int(a, "decoder/num_heads", 1, 100, &heads) == TSR_OK && heads == 8);
    cr_expect(tsri_io_meta_int(a, "decoder/pre_norm", 0, 1, &pre_norm) == TSR_OK && pre_norm == 1);
    cr_expect(tsri_io_meta_int(a, "revision", 0, 9, &revision) == TSR_OK && revision == 7);
    cr_expect(tsri_io_meta_real(a, "decoder/scale_embeddings", 0, 9, &scale_embeddings) == TSR_OK &&
              scale_embeddings == 2.5);
    cr_expect(tsri_io_meta_real(a, "decoder/half", 0, 9, &half) == TSR_OK && half == 1);
    cr_expect(tsri_io_meta_text(a, "spec", &spec, NULL) == TSR_OK &&
              strcmp(spec, "TransformerSpec") == 0);
    tsri_io_close(&a);
    tsri_base_bytes_clear(&file);
}

/* Version 1 has no head, and in revision 1 of an encoder-decoder variables had OpenNMT-tf's names. */
Test(ctranslate2, the_first_version_and_the_first_names) {
    static const struct {
        const char *then, *now;
    } names[] = {{"transformer/encoder/w_embs:0", "encoder.embeddings_0.weight"},
                 {"transformer/decoder/w_embs:0", "decoder.embeddings.weight"},
                 {"transformer/decoder/dense/kernel:0", "decoder.projection.weight"},
                 {"transformer/decoder/dense/bias:0", "decoder.projection.bias"},
                 {"transformer/encoder/LayerNorm/gamma:0", "encoder.layer_norm.weight"},
                 {"transformer/encoder/layer_10/multi_head/conv1d/kernel:0",
                  "encoder.layer_10.self_attention.linear_0.weight"},
                 {"transformer/encoder/layer_1/multi_head/LayerNorm/beta:0",
                  "encoder.layer_1.self_attention.layer_norm.bias"},
                 {"transformer/decoder/layer_1/masked_multi_head/conv1d_1/bias:0",
                  "decoder.layer_1.self_attention.linear_1.bias"},
                 {"transformer/decoder/layer_1/multi_head/conv1d_2/kernel:0",
                  "decoder.layer_1.attention.linear_2.weight"},
                 {"encoder/layer_0/ffn/linear_1/weight", "encoder.layer_0.ffn.linear_1.weight"}};
    enum { NAMES = sizeof names / sizeof *names };
    static const struct {
        const char *spec; /* NULL: version 1 */
        const char *stored;
        bool renamed;
    } kinds[] = {{NULL, "TransformerBase", true},
                 {"TransformerBase", "TransformerBase", true},
                 {"TransformerBig", "TransformerBig", true},
                 {"TransformerSpec", "TransformerSpec", true},
                 {"TransformerDecoderSpec", "TransformerDecoderSpec", false}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tsri_bytes file = {0};
        tsri_io_archive *a = NULL;
        tsri_io_format format;
        const char *spec = NULL;
        int64_t revision = 0;
        forge_u32(&file, kinds[k].spec ? 2 : 1);
        if (kinds[k].spec) {
            text(&file, kinds[k].spec);
            forge_u32(&file, 1);
        }
        forge_u32(&file, NAMES);
        for (size_t i = 0; i < NAMES; i++) {
            text(&file, names[i].then);
            forge_put(&file, "\1\2\0\0\0\4", 6);
            forge_u32(&file, 2);
            forge_put(&file, gamma_of, sizeof gamma_of);
        }
        forge_file("model.bin", file.data, file.size);
        cr_assert_eq(tsri_io_detect("model.bin", &format), TSR_OK);
        cr_expect_eq(format, TSRI_IO_CTRANSLATE2);
        cr_assert_eq(tsri_io_open("model.bin", &a), TSR_OK, "%s", tsri_base_reported());
        cr_expect_eq(a->n_arrays, NAMES);
        for (size_t i = 0; i < NAMES && kinds[k].renamed; i++)
            expect_floats(a, names[i].now, 1, 2, gamma_of);
        cr_expect_eq(tsri_io_find(a, names[0].now) != NULL, kinds[k].renamed);
        cr_expect(tsri_io_meta_text(a, "spec", &spec, NULL) == TSR_OK &&
                  strcmp(spec, kinds[k].stored) == 0);
        cr_expect(tsri_io_meta_int(a, "revision", 0, 9, &revision) == TSR_OK && revision == 1);
        tsri_io_close(&a);
        if (!kinds[k].spec) {
            forge_cut("model.bin", &file);
            forge_change("model.bin", &file, 200);
        }
        tsri_base_bytes_clear(&file);
    }
}

/* Names that become one, and one of which nothing is left. */
Test(ctranslate2, bad_old_names_are_refused) {
    static const struct {
        const char *names[2], *fragment;
    } rows[] = {{{"transformer/encoder/w_embs:0", "encoder/embeddings/weight"}, "occurs twice"},
                {{"transformer/:0", "encoder/w_embs"}, "the name \"transformer/:0\" before byte"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes file = {0};
        forge_u32(&file, 1);
        forge_u32(&file, 2);
        for (size_t n = 0; n < 2; n++) {
            text(&file, rows[i].names[n]);
            forge_put(&file, "\1\2\0\0\0\4", 6);
            forge_u32(&file, 2);
            forge_put(&file, gamma_of, sizeof gamma_of);
        }
        forge_file("model.bin", file.data, file.size);
        forge_refused("model.bin", TSR_E_FORMAT, rows[i].fragment, rows[i].fragment);
        tsri_base_bytes_clear(&file);
    }
}

/* Versions 2 and 3 give the bytes of an item instead of its type, and version 2 has no aliases. */
Test(ctranslate2, old_versions_tell_types_by_their_size) {
    for (uint32_t version = 2; version <= 3; version++) {
        tsri_bytes file = {0};
        tsri_io_archive *a = NULL;
        int64_t heads = 0;
        head(&file, version, 2);
        text(&file, "encoder/layer_norm/beta");
        forge_put(&file, "\1\2\0\0\0\4", 6);
        forge_u32(&file, 2);
        forge_put(&file, gamma_of, sizeof gamma_of);
        text(&file, "num_heads");
        forge_put(&file, "\0\1\1\0\0\0\10", 7);
        if (version == 3)
            forge_u32(&file, 0);
        forge_file("model.bin", file.data, file.size);
        cr_assert_eq(tsri_io_open("model.bin", &a), TSR_OK, "%s", tsri_base_reported());
        expect_floats(a, "encoder.layer_norm.bias", 1, 2, gamma_of);
        cr_expect(tsri_io_meta_int(a, "num_heads", 1, 100, &heads) == TSR_OK && heads == 8);
        tsri_io_close(&a);
        forge_cut("model.bin", &file);
        tsri_base_bytes_clear(&file);
    }
}

Test(ctranslate2, a_scale_that_is_no_divisor_is_refused_where_it_is_read) {
    static const float bad[] = {0, -1, INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const float row_scales[2] = {1, bad[i]};
        float out[6];
        tsri_bytes file = {0};
        tsri_io_archive *a = NULL;
        head(&file, 6, 2);
        variable(&file, "w", 1, 2, 3, bytes, sizeof bytes);
        variable(&file, "w_scale", 0, 2, 0, row_scales, sizeof row_scales);
        forge_u32(&file, 0);
        forge_file("model.bin", file.data, file.size);
        cr_assert_eq(tsri_io_open("model.bin", &a), TSR_OK, "%s", tsri_base_reported());
        const tsri_io_array *w = tsri_io_find(a, "w");
        cr_expect_eq(tsri_io_read_as(a, w, TSR_F32, 0, 3, out), TSR_OK);
        cr_expect_eq(tsri_io_read_as(a, w, TSR_F32, 2, 2, out), TSR_E_FORMAT);
        cr_expect_not_null(strstr(tsri_base_reported(), "the scale of row 1 of tensor \"w\" is"));
        tsri_io_close(&a);
        tsri_base_bytes_clear(&file);
    }
}

Test(ctranslate2, each_bad_file_has_its_sentence) {
    static const struct {
        const char *fragment;
        uint32_t version, variables, aliases;
        unsigned char type;
        uint32_t bytes;
        const char *name, *alias, *after;
    } rows[] = {
        {"binary version 7; versions 1 to 6", 7, 1, 0, 0, 8, "a", NULL, NULL},
        {"its number of variables is 4294967295;", 6, UINT32_MAX, 0, 0, 8, "a", NULL, NULL},
        {"its number of aliases is 9;", 6, 1, 9, 0, 8, "a", NULL, NULL},
        {"has type 6, which CTranslate2 does not define", 6, 1, 0, 6, 8, "a", NULL, NULL},
        {"has type 255, which CTranslate2 does not define", 6, 1, 0, 255, 8, "a", NULL, NULL},
        {"variable \"a\" has 4 bytes of data; its dims need 2 elements of 4", 6, 1, 0, 0, 4, "a",
         NULL, NULL},
        {"variable \"a\" has 8 bytes of data; its dims need 2 elements of 1", 6, 1, 0, 1, 8, "a",
         NULL, NULL},
        {"the name of a variable before byte", 6, 1, 0, 0, 8, "", NULL, NULL},
        {"\"b\" is an alias of \"c\", which is not in the file", 6, 1, 1, 0, 8, "a", "c", NULL},
        {"tensor \"b\" occurs twice", 6, 1, 1, 0, 8, "b", "b", NULL},
        {"continues for 2 bytes after its last", 6, 1, 0, 0, 8, "a", NULL, "x"},
        {"ends inside the name of a variable", 6, 2, 0, 0, 8, "a", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes file = {0};
        head(&file, rows[i].version, rows[i].variables);
        variable(&file, rows[i].name, rows[i].type, 2, 0, gamma_of, rows[i].bytes);
        if (rows[i].variables == 1)
            forge_u32(&file, rows[i].aliases);
        if (rows[i].alias) {
            text(&file, "b");
            text(&file, rows[i].alias);
        }
        if (rows[i].after)
            forge_put(&file, rows[i].after, 2);
        forge_file("model.bin", file.data, file.size);
        forge_refused("model.bin", rows[i].version == 7 ? TSR_E_UNSUPPORTED : TSR_E_FORMAT,
                      rows[i].fragment, rows[i].fragment);
        tsri_base_bytes_clear(&file);
    }
    tsri_bytes file = {0};
    head(&file, 6, 2);
    variable(&file, "w", 1, 2, 3, bytes, sizeof bytes);
    variable(&file, "w_scale", 4, 2, 0, scales, 4);
    forge_u32(&file, 0);
    forge_file("model.bin", file.data, file.size);
    forge_refused("model.bin", TSR_E_FORMAT, "\"w_scale\" is float16 of 2 elements; float32 is",
                  "scale");
    tsri_base_bytes_clear(&file);
}

Test(ctranslate2, cut_off_anywhere_it_never_crashes) {
    tsri_bytes file = {0};
    whole(&file);
    forge_cut("model.bin", &file);
    tsri_base_bytes_clear(&file);
}

Test(ctranslate2, changed_anywhere_it_never_crashes) {
    tsri_bytes file = {0};
    whole(&file);
    forge_change("model.bin", &file, file.size);
    tsri_base_bytes_clear(&file);
}

/* GGUF: metadata, tensors and blocks, and files that are cut off or changed. */
#include "io/forge.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(gguf, .init = forge_folder, .fini = forge_clean);

static const uint64_t eight[] = {8}, rows32[] = {32, 2};

/* Bad files, each made by a function that appends to an empty file. */
#define CASE(name) static void name(tsri_bytes *f)

CASE(bad_magic) {
    forge_put(f, "GGUX\3\0\0\0", 8);
    forge_zeros(f, 16);
}
CASE(version_0) {
    forge_gguf(f, 0, 0, 0);
}
CASE(version_1) {
    forge_gguf(f, 1, 0, 0);
}
CASE(version_4) {
    forge_gguf(f, 4, 0, 0);
}
CASE(big_endian) {
    forge_gguf(f, 3u << 24, 0, 0);
}
CASE(many_keys) {
    forge_gguf(f, 3, 0, UINT64_C(1) << 62);
}
CASE(many_tensors) {
    forge_gguf(f, 3, UINT64_MAX, 0);
}
CASE(tensors_beyond_file) {
    forge_gguf(f, 3, 3, 0);
    forge_zeros(f, 60);
}
CASE(long_text) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 8);
    forge_u64(f, UINT64_C(1) << 63);
}
CASE(text_past_end) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 8);
    forge_u64(f, 9);
    forge_zeros(f, 8);
}
CASE(long_key) {
    forge_gguf(f, 3, 0, 1);
    forge_u64(f, UINT64_C(1) << 63);
    forge_zeros(f, 8);
}
CASE(list_of_lists) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 9);
    forge_u32(f, 9);
    forge_u64(f, 0);
}
CASE(list_2_62) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 9);
    forge_u32(f, 0);
    forge_u64(f, UINT64_C(1) << 62);
}
CASE(list_past_end) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 9);
    forge_u32(f, 4);
    forge_u64(f, 3);
    forge_zeros(f, 11);
}
CASE(texts_past_end) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 9);
    forge_u32(f, 8);
    forge_u64(f, 2);
    forge_zeros(f, 15);
}
CASE(key_type) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 13);
    forge_u64(f, 0);
}
CASE(item_type) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 9);
    forge_u32(f, 77);
    forge_u64(f, 0);
}
CASE(bool_2) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 7);
    forge_put(f, "\2", 1);
}
CASE(bools_2) {
    forge_gguf(f, 3, 0, 1);
    forge_key(f, "k", 9);
    forge_u32(f, 7);
    forge_u64(f, 2);
    forge_put(f, "\1\2", 2);
}
CASE(keys_twice) {
    forge_gguf(f, 3, 0, 2);
    forge_kv_u32(f, "k", 1);
    forge_kv_u32(f, "k", 2);
}
CASE(empty_key) {
    forge_gguf(f, 3, 0, 1);
    forge_kv_u32(f, "", 1);
}
CASE(nul_key) {
    forge_gguf(f, 3, 0, 1);
    forge_u64(f, 3);
    forge_put(f, "a\0b", 3);
    forge_u32(f, 4);
    forge_u32(f, 1);
}
CASE(alignment_0) {
    forge_gguf(f, 3, 0, 1);
    forge_kv_u32(f, "general.alignment", 0);
}
CASE(alignment_33) {
    forge_gguf(f, 3, 0, 1);
    forge_kv_u32(f, "general.alignment", 33);
}
CASE(alignment_huge) {
    forge_gguf(f, 3, 0, 1);
    forge_kv_u32(f, "general.alignment", 1u << 31);
}
CASE(alignment_text) {
    forge_gguf(f, 3, 0, 1);
    forge_kv_text(f, "general.alignment", "32");
}
CASE(alignment_u16) {
    forge_gguf(f, 3, 0, 1);
    forge_kv_u16(f, "general.alignment", 32);
}

/* Two tensors a and b of type f32 [8]; b is the one that varies. */
static void second(tsri_bytes *f, const char *name, uint32_t type, uint64_t offset, uint32_t rank,
                   const uint64_t *dims, size_t data) {
    forge_gguf(f, 3, 2, 0);
    forge_tensor(f, "a", 0, 0, 1, eight);
    forge_tensor(f, name, type, offset, rank, dims);
    forge_data(f, 32, data);
}

CASE(tensors_twice) {
    second(f, "a", 0, 32, 1, eight, 64);
}
CASE(empty_name) {
    second(f, "", 0, 32, 1, eight, 64);
}
CASE(long_name) {
    second(f, "a234567890123456789012345678901234567890123456789012345678901234", 0, 32, 1, eight,
           64);
}
CASE(type_gap) {
    second(f, "b", 4, 32, 1, eight, 64);
}
CASE(type_99) {
    second(f, "b", 99, 32, 1, eight, 64);
}
CASE(rank_5) {
    second(f, "b", 0, 32, 5, (const uint64_t[]){1, 1, 1, 1, 8}, 64);
}
CASE(part_block) {
    second(f, "b", 8, 32, 2, (const uint64_t[]){16, 2}, 66);
}
CASE(negative_dim) {
    second(f, "b", 0, 32, 1, (const uint64_t[]){UINT64_MAX}, 64);
}
CASE(product) {
    second(f, "b", 0, 32, 2, (const uint64_t[]){UINT64_C(1) << 32, UINT64_C(1) << 32}, 64);
}
CASE(hidden_product) {
    second(f, "b", 0, 32, 3, (const uint64_t[]){UINT64_C(1) << 32, UINT64_C(1) << 32, 0}, 64);
}
CASE(size_overflow) {
    second(f, "b", 28, 32, 1, (const uint64_t[]){UINT64_C(1) << 62}, 64);
}
CASE(sum_overflow) {
    second(f, "b", 24, 32, 1, (const uint64_t[]){INT64_MAX}, 64);
}
CASE(unaligned) {
    second(f, "b", 0, 33, 1, eight, 65);
}
CASE(not_monotone) {
    second(f, "b", 0, 0, 1, eight, 64);
}
CASE(gap) {
    second(f, "b", 0, 64, 1, eight, 96);
}
CASE(wraps) {
    second(f, "b", 0, UINT64_MAX - 31, 1, eight, 64);
}
CASE(past_end) {
    second(f, "b", 0, 32, 1, eight, 63);
}

Test(gguf, each_bad_file_has_its_sentence) {
    static const struct {
        const char *row;
        void (*make)(tsri_bytes *);
        tsr_status status;
        const char *fragment;
    } rows[] = {
        {"52", bad_magic, TSR_E_FORMAT, "does not begin with \"GGUF\""},
        {"52", version_0, TSR_E_FORMAT, "GGUF version 0; versions 2 and 3 are read"},
        {"52", version_1, TSR_E_UNSUPPORTED, "GGUF version 1"},
        {"52", version_4, TSR_E_FORMAT, "GGUF version 4"},
        {"52", big_endian, TSR_E_UNSUPPORTED, "big-endian"},
        {"53", many_keys, TSR_E_FORMAT, "claims 4611686018427387904 metadata keys"},
        {"53", many_tensors, TSR_E_FORMAT, "claims 18446744073709551615 tensors"},
        {"53", tensors_beyond_file, TSR_E_FORMAT, "claims 3 tensors; 60 bytes cannot hold them"},
        {"54", long_text, TSR_E_FORMAT, "has length 9223372036854775808"},
        {"54", text_past_end, TSR_E_FORMAT, "k has length 9, but only 8 bytes are left"},
        {"54", long_key, TSR_E_FORMAT,
         "a metadata key has length 9223372036854775808; at most 65535"},
        {"55", list_of_lists, TSR_E_FORMAT, "list of lists"},
        {"55", list_2_62, TSR_E_FORMAT, "has length 4611686018427387904"},
        {"55", list_past_end, TSR_E_FORMAT, "has length 3, but only 11 bytes are left"},
        {"55", texts_past_end, TSR_E_FORMAT, "has length 2, but only 15 bytes are left"},
        {"56", key_type, TSR_E_FORMAT, "\"k\" has type 13; types go from 0 to 12"},
        {"56", item_type, TSR_E_FORMAT, "\"k\" has type 77"},
        {"56", bool_2, TSR_E_FORMAT, "a boolean is 2"},
        {"56", bools_2, TSR_E_FORMAT, "a boolean is 2"},
        {"57", keys_twice, TSR_E_FORMAT, "metadata key \"k\" occurs twice"},
        {"57", tensors_twice, TSR_E_FORMAT, "tensor \"a\" occurs twice"},
        {"57", empty_key, TSR_E_FORMAT, "a metadata key is empty"},
        {"57", nul_key, TSR_E_FORMAT, "has a NUL"},
        {"57", empty_name, TSR_E_FORMAT, "a tensor's name is empty"},
        {"57", long_name, TSR_E_FORMAT, "a tensor's name has length 64; at most 63"},
        {"59", alignment_0, TSR_E_FORMAT, "is 0; it must be a power of two"},
        {"59", alignment_33, TSR_E_FORMAT, "is 33; it must be a power of two"},
        {"59", alignment_huge, TSR_E_FORMAT, "is 2147483648; it must be a power of two up to"},
        {"59", alignment_text, TSR_E_FORMAT, "must be a 32-bit unsigned number"},
        {"59", alignment_u16, TSR_E_FORMAT, "must be a 32-bit unsigned number"},
        {"60", type_gap, TSR_E_FORMAT, "\"b\" has type 4, which GGUF does not define"},
        {"60", type_99, TSR_E_FORMAT, "\"b\" has type 99, which GGUF does not define"},
        {"61", part_block, TSR_E_FORMAT,
         "type q8_0 has rows of 16 elements, which is not a multiple"},
        {"62", rank_5, TSR_E_FORMAT, "has 5 dims; at most 4"},
        {"62", negative_dim, TSR_E_FORMAT, "dim 0 is negative"},
        {"62", product, TSR_E_FORMAT, "product of its dims overflows"},
        {"62", hidden_product, TSR_E_FORMAT, "product of its dims overflows"},
        {"62", size_overflow, TSR_E_FORMAT, "its size overflows"},
        {"63", unaligned, TSR_E_FORMAT, "has offset 33; 32 is the next one aligned to 32"},
        {"63", not_monotone, TSR_E_FORMAT, "has offset 0; 32 is the next"},
        {"63", gap, TSR_E_FORMAT, "has offset 64; 32 is the next"},
        {"63", wraps, TSR_E_FORMAT, "has offset 18446744073709551584; 32"},
        {"63", past_end, TSR_E_FORMAT, "ends after the end of the file"},
        {"64", sum_overflow, TSR_E_FORMAT, "ends after the end of the file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes file = {0};
        rows[i].make(&file);
        forge_file("m.gguf", file.data, file.size);
        forge_refused("m.gguf", rows[i].status, rows[i].fragment, rows[i].row);
        tsri_base_bytes_clear(&file);
    }
}

static bool is_adapter(const tsri_bytes *f, size_t n) {
    forge_file("a.gguf", f->data, n);
    return tsri_io_is_adapter("a.gguf");
}

Test(gguf, files_of_adapters) {
    static const char *const types[] = {"adapter", "model"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tsri_bytes f = {0};
        forge_gguf(&f, 3, 0, 3);
        forge_kv_text(&f, "general.architecture", "llama");
        forge_kv_text(&f, "general.type", types[i]);
        const size_t head = f.size;
        forge_kv_text(&f, "adapter.type", "lora");
        cr_expect_eq(is_adapter(&f, f.size), i == 0, "%s", types[i]);
        for (size_t n = 0; n < head; n++)
            cr_expect_not(is_adapter(&f, n), "%s: the first %zu bytes", types[i], n);
        tsri_base_bytes_clear(&f);
    }
    tsri_bytes number = {0};
    forge_gguf(&number, 3, 0, 1);
    forge_kv_u32(&number, "general.type", 1);
    cr_expect_not(is_adapter(&number, number.size));
    cr_expect_not(tsri_io_is_adapter("none.gguf"));
    tsri_base_bytes_clear(&number);
}

/* Metadata of every type, and four tensors at an alignment of 64. */
static void good(tsri_bytes *f) {
    const uint8_t u8 = 200;
    const int8_t i8 = -100;
    const int16_t i16 = -30000;
    const int32_t i32 = -5;
    const float f32 = 0.25f, scores[] = {1.5f, -2};
    const double f64 = 1e300;
    const int64_t i64 = -(INT64_C(1) << 40);
    forge_gguf(f, 3, 4, 16);
    forge_kv_u32(f, "general.alignment", 64);
    forge_kv_text(f, "general.architecture", "llama");
    forge_key(f, "u8", 0), forge_put(f, &u8, 1);
    forge_key(f, "i8", 1), forge_put(f, &i8, 1);
    forge_kv_u16(f, "u16", 60000);
    forge_key(f, "i16", 3), forge_put(f, &i16, 2);
    forge_key(f, "i32", 5), forge_put(f, &i32, 4);
    forge_key(f, "f32", 6), forge_put(f, &f32, 4);
    forge_key(f, "bool", 7), forge_put(f, "\1", 1);
    forge_key(f, "u64", 10), forge_u64(f, UINT64_MAX);
    forge_key(f, "i64", 11), forge_put(f, &i64, 8);
    forge_key(f, "f64", 12), forge_put(f, &f64, 8);
    forge_key(f, "texts", 9), forge_u32(f, 8), forge_u64(f, 3), forge_text(f, "one"),
        forge_text(f, ""), forge_text(f, "\xe2\x82\xac");
    forge_key(f, "scores", 9), forge_u32(f, 6), forge_u64(f, 2),
        forge_put(f, scores, sizeof scores);
    forge_key(f, "types", 9), forge_u32(f, 5), forge_u64(f, 2), forge_put(f, &i32, 4),
        forge_put(f, &i32, 4);
    forge_key(f, "empty", 9), forge_u32(f, 4), forge_u64(f, 0);
    forge_tensor(f, "a", 0, 0, 1, eight);
    forge_tensor(f, "q", 8, 64, 2, rows32);
    forge_tensor(f, "x", 16, 192, 1, (const uint64_t[]){256});
    forge_tensor(f, "h", 30, 320, 3, (const uint64_t[]){2, 3, 1});
    forge_data(f, 64, 332);
}

Test(gguf, a_good_file_is_read) {
    tsri_bytes file = {0};
    good(&file);
    tsri_io_archive *a = forge_open("m.gguf", &file);
    cr_expect(a->n_arrays == 4 && a->n_values == 16 && a->format == TSRI_IO_GGUF);
    const tsri_io_array *h = tsri_io_find(a, "h"), *q = tsri_io_find(a, "q"),
                        *x = tsri_io_find(a, "x");
    cr_assert(h && q && x);
    cr_expect(h->rank == 3 && h->dims[0] == 1 && h->dims[1] == 3 && h->dims[2] == 2,
              "dims are slowest first");
    cr_expect(h->dtype == TSR_BF16 && h->bytes == 12 && h->offset + 12 == file.size);
    cr_expect(q->dtype == TSR_GGML_Q8_0 && q->bytes == 68 && q->elements == 64);
    float got[32];
    cr_expect_eq(tsri_io_read_as(a, q, TSR_F32, 32, 32, got), TSR_OK);
    uint16_t scale;
    memcpy(&scale, file.data + q->offset + 34, 2);
    cr_expect_eq(
        scale, 0x6362); /* the bytes 98 and 99: 945 as a half; the first element is the byte 100 */
    cr_expect_eq(got[0], 945.0f * 100, "%g", (double)got[0]);
    cr_expect_eq(tsri_io_read_as(a, q, TSR_F32, 16, 32, got), TSR_E_ARGUMENT);
    cr_expect_eq(tsri_io_read(a, x, 0, 4, got), TSR_E_UNSUPPORTED);
    cr_expect_not_null(strstr(tsri_base_reported(), "\"x\" is stored as iq2_xxs"));
    tsri_io_close(&a);
    tsri_base_bytes_clear(&file);
}

Test(gguf, metadata_of_every_type_is_read) {
    static const struct {
        const char *key;
        int64_t want;
    } ints[] = {{"u8", 200},
                {"i8", -100},
                {"u16", 60000},
                {"i16", -30000},
                {"i32", -5},
                {"u64", INT64_MAX},
                {"i64", -(INT64_C(1) << 40)}};
    tsri_bytes file = {0};
    good(&file);
    tsri_io_archive *a = forge_open("m.gguf", &file);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        int64_t got = 0;
        cr_expect_eq(tsri_io_meta_int(a, ints[i].key, INT64_MIN, INT64_MAX, &got), TSR_OK);
        cr_expect_eq(got, ints[i].want, "%s", ints[i].key);
    }
    double real = 0;
    cr_expect(tsri_io_meta_real(a, "f32", 0, 1, &real) == TSR_OK && real == 0.25);
    cr_expect(tsri_io_meta_real(a, "f64", 0, 1e301, &real) == TSR_OK && real == 1e300);
    cr_expect(tsri_io_meta_real(a, "i32", -9, 9, &real) == TSR_OK && real == -5,
              "an integer serves as a number");
    cr_expect_eq(tsri_io_meta_real(a, "f32", 1, 2, &real), TSR_E_FORMAT);
    int64_t number = 3;
    cr_expect(tsri_io_meta_int(a, "absent", 0, 1, &number) == TSR_OK && number == 3);
    cr_expect_eq(tsri_io_meta_int(a, "f32", 0, 1, &number), TSR_E_FORMAT);
    bool truth = false;
    cr_expect(tsri_io_meta_bool(a, "bool", &truth) == TSR_OK && truth);
    const tsri_io_value *list;
    size_t length;
    cr_assert(tsri_io_meta_list(a, "texts", TSRI_IO_TEXT, &list) == TSR_OK &&
              tsri_io_list_count(list) == 3);
    cr_expect_str_eq(tsri_io_list_text(list, 0, &length), "one");
    cr_expect(*tsri_io_list_text(list, 1, &length) == 0 && length == 0);
    cr_expect_str_eq(tsri_io_list_text(list, 2, &length), "\xe2\x82\xac");
    cr_expect_eq(length, 3);
    cr_assert(tsri_io_meta_list(a, "scores", TSRI_IO_REAL, &list) == TSR_OK &&
              tsri_io_list_count(list) == 2);
    cr_expect(tsri_io_list_real(list, 0) == 1.5 && tsri_io_list_real(list, 1) == -2);
    cr_assert(tsri_io_meta_list(a, "types", TSRI_IO_INT, &list) == TSR_OK);
    cr_expect(tsri_io_list_int(list, 1) == -5);
    cr_assert(tsri_io_meta_list(a, "empty", TSRI_IO_INT, &list) == TSR_OK && list &&
              tsri_io_list_count(list) == 0);
    cr_assert(tsri_io_meta_list(a, "absent", TSRI_IO_INT, &list) == TSR_OK && !list);
    /* bad-input 58 */
    cr_expect_eq(tsri_io_meta_list(a, "scores", TSRI_IO_INT, &list), TSR_E_FORMAT);
    cr_expect_not_null(
        strstr(tsri_base_reported(),
               "\"scores\" is a list in which each item is a number; a whole number is needed"));
    cr_expect_eq(tsri_io_meta_list(a, "bool", TSRI_IO_INT, &list), TSR_E_FORMAT);
    cr_expect_eq(tsri_io_meta_text(a, "texts", NULL, NULL), TSR_E_FORMAT);
    tsri_io_close(&a);
    tsri_base_bytes_clear(&file);
}

/* bad-input 66 */
Test(gguf, infinite_scales_are_refused_when_they_are_read) {
    const uint16_t infinite = 0x7c00;
    tsri_bytes file = {0};
    tsri_io_archive *a = NULL;
    float got[64];
    forge_gguf(&file, 2, 1, 0);
    forge_tensor(&file, "q", 8, 0, 2, rows32);
    forge_data(&file, 32, 68);
    memcpy(file.data + file.size - 34, &infinite, 2);
    a = forge_open("m.gguf", &file);
    cr_expect_eq(tsri_io_read_as(a, tsri_io_find(a, "q"), TSR_F32, 0, 32, got), TSR_OK);
    cr_expect_eq(tsri_io_read_as(a, tsri_io_find(a, "q"), TSR_F32, 32, 32, got), TSR_E_FORMAT);
    cr_expect_not_null(
        strstr(tsri_base_reported(), "tensor \"q\": the scale of block 1 is infinite or NaN"));
    tsri_io_close(&a);
    tsri_base_bytes_clear(&file);
}

static void write_part(const char *path, uint16_t place, uint16_t count, const char *tensor) {
    tsri_bytes file = {0};
    const int32_t total = 3;
    forge_gguf(&file, 3, 1, 4);
    forge_kv_u16(&file, "split.no", place);
    forge_kv_u16(&file, "split.count", count);
    forge_key(&file, "split.tensors.count", 5);
    forge_put(&file, &total, 4);
    forge_kv_u32(&file, "own", place + 7u);
    forge_tensor(&file, tensor, 24, 0, 1, eight);
    forge_data(&file, 32, 8);
    forge_file(path, file.data, file.size);
    tsri_base_bytes_clear(&file);
}

Test(gguf, a_split_model_is_joined_from_any_of_its_parts) {
    write_part("m-00001-of-00003.gguf", 0, 3, "a");
    write_part("m-00002-of-00003.gguf", 1, 3, "b");
    write_part("m-00003-of-00003.gguf", 2, 3, "c");
    for (int i = 1; i <= 3; i++) {
        tsri_io_archive *a = NULL;
        char path[32];
        int64_t own = 0;
        unsigned char bytes[8] = {0};
        snprintf(path, sizeof path, "m-0000%d-of-00003.gguf", i);
        cr_assert_eq(tsri_io_open(path, &a), TSR_OK, "%s", tsri_base_reported());
        cr_expect(a->n_arrays == 3 && a->n_files == 3 && a->format == TSRI_IO_GGUF);
        cr_expect(tsri_io_meta_int(a, "own", 0, 100, &own) == TSR_OK && own == 7,
                  "the first part's metadata");
        cr_assert_not_null(tsri_io_find(a, "c"));
        cr_expect_eq(tsri_io_find(a, "c")->file, 2);
        cr_expect(tsri_io_read(a, tsri_io_find(a, "c"), 0, 8, bytes) == TSR_OK && bytes[7] == 7);
        tsri_io_close(&a);
    }
}

Test(gguf, each_bad_split_has_its_sentence) {
    const char *first = "m-00001-of-00003.gguf";
    write_part(first, 0, 3, "a");
    write_part("m-00002-of-00003.gguf", 1, 3, "b");
    forge_refused(first, TSR_E_IO, "m-00003-of-00003.gguf is missing: part 3 of 3", "67");
    write_part("m-00003-of-00003.gguf", 1, 3, "c");
    forge_refused(first, TSR_E_FORMAT, "says that it is part 2 of 3; part 3 of 3 was expected",
                  "67");
    write_part("m-00003-of-00003.gguf", 2, 4, "c");
    forge_refused(first, TSR_E_FORMAT, "says that it is part 3 of 4; part 3 of 3 was expected",
                  "67");
    write_part("m-00003-of-00003.gguf", 2, 3, "a");
    forge_refused(first, TSR_E_FORMAT, "tensor \"a\" is in both", "67");
    write_part("other.gguf", 0, 3, "a");
    forge_refused("other.gguf", TSR_E_FORMAT, "its name must end in -00001-of-00003.gguf", "67");
    write_part(first, 3, 3, "a");
    forge_refused(first, TSR_E_FORMAT, "\"split.no\" is 3; it must be from 0 to 2", "67");
    write_part("m-00001-of-00002.gguf", 0, 2, "a");
    write_part("m-00002-of-00002.gguf", 1, 2, "b");
    forge_refused("m-00001-of-00002.gguf", TSR_E_FORMAT,
                  "\"split.tensors.count\" is 3; it must be from 2 to 2", "67");
}

Test(gguf, cut_off_or_changed_anywhere_it_never_crashes) {
    tsri_bytes file = {0};
    good(&file);
    forge_cut("m.gguf", &file);
    forge_change("m.gguf", &file, file.size);
    tsri_base_bytes_clear(&file);
}

/* ---- the hash of the metadata ---- */

static void hash_meta(bool turned, uint32_t number, const char *text, bool split, char hex[65]) {
    tsri_bytes file = {0};
    unsigned char digest[32];
    tsri_hash *hash = NULL;
    forge_gguf(&file, 3, 0, split ? 4 : 2);
    if (split) {
        forge_kv_u16(&file, "split.no", 0);
        forge_kv_u16(&file, "split.count", 1);
    }
    for (int i = 0; i < 2; i++)
        if (i == turned)
            forge_kv_u32(&file, "a.number", number);
        else
            forge_kv_text(&file, "a.text", text);
    forge_data(&file, 32, 0);
    tsri_io_archive *archive = forge_open("m.gguf", &file);
    cr_assert_eq(tsri_base_hash_begin(&hash), TSR_OK);
    tsri_io_meta_hash(archive, hash);
    tsri_base_hash_end(&hash, digest);
    tsri_base_hash_hex(digest, hex);
    tsri_io_close(&archive);
    tsri_base_bytes_clear(&file);
}

Test(gguf, the_hash_of_metadata_is_that_of_keys_and_values) {
    static const struct {
        bool turned;
        uint32_t number;
        const char *text;
        bool split, same;
    } rows[] = {{false, 7, "b", false, true},  {true, 7, "b", false, true},
                {false, 7, "b", true, true},   {false, 8, "b", false, false},
                {false, 7, "c", false, false}, {false, 7, "", false, false}};
    char first[65], hex[65];
    hash_meta(false, 7, "b", false, first);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hash_meta(rows[i].turned, rows[i].number, rows[i].text, rows[i].split, hex);
        cr_expect(rows[i].same == !strcmp(first, hex), "row %zu", i);
    }
}

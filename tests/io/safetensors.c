/* safetensors: bad headers, lengths, names and types, and files that are cut off or changed. */
#include "io/forge.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(safetensors, .init = forge_folder, .fini = forge_clean);

typedef struct bad_header {
    const char *row; /* the number in the project's list of bad inputs */
    const char *header;
    size_t data;
    const char *fragment;
} bad_header;

#define T(dtype, shape, offsets) \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets) "{\"a\":" T(dtype, shape, offsets) "}"

static const bad_header bad_headers[] = {
    {"6", "[1,2]", 0, "does not begin with '{'"},
    {"7", ONE("U8", "[1]", "[0,1]") "x", 1, "end of file expected"},
    {"8", "{\"a\xff\":1}", 0, "unable to decode byte 0xff"},
    {"8", "{\"\\ud800\":1}", 0, "invalid Unicode"},
    {"8", "{\"a\\u0000b\":1}", 0, "\\u0000"},
    {"9", "{\"a\":", 0, "line 1"},
    {"10", "{\"a\":[[[[[[[[0]]]]]]]]}", 0, "is nested 9 levels deep"},
    {"11", "{\"a\":" T("U8", "[1]", "[0,1]") ",\"a\":" T("U8", "[1]", "[1,2]") "}", 2,
     "duplicate object key"},
    {"11", "{\"a\":" T("U8", "[1]", "[0,1]") ",\"\\u0061\":" T("U8", "[1]", "[1,2]") "}", 2,
     "duplicate object key"},
    {"12", ONE("F31", "[1]", "[0,4]"), 4, "safetensors has no dtype \"F31\""},
    {"13", ONE("U8", "[-1]", "[0,1]"), 1, "whole number from 0 to 2^53"},
    {"13", ONE("U8", "[1.0]", "[0,1]"), 1, "whole number from 0 to 2^53"},
    {"13", ONE("U8", "[1e0]", "[0,1]"), 1, "whole number from 0 to 2^53"},
    {"13", ONE("U8", "[9007199254740993]", "[0,1]"), 1, "whole number from 0 to 2^53"},
    {"13", ONE("U8", "[01]", "[0,1]"), 1, "line 1"},
    {"13", ONE("U8", "[\"1\"]", "[0,1]"), 1, "whole number from 0 to 2^53"},
    {"14", ONE("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "has 9 dims; at most 8"},
    {"15", ONE("U8", "[4294967296,4294967296]", "[0,0]"), 0, "product of its dims overflows"},
    {"15", ONE("U8", "[4294967296,4294967296,0]", "[0,0]"), 0, "product of its dims overflows"},
    {"15", ONE("F64", "[4503599627370496,1024]", "[0,0]"), 0, "product of its dims overflows"},
    {"16", ONE("U8", "[1]", "[2,1]"), 2, "begins at byte 2 and ends before it"},
    {"17", ONE("U8", "[3]", "[0,3]"), 2, "ends at byte 3 of 2"},
    {"18", ONE("F32", "[2]", "[0,4]"), 4, "need 8 bytes, its data_offsets give 4"},
    {"19", "{\"a\":" T("U8", "[2]", "[0,2]") ",\"b\":" T("U8", "[2]", "[1,3]") "}", 3,
     "\"b\" overlaps \"a\""},
    {"20", "{\"a\":" T("U8", "[1]", "[0,1]") ",\"b\":" T("U8", "[1]", "[2,3]") "}", 3,
     "gap of 1 bytes before tensor \"b\""},
    {"21", ONE("U8", "[1]", "[1,2]"), 2, "gap of 1 bytes"},
    {"22", ONE("U8", "[1]", "[0,1]"), 3, "2 bytes follow the last tensor"},
    {"22", "{}", 1, "1 bytes follow"},
    {"23", ONE("U8", "[1]", "[0]"), 1, "list of two whole numbers"},
    {"23", ONE("U8", "[1]", "[0,1,2]"), 1, "list of two whole numbers"},
    {"23", ONE("U8", "[1]", "[0,1.0]"), 1, "list of two whole numbers"},
    {"23", ONE("U8", "[1]", "[-1,1]"), 1, "list of two whole numbers"},
    {"24", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "and nothing else"},
    {"24", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1,
     "and nothing else"},
    {"24", "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     "duplicate object key"},
    {"24", "{\"a\":3}", 0, "and nothing else"},
    {"24", "{\"a\":{\"dtype\":8,\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     "\"dtype\" must be a text"},
    {"24", "{\"a\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1,
     "\"shape\" must be a list"},
    {"25", "{\"__metadata__\":{\"a\":1}}", 0, "\"a\" must be a text"},
    {"25", "{\"__metadata__\":[]}", 0, "must be an object of texts"},
    {"25", "{\"__metadata__\":" T("U8", "[1]", "[0,1]") "}", 1, "must be a text"},
    {"26", ONE("F4", "[3]", "[0,2]"), 2, "does not end on a whole byte"},
    {"27", "{\"\":" T("U8", "[1]", "[0,1]") "}", 1, "name has 0 bytes"},
};

Test(safetensors, each_bad_header_has_its_sentence) {
    for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
        tsri_bytes file = {0};
        forge_safetensors(&file, bad_headers[i].header, bad_headers[i].data);
        forge_file("m.safetensors", file.data, file.size);
        forge_refused("m.safetensors", TSR_E_FORMAT, bad_headers[i].fragment, bad_headers[i].row);
        tsri_base_bytes_clear(&file);
    }
}

Test(safetensors, each_bad_length_has_its_sentence) {
    static const struct {
        const char *row;
        uint64_t length;
        const char *fragment;
    } rows[] = {
        {"2", 0, "header's length is 0"},           {"3", 100, "only 2 bytes follow"},
        {"4", 100000001, "at most 100000000"},      {"5", UINT64_MAX, "at most 100000000"},
        {"5", UINT64_MAX - 7, "at most 100000000"},
    };
    forge_file("m.safetensors", "1234567", 7);
    forge_refused("m.safetensors", TSR_E_FORMAT, "has 7 bytes", "1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_bytes file = {0};
        forge_u64(&file, rows[i].length);
        forge_put(&file, "{}", 2);
        forge_file("m.safetensors", file.data, file.size);
        forge_refused("m.safetensors", TSR_E_FORMAT, rows[i].fragment, rows[i].row);
        tsri_base_bytes_clear(&file);
    }
}

Test(safetensors, names_and_tensors_have_limits) {
    char name[1027];
    memset(name, 'n', sizeof name - 2);
    name[sizeof name - 2] = 0;
    tsri_bytes header = {0}, file = {0};
    cr_assert_eq(tsri_base_bytes_printf(&header, "{\"%s\":" T("U8", "[1]", "[0,1]") "}", name),
                 TSR_OK);
    forge_safetensors(&file, header.data, 1);
    forge_file("m.safetensors", file.data, file.size);
    forge_refused("m.safetensors", TSR_E_FORMAT, "name has 1025 bytes", "27");
    tsri_base_bytes_clear(&header);
    tsri_base_bytes_clear(&file);
}

Test(safetensors, what_is_no_regular_file_is_refused) {
    cr_assert_eq(mkfifo("fifo.safetensors", 0600), 0);
    cr_assert_eq(mkdir("folder.safetensors", 0700), 0);
    forge_refused("fifo.safetensors", TSR_E_FORMAT, "is a FIFO; a regular file is needed", "29");
    forge_refused("folder.safetensors", TSR_E_IO, "has no weights", "29");
    forge_refused("/dev/zero", TSR_E_FORMAT, "is a device; a regular file is needed", "29");
    forge_refused("absent.safetensors", TSR_E_IO, "cannot open", "29");
}

static void small_file(tsri_bytes *file) {
    forge_safetensors(
        file,
        "{\"__metadata__\":{\"format\":\"pt\"},\"scalar\":" T("F32", "[]", "[0,4]") ",\"none\":" T(
            "F32", "[0,3]",
            "[4,4]") ",\"half\":" T("F16", "[2,2]",
                                    "[4,12]") ",\"f8\":" T("F8_E4M3", "[2]",
                                                           "[12,14]") ",\"bits\":" T("F4", "[4]",
                                                                                     "[14,16]") "} "
                                                                                                " "
                                                                                                " ",
        16);
}

Test(safetensors, a_good_file_is_read) {
    tsri_bytes file = {0};
    small_file(&file);
    tsri_io_archive *a = forge_open("m.safetensors", &file);
    cr_expect_eq(a->n_arrays, 5);
    cr_expect_eq(a->format, TSRI_IO_SAFETENSORS);
    const tsri_io_array *half = tsri_io_find(a, "half"), *none = tsri_io_find(a, "none"),
                        *f8 = tsri_io_find(a, "f8");
    cr_assert(half && none && f8 && tsri_io_find(a, "scalar") && !tsri_io_find(a, "") &&
              !tsri_io_find(a, "zzz"));
    cr_expect(half->rank == 2 && half->dims[0] == 2 && half->dims[1] == 2 &&
              half->dtype == TSR_F16 && half->bytes == 8);
    cr_expect(none->elements == 0 && none->dims[0] == 0 && none->dims[1] == 3);
    cr_expect(tsri_io_find(a, "scalar")->rank == 0 && tsri_io_find(a, "scalar")->elements == 1);
    unsigned char bytes[3];
    uint16_t two[2];
    float wide[2];
    cr_expect_eq(tsri_io_read(a, half, 5, 3, bytes), TSR_OK);
    cr_expect(bytes[0] == 9 && bytes[1] == 10 && bytes[2] == 11);
    cr_expect_eq(tsri_io_read_as(a, half, TSR_F16, 2, 2, two), TSR_OK);
    cr_expect(two[0] == 0x0908 && two[1] == 0x0b0a);
    cr_expect_eq(tsri_io_read_as(a, half, TSR_F32, 2, 2, wide), TSR_OK);
    cr_expect_eq(wide[0], 0x1.42p-13f);
    cr_expect_eq(tsri_io_read(a, half, 6, 3, bytes), TSR_E_ARGUMENT);
    cr_expect_eq(tsri_io_read_as(a, half, TSR_F32, 3, 2, wide), TSR_E_ARGUMENT);
    cr_expect_eq(tsri_io_read(a, f8, 0, 2, bytes), TSR_E_UNSUPPORTED);
    cr_expect_not_null(strstr(tsri_base_reported(), "\"f8\" is stored as F8_E4M3"));
    const char *text = NULL;
    size_t length = 0;
    cr_expect_eq(tsri_io_meta_text(a, "format", &text, &length), TSR_OK);
    cr_expect(text && strcmp(text, "pt") == 0 && length == 2);
    text = NULL;
    cr_expect(tsri_io_meta_text(a, "absent", &text, NULL) == TSR_OK && !text);
    tsri_io_close(&a);
    cr_expect_null(a);
    tsri_base_bytes_clear(&file);
}

/* bad-input 28 */
Test(safetensors, a_file_that_shrinks_after_open_is_an_error) {
    tsri_bytes file = {0};
    unsigned char bytes[8];
    small_file(&file);
    tsri_io_archive *a = forge_open("m.safetensors", &file);
    cr_assert_eq(truncate("m.safetensors", (off_t)file.size - 14), 0);
    cr_expect_eq(tsri_io_read(a, tsri_io_find(a, "half"), 0, 8, bytes), TSR_E_IO);
    cr_expect_not_null(strstr(tsri_base_reported(), "shrank while it was read"));
    tsri_io_close(&a);
    tsri_base_bytes_clear(&file);
}

Test(safetensors, cut_off_or_changed_anywhere_it_never_crashes) {
    tsri_bytes file = {0};
    small_file(&file);
    forge_cut("m.safetensors", &file);
    forge_change("m.safetensors", &file, file.size);
    tsri_base_bytes_clear(&file);
}

Test(safetensors, a_git_lfs_pointer_is_named) {
    const char text[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    forge_file("m.safetensors", text, sizeof text - 1);
    forge_refused("m.safetensors", TSR_E_FORMAT, "git lfs pull", "pointer");
}

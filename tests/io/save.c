/* safetensors files that Tessera writes. */
#include "io/save.h"

#include "base/error.h"
#include "io/forge.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <string.h>

TestSuite(save, .init = forge_folder, .fini = forge_clean);

static const float a[6] = {0, 1, 2, 3, 4, 5};
static const int32_t b[2] = {0, 1};
static const int64_t l = 7;
static const char *const metadata[] = {"format", "pt"};

static void fill(tsri_io_entry entries[4]) {
    entries[0] = (tsri_io_entry){"b", TSR_I32, 1, {2}, b};
    entries[1] = (tsri_io_entry){"w", TSR_F32, 2, {2, 3}, a};
    entries[2] = (tsri_io_entry){"h", TSR_F16, 2, {0, 2}, a};
    entries[3] = (tsri_io_entry){"l", TSR_I64, 0, {0}, &l};
}

static int files(void) {
    int n = 0;
    DIR *d = opendir(".");
    cr_assert_not_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

/* The bytes that the official writer makes from the same tensors. */
Test(save, the_file_is_the_official_writers) {
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"l\":{\"dtype\":\"I64\",\"shape\":[],\"data_"
        "offsets\":[0,8]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
        "\"b\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[32,40]},"
        "\"h\":{\"dtype\":\"F16\",\"shape\":[0,2],\"data_offsets\":[40,40]}}";
    tsri_io_entry entries[4];
    tsri_bytes got = {0};
    fill(entries);
    cr_assert_eq(tsri_io_save("m.safetensors", entries, 4, metadata, 1), TSR_OK, "%s",
                 tsri_base_reported());
    cr_expect_str_eq(entries[0].name, "l");
    cr_assert_eq(tsri_base_read_whole("m.safetensors", 1000, &got), TSR_OK);
    const size_t n = sizeof header - 1, padded = (n + 7) / 8 * 8;
    uint64_t length;
    memcpy(&length, got.data, 8);
    cr_assert(length == padded && got.size == 8 + padded + 40);
    cr_expect_eq(memcmp(got.data + 8, header, n), 0, "%.*s", (int)n, got.data + 8);
    cr_expect_eq(memcmp(got.data + 8 + padded, &l, 8), 0);
    cr_expect_eq(memcmp(got.data + 8 + padded + 8, a, sizeof a), 0);
    cr_expect_eq(memcmp(got.data + 8 + padded + 32, b, sizeof b), 0);
    tsri_base_bytes_clear(&got);
}

Test(save, what_is_written_is_read) {
    tsri_io_entry entries[4];
    tsri_io_archive *archive = NULL;
    float back[6];
    fill(entries);
    cr_assert_eq(tsri_io_save("m.safetensors", entries, 4, metadata, 1), TSR_OK);
    cr_assert_eq(tsri_io_open("m.safetensors", &archive), TSR_OK, "%s", tsri_base_reported());
    cr_expect_eq(archive->n_arrays, 4);
    const tsri_io_array *array = tsri_io_find(archive, "w");
    cr_assert(array && array->rank == 2 && array->dims[1] == 3);
    cr_assert_eq(tsri_io_read(archive, array, 0, sizeof back, back), TSR_OK);
    cr_expect_eq(memcmp(back, a, sizeof a), 0);
    cr_assert_eq(tsri_io_read_as(archive, tsri_io_find(archive, "b"), TSR_F32, 1, 1, back), TSR_OK);
    cr_expect_eq(back[0], 1);
    tsri_io_close(&archive);
    cr_assert_eq(tsri_io_save("none.safetensors", NULL, 0, NULL, 0), TSR_OK);
    cr_assert_eq(tsri_io_open("none.safetensors", &archive), TSR_OK, "%s", tsri_base_reported());
    tsri_io_close(&archive);
}

Test(save, too_much_or_too_little_data_leaves_the_old_file) {
    tsri_io_entry entries[4];
    tsri_io_saver *saver = NULL;
    tsri_bytes old = {0};
    forge_file("m.safetensors", "old", 3);
    fill(entries);
    cr_assert_eq(tsri_io_save_begin("m.safetensors", entries, 4, NULL, 0, &saver), TSR_OK);
    cr_assert_eq(tsri_io_save_write(saver, a, 24), TSR_OK);
    cr_expect_eq(tsri_io_save_write(saver, a, 17), TSR_E_ARGUMENT);
    cr_expect_eq(tsri_io_save_commit(&saver), TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsri_base_reported(), "24 of 40 bytes"));
    cr_expect_null(saver);
    cr_assert_eq(tsri_base_read_whole("m.safetensors", 10, &old), TSR_OK);
    cr_expect_str_eq(old.data, "old");
    cr_expect_eq(files(), 1, "no temporary is left");
    tsri_base_bytes_clear(&old);
}

Test(save, bad_entries_are_refused_before_a_file_is_made) {
    static const struct {
        tsri_io_entry entry;
        const char *fragment;
    } rows[] = {
        {{"", TSR_F32, 0, {0}, a}, "1 to 1024 bytes"},
        {{NULL, TSR_F32, 0, {0}, a}, "1 to 1024 bytes"},
        {{"__metadata__", TSR_F32, 0, {0}, a}, "not be \"__metadata__\""},
        {{"q", TSR_GGML_Q8_0, 1, {32}, a}, "no dtype for"},
        {{"r", TSR_F32, 9, {1}, a}, "has 9 dims"},
        {{"n", TSR_F32, 1, {-1}, a}, "dim 0 is negative"},
        {{"o", TSR_F32, 2, {INT64_MAX, INT64_MAX}, a},
         "dim 1 is negative, or their product overflows"},
        {{"o", TSR_F64, 1, {INT64_MAX}, a}, "its size overflows"},
        {{"a\xff", TSR_F32, 1, {1}, a}, "not UTF-8 text"},
        {{"a", TSR_F32, 1, {1}, a}, "\"a\" occurs twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_io_entry entries[2] = {{"a", TSR_F32, 1, {6}, a}, rows[i].entry};
        cr_expect_eq(tsri_io_save("m.safetensors", entries, 2, NULL, 0), TSR_E_ARGUMENT, "row %zu",
                     i);
        cr_expect_not_null(strstr(tsri_base_reported(), rows[i].fragment), "row %zu: %s", i,
                           tsri_base_reported());
        cr_expect_eq(files(), 0);
    }
}

/* The bytes of a file that `size` processes write, each its share of every array. */
static tsri_bytes shared(uint32_t size) {
    tsri_io_entry entries[4];
    tsri_io_slices *slices[8];
    tsri_bytes got = {0};
    fill(entries);
    cr_assert_eq(tsri_io_slices_make("s.safetensors", entries, 4, metadata, 1), TSR_OK, "%s",
                 tsri_base_reported());
    for (uint32_t r = 0; r < size; r++) {
        fill(entries);
        cr_assert_eq(tsri_io_slices_open("s.safetensors", entries, 4, metadata, 1, &slices[r]),
                     TSR_OK, "%s", tsri_base_reported());
    }
    for (uint32_t r = size; r--;) { /* in another order than that of the file */
        for (size_t i = 0; i < 4; i++) {
            uint64_t first, n = tsri_io_slices_share(slices[r], i, r, size, &first);
            cr_assert_eq(
                tsri_io_slices_write(slices[r], i, first, (const char *)entries[i].data + first, n),
                TSR_OK, "%s", tsri_base_reported());
        }
        cr_assert_eq(tsri_io_slices_commit(&slices[r]), TSR_OK, "%s", tsri_base_reported());
    }
    cr_assert_eq(tsri_base_read_whole("s.safetensors", 1000, &got), TSR_OK);
    return got;
}

Test(save, several_processes_write_the_bytes_of_one) {
    tsri_io_entry entries[4];
    tsri_bytes one = {0};
    fill(entries);
    cr_assert_eq(tsri_io_save("m.safetensors", entries, 4, metadata, 1), TSR_OK);
    cr_assert_eq(tsri_base_read_whole("m.safetensors", 1000, &one), TSR_OK);
    for (uint32_t size = 1; size <= 7; size++) {
        tsri_bytes several = shared(size);
        cr_expect(several.size == one.size && !memcmp(several.data, one.data, one.size),
                  "%u processes", size);
        tsri_base_bytes_clear(&several);
    }
    cr_expect_eq(files(), 2, "no temporary is left");
    tsri_base_bytes_clear(&one);
}

Test(save, a_share_stays_within_its_array) {
    tsri_io_entry entries[4];
    tsri_io_slices *slices = NULL;
    fill(entries);
    cr_expect_eq(tsri_io_slices_open("s.safetensors", entries, 4, NULL, 0, &slices), TSR_E_IO,
                 "nobody has made it");
    cr_expect_null(slices);
    cr_assert_eq(tsri_io_slices_make("s.safetensors", entries, 4, NULL, 0), TSR_OK);
    cr_assert_eq(tsri_io_slices_open("s.safetensors", entries, 4, NULL, 0, &slices), TSR_OK);
    cr_expect_eq(tsri_io_slices_write(slices, 1, 20, a, 5), TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsri_base_reported(), "5 bytes at byte 20"), "%s",
                       tsri_base_reported());
    cr_expect_eq(tsri_io_slices_write(slices, 1, 25, a, 0), TSR_E_ARGUMENT);
    cr_expect_eq(tsri_io_slices_write(slices, 1, 20, a, 4), TSR_OK);
    tsri_io_slices_abandon(&slices);
    cr_expect_null(slices);
    cr_expect_eq(files(), 1);
}

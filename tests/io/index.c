/* The index of a safetensors model in several files. */
#include "io/forge.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(index, .init = forge_folder, .fini = forge_clean);

#define INDEX "model.safetensors.index.json"

static void write_text(const char *path, const char *text) {
    forge_file(path, text, strlen(text));
}

static void write_shard(const char *path, const char *name) {
    char header[128];
    tsri_bytes file = {0};
    snprintf(header, sizeof header,
             "{\"__metadata__\":{\"format\":\"pt\"},\"%s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_"
             "offsets\":[0,2]}}",
             name);
    forge_safetensors(&file, header, 2);
    forge_file(path, file.data, file.size);
    tsri_base_bytes_clear(&file);
}

Test(index, each_bad_index_has_its_sentence) {
    static const struct {
        const char *row, *text;
        tsr_status status;
        const char *fragment;
    } rows[] = {
        {"31", "{\"weight_map\":{\"a\":\"../x\"}}", TSR_E_FORMAT, "it is not in the folder"},
        {"31", "{\"weight_map\":{\"a\":\"..\"}}", TSR_E_FORMAT, "it is not in the folder"},
        {"31", "{\"weight_map\":{\"a\":\"d/x\"}}", TSR_E_FORMAT, "it is not in the folder"},
        {"32", "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", TSR_E_FORMAT, "absolute path"},
        {"33", "{\"weight_map\":{\"a\":\"d\\\\x\"}}", TSR_E_FORMAT, "it is not in the folder"},
        {"33", "{\"weight_map\":{\"a\":\"\"}}", TSR_E_FORMAT, "it is empty"},
        {"33", "{\"weight_map\":{\"a\":\"x\\u0000y\"}}", TSR_E_FORMAT, "\\u0000"},
        {"33", "{\"weight_map\":{\"a\":1}}", TSR_E_FORMAT, "must be a file's name"},
        {"35", "{\"weight_map\":{\"a\":\"absent\"}}", TSR_E_IO,
         "names shard \"absent\", which is not in its folder"},
        {"36", "{\"weight_map\":{\"a\":\"2\",\"b\":\"1\"}}", TSR_E_FORMAT,
         "tensor \"a\" is in 2, but "},
        {"36", "{\"weight_map\":{\"a\":\"2\",\"b\":\"2\",\"c\":\"1\"}}", TSR_E_FORMAT,
         "1 has it; index and shards do not belong together"},
        {"37", "{\"weight_map\":{\"a\":\"1\",\"b\":\"3\"}}", TSR_E_FORMAT,
         "tensor \"a\" is in both"},
        {"39", "{\"weight_map\":{\"a\":\"" INDEX "\"}}", TSR_E_FORMAT, "that is the index itself"},
        {"41", "{\"weight_map\":{}}", TSR_E_FORMAT, "no \"weight_map\""},
        {"41", "{\"weight_map\":[]}", TSR_E_FORMAT, "no \"weight_map\""},
        {"41", "[]", TSR_E_FORMAT, "no \"weight_map\""},
        {"41", "{\"a\":1,\"a\":2}", TSR_E_FORMAT, "duplicate"},
        {"11", "{\"weight_map\":{\"a\":\"1\",\"a\":\"2\"}}", TSR_E_FORMAT, "duplicate"},
    };
    write_shard("1", "a");
    write_shard("2", "b");
    write_shard("3", "a");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_text(INDEX, rows[i].text);
        forge_refused(INDEX, rows[i].status, rows[i].fragment, rows[i].row);
        forge_refused(".", rows[i].status, rows[i].fragment, rows[i].row);
    }
}

Test(index, more_shards_than_the_limit_are_refused_before_any_is_opened) {
    tsri_bytes text = {0};
    cr_assert_eq(tsri_base_bytes_printf(&text, "{\"weight_map\":{"), TSR_OK);
    for (int i = 0; i < 5000; i++)
        cr_assert_eq(tsri_base_bytes_printf(&text, "%s\"t%d\":\"s%d\"", i ? "," : "", i, i),
                     TSR_OK);
    forge_put(&text, "}}", 2);
    forge_file(INDEX, text.data, text.size);
    forge_refused(INDEX, TSR_E_FORMAT, "more than 4096 shards", "40");
    tsri_base_bytes_clear(&text);
}

static void expect_two(const char *path) {
    tsri_io_archive *a = NULL;
    unsigned char bytes[2] = {0};
    const char *text = NULL;
    cr_assert_eq(tsri_io_open(path, &a), TSR_OK, "%s", tsri_base_reported());
    cr_expect(a->n_arrays == 2 && a->n_files == 2 && a->format == TSRI_IO_INDEX);
    cr_assert_not_null(tsri_io_find(a, "b"));
    cr_expect_eq(tsri_io_read(a, tsri_io_find(a, "b"), 0, 2, bytes), TSR_OK);
    cr_expect_eq(bytes[1], 1);
    cr_expect(tsri_io_meta_text(a, "format", &text, NULL) == TSR_OK && text &&
              strcmp(text, "pt") == 0);
    tsri_io_close(&a);
}

/* As transformers: sizes are not read, and neither are names that no shard has (bad-input 36, 38). */
Test(index, what_transformers_ignores_is_ignored) {
    static const char *const maps[] = {
        "{\"metadata\":{\"total_size\":5},\"weight_map\":{\"a\":\"1\",\"b\":\"2\"}}",
        "{\"metadata\":{\"total_size\":\"4\"},\"weight_map\":{\"a\":\"1\",\"b\":\"2\"}}",
        "{\"metadata\":3,\"weight_map\":{\"a\":\"1\",\"b\":\"2\"}}",
        "{\"weight_map\":{\"a\":\"1\",\"b\":\"2\",\"lm_head.weight\":\"1\"}}"};
    write_shard("1", "a");
    write_shard("2", "b");
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        write_text(INDEX, maps[i]);
        expect_two(INDEX);
    }
}

Test(index, shards_are_joined_and_links_followed) {
    const char *index =
        "{\"metadata\":{\"total_size\":4.0e0},\"weight_map\":{\"a\":\"1.st\",\"b\":\"2.st\"}}";
    write_shard("1.st", "a");
    write_shard("2.st", "b");
    write_text(INDEX, index);
    expect_two(INDEX);
    expect_two(".");
    /* The Hugging Face cache: snapshots/<commit>/name is a link to ../../blobs/<hash>. bad-input 34
     * is not an error here: the links come from the folder, but the names in the index do not. */
    cr_assert(mkdir("blobs", 0700) == 0 && mkdir("snapshots", 0700) == 0 &&
              mkdir("snapshots/main", 0700) == 0);
    cr_assert(rename("1.st", "blobs/x1") == 0 && rename("2.st", "blobs/x2") == 0 &&
              rename(INDEX, "blobs/x3") == 0);
    cr_assert_eq(symlink("../../blobs/x1", "snapshots/main/1.st"), 0);
    cr_assert_eq(symlink("../../blobs/x2", "snapshots/main/2.st"), 0);
    cr_assert_eq(symlink("../../blobs/x3", "snapshots/main/" INDEX), 0);
    expect_two("snapshots/main");
}

Test(index, cut_off_or_changed_anywhere_it_never_crashes) {
    tsri_bytes text = {0};
    write_shard("1", "a");
    write_shard("2", "b");
    cr_assert_eq(
        tsri_base_bytes_printf(
            &text, "{\"metadata\":{\"total_size\":4},\"weight_map\":{\"a\":\"1\",\"b\":\"2\"}}"),
        TSR_OK);
    forge_cut(INDEX, &text);
    forge_change(INDEX, &text, text.size);
    tsri_base_bytes_clear(&text);
}

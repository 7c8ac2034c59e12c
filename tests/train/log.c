/* The log of a run is cut back to its checkpoint; folders and files are removed and replaced. */
#include "train/run/log.h"

#include "base/bytes.h"
#include "base/files.h"
#include "base/folder.h"
#include "train/checkpoint/companions.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], path[96];

static void set_up(void) {
    strcpy(folder, "/tmp/tessera-log-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
}

static void clean(void) {
    cr_assert_eq(tsri_base_folder_remove(folder, NULL), TSR_OK);
}

static void expect(const char *wanted) {
    tsri_bytes held = {0};
    cr_assert_eq(tsri_base_read_whole(path, 1 << 20, &held), TSR_OK);
    cr_expect_str_eq(held.data, wanted);
    tsri_base_bytes_clear(&held);
}

/* Opens a log with this text at this step, adds a line of `step` + 1, and returns whether the log
 * had a line already. */
static bool opened(const char *text, int64_t step) {
    tsri_train_log *log = NULL;
    if (text)
        cr_assert_eq(tsri_base_write_whole(path, text, strlen(text)), TSR_OK);
    cr_assert_eq(tsri_train_log_open(path, step, &log), TSR_OK);
    const bool begun = tsri_train_log_has_begun(log);
    cr_assert_eq(tsri_train_log_write(log, json_pack("{s:I}", "step", (json_int_t)step + 1)),
                 TSR_OK);
    cr_assert_eq(tsri_train_log_sync(log), TSR_OK);
    tsri_train_log_close(&log);
    return begun;
}

Test(train, a_log_is_cut_back_to_its_checkpoint, .init = set_up, .fini = clean) {
    cr_expect_not(opened(NULL, 0));
    expect("{\"step\": 1}\n");
    cr_expect(opened(
        "{\"run\": {}}\n{\"step\": 1}\n{\"step\": 2, \"eval_loss\": 1}\n{\"step\": 3}\n", 2));
    expect("{\"run\": {}}\n{\"step\": 1}\n{\"step\": 2, \"eval_loss\": 1}\n{\"step\": 3}\n");
    /* half a line, JSON that is not an object, bytes that are not UTF-8 */
    cr_expect(opened("{\"step\": 1}\n[1]\n\xff\xfe\n{\"step\": 2", 2));
    expect("{\"step\": 1}\n{\"step\": 3}\n");
    cr_expect_not(opened("{\"step\": 5}\n{\"step\": 6}\n", 0));
    expect("{\"step\": 1}\n");
    cr_expect_not(opened("", 0));
}

Test(train, a_folder_is_removed_with_what_it_holds, .init = set_up, .fini = clean) {
    char inner[128], file[160];
    snprintf(inner, sizeof inner, "%s/checkpoint-1.tmp", folder);
    snprintf(file, sizeof file, "%s/x", inner);
    cr_assert_eq(tsri_base_folder_anew(inner), TSR_OK);
    cr_assert_eq(tsri_base_write_whole(file, "1", 1), TSR_OK);
    cr_assert_eq(tsri_base_folder_anew(inner), TSR_OK);
    cr_expect_not(tsri_base_is_file(file));
    cr_expect_eq(tsri_base_folder_remove(inner, "manifest.json"), TSR_OK);
    cr_expect_not(tsri_base_is_folder(inner));
    cr_expect_eq(tsri_base_folder_remove(inner, NULL), TSR_OK,
                 "removing what does not exist succeeds");
}

static void ignore(void *unused, const char *sentence) {
    (void)unused, (void)sentence;
}

Test(train, the_folders_of_modules_go_along, .init = set_up, .fini = clean) {
    static const char *const files[][2] = {
        {"config.json", "{\"dtype\": \"float32\"}"},
        {"modules.json",
         "[{\"path\": \"\"}, {\"path\": \"1_Pooling\"}, {\"path\": \"2_Normalize\"}]"},
        {"1_Pooling/config.json", "{\"dtype\": \"float16\"}"},
        {"1_Pooling/model.safetensors", "weights"},
        {"qwen.tiktoken", "IQ== 0"},
        {"additional_chat_templates/tool_use.jinja", "{{ tools }}"},
        {"additional_chat_templates/rag.jinja", "{{ documents }}"},
        {"onnx/model.json", "another model"}};
    enum { FILES = sizeof files / sizeof *files };
    tsri_train_companions companions = {0};
    char from[128], to[128], file[192];
    snprintf(from, sizeof from, "%s/from", folder);
    snprintf(to, sizeof to, "%s/to", folder);
    cr_assert_eq(tsri_base_folder_anew(from), TSR_OK);
    cr_assert_eq(tsri_base_folder_anew(to), TSR_OK);
    for (size_t i = 0; i < FILES; i++) {
        snprintf(file, sizeof file, "%s/%s", from, files[i][0]);
        cr_assert_eq(tsri_base_folder_make_parent(file), TSR_OK);
        cr_assert_eq(tsri_base_write_whole(file, files[i][1], strlen(files[i][1])), TSR_OK);
    }
    cr_expect_eq(tsri_train_companions_read(from, false, ignore, NULL, &companions), TSR_OK);
    cr_expect_eq(companions.n, FILES - 1);
    cr_expect_eq(tsri_train_companions_write(&companions, to), TSR_OK);
    for (size_t i = 0; i < FILES; i++) {
        tsri_bytes held = {0};
        snprintf(file, sizeof file, "%s/%s", to, files[i][0]);
        cr_expect_eq(tsri_base_is_file(file), i < FILES - 1, "%s", file);
        if (i < FILES - 1 && tsri_base_read_whole(file, 1 << 20, &held) == TSR_OK)
            cr_expect_str_eq(held.data, files[i][1], "%s", file);
        tsri_base_bytes_clear(&held);
    }
    tsri_train_companions_clear(&companions);
    cr_expect_eq(tsri_base_folder_remove(to, NULL), TSR_OK);
    cr_expect_not(tsri_base_is_folder(to), "its folders go, too");
    cr_expect_eq(tsri_base_folder_remove(from, NULL), TSR_OK);
}

Test(train, a_linked_file_replaces_what_was_there, .init = set_up, .fini = clean) {
    char to[128], hex[65];
    uint64_t size;
    snprintf(to, sizeof to, "%s/model.safetensors", folder);
    cr_assert_eq(tsri_base_write_whole(path, "new", 3), TSR_OK);
    cr_assert_eq(tsri_base_write_whole(to, "older", 5), TSR_OK);
    cr_expect_eq(tsri_base_file_link(path, to), TSR_OK);
    cr_expect_eq(tsri_base_file_link(path, to), TSR_OK, "again");
    cr_expect_eq(tsri_base_file_digest(to, &size, hex), TSR_OK);
    cr_expect_eq(size, 3);
    cr_expect_str_eq(hex, "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437");
}

Test(train, what_goes_along_with_weights) {
    static const struct {
        const char *name;
        bool along;
    } rows[] = {{"config.json", true},
                {"tokenizer.json", true},
                {"source.spm", true},
                {"vocab.txt", true},
                {"chat_template.jinja", true},
                {"model.safetensors", false},
                {"model.safetensors.index.json", false},
                {"run.json", false},
                {"manifest.json", false},
                {"pytorch_model.bin", false},
                {".hidden.json", false},
                {"README.md", false},
                {"log.jsonl", false},
                {"tokenizer.model", true},
                {"tiktoken.model", true},
                {"cl100k_base.tiktoken", true},
                {".hidden.tiktoken", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(tsri_train_accompanies(rows[i].name), rows[i].along, "%s", rows[i].name);
}

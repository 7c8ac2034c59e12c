/* text/train/files.c - trains a tokenizer on text files. */
#include "base/clock.h"
#include "base/error.h"
#include "base/structs.h"
#include "text/base/reader.h"
#include "text/train/train.h"

#include <string.h>

typedef struct reading {
    const tsr_tokenizer_training *options;
    uint64_t before, total; /* bytes of the files read, of all */
} reading;

static tsr_status feed_file(reading *r, const char *path, tsri_text_trainer *trainer) {
    tsri_text_reader *reader = NULL;
    TRY(tsri_text_reader_open(path, &reader));
    tsr_status status = TSR_OK;
    char *text;
    size_t n;
    uint64_t done = 0, size;
    do {
        status = tsri_text_reader_piece(reader, TSRI_TEXT_CUT_LINES, &text, &n);
        if (status != TSR_OK || !n)
            break;
        tsri_text_reader_progress(reader, &done, &size);
        status = tsri_text_trainer_feed(trainer, text, n);
        if (status != TSR_OK)
            status = tsri_base_fail_within(status, "%s", path);
        else if (r->options->progress &&
                 r->options->progress(r->options->progress_data, r->before + done, r->total))
            status = tsri_base_fail(TSR_E_CANCELLED, "the training of the tokenizer was cancelled");
    } while (status == TSR_OK);
    r->before += done;
    tsri_text_reader_close(&reader);
    return status;
}

/* All files are checked before the first is read. */
static tsr_status measure(const char *const *paths, size_t n, uint64_t *total) {
    for (size_t i = 0; i < n; i++) {
        tsri_text_reader *reader = NULL;
        uint64_t done, size;
        TRY(tsri_text_reader_open(paths[i], &reader));
        tsri_text_reader_progress(reader, &done, &size);
        *total += size;
        tsri_text_reader_close(&reader);
    }
    return TSR_OK;
}

tsr_status tsr_tokenizer_train(const tsr_tokenizer_training *options, const char *const *paths,
                               size_t n_paths, const char *out, tsr_tokenizer_trained *trained) {
    tsr_tokenizer_training known;
    TRY(tsri_base_adopt("tsr_tokenizer_training", options, &known, sizeof known));
    TRY(NEED(paths));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_tokenizer_trained", trained));
    reading r = {.options = &known};
    tsri_text_trainer *trainer = NULL;
    tsri_bytes json = {0};
    tsr_tokenizer_trained result;
    if (!n_paths)
        return tsri_base_fail(TSR_E_ARGUMENT, "no text file was given");
    tsr_status status = tsri_text_trainer_new(&known, &trainer);
    if (status == TSR_OK)
        status = measure(paths, n_paths, &r.total);
    for (size_t i = 0; i < n_paths && status == TSR_OK; i++)
        status = feed_file(&r, paths[i], trainer);
    if (status == TSR_OK)
        status = tsri_text_trainer_finish(trainer, &json, &result);
    if (status == TSR_OK)
        status = tsri_base_write_whole(out, json.data, json.size);
    if (status == TSR_OK)
        tsri_base_give(&result, sizeof result, trained);
    tsri_text_trainer_destroy(&trainer);
    tsri_base_bytes_clear(&json);
    return status;
}

/* train/data/record_lines.c - lines of text files, and the objects of JSONL, for all readers of records. */
#include "base/error.h"
#include "train/data/records_parts.h"

#include <inttypes.h>
#include <string.h>

tsr_status tsri_train_records_refuse(const tsri_train_records *r, const char *what) {
    return tsri_base_fail(TSR_E_FORMAT, "%s: line %" PRIu64 ": %s", r->path,
                          tsri_text_reader_number(r->reader), what);
}

tsr_status tsri_train_records_line(tsri_train_records *r, char **text, size_t *n) {
    size_t blanks;
    do {
        TRY(tsri_text_reader_line(r->reader, text, n));
        blanks = 0;
        while (*text && blanks < *n && strchr(" \r\f\v", (*text)[blanks]) && (*text)[blanks])
            blanks++;
    } while (*text && blanks == *n);
    return TSR_OK;
}

tsr_status tsri_train_records_object(tsri_train_records *r) {
    char *text, what[40];
    size_t n;
    TRY(tsri_train_records_line(r, &text, &n));
    json_decref(r->json);
    r->json = NULL;
    if (!text)
        return TSR_OK;
    snprintf(what, sizeof what, "line %" PRIu64, tsri_text_reader_number(r->reader));
    const tsr_status status = tsri_base_json_parse(text, n, MOST_DEPTH, what, &r->json);
    if (status != TSR_OK)
        return tsri_base_fail_within(status, "%s", r->path);
    if (!json_is_object(r->json))
        return tsri_train_records_refuse(r, "it is not a JSON object; each line must be one");
    return TSR_OK;
}

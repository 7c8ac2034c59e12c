/* text/base/entries.h - the long lists of a tokenizer.json, entry by entry: "vocab" and "merges".
 *
 * Parsed, a vocabulary of 250,000 pieces is 750,000 values of the JSON library, which take longer to
 * make than everything that is done with them. So the lists are read from the text itself, and the JSON
 * library gets the text without them. What is unusual about a list is left to the library: an error
 * here means that the whole text must be parsed. */
#ifndef TSRI_TEXT_BASE_ENTRIES_H
#define TSRI_TEXT_BASE_ENTRIES_H

#include "base/bytes.h"
#include "base/json.h"
#include "text/base/json_scan.h"

/* "model" of a tokenizer.json. A list that has a span here is empty in `json`. */
typedef struct tsri_text_model_file {
    const json_t *json;
    tsri_text_span vocab, merges;
} tsri_text_model_file;

/* Finds model.vocab and model.merges in the text of a tokenizer.json, and appends the text with empty
 * ones in their place. TSR_E_FORMAT where the text has another form, or has one of them twice. */
tsr_status tsri_text_cut_lists(const char *text, size_t n, tsri_text_model_file *file,
                               tsri_bytes *rest);

/* An entry: "text", ["text", "text"], ["text", number], or "text": number of an object. Borrowed for a
 * call. */
typedef struct tsri_text_item {
    const char *text[2]; /* not terminated; NULL: missing */
    size_t size[2];
    bool number, whole; /* whether there is a number; whether it fits 64 bits without a fraction */
    int64_t integer;
    double real; /* rounded as Hugging Face's library does */
} tsri_text_item;

/* The number of entries of the list or object `key` of the model, "vocab" or "merges"; 0: it has none. */
size_t tsri_text_count_entries(const tsri_text_model_file *file, const char *key);
/* Gives them to `take` in order, until one is not TSR_OK. An entry of another form has no texts and no
 * number. TSR_E_FORMAT: the text is not JSON, or is unusual. */
tsr_status tsri_text_each_entry(const tsri_text_model_file *file, const char *key,
                                tsr_status (*take)(void *data, size_t number,
                                                   const tsri_text_item *item),
                                void *data);

#endif

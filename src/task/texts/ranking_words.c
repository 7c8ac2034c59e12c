/* task/texts/ranking_words.c - the table of words, and the ids that a question and a text become. */
#include "task/texts/ranking_words.h"

#include "base/bytes.h"
#include "base/error.h"

#include <inttypes.h>
#include <string.h>

static const tsri_task_ranking_words all[] = {
    /* https://huggingface.co/Qwen/Qwen3-Reranker-0.6B */
    {.family = "qwen3",
     .instruction = "Given a web search query, retrieve relevant passages that answer the query",
     .before = "<|im_start|>system\nJudge whether the Document meets the requirements based on the "
               "Query and the Instruct provided. Note that the answer can only be \"yes\" or "
               "\"no\".<|im_end|>\n<|im_start|>user\n",
     .head = {"<Instruct>: ", "\n<Query>: ", "\n<Document>: "},
     .text = "",
     .after = {"<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
     .yes = "yes",
     .no = "no"},
    /* https://huggingface.co/BAAI/bge-reranker-v2-gemma */
    {.family = "gemma",
     .before = "",
     .head = {NULL, "A: ", ""},
     .between = "\n",
     .text = "B: ",
     .after = {"\n", "Given a query A and a passage B, determine whether the passage contains an "
                     "answer to the query by providing a prediction of either 'Yes' or 'No'."},
     .yes = "Yes",
     .bos = true},
};

const tsri_task_ranking_words *tsri_task_ranking_words_of(const char *family) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].family, family))
            return &all[i];
    return NULL;
}

const char *tsri_task_ranking_families(void) {
    return "qwen3, gemma";
}

static tsr_status encode(const tsri_text_tokenizer *t, const char *text, unsigned flags,
                         tsri_text_ids *ids) {
    return text && *text ? tsri_text_encode(t, text, strlen(text), flags, ids) : TSR_OK;
}

/* The question with what stands around it. */
static tsr_status write_head(const tsri_task_ranking_words *w, const char *instruction,
                             const tsr_string *question, tsri_bytes *out) {
    if (w->head[0])
        TRY(tsri_base_bytes_printf(out, "%s%s", w->head[0],
                                   instruction ? instruction : w->instruction));
    TRY(tsri_base_bytes_append(out, w->head[1], strlen(w->head[1])));
    TRY(tsri_base_bytes_append(out, question->data, question->size));
    return tsri_base_bytes_append(out, w->head[2], strlen(w->head[2]));
}

/* Appends a text with what stands before it, `most` ids at most. What users wrote names no special
 * tokens. */
static tsr_status append_text(const tsri_text_tokenizer *t, tsri_bytes *bytes, const char *before,
                              const tsr_string *text, size_t most, tsri_text_ids *ids, bool *cut) {
    const size_t begin = ids->count;
    if (text) {
        TRY(tsri_base_bytes_append(bytes, before, strlen(before)));
        TRY(tsri_base_bytes_append(bytes, text->data, text->size));
    }
    TRY(tsri_text_encode(t, bytes->data, bytes->size, 0, ids));
    bytes->size = 0;
    if (ids->count - begin > most) {
        ids->count = begin + most;
        *cut = true;
    }
    return TSR_OK;
}

static tsr_status append_both(const tsri_task_ranking_words *w, const tsri_text_tokenizer *t,
                              const char *instruction, const tsr_string *question,
                              const tsr_string *text, size_t most, tsri_bytes *bytes,
                              tsri_text_ids *ids, bool *cut) {
    const size_t begin = ids->count;
    TRY(write_head(w, instruction, question, bytes));
    if (!w->between)
        return append_text(t, bytes, w->text, text, most, ids, cut);
    TRY(append_text(t, bytes, NULL, NULL, most * 3 / 4, ids, cut));
    TRY(encode(t, w->between, 0, ids));
    const size_t used = ids->count - begin;
    return append_text(t, bytes, w->text, text, used < most ? most - used : 0, ids, cut);
}

tsr_status tsri_task_ranking_ids(const tsri_task_ranking_words *w, const tsri_text_tokenizer *t,
                                 const char *instruction, const tsr_string *question,
                                 const tsr_string *text, size_t most, tsri_text_ids *ids,
                                 bool *cut) {
    tsri_text_ids after = {0};
    tsri_bytes bytes = {0};
    const size_t begin = ids->count;
    const int32_t bos = w->bos ? tsri_text_role_id(t, TSRI_TEXT_BOS) : -1;
    tsr_status status = bos >= 0 ? tsri_text_ids_append(ids, &bos, 1) : TSR_OK;
    *cut = false;
    if (status == TSR_OK)
        status = encode(t, w->before, TSRI_TEXT_PARSE_SPECIAL, ids);
    for (int i = 0; i < 2 && status == TSR_OK; i++)
        status = encode(t, w->after[i], TSRI_TEXT_PARSE_SPECIAL, &after);
    const size_t around = ids->count - begin + after.count;
    if (status == TSR_OK && around >= most)
        status = tsri_base_fail(TSR_E_ARGUMENT,
                                "texts of at most %zu tokens were asked for; the words around "
                                "them are %zu already",
                                most, around);
    if (status == TSR_OK)
        status = append_both(w, t, instruction, question, text, most - around, &bytes, ids, cut);
    if (status == TSR_OK)
        status = tsri_text_ids_append(ids, after.data, after.count);
    tsri_base_bytes_clear(&bytes);
    tsri_text_ids_clear(&after);
    return status;
}

/* task/texts/passages.c - makes ids of texts for an encoder, and runs many texts, those of similar
 * length together. */
#include "task/texts/passages.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONFIG = 1 << 24, DEPTH = 64 };

/* ---- how the tokenizer frames a text ---- */

static tsr_status encode(const tsri_text_tokenizer *t, const char *text, size_t n, unsigned flags,
                         tsri_text_ids *out) {
    out->count = 0;
    return tsri_text_encode(t, text, n, flags | TSRI_TEXT_PARSE_SPECIAL, out);
}

/* Counts the special tokens around a text: they are the ids of an empty text. Those before it are
 * the ones that a text that isn't empty also begins with. */
static tsr_status measure_frame(tsri_task_reader *r) {
    tsri_text_ids none = {0}, some = {0};
    tsr_status status = encode(r->tokenizer, "", 0, r->flags, &none);
    if (status == TSR_OK)
        status = encode(r->tokenizer, "a", 1, r->flags, &some);
    if (status == TSR_OK) {
        r->around = none.count;
        while (r->before < none.count && r->before < some.count &&
               none.data[r->before] == some.data[r->before])
            r->before++;
        none.count = 0;
        status = tsri_text_encode_pair(r->tokenizer, "", 0, "", 0, r->flags, &none, NULL);
        r->around_pair = none.count;
    }
    tsri_text_ids_clear(&none);
    tsri_text_ids_clear(&some);
    return status;
}

/* truncation_side of tokenizer_config.json: which end a long text loses. */
static tsr_status config_side(const json_t *config, const char *path, bool *left) {
    const char *side = "right";
    TRY(tsri_base_json_text(config, path, "truncation_side", &side));
    *left = !strcmp(side, "left");
    return *left || !strcmp(side, "right")
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT,
                                "%s: \"truncation_side\" is \"%s\"; it must be \"left\" or "
                                "\"right\"",
                                path, side);
}

/* What tokenizer_config.json says: model_max_length, where it is a real bound (1e30 stands for none),
 * and the end that a long text loses. */
static tsr_status read_config(const char *folder, int64_t *most, bool *left) {
    double length = 1e30;
    json_t *json = NULL;
    char *path = tsri_base_join(folder, "tokenizer_config.json");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_file(path))
        status = tsri_base_json_load(path, MOST_CONFIG, DEPTH, &json);
    if (status == TSR_OK && json)
        status = tsri_base_json_real(json, path, "model_max_length", 1, 1e300, &length);
    if (status == TSR_OK && json)
        status = config_side(json, path, left);
    if (status == TSR_OK && length < (double)*most)
        *most = (int64_t)length;
    json_decref(json);
    free(path);
    return status;
}

tsr_status tsri_task_need_tokenizer(const tsri_model *model, const char *job) {
    return model->tokenizer
               ? TSR_OK
               : tsri_base_fail(TSR_E_STATE,
                                "%s has no tokenizer that can be used%s%s: %s needs one",
                                model->path, model->tokenizer_why ? ": " : "",
                                model->tokenizer_why ? model->tokenizer_why : "", job);
}

tsr_status tsri_task_check_tokens(const tsri_model *model, int64_t asked, int64_t reads) {
    return asked >= 0 && asked <= reads
               ? TSR_OK
               : tsri_base_fail(TSR_E_ARGUMENT,
                                "texts of at most %" PRId64
                                " tokens were asked for; %s reads %" PRId64,
                                asked, model->path, reads);
}

tsr_status tsri_task_reader_begin(const tsri_model *model, const char *job, int64_t max_tokens,
                                  tsri_task_reader *out) {
    const tsri_model_spec *spec = &model->spec;
    *out = (tsri_task_reader){.tokenizer = model->tokenizer,
                              .max_tokens = spec->source_context,
                              .flags = spec->encoder.embeds_only ? 0 : TSRI_TEXT_ADD_SPECIAL,
                              .segments = spec->token_types > 1,
                              .padding = -1};
    if (!spec->encoder.layers || spec->decoder.layers)
        return tsri_base_fail(
            TSR_E_STATE,
            "%s is of the family %s, a decoder or an encoder-decoder; %s needs an "
            "encoder (BERT, ModernBERT, ...), or a decoder with a modules.json (Qwen3-Embedding)",
            model->path, spec->family, job);
    TRY(tsri_model_need_device(model));
    TRY(tsri_task_need_tokenizer(model, job));
    const int64_t said = tsri_text_max_length(model->tokenizer);
    if (spec->encoder.embeds_only) /* a table's tokenizer.json says it */
        out->max_tokens = said && said < out->max_tokens ? said : out->max_tokens;
    else if (model->folder)
        TRY(read_config(model->folder, &out->max_tokens, &out->cut_left));
    if (max_tokens)
        out->max_tokens = max_tokens;
    TRY(measure_frame(out));
    if ((int64_t)out->around_pair >= out->max_tokens)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "texts of %" PRId64 " tokens were asked for; that leaves no room "
                              "between the %zu that the tokenizer puts around a pair",
                              out->max_tokens, out->around_pair);
    return TSR_OK;
}

/* ---- texts ---- */

/* Makes prefix + text in the form that the reader needs; where that is not the text itself, it lies
 * in `room`. */
static tsr_status prepare(const tsri_task_reader *r, const char *prefix, const tsr_string *given,
                          tsri_bytes *room, tsr_string *text) {
    *text = *given;
    if (*prefix) {
        room->size = 0;
        TRY(tsri_base_bytes_append(room, prefix, strlen(prefix)));
        TRY(tsri_base_bytes_append(room, given->data, given->size));
        *text = (tsr_string){.data = room->data, .size = room->size};
    }
    if (!r->lower_case)
        return TSR_OK;
    tsri_bytes valid = {0}, lower = {0};
    tsr_status status = tsri_text_utf8_repair(text->data, text->size, &valid);
    if (status == TSR_OK)
        status = tsri_text_lowercase(valid.data ? valid.data : "", valid.size, &lower);
    tsri_base_bytes_clear(&valid);
    tsri_base_bytes_clear(room);
    *room = lower;
    *text = (tsr_string){.data = lower.data ? lower.data : "", .size = lower.size};
    return status;
}

static tsr_status append(tsri_text_ids *to, const tsri_text_ids *from, size_t begin, size_t n) {
    return tsri_text_ids_append(to, from->data + begin, n);
}

static tsr_status add_single(const tsri_task_reader *r, tsri_task_passages *p, const char *prefix,
                             const tsr_string *a) {
    tsri_text_ids *ids = &p->part[0];
    const size_t most = (size_t)r->max_tokens,
                 begin = r->cut_left ? r->before : most - (r->around - r->before);
    tsr_string text;
    TRY(prepare(r, prefix, a, &p->text, &text));
    TRY(encode(r->tokenizer, text.data, text.size, r->flags, ids));
    if (ids->count <= most)
        return append(&p->ids, ids, 0, ids->count);
    p->cut++;
    TRY(append(&p->ids, ids, 0, begin));
    return append(&p->ids, ids, ids->count - (most - begin), most - begin);
}

/* Cuts two texts to `most` tokens together: the longer one loses tokens until they are equally long,
 * then both do (longest_first in the tokenizers library). */
static void share(size_t most, size_t *a, size_t *b) {
    size_t *shorter = *a <= *b ? a : b, *longer = shorter == a ? b : a;
    if (*a + *b <= most)
        return;
    *longer = *shorter > most ? *shorter : most - *shorter;
    *longer = *longer < *shorter ? *shorter : *longer;
    if (*shorter + *longer > most) {
        *shorter = most / 2;
        *longer = *shorter + most % 2;
    }
}

tsr_status tsri_task_passages_pair(const tsri_task_reader *r, tsri_task_passages *p,
                                   const tsr_string *a, const tsr_string *b, tsri_task_pair *out) {
    tsri_text_ids *ids = &p->part[0], *types = &p->part[1];
    TRY(encode(r->tokenizer, a->data, a->size, 0, ids));
    const size_t na = ids->count;
    TRY(encode(r->tokenizer, b->data, b->size, 0, ids));
    const size_t nb = ids->count;
    ids->count = types->count = 0;
    TRY(tsri_text_encode_pair(r->tokenizer, a->data, a->size, b->data, b->size,
                              r->flags | TSRI_TEXT_PARSE_SPECIAL, ids, types));
    *out = (tsri_task_pair){.begin_a = r->before,
                            .na = na,
                            .begin_b = ids->count - (r->around - r->before) - nb,
                            .nb = nb,
                            .whole = ids->count != na + nb + r->around_pair};
    return TSR_OK;
}

/* Leaves out the padding at the end of the sequence that is being closed. */
static void drop_padding(const tsri_task_reader *r, tsri_task_passages *p) {
    tsri_text_ids *ids = &p->ids;
    while (r->padding >= 0 && ids->count > p->starts[p->n] + 1 &&
           ids->data[ids->count - 1] == r->padding)
        ids->count--;
    if (p->types.count > ids->count)
        p->types.count = ids->count;
}

tsr_status tsri_task_passages_close(const tsri_task_reader *r, tsri_task_passages *p) {
    static const int32_t zeros[64] = {0};
    TRY(tsri_base_grow(&p->starts, &p->room, p->n + 2, sizeof *p->starts));
    if (!p->n)
        p->starts[0] = 0;
    drop_padding(r, p);
    while (p->types.count < p->ids.count) {
        const size_t left = p->ids.count - p->types.count;
        TRY(tsri_text_ids_append(&p->types, zeros, left < 64 ? left : 64));
    }
    for (size_t i = p->starts[p->n]; !r->segments && i < p->types.count; i++)
        p->types.data[i] = 0;
    p->starts[++p->n] = p->ids.count;
    return TSR_OK;
}

static tsr_status append_part(const tsri_task_reader *r, tsri_task_passages *p,
                              const tsri_task_pair *pair, size_t first_a, size_t keep_a,
                              size_t first_b, size_t keep_b) {
    const size_t end_a = pair->begin_a + pair->na, begin_b = pair->begin_b;
    if (pair->whole && keep_a + keep_b < pair->na + pair->nb)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "a pair of %zu and %zu tokens is longer than the %" PRId64
                              " that are read at once, and the tokenizer's template does not "
                              "allow to cut it",
                              pair->na, pair->nb, r->max_tokens);
    for (int i = 0; i < 2; i++) {
        const tsri_text_ids *from = &p->part[i];
        tsri_text_ids *to = i ? &p->types : &p->ids;
        TRY(append(to, from, 0, pair->begin_a));
        TRY(append(to, from, pair->begin_a + first_a, keep_a));
        TRY(append(to, from, end_a, begin_b - end_a));
        TRY(append(to, from, begin_b + first_b, keep_b));
        TRY(append(to, from, begin_b + pair->nb, from->count - begin_b - pair->nb));
    }
    return TSR_OK;
}

tsr_status tsri_task_passages_add_part(const tsri_task_reader *r, tsri_task_passages *p,
                                       const tsri_task_pair *pair, size_t keep_a, size_t first_b,
                                       size_t keep_b) {
    TRY(append_part(r, p, pair, 0, keep_a, first_b, keep_b));
    return tsri_task_passages_close(r, p);
}

static tsr_status add_pair(const tsri_task_reader *r, tsri_task_passages *p, const char *prefix,
                           const tsr_string *a, const tsr_string *b) {
    tsri_task_pair pair;
    tsr_string first;
    TRY(prepare(r, prefix, a, &p->text, &first));
    TRY(tsri_task_passages_pair(r, p, &first, b, &pair));
    size_t keep_a = pair.na, keep_b = pair.nb;
    share((size_t)r->max_tokens - r->around_pair, &keep_a, &keep_b);
    p->cut += keep_a + keep_b < pair.na + pair.nb;
    return append_part(r, p, &pair, r->cut_left ? pair.na - keep_a : 0, keep_a,
                       r->cut_left ? pair.nb - keep_b : 0, keep_b);
}

tsr_status tsri_task_passages_add(const tsri_task_reader *r, tsri_task_passages *p,
                                  const char *prefix, const tsr_string *a, const tsr_string *b) {
    const tsr_status status = b ? add_pair(r, p, prefix, a, b) : add_single(r, p, prefix, a);
    return status == TSR_OK ? tsri_task_passages_close(r, p)
                            : tsri_base_fail_within(status, "text %zu", p->n + 1);
}

void tsri_task_passages_reset(tsri_task_passages *p) {
    p->ids.count = p->types.count = 0;
    p->n = 0;
    p->cut = 0;
}

void tsri_task_passages_clear(tsri_task_passages *p) {
    tsri_text_ids_clear(&p->ids);
    tsri_text_ids_clear(&p->types);
    tsri_text_ids_clear(&p->part[0]);
    tsri_text_ids_clear(&p->part[1]);
    tsri_base_bytes_clear(&p->text);
    free(p->starts);
    *p = (tsri_task_passages){0};
}

/* ---- running ---- */

typedef struct length {
    size_t tokens, number;
} length;

static int longest_first(const void *a, const void *b) {
    const length *x = a, *y = b;
    return x->tokens != y->tokens ? (x->tokens > y->tokens ? -1 : 1)
                                  : (x->number > y->number) - (x->number < y->number);
}

/* Collects texts from `order` on, up to TSRI_TASK_RUN_TOKENS. */
static int32_t gather(const tsri_task_passages *p, const length *order, size_t left,
                      tsri_model_sequence *sequences, size_t *which) {
    size_t tokens = 0;
    int32_t n = 0;
    for (; (size_t)n < left && (n == 0 || tokens + order[n].tokens <= TSRI_TASK_RUN_TOKENS); n++) {
        const size_t begin = p->starts[order[n].number];
        tokens += order[n].tokens;
        which[n] = order[n].number;
        sequences[n] = (tsri_model_sequence){.ids = p->ids.data + begin,
                                             .types = p->types.data + begin,
                                             .n = (int64_t)order[n].tokens};
    }
    return n;
}

tsr_status tsri_task_passages_run(const tsri_task_passages *p, tsri_task_run_fn run,
                                  tsr_status (*tell)(void *data, size_t done), void *data) {
    length *order = NULL;
    tsri_model_sequence *sequences = NULL;
    size_t *which = NULL, n = 0;
    tsr_status status = tsri_base_new(p->n, sizeof *order, &order);
    if (status == TSR_OK)
        status = tsri_base_new(p->n, sizeof *sequences, &sequences);
    if (status == TSR_OK)
        status = tsri_base_new(p->n, sizeof *which, &which);
    for (size_t i = 0; status == TSR_OK && i < p->n; i++)
        if (p->starts[i + 1] > p->starts[i])
            order[n++] = (length){.tokens = p->starts[i + 1] - p->starts[i], .number = i};
    if (status == TSR_OK)
        qsort(order, n, sizeof *order, longest_first);
    for (size_t done = 0; status == TSR_OK && done < n;) {
        const int32_t count = gather(p, order + done, n - done, sequences, which);
        status = run(data, sequences, which, count);
        done += (size_t)count;
        if (status == TSR_OK)
            status = tell(data, p->n - n + done);
    }
    free(order);
    free(sequences);
    free(which);
    return status;
}

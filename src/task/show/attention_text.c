/* task/show/attention_text.c - makes the ids of a text for a model, and those of the target that
 * its decoder reads. */
#include "base/error.h"
#include "task/generate/beams.h"
#include "task/generate/decode.h"
#include "task/generate/settings.h"
#include "task/generate/template.h"
#include "task/show/attention.h"
#include "tessera/translate.h"
#include "text/tokenizer/languages.h"

#include <inttypes.h>
#include <string.h>

enum { DEFAULT_TARGET = 256 };

/* ---- a generated target ---- */

typedef struct generating {
    tsri_task_text text;
    bool taken;
    tsri_text_ids *target;
} generating;

static tsr_status next(void *data, const tsri_task_text **text) {
    generating *g = data;
    if (!g->taken)
        *text = &g->text;
    g->taken = true;
    return TSR_OK;
}

static tsr_status found(void *data, const tsri_task_text *text, const tsri_task_beam *beam) {
    generating *g = data;
    if (!tsri_task_beam_finished(beam))
        return TSR_OK;
    const tsri_task_hypothesis *best = tsri_task_beam_best(beam, 0);
    return tsri_text_ids_append(g->target, best->ids + text->n_prompt,
                                (size_t)(best->n - text->n_prompt));
}

/* Appends the best target that the model's own search finds; `target` has the start token. */
static tsr_status generate(tsri_model *model, const tsr_generate_options *search, int32_t forced,
                           const tsri_text_ids *source, tsri_text_ids *target) {
    const int32_t start = target->data[0];
    generating g = {.text = {.source = source->data,
                             .n_source = (int64_t)source->count,
                             .prompt = &start,
                             .n_prompt = 1,
                             .most = search->max_new_tokens},
                    .target = target};
    const tsri_task_beams_ends ends = {.next = next, .found = found, .data = &g};
    tsri_task_token_rules rules;
    tsri_task_beams *beams = NULL;
    TRY(tsri_task_token_rules_create(model, search, NULL, 0, &rules));
    if (forced >= 0)
        rules.forced_first = forced;
    const tsri_task_beams_options sizes = {.rules = &rules,
                                           .texts = 1,
                                           .context = 1 + g.text.most,
                                           .source_context = (int64_t)source->count};
    tsr_status status = tsri_task_beams_create(model, &sizes, &beams);
    if (status == TSR_OK)
        status = tsri_task_beams_run(beams, &ends);
    tsri_task_beams_destroy(&beams);
    tsri_task_token_rules_clear(&rules);
    return status;
}

/* ---- the target ---- */

static bool ends_with_end(const tsri_model_spec *spec, const tsri_text_ids *ids) {
    for (int32_t i = 0; i < spec->n_eos; i++)
        if (spec->eos[i] == ids->data[ids->count - 1])
            return true;
    return false;
}

/* Makes the decoder's input: the start token, then the target without its end token. */
static tsr_status make_target(const tsr_model *opened, const tsr_attention_options *options,
                              const tsri_text_direction *direction, const tsri_text_ids *source,
                              tsri_text_ids *target) {
    tsri_model *model = tsri_model_of(opened);
    const tsri_model_spec *spec = &model->spec;
    const int32_t start =
        direction->start >= 0 ? direction->start : model->generation.decoder_start;
    if (start < 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s has no token for a target to begin with "
                              "(decoder_start_token_id)",
                              model->path);
    TRY(tsri_text_ids_append(target, &start, 1));
    if (options->target) {
        TRY(tsri_text_encode_target(model->tokenizer, options->target, options->target_size,
                                    direction, TSRI_TEXT_PARSE_SPECIAL, target));
    } else {
        tsr_generate_options search = {.struct_size = sizeof search};
        TRY(tsr_translate_defaults(opened, &search));
        search.temperature = 0;
        const int64_t wanted = options->max_new_tokens ? options->max_new_tokens : DEFAULT_TARGET,
                      room = spec->context - 1;
        search.max_new_tokens = wanted < room ? wanted : room;
        TRY(generate(model, &search, direction->forced, source, target));
    }
    while (target->count > 1 && ends_with_end(spec, target))
        target->count--;
    return tsri_task_check_vocabulary(target, spec->vocab);
}

/* ---- the text ---- */

static tsr_status read_ids(const tsr_attention_options *options, int32_t vocab,
                           tsri_text_ids *source) {
    for (size_t i = 0; i < options->n_ids; i++)
        if (options->ids[i] < 0 || options->ids[i] >= vocab)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "token id %" PRId32
                                  " is outside the vocabulary, which has %" PRId32 " tokens",
                                  options->ids[i], vocab);
    return tsri_text_ids_append(source, options->ids, options->n_ids);
}

static tsr_status write_messages(const tsri_model *model, const tsr_attention_options *options,
                                 tsri_text_ids *source) {
    tsri_task_template *template = NULL;
    tsri_bytes text = {0};
    TRY(tsri_task_template_create(model, options->chat, &template));
    const tsr_status status = tsri_task_template_encode_json(
        template, options->messages, strlen(options->messages), false, &text, source);
    tsri_base_bytes_clear(&text);
    tsri_task_template_destroy(&template);
    return status;
}

/* What a model of one stack reads. */
static tsr_status read_one(const tsri_model *model, const char *text, size_t size,
                           const tsr_attention_options *options, int32_t vocab,
                           tsri_text_ids *source) {
    if (options->ids)
        return read_ids(options, vocab, source);
    if (options->messages)
        return write_messages(model, options, source);
    return tsri_text_encode(model->tokenizer, text, size,
                            TSRI_TEXT_ADD_SPECIAL | TSRI_TEXT_PARSE_SPECIAL, source);
}

tsr_status tsri_task_attention_read(const tsr_model *opened, const char *text, size_t size,
                                    const tsr_attention_options *options, tsri_text_ids *source,
                                    tsri_text_ids *target) {
    const tsri_model *model = tsri_model_of(opened);
    const tsri_model_spec *spec = &model->spec;
    const bool both = spec->encoder.layers && spec->decoder.layers;
    const int32_t vocab = spec->encoder.layers ? spec->source_vocab : spec->vocab;
    tsri_text_direction direction;
    if (both) {
        TRY(tsri_text_direction_of(model->tokenizer, options->source_language,
                                   options->target_language, &direction));
        TRY(tsri_text_encode_source(model->tokenizer, text, size, &direction,
                                    TSRI_TEXT_PARSE_SPECIAL, source));
    } else
        TRY(read_one(model, text, size, options, vocab, source));
    if (!source->count)
        return tsri_base_fail(TSR_E_ARGUMENT, "the text is empty; it must have at least one token");
    TRY(tsri_task_check_vocabulary(source, vocab));
    return both ? make_target(opened, options, &direction, source, target) : TSR_OK;
}

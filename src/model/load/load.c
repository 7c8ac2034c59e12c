/* model/load/load.c - opens a model: config, places of the weights, tokenizer, generation settings. */
#include "model/load/load.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "model/formats/ctranslate2.h"
#include "model/formats/metadata.h"
#include "model/load/family.h"
#include "model/load/measure.h"
#include "model/load/sentence.h"
#include "model/load/shapes.h"
#include "model/tokens/tokens.h"
#include "model/weights/beside.h"
#include "model/weights/mxfp4.h"
#include "model/weights/quantized.h"
#include "run/context.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"
#include "text/tokenizer/languages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES = 16 << 20, CONFIG_DEPTH = 64 };

/* ---- the spec ---- */

/* Of an encoder-decoder, a T5EncoderModel has the encoder, and a sentence-transformers folder uses it; so does
 * who `asked` for vectors. */
static tsr_status read_sides(const tsri_model_config *config, const tsri_model_arch *arch,
                             const char *folder, bool asked, tsri_model_spec *spec) {
    bool alone = tsri_model_config_is_for(config, "EncoderModel");
    if (!spec->decoder.layers || !arch->names->stack)
        return TSR_OK;
    if (!alone)
        TRY(tsri_model_sentence_is(config->archive, folder, &alone));
    spec->pools_unsaid = asked && !alone;
    if (alone || asked)
        tsri_model_spec_encode(spec);
    return TSR_OK;
}

/* A decoder in a sentence-transformers folder was made for vectors: Qwen3-Embedding, E5-Mistral. So was
 * one in a GGUF file that names a pooling. One whose class is ...Classification labels texts. Any other
 * becomes an encoder where vectors are `asked` for. With is_causal false, its tokens see both sides:
 * GTE-Qwen2. */
static tsr_status read_purpose(const tsri_model_config *config, const tsri_model_arch *arch,
                               const char *folder, bool asked, tsri_model_spec *spec) {
    bool vectors = false, causal = true;
    if (spec->encoder.embeds_only) {
        TRY(tsri_model_sentence_is_table(folder, &vectors));
        return vectors ? TSR_OK
                       : tsri_base_fail(TSR_E_UNSUPPORTED,
                                        "%s: a table of vectors is served where a modules.json "
                                        "beside it says what is done to them; it must begin with "
                                        "StaticEmbedding",
                                        config->what);
    }
    if (spec->encoder.layers)
        return read_sides(config, arch, folder, asked, spec);
    if (spec->decoder.recurrent)
        return TSR_OK;
    spec->label_tokens = tsri_model_config_is_for(config, "ForTokenClassification");
    const bool labels =
        spec->label_tokens || tsri_model_config_is_for(config, "ForSequenceClassification");
    TRY(tsri_model_sentence_is(config->archive, folder, &vectors));
    TRY(tsri_model_config_bool(config, "is_causal", &causal));
    if (vectors && config->archive->format != TSRI_IO_GGUF)
        TRY(tsri_model_sentence_judges(folder, &spec->judged_yes, &spec->judged_no));
    vectors = vectors && spec->judged_yes < 0;
    asked = asked && !vectors && !labels;
    if (!vectors && !labels && !asked && !causal)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"is_causal\" is false, which is served where the model says that "
            "it gives vectors: by a modules.json, or by a GGUF file's pooling_type",
            config->what);
    if (vectors || labels || asked)
        tsri_model_spec_encode(spec);
    spec->pools_last = asked && tsri_model_config_is_bare(config);
    spec->pools_unsaid = asked && !spec->pools_last;
    spec->encoder.causal = causal;
    /* Of a decoder that became an encoder, the window counts the tokens before and behind without its own. */
    if (!causal && spec->encoder.window)
        spec->encoder.window++;
    return TSR_OK;
}

/* What the files of a format have in another way than Hugging Face's: the rows of queries and keys in pairs, and
 * what divides the frequencies in an array. `stack`: the decoder, or the encoder that it became. */
static void set_rotation(const tsri_io_archive *archive, const tsri_model_arch *arch,
                         tsri_model_stack *stack) {
    const bool gguf = archive->format == TSRI_IO_GGUF;
    if (stack->positions != TSRI_POSITIONS_ROTARY)
        return;
    if (archive->format == TSRI_IO_LLAMA2C || (gguf && arch->gguf_interleaved))
        stack->rope.interleaved = stack->local_rope.interleaved = true;
    if (gguf && tsri_io_find(archive, "rope_freqs.weight"))
        snprintf(stack->rope.factors, sizeof stack->rope.factors, "/rope_freqs");
}

static tsr_status read_spec(tsri_model *model, const char *folder,
                            const tsri_model_options *options, json_t *json) {
    const tsri_model_config config = {
        .root = json, .what = model->config_name, .archive = model->archive};
    tsri_model_spec *spec = &model->spec;
    tsri_model_spec_defaults(spec);
    snprintf(spec->family, sizeof spec->family, "%s", model->arch->name);
    TRY(model->arch->read(&config, spec));
    const bool bare = !spec->encoder.layers && tsri_model_config_is_bare(&config),
               asked = options->vectors || (options->bare_vectors && bare);
    TRY(read_purpose(&config, model->arch, folder, asked, spec));
    TRY(tsri_model_config_labels(&config, spec));
    tsri_model_spec_finish(spec);
    set_rotation(model->archive, model->arch,
                 spec->decoder.layers ? &spec->decoder : &spec->encoder);
    return tsri_model_spec_check(spec, model->config_name);
}

/* Loads config.json; a folder with the module StaticEmbedding has none, and its array says all. */
static tsr_status load_config(const char *folder, const char *path, json_t **out) {
    bool table = false;
    if (!tsri_base_is_file(path))
        TRY(tsri_model_sentence_is_table(folder, &table));
    if (!table)
        return tsri_base_json_load(path, CONFIG_BYTES, CONFIG_DEPTH, out);
    *out = json_pack("{s:s}", "model_type", "model2vec");
    return tsri_base_json_made(*out, path);
}

/* Finds out how the weights are quantised. */
static tsr_status read_quantized(tsri_model *model, json_t *json) {
    const char *what = model->config_name;
    TRY(tsri_model_quantized_adopt(json, what, model->archive, &model->quantized));
    TRY(tsri_model_mxfp4_adopt(json, what, model->archive, &model->joined));
    TRY(tsri_model_coded_adopt(json, what, model->archive, &model->coded));
    model->joined = model->joined || model->coded.title;
    return TSR_OK;
}

/* Finds the adapters by task, and chooses one: that which is asked for, else the files' own. */
static tsr_status read_tasks(tsri_model *model, const json_t *json, const char *folder,
                             const char *asked) {
    char *own = NULL;
    if (model->arch->by_task)
        TRY(tsri_model_tasks_adopt(json, model->config_name, model->archive, &model->tasks));
    if (!asked && model->tasks.n)
        TRY(tsri_model_sentence_task(folder, &own));
    const char *name = asked ? asked : own;
    const tsr_status status = name && *name
                                  ? tsri_model_tasks_choose(&model->tasks, model->path, name,
                                                            asked ? TSR_E_ARGUMENT : TSR_E_FORMAT)
                                  : TSR_OK;
    model->task_asked = asked != NULL;
    free(own);
    return status;
}

static tsr_status read_config(tsri_model *model, const char *folder,
                              const tsri_model_options *options) {
    const tsri_io_format format = model->archive->format;
    json_t *json = NULL;
    tsr_status status;
    if (format == TSRI_IO_CTRANSLATE2) {
        model->arch = tsri_model_arch_find("ctranslate2");
        model->config_name = tsri_base_copy_text(model->path, strlen(model->path));
        status = model->config_name ? tsri_model_ctranslate2_config(model->archive, folder, &json)
                                    : TSR_E_HOST_MEMORY;
    } else if (format == TSRI_IO_GGUF || format == TSRI_IO_LLAMA2C) {
        model->config_name = tsri_base_copy_text(model->path, strlen(model->path));
        status = !model->config_name ? TSR_E_HOST_MEMORY
                 : format == TSRI_IO_GGUF
                     ? tsri_model_gguf_config(model->archive, &model->arch, &json)
                     : tsri_model_llama2c_config(model->archive, &model->arch, &json);
    } else if (format == TSRI_IO_RANDOM) {
        model->config_name = tsri_base_copy_text(model->path, strlen(model->path));
        status =
            model->config_name ? tsri_model_shape_config(model->path, &json) : TSR_E_HOST_MEMORY;
        if (status == TSR_OK)
            status = tsri_model_family_find(json, model->config_name, model->archive, &model->arch,
                                            &model->family_by);
    } else {
        model->config_name = tsri_base_join(folder, "config.json");
        status =
            model->config_name ? load_config(folder, model->config_name, &json) : TSR_E_HOST_MEMORY;
        if (status == TSR_OK)
            status = tsri_model_family_find(json, model->config_name, model->archive, &model->arch,
                                            &model->family_by);
        if (status == TSR_OK)
            status = read_quantized(model, json);
    }
    if (status == TSR_OK)
        status = read_tasks(model, json, folder, options->task);
    if (status == TSR_OK)
        status = read_spec(model, folder, options, json);
    const bool ours = format == TSRI_IO_SAFETENSORS || format == TSRI_IO_INDEX;
    if (status == TSR_OK && (ours || format == TSRI_IO_CTRANSLATE2))
        status = tsri_model_generation_read(folder, ours ? json : NULL, model->config_name,
                                            &model->spec, &model->generation);
    else if (status == TSR_OK)
        model->generation = (tsri_model_generation){.bos = model->spec.bos,
                                                    .decoder_start = model->spec.decoder_start};
    json_decref(json);
    return status;
}

static tsr_status check_ids(const tsri_model *model, const tsri_text_tokenizer *tokenizer,
                            int32_t rows) {
    if (tsri_text_vocabulary_size(tokenizer) <= rows)
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: its tokenizer has ids up to %" PRId32 ", but the vocab_size %" PRId32
                          " of %s gives rows for fewer",
                          model->path, tsri_text_vocabulary_size(tokenizer) - 1, rows,
                          model->config_name);
}

/* If the tokenizer isn't served, the model still works with ids; a damaged tokenizer is an
 * error. */
static tsr_status read_tokenizer(tsri_model *model, const char *folder) {
    tsr_status status = TSR_OK;
    if (model->archive->format == TSRI_IO_RANDOM)
        return TSR_OK;
    if (model->archive->format == TSRI_IO_GGUF)
        status = tsri_model_gguf_tokenizer(model->archive, &model->tokenizer);
    else if (model->archive->format == TSRI_IO_LLAMA2C)
        status = tsri_model_llama2c_tokenizer(folder, &model->spec, &model->tokenizer);
    else if (model->archive->format == TSRI_IO_CTRANSLATE2)
        status = tsri_model_ctranslate2_tokenizer(model->archive, folder, &model->spec,
                                                  &model->tokenizer);
    else
        status = tsri_model_folder_tokenizer(folder, &model->spec, &model->tokenizer);
    if (status == TSR_E_UNSUPPORTED) {
        model->tokenizer_why = tsri_base_copy_text(tsr_error_last(), strlen(tsr_error_last()));
        return model->tokenizer_why ? TSR_OK : TSR_E_HOST_MEMORY;
    }
    TRY(status);
    if (!model->tokenizer)
        return TSR_OK;
    const tsri_text_tokenizer *target = tsri_text_target(model->tokenizer);
    TRY(tsri_text_grammars_create(target, &model->grammars));
    const bool apart = model->spec.encoder.layers && target != model->tokenizer;
    TRY(check_ids(model, model->tokenizer, apart ? model->spec.source_vocab : model->spec.vocab));
    TRY(check_ids(model, target, model->spec.vocab));
    tsri_model_add_eos(&model->spec, tsri_text_role_id(target, TSRI_TEXT_EOS));
    return TSR_OK;
}

/* The dtype that most bytes of the files are stored in. */
static tsr_dtype stored_dtype(const tsri_io_archive *archive) {
    uint64_t bytes[TSRI_TENSOR_DTYPES] = {0};
    tsr_dtype most = TSR_F32;
    for (size_t i = 0; i < archive->n_arrays; i++)
        bytes[archive->arrays[i].dtype] += archive->arrays[i].bytes;
    for (int dtype = 0; dtype < TSRI_TENSOR_DTYPES; dtype++)
        if (bytes[dtype] > bytes[most])
            most = (tsr_dtype)dtype;
    return most;
}

/* Configs of classifiers with two labels used to name none. */
static tsr_status count_labels(tsri_model *model) {
    const tsri_model_weight *label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL);
    return label && !model->spec.labels
               ? tsri_model_spec_number_labels(&model->spec, (int32_t)label->dims[0])
               : TSR_OK;
}

static tsr_status open_adapters(tsri_model *model, const tsri_model_options *options) {
    tsri_model_wanted names = {0};
    if (options->n_lora && model->archive->format == TSRI_IO_GGUF)
        TRY(tsri_model_weights_wanted(model->arch, &model->spec, &names));
    const tsr_status status =
        tsri_model_adapters_open(options->lora, options->n_lora, model->arch, model->weights,
                                 &names, &model->tasks, &model->weights->adapters);
    free(names.items);
    /* An adapter may have made the output matrix one of its own. */
    if (tsri_model_weight_at(model->weights, TSRI_WEIGHT_HEAD))
        model->spec.tied = false;
    if (status == TSR_OK && options->n_lora && model->weights->keeping.stored_blocks &&
        options->dtype == TSR_DTYPE_NONE)
        return tsri_model_beside_define(model->weights);
    return status;
}

/* Chooses the dtype of keys and values: f16 where the weights have fewer bits than f32 and all of a
 * context in f32 would be more than FEW_BYTES, which is read faster from caches than it is widened.
 * What f16 and q8 cost: docs/performance.md. */
static tsr_status settle_kv_dtype(tsri_model *model, const tsri_model_options *options) {
    enum { FEW_BYTES = 64 << 20 };
    const tsri_model_stack *stack = &model->spec.decoder;
    const tsr_dtype weights =
        options->dtype != TSR_DTYPE_NONE ? options->dtype : stored_dtype(model->archive);
    const int64_t context = options->context ? options->context : model->spec.context;
    tsri_model_measures measures;
    model->kv_dtype = TSR_F32;
    tsri_model_measure(model, &measures);
    const bool many = (double)measures.kv_bytes_per_token * (double)context > FEW_BYTES;
    if (options->kv_dtype == TSR_GGML_Q8_0 && stack->layers &&
        (stack->recurrent || stack->head_size % TSRI_TENSOR_BLOCK ||
         stack->value_size % TSRI_TENSOR_BLOCK))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: keys of %d numbers and values of %d can't be kept as q8, whose blocks have %d of "
            "one head: take f16",
            model->path, stack->head_size, stack->value_size, TSRI_TENSOR_BLOCK);
    if (options->kv_dtype != TSR_DTYPE_NONE)
        model->kv_dtype = options->kv_dtype;
    else if (many && weights != TSR_F32 && weights != TSR_F64)
        model->kv_dtype = TSR_F16;
    return TSR_OK;
}

/* Names the file's format and dtype, for people. */
static void name_stored(tsri_model *model) {
    snprintf(model->stored, sizeof model->stored, "%s",
             model->coded.title ? model->coded.type
                                : tsri_tensor_dtype_name(stored_dtype(model->archive)));
    const tsri_io_format format = model->archive->format;
    snprintf(model->format, sizeof model->format, "%s",
             format == TSRI_IO_GGUF          ? "GGUF"
             : format == TSRI_IO_LLAMA2C     ? "llama2.c"
             : format == TSRI_IO_RANDOM      ? "random"
             : format == TSRI_IO_CTRANSLATE2 ? "CTranslate2"
                                             : "safetensors");
}

/* Whether the path has weights: then it is a model, and the message says what is wrong with it. */
static bool holds_weights(const char *path) {
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "model.bin"};
    tsri_io_format format = TSRI_IO_UNKNOWN;
    tsri_io_archive *archive = NULL;
    bool holds = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && tsri_base_is_folder(path); i++) {
        char *file = tsri_base_join(path, names[i]);
        holds = holds || !file || tsri_base_is_file(file);
        free(file);
    }
    if (tsri_base_is_folder(path) || tsri_io_detect(path, &format) != TSR_OK)
        return holds;
    if (format != TSRI_IO_GGUF)
        return format == TSRI_IO_SAFETENSORS || format == TSRI_IO_LLAMA2C ||
               format == TSRI_IO_CTRANSLATE2;
    holds = tsri_io_open(path, &archive) != TSR_OK || archive->n_arrays > 0;
    tsri_io_close(&archive);
    return holds;
}

/* Opens the tokenizer of a path without weights; `status` is the failure to open a model, which is
 * returned if there is no tokenizer either. */
static tsr_status open_tokenizer(const char *path, tsr_status status, tsri_model **out) {
    const tsri_base_kept why = tsri_base_keep();
    tsri_model *model = NULL;
    tsri_text_tokenizer *tokenizer = NULL;
    if (!holds_weights(path))
        TRY(tsri_model_tokenizer_at(path, &tokenizer));
    if (!tokenizer) {
        tsri_base_restore(status, &why);
        return status;
    }
    status = tsri_base_new(1, sizeof *model, &model);
    if (status == TSR_OK && !(model->path = tsri_base_copy_text(path, strlen(path))))
        status = TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_folder(path))
        status = tsri_base_folder_of(path, &model->folder);
    if (status != TSR_OK) {
        tsri_text_tokenizer_destroy(&tokenizer);
        tsri_model_close(&model);
        return status;
    }
    tsri_model_spec_defaults(&model->spec);
    model->tokenizer = tokenizer;
    model->spec.vocab = tsri_text_vocabulary_size(tokenizer);
    *out = model;
    return TSR_OK;
}

/* Whether files of the folder say what those of the weights don't. */
static bool is_of_folder(tsri_io_format format) {
    return format == TSRI_IO_SAFETENSORS || format == TSRI_IO_INDEX ||
           format == TSRI_IO_CTRANSLATE2;
}

static tsr_status open_model(const char *path, const tsri_model_options *options,
                             tsri_model **out) {
    tsri_model *model = NULL;
    TRY(tsri_base_new(1, sizeof *model, &model));
    model->tasks.chosen = -1;
    char *folder = NULL;
    tsr_status status = tsri_base_folder_of(path, &folder);
    model->path = tsri_base_copy_text(path, strlen(path));
    if (status == TSR_OK)
        folder[tsri_base_folder_length(folder)] = 0;
    if (status == TSR_OK)
        status = !model->path                ? TSR_E_HOST_MEMORY
                 : tsri_model_is_shape(path) ? tsri_model_shape_open(path, &model->archive)
                                             : tsri_io_open(path, &model->archive);
    if (status == TSR_OK)
        status = read_config(model, folder, options);
    const bool has_blocks =
        model->joined || (model->archive && model->archive->format == TSRI_IO_GGUF);
    const tsri_model_keeping keeping = {.dtype = options->dtype,
                                        .compute = options->compute,
                                        .float_blocks = options->float_blocks,
                                        .stored_blocks = model->quantized || has_blocks};
    if (status == TSR_OK)
        status = tsri_model_weights_create(model->archive, model->arch, &model->spec,
                                           model->config_name, &keeping, &model->weights);
    if (status == TSR_OK)
        status = count_labels(model);
    if (status == TSR_OK)
        status = open_adapters(model, options);
    if (status == TSR_OK)
        status = read_tokenizer(model, folder);
    if (status == TSR_OK)
        status = settle_kv_dtype(model, options);
    if (status == TSR_OK && is_of_folder(model->archive->format)) {
        model->folder = folder;
        folder = NULL;
    }
    if (status == TSR_OK)
        name_stored(model);
    else
        tsri_model_close(&model);
    free(folder);
    *out = model;
    return status;
}

tsr_status tsri_model_open(const char *path, const tsri_model_options *options, tsri_model **out) {
    const tsr_status status = open_model(path, options, out);
    return status != TSR_OK && options->tokenizer_only ? open_tokenizer(path, status, out) : status;
}

tsr_status tsri_model_need_no_tasks(const tsri_model *model) {
    return !model->tasks.n
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s has adapters by task in its files, which the new folder would "
                                "lack; use it as it is, with --dtype and --task",
                                model->path);
}

tsr_status tsri_model_need_device(const tsri_model *model) {
    return model->run ? TSR_OK
                      : tsri_base_fail(TSR_E_STATE, "%s was opened without a device", model->path);
}

void tsri_model_close(tsri_model **model) {
    tsri_model *m = *model;
    if (!m)
        return;
    if (m->parked)
        m->drop_parked(m);
    if (m->run && m->graph)
        tsri_run_forget(m->run, m->graph);
    tsri_graph_destroy(&m->graph);
    tsri_model_weights_destroy(&m->weights);
    tsri_io_close(&m->archive);
    tsri_model_tasks_clear(&m->tasks);
    tsri_text_grammars_destroy(&m->grammars);
    tsri_text_tokenizer_destroy(&m->tokenizer);
    tsri_model_spec_clear(&m->spec);
    tsri_model_generation_clear(&m->generation);
    free(m->tokenizer_why);
    free(m->config_name);
    free(m->folder);
    free(m->path);
    free(m->states_used);
    free(m);
    *model = NULL;
}

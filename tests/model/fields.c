/* Every field of a config that changes what transformers computes is read or refused by name, and
 * those that change nothing there change nothing here (tests/golden/models/fields.json). */
#include "base/error.h"
#include "base/files.h"
#include "model/compare.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN TESSERA_SOURCE_DIR "/tests/golden/models/"

enum { STEP = 6, MOST = 4096, SHARES = 4 }; /* STEP: that of make_fields.py */

/* A golden model, and what it gives as it is. */
typedef struct golden {
    fixture fixture;
    const char *folder;
    char path[512], changed[512]; /* of its files; of the same arrays with another config */
    json_t *config, *cases, *object;
    batch batch, target;
    float usual[MOST], got[MOST]; /* [tokens or sequences, width] */
    float unused[MOST], *hidden[64];
    int64_t width;
    bool by_token;
} golden;

static json_t *load(const char *folder, const char *file) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return json_load_file(path, 0, NULL);
}

/* Which result of the model the golden numbers are of: that of its head, or the hidden state. */
static tsri_model_results wanted(golden *g) {
    const tsri_model *model = g->fixture.model;
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_weight *label = tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL);
    const char *end = strrchr(g->folder, '/');
    const bool pooled = end && !strcmp(end, "/base"),
               states =
                   !pooled && !label &&
                   (!tsri_model_has_output(model->weights) || (end && !strcmp(end, "/vectors")));
    tsri_model_results results = {0};
    g->by_token = !pooled && (!label || spec->label_tokens);
    results.rows = g->by_token ? TSRI_ROWS_ALL : TSRI_ROWS_LAST;
    g->width = pooled || states ? spec->width : label ? label->dims[0] : spec->vocab;
    if (states && spec->decoder.layers) { /* a decoder gives all hidden states */
        results.hidden = g->hidden;
        for (int32_t i = 0; i < spec->decoder.layers; i++)
            g->hidden[i] = g->unused;
        g->hidden[spec->decoder.layers] = g->got;
        return results;
    }
    *(pooled   ? &results.pooled
      : states ? &results.states
      : label  ? &results.labels
               : &results.logits) = g->got;
    return results;
}

/* What the open model gives: in g->got, in a status where the run is refused. */
static tsr_status run(golden *g) {
    const tsri_model_spec *spec = &g->fixture.model->spec;
    const bool source = spec->encoder.layers != 0, target = spec->decoder.layers != 0;
    const tsri_model_results results = wanted(g), none = {0};
    const batch *batch = target && source ? &g->target : &g->batch;
    tsri_session *session = NULL;
    cr_assert((g->by_token ? batch->tokens : batch->B) * g->width <= MOST, "%s", g->folder);
    memset(g->got, 0, sizeof g->got);
    for (int32_t b = 0; b < g->batch.B; b++)
        if (source && spec->encoder.positions_of_tokens)
            g->batch.sequences[b].positions = NULL;
    tsr_status status = tsri_session_create(g->fixture.model, batch->B, batch->T, &session);
    if (status == TSR_OK && source)
        status =
            tsri_session_encode(session, g->batch.sequences, g->batch.B, target ? &none : &results);
    if (status == TSR_OK && target)
        status = tsri_session_forward(session, batch->sequences, batch->B, &results);
    tsri_session_destroy(&session);
    return status;
}

/* Opens the golden's arrays with this config, and runs it. */
static tsr_status run_changed(golden *g, const json_t *config) {
    const tsri_model_options options = {.compute = TSR_MODEL_COMPUTE_F32};
    char path[600];
    snprintf(path, sizeof path, "%s/config.json", g->changed);
    cr_assert(json_dump_file(config, path, 0) == 0);
    tsri_model_close(&g->fixture.model);
    tsri_run_destroy(&g->fixture.run); /* it keeps weights by their names */
    const tsri_run_options run_options = {
        .devices = &g->fixture.device, .n_devices = 1, .set = g->fixture.set};
    OK(tsri_run_create(&run_options, &g->fixture.run));
    TRY(tsri_model_open(g->changed, &options, &g->fixture.model));
    TRY(tsri_model_store(g->fixture.model, g->fixture.run, &options));
    return run(g);
}

/* All that is in the golden's folder but its config. */
static void link_files(const golden *g) {
    char from[900], to[900];
    DIR *folder = opendir(g->path);
    cr_assert(folder, "%s", g->path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(from, sizeof from, "%s/%s", g->path, entry->d_name);
        snprintf(to, sizeof to, "%s/%s", g->changed, entry->d_name);
        if (*entry->d_name != '.' && strcmp(entry->d_name, "config.json") != 0)
            cr_assert(symlink(from, to) == 0);
    }
    closedir(folder);
}

static void golden_open(golden *g, const char *folder) {
    char home[512];
    memset(g, 0, sizeof *g);
    g->folder = folder;
    snprintf(g->path, sizeof g->path, GOLDEN "%s", folder);
    snprintf(home, sizeof home, "%s", g->path);
    g->cases = load(home, "cases.json");
    if (!g->cases) {
        *strrchr(home, '/') = 0;
        g->cases = load(home, "cases.json");
    }
    g->config = load(g->path, "config.json");
    cr_assert(g->config && g->cases, "%s", g->path);
    g->object = json_array_get(json_object_get(g->cases, "cases"), 0);
    read_batch(g->object, "input_ids", "attention_mask", &g->batch);
    if (json_object_get(g->object, "decoder_input_ids"))
        read_batch(g->object, "decoder_input_ids", "decoder_attention_mask", &g->target);
    folder_make(g->changed);
    link_files(g);
    fixture_device(&g->fixture, "reference");
    OK(run_changed(g, g->config));
    memcpy(g->usual, g->got, sizeof g->usual);
}

static void golden_close(golden *g) {
    fixture_close(&g->fixture);
    folder_drop(g->changed);
    json_decref(g->config);
    json_decref(g->cases);
}

/* The row of g->got that belongs to a place [sequence, token] of the golden. */
static const float *row_at(const golden *g, const json_t *place) {
    const batch *batch =
        g->fixture.model->spec.decoder.layers && g->fixture.model->spec.encoder.layers ? &g->target
                                                                                       : &g->batch;
    const int32_t b = (int32_t)json_integer_value(json_array_get(place, 0));
    const int64_t t = json_integer_value(json_array_get(place, 1));
    const float *row = g->got;
    if (!g->by_token)
        return row + b * g->width;
    for (int32_t i = 0; i < b; i++)
        row += batch->sequences[i].n * g->width;
    for (int64_t i = 0; i < batch->sequences[b].n; i++, row += g->width)
        if (batch->place[b][i] == t)
            return row;
    cr_assert_fail("%s: no token %lld of sequence %d", g->folder, (long long)t, b);
    return NULL;
}

/* Whether the numbers are those without the changed field. */
static bool is_usual(const golden *g) {
    double largest = 0, error = 0;
    for (size_t i = 0; i < MOST; i++) {
        largest = fmax(largest, fabs((double)g->usual[i]));
        error = fmax(error, fabs((double)g->usual[i] - (double)g->got[i]));
    }
    return error <= 1e-6 + 5e-5 * largest;
}

static bool is_close(const golden *g, const json_t *row) {
    const float *got = row_at(g, json_array_get(row, 3));
    const json_t *want = json_array_get(row, 4);
    double largest = 0;
    for (int64_t i = 0; i < g->width; i++)
        largest = fmax(largest, fabs((double)got[i]));
    for (size_t i = 0; i < json_array_size(want); i++)
        if (!(fabs((double)got[i * STEP] - json_real_value(json_array_get(want, i))) <=
              1e-6 + 5e-5 * largest))
            return false;
    return true;
}

/* Rows in which Tessera does something else than transformers, on purpose. */
static bool is_excused(const golden *g, const char *key) {
    static const struct {
        const char *folder, *key; /* folder: how its name begins */
    } excused[] = {
        /* transformers 4 computed scores by distance there, and files may be older than version 5 */
        {"", "position_embedding_type"},
        /* what sees both sides depends on transformers' attention implementation */
        {"gemma-", "use_bidirectional_attention"},
        {"gemma2-", "use_bidirectional_attention"},
        /* other programs compute what these say, and transformers does not */
        {"mpt-odd", "attn_config"},
        {"mpt-odd", "logit_scale"},
        {"deepseek_v2", "norm_topk_prob"},
        {"deepseek_v2-odd", "n_group"},          /* 4 groups of 6 experts */
        {"modernbert-qa/qa", "rope_parameters"}, /* scaling without a factor, which no layer has */
        /* the table of sinusoids in the file, which is computed here, has the old size */
        {"pegasus-odd", "max_position_embeddings"},
        /* an encoder alone would attend to another one */
        {"t5-encoder/vectors", "is_decoder"},
        {"umt5-encoder/vectors", "is_decoder"},
        /* a share of a head, or an activation, that is not served, and that nothing reads here */
        {"", "partial_rotary_factor"},
        {"deberta", "pooler_hidden_act"},
        {"gpt_oss-odd", "hidden_act"},
    };
    /* where an answer begins and ends are two numbers, whatever the labels are */
    if (strstr(g->folder, "-qa/") && (!strcmp(key, "id2label") || !strcmp(key, "num_labels")))
        return true;
    for (size_t i = 0; i < sizeof excused / sizeof *excused; i++)
        if (!strncmp(g->folder, excused[i].folder, strlen(excused[i].folder)) &&
            !strcmp(key, excused[i].key))
            return true;
    return false;
}

/* A sentence about an object of fields names one of them. */
static bool is_named(const char *key) {
    const bool rotary = !strcmp(key, "rope_parameters") &&
                        (strstr(tsr_error_last(), "rot") || strstr(tsr_error_last(), "rope"));
    return rotary || strstr(tsr_error_last(), key) != NULL;
}

static void check_row(golden *g, const json_t *row) {
    const char *key = json_string_value(json_array_get(row, 0)),
               *what = json_string_value(json_array_get(row, 2));
    char *text = json_dumps(json_array_get(row, 1), JSON_ENCODE_ANY | JSON_COMPACT);
    json_t *config = json_deep_copy(g->config);
    if (!strcmp(key, "feed_forward_proj")) { /* older files say it only once */
        json_object_del(config, "dense_act_fn");
        json_object_del(config, "is_gated_act");
    }
    json_object_set(config, key, json_array_get(row, 1));
    if (json_array_get(row, 5)) /* other fields that the value needs */
        json_object_update(config, json_array_get(row, 5));
    const tsr_status status = run_changed(g, config);
    const bool refused = status == TSR_E_UNSUPPORTED || status == TSR_E_FORMAT;
    cr_expect(status == TSR_OK || refused, "%s with \"%s\": %s: %s", g->folder, key, text,
              tsr_error_last());
    const bool same = !strncmp(what, "same", 4), left_over = strstr(what, "left over") != NULL,
               usual = is_usual(g);
    if (!strcmp(what, "shape"))
        cr_expect(refused || is_excused(g, key),
                  "%s with \"%s\": %s is run, though it needs other arrays", g->folder, key, text);
    else if (refused)
        cr_expect(left_over || is_excused(g, key) || (!same && is_named(key)),
                  "%s with \"%s\": %s, \"%s\" in transformers, is refused: %s", g->folder, key,
                  text, what, tsr_error_last());
    else
        cr_expect(same ? usual : is_close(g, row), "%s with \"%s\": %s (\"%s\") gives %s",
                  g->folder, key, text, what,
                  usual ? "the same numbers as without it" : "other numbers");
    free(text);
    json_decref(config);
}

/* The part of the models whose numbers are share, share + SHARES, ... */
static void check_share(int share) {
    static golden g;
    json_t *root = json_load_file(GOLDEN "fields.json", 0, NULL), *rows, *row;
    const char *folder;
    size_t i;
    int n = 0, checked = 0;
    cr_assert(root);
    json_object_foreach(root, folder, rows) {
        if (n++ % SHARES != share)
            continue;
        golden_open(&g, folder);
        json_array_foreach(rows, i, row) check_row(&g, row), checked++;
        golden_close(&g);
    }
    cr_assert(checked > 400, "%d", checked);
    json_decref(root);
}

#define SHARE(n)                 \
    Test(fields, of_share_##n) { \
        check_share(n);          \
    }

SHARE(0)
SHARE(1)
SHARE(2)
SHARE(3)

/* A value of a field, and what becomes of a golden model that has it. */
typedef enum outcome { REFUSED, OTHER, SAME } outcome;
typedef struct outcome_row {
    const char *folder, *key, *value;
    outcome outcome;
} outcome_row;

static void check_outcome(const outcome_row *row) {
    static golden g;
    golden_open(&g, row->folder);
    json_t *config = json_deep_copy(g.config);
    json_object_set_new(config, row->key, json_loads(row->value, JSON_DECODE_ANY, NULL));
    const tsr_status status = run_changed(&g, config);
    const outcome got = status != TSR_OK ? REFUSED : is_usual(&g) ? SAME : OTHER;
    cr_expect(got == row->outcome && (got != REFUSED || is_named(row->key)),
              "%s with \"%s\": %s: %d, \"%s\"", row->folder, row->key, row->value, got,
              got == REFUSED ? tsr_error_last() : "");
    json_decref(config);
    golden_close(&g);
}

/* Fields of which fields.json has no other value, because transformers takes none, or rounds it in
 * another way (WITHOUT in make_fields.py). */
Test(fields, of_one_value_in_transformers) {
    static const outcome_row rows[] = {
        {"falcon-odd", "alibi", "true", REFUSED},
        {"gpt2-odd", "reorder_and_upcast_attn", "true", SAME}, /* another order of the same ops */
        {"deepseek_v2-odd", "num_key_value_heads", "1", REFUSED},
        {"deepseek_v3-odd", "num_key_value_heads", "1", REFUSED},
        {"deepseek_v3-odd", "head_dim", "6", SAME}, /* qk_rope_head_dim says it */
        {"bert-odd/mlm", "add_cross_attention", "true", REFUSED},
        {"camembert-qa/qa", "add_cross_attention", "true", REFUSED},
        {"electra-odd/mlm", "add_cross_attention", "true", REFUSED},
        {"roberta-odd/mlm", "add_cross_attention", "true", REFUSED},
        {"xlm-roberta-qa/qa", "add_cross_attention", "true", REFUSED},
        {"gte-odd/mlm", "partial_rotary_factor", "0.5", REFUSED},
        {"nomic_bert-odd/mlm", "partial_rotary_factor", "0.5", REFUSED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_outcome(&rows[i]);
}

/* Configs of code that lies beside the files, whose fields transformers does not have. */
Test(fields, of_code_beside_files) {
    static const char nomic[] = "nomic_bert/old", gte[] = "gte-odd/new",
                      jina[] = "jina_bert-odd/base";
    static const outcome_row rows[] = {
        {nomic, "prenorm", "true", REFUSED},
        {nomic, "parallel_block", "true", REFUSED},
        {nomic, "rotary_emb_fraction", "0.5", REFUSED},
        {nomic, "rotary_emb_fraction", "0", REFUSED},
        {nomic, "rotary_emb_base", "500", OTHER},
        {nomic, "rotary_emb_scale_base", "512", REFUSED},
        {nomic, "rotary_emb_interleaved", "true", REFUSED},
        {nomic, "rotary_scaling_factor", "2", REFUSED},
        {nomic, "qkv_proj_bias", "true", REFUSED},
        {nomic, "mlp_fc1_bias", "true", REFUSED},
        {nomic, "mlp_fc2_bias", "true", REFUSED},
        {nomic, "use_rms_norm", "true", REFUSED},
        {nomic, "causal", "true", REFUSED},
        {nomic, "scale_attn_weights", "false", REFUSED},
        {nomic, "num_experts", "8", REFUSED},
        {nomic, "activation_function", "\"geglu\"", OTHER},
        {nomic, "activation_function", "\"gelu\"", REFUSED}, /* without a gate */
        {nomic, "activation_function", "\"glu\"", REFUSED},
        {nomic, "layer_norm_epsilon", "0.1", OTHER},
        {nomic, "max_trained_positions", "64", SAME}, /* of rotary_scaling_factor */
        {nomic, "dense_seq_output", "true", SAME},
        {nomic, "pad_vocab_size_multiple", "64", SAME},
        {nomic, "use_flash_attn", "true", SAME},
        {gte, "position_embedding_type", "\"absolute\"", REFUSED},
        {gte, "layer_norm_type", "\"rms_norm\"", REFUSED},
        {gte, "logn_attention_scale", "true", REFUSED},
        {gte, "logn_attention_clip1", "true", REFUSED},
        {gte, "hidden_act", "\"gelu\"", OTHER},
        {gte, "layer_norm_eps", "0.1", OTHER},
        {gte, "rope_theta", "50", OTHER},
        {gte, "rope_scaling", "{\"type\": \"ntk\", \"factor\": 3}", OTHER},
        {gte, "rope_scaling", "null", OTHER},
        {gte, "unpad_inputs", "true", SAME},
        {gte, "use_memory_efficient_attention", "true", SAME},
        {jina, "feed_forward_type", "\"geglu\"", OTHER},
        {jina, "feed_forward_type", "\"glu\"", REFUSED},
        {jina, "layer_norm_eps", "0.1", OTHER},
        {jina, "emb_pooler", "null", SAME},
        {jina, "attn_implementation", "null", SAME},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_outcome(&rows[i]);
}

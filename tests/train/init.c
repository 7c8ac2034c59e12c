/* Recipes, and the folders made from them: refusals and their messages, the families chosen, and
 * the weights drawn. tests/cli/training/train_hf.py compares what such folders compute. */
#include "train/start/init.h"
#include "base/files.h"
#include "io/archive.h"
#include "model/load/load.h"
#include "model/load/measure.h"
#include "train/start/init_parts.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())
#define SOURCE TESSERA_SOURCE_DIR

static char folder[64];

static void make_folder(void) {
    setenv("TESSERA_RECIPES", SOURCE "/recipes", 1);
    snprintf(folder, sizeof folder, "/tmp/tessera-init-XXXXXX");
    cr_assert(mkdtemp(folder));
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

TestSuite(recipe, .init = make_folder, .fini = remove_folder);

/* ---- files ---- */

static tsr_status open_text(const char *text, tsri_train_recipe **out) {
    char path[96];
    snprintf(path, sizeof path, "%s/r.json", folder);
    OK(tsri_base_write_whole(path, text, strlen(text)));
    return tsri_train_recipe_open(path, out);
}

Test(recipe, those_that_come_along) {
    static const char *const names[] = {"char-gpt", "gpt-small", "transformer-base", "bert-mini",
                                        "bahdanau"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tsri_train_recipe *recipe = NULL;
        tsri_train_settings settings;
        OK(tsri_train_recipe_open(names[i], &recipe));
        cr_expect(!strcmp(recipe->name, names[i]));
        tsri_train_key_defaults(tsri_train_settings_keys(), &settings);
        OK(tsri_train_key_set_object(tsri_train_settings_keys(), &settings,
                                     tsri_train_recipe_settings(recipe), names[i]));
        OK(tsri_train_recipe_finish(recipe, settings.block_size));
        tsri_train_recipe_close(&recipe);
    }
}

Test(recipe, wrong_files) {
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"[]", "a recipe must be a JSON object"},
        {"{\"modle\": {}}", "a recipe has no key \"modle\""},
        {"{\"model\": 3}", "\"model\" must be an object"},
        {"{\"model\": {\"layer\": 3}}", "layer: no such key; the nearest is layers"},
        {"{\"model\": {\"layers\": 1.5}}", "layers=1.5: it must be a whole number from"},
        {"{\"model\": {\"layers\": -1}}", "layers=-1: it must be a whole number from"},
        {"{\"model\": {\"layers\": []}}", "layers: it must be a number, a text"},
        {"{\"model\": {\"positions\": \"somewhere\"}}",
         "positions=somewhere: it must be none, learned, rotary, sinusoidal or alibi"},
        {"{\"model\": {\"gated\": 1}}", "gated=1: it must be true or false"},
        {"{\"tokenizer\": {\"size\": 1}}", "\"tokenizer\" has no key \"size\""},
        {"{\"tokenizer\": {\"vocab_size\": \"many\"}}", "\"vocab_size\""},
        {"{\"name\": 3}", "\"name\""},
        {"{", "r.json"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tsri_train_recipe *recipe = NULL;
        cr_expect(open_text(wrong[i].text, &recipe) == TSR_E_FORMAT, "%s", wrong[i].text);
        cr_expect(strstr(tsr_error_last(), wrong[i].says), "%s: %s", wrong[i].text,
                  tsr_error_last());
        cr_expect(!recipe);
    }
    tsri_train_recipe *recipe = NULL;
    cr_expect(tsri_train_recipe_open("gpt-large", &recipe) == TSR_E_IO);
    cr_expect(strstr(tsr_error_last(), "gpt-small"), "%s", tsr_error_last());
}

/* Sets "key=value key=value" in a recipe. */
static void set_all(tsri_train_recipe *recipe, const char *sets) {
    char copy[256], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", sets);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        bool own = false;
        *value = 0;
        OK(tsri_train_recipe_set(recipe, word, value + 1, &own));
        cr_assert(own, "%s", word);
    }
}

Test(recipe, combinations_that_cannot_be) {
    static const struct {
        const char *recipe, *sets, *says;
    } wrong[] = {
        {"char-gpt", "heads=5", "heads 5 does not divide hidden_size 128; 4 would"},
        {"char-gpt", "kv_heads=3", "kv_heads 3 does not divide heads 4; 2 would"},
        {"char-gpt", "attention=bidirectional", "sees the token that it is to predict"},
        {"char-gpt", "positions=rotary hidden_size=12", "heads of an even size"},
        {"char-gpt", "positions=sinusoidal hidden_size=5 heads=1", "an even hidden_size"},
        {"char-gpt", "max_positions=8", "block_size 16 exceeds max_positions 8"},
        {"char-gpt", "embed_size=4", "of kind recurrent"},
        {"char-gpt", "encoder_layers=4", "of kind encoder-decoder"},
        {"char-gpt", "layers=0", "\"layers\" is missing"},
        {"bahdanau", "hidden_size=0", "\"hidden_size\" is missing"},
        {"bahdanau", "layers=4", "layers is not for models of kind recurrent"},
        {"bahdanau", "tied=true", "tied is not for models of kind recurrent"},
        {"transformer-base", "heads=2 kind=recurrent", "heads is not for models of kind recurrent"},
        {"gpt-small", "tokenizer=words.json vocab_size=300",
         "vocab_size=300 is for a tokenizer that is trained (bpe or char), and words.json has its "
         "own tokens"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tsri_train_recipe *recipe = NULL;
        OK(tsri_train_recipe_open(wrong[i].recipe, &recipe));
        set_all(recipe, wrong[i].sets);
        cr_expect(tsri_train_recipe_finish(recipe, 16) == TSR_E_FORMAT, "%s", wrong[i].sets);
        cr_expect(strstr(tsr_error_last(), wrong[i].says), "%s: %s", wrong[i].sets,
                  tsr_error_last());
        tsri_train_recipe_close(&recipe);
    }
}

/* What a file says of another kind of model is no mistake where --set changes the kind. */
Test(recipe, keys_that_recurrent_units_lack) {
    static const struct {
        const char *kind, *says;
    } rows[] = {{"recurrent", "r.json: norm is not for models of kind recurrent"},
                {"encoder-decoder", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[160];
        tsri_train_recipe *recipe = NULL;
        snprintf(text, sizeof text,
                 "{\"model\": {\"kind\": \"%s\", \"hidden_size\": 8, \"norm\": \"post\"}}",
                 rows[i].kind);
        OK(open_text(text, &recipe));
        set_all(recipe, "kind=recurrent embed_size=4");
        cr_expect_eq(tsri_train_recipe_finish(recipe, 16), rows[i].says ? TSR_E_FORMAT : TSR_OK,
                     "%s: %s", rows[i].kind, tsr_error_last());
        cr_expect(!rows[i].says || strstr(tsr_error_last(), rows[i].says), "%s", tsr_error_last());
        tsri_train_recipe_close(&recipe);
    }
}

/* ---- folders ---- */

static tsri_train_made make(const char *recipe_name, const char *sets,
                            tsri_training_objective objective, uint64_t seed) {
    static const char *const labels[] = {"no", "yes", "perhaps"};
    tsri_train_recipe *recipe = NULL;
    tsri_train_made made;
    const tsri_train_init_options options = {.folder = folder,
                                             .seed = seed,
                                             .objective = objective,
                                             .tokenizer = objective == TSRI_OBJECTIVE_TRANSLATE
                                                              ? SOURCE "/models/translate-de-en"
                                                              : SOURCE
                                                              "/models/shakespeare/tokenizer.json",
                                             .labels = labels,
                                             .n_labels = 3,
                                             .dropout = 0.1};
    OK(tsri_train_recipe_open(recipe_name, &recipe));
    set_all(recipe, strstr(sets, "kind=recurrent") ? "hidden_size=32"
                                                   : "layers=2 hidden_size=32 heads=4 ffn=64");
    set_all(recipe, sets);
    OK(tsri_train_recipe_finish(recipe, 16));
    OK(tsri_train_init(recipe, &options, &made));
    tsri_train_recipe_close(&recipe);
    return made;
}

Test(recipe, families) {
    static const struct {
        const char *recipe, *sets;
        tsri_training_objective objective;
        const char *family, *class;
    } rows[] = {
        {"char-gpt", "tied=true", TSRI_OBJECTIVE_NEXT, "gpt2", "GPT2LMHeadModel"},
        {"char-gpt", "norm=post", TSRI_OBJECTIVE_NEXT, "opt", "OPTForCausalLM"},
        {"char-gpt", "positions=rotary", TSRI_OBJECTIVE_NEXT, "gpt_neox", "GPTNeoXForCausalLM"},
        {"char-gpt", "positions=rotary kv_heads=2", TSRI_OBJECTIVE_NEXT, "starcoder2",
         "Starcoder2ForCausalLM"},
        {"char-gpt", "positions=rotary norm_type=rms gated=true", TSRI_OBJECTIVE_NEXT, "llama",
         "LlamaForCausalLM"},
        {"char-gpt", "positions=alibi ffn=128 activation=gelu_tanh", TSRI_OBJECTIVE_NEXT, "bloom",
         "BloomForCausalLM"},
        {"char-gpt", "positions=alibi", TSRI_OBJECTIVE_NEXT, "tessera", ""},
        {"char-gpt", "positions=none", TSRI_OBJECTIVE_NEXT, "tessera", ""},
        {"bert-mini", "tied=true", TSRI_OBJECTIVE_MASKED, "bert", "BertForMaskedLM"},
        {"bert-mini", "tied=true", TSRI_OBJECTIVE_CLASSIFY, "bert",
         "BertForSequenceClassification"},
        {"bert-mini", "tied=true", TSRI_OBJECTIVE_TOKENS, "bert", "BertForTokenClassification"},
        {"bert-mini", "norm=pre", TSRI_OBJECTIVE_MASKED, "tessera", ""},
        {"bert-mini", "attention=causal", TSRI_OBJECTIVE_MASKED, "tessera", ""},
        {"transformer-base", "encoder_layers=1", TSRI_OBJECTIVE_TRANSLATE, "marian",
         "MarianMTModel"},
        {"transformer-base", "norm=pre", TSRI_OBJECTIVE_TRANSLATE, "pegasus",
         "PegasusForConditionalGeneration"},
        {"transformer-base", "positions=learned", TSRI_OBJECTIVE_TRANSLATE, "bart",
         "BartForConditionalGeneration"},
        {"transformer-base", "positions=learned norm=pre", TSRI_OBJECTIVE_TRANSLATE, "mbart",
         "MBartForConditionalGeneration"},
        {"transformer-base", "positions=rotary", TSRI_OBJECTIVE_TRANSLATE, "tessera", ""},
        {"transformer-base", "kind=recurrent", TSRI_OBJECTIVE_TRANSLATE, "bahdanau", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsri_train_made made = make(rows[i].recipe, rows[i].sets, rows[i].objective, 1);
        const tsri_model_options options = {0};
        tsri_model *model = NULL;
        tsri_model_measures figures;
        cr_expect(!strcmp(made.family, rows[i].family), "%s: %s", rows[i].sets, made.family);
        cr_expect(!strcmp(made.class, rows[i].class), "%s: %s", rows[i].sets, made.class);
        OK(tsri_model_open(folder, &options, &model));
        tsri_model_measure(model, &figures);
        /* The first two rows of BART's and OPT's tables of positions are never used. */
        cr_expect((uint64_t)made.parameters == figures.parameters || !strcmp(made.family, "opt") ||
                      strstr(made.family, "bart"),
                  "%s: %lld parameters, counted %llu", rows[i].sets, (long long)made.parameters,
                  (unsigned long long)figures.parameters);
        cr_expect(model->tokenizer && !model->tokenizer_why);
        if (rows[i].objective >= TSRI_OBJECTIVE_CLASSIFY)
            cr_expect(model->spec.label_tokens == (rows[i].objective == TSRI_OBJECTIVE_TOKENS) &&
                      model->spec.labels == 3 && !strcmp(model->spec.label_of[2], "perhaps"));
        tsri_model_close(&model);
    }
}

/* Mean and standard deviation of an array, and how many of its numbers are 0. */
static void moments(const char *name, double *mean, double *deviation, uint64_t *zeros) {
    char path[96];
    tsri_io_archive *archive = NULL;
    double sum = 0, squares = 0;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    OK(tsri_io_open(path, &archive));
    const tsri_io_array *array = tsri_io_find(archive, name);
    cr_assert(array, "%s", name);
    float *x = malloc(array->bytes);
    OK(tsri_io_read(archive, array, 0, array->bytes, x));
    *zeros = 0;
    for (uint64_t i = 0; i < array->elements; i++) {
        sum += x[i];
        squares += (double)x[i] * x[i];
        *zeros += x[i] == 0;
    }
    *mean = sum / (double)array->elements;
    *deviation = sqrt(squares / (double)array->elements - *mean * *mean);
    free(x);
    tsri_io_close(&archive);
}

Test(recipe, weights_are_drawn_as_the_family_draws_them) {
    static const struct {
        const char *name;
        double mean, deviation;
    } rows[] = {
        {"transformer.wte.weight", 0, 0.02},
        {"transformer.wpe.weight", 0, 0.02},
        {"transformer.h.0.attn.c_attn.weight", 0, 0.02},
        {"transformer.h.1.attn.c_proj.weight", 0, 0.01}, /* 0.02 / sqrt(2 * 2 layers) */
        {"transformer.h.0.mlp.c_fc.weight", 0, 0.02},
        {"transformer.h.1.mlp.c_proj.weight", 0, 0.01},
        {"transformer.h.1.ln_2.weight", 1, 0},
        {"transformer.h.1.ln_2.bias", 0, 0},
        {"transformer.h.1.mlp.c_fc.bias", 0, 0},
    };
    double mean, deviation;
    uint64_t zeros;
    make("char-gpt", "tied=true", TSRI_OBJECTIVE_NEXT, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        moments(rows[i].name, &mean, &deviation, &zeros);
        cr_expect(fabs(mean - rows[i].mean) < 0.0025, "%s: mean %g", rows[i].name, mean);
        cr_expect(fabs(deviation - rows[i].deviation) <= 0.06 * rows[i].deviation,
                  "%s: deviation %g", rows[i].name, deviation);
    }
    make("transformer-base", "encoder_layers=1", TSRI_OBJECTIVE_TRANSLATE, 1);
    moments("model.shared.weight", &mean, &deviation, &zeros);
    cr_expect(zeros == 32, "the row of padding, 32 wide, is 0: %llu are",
              (unsigned long long)zeros);
}

static void read_weights(tsri_bytes *out) {
    char path[96];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    OK(tsri_base_read_whole(path, 1 << 30, out));
}

Test(recipe, a_seed_gives_the_same_bytes) {
    tsri_bytes first = {0}, again = {0}, other = {0};
    make("char-gpt", "tied=true", TSRI_OBJECTIVE_NEXT, 7);
    read_weights(&first);
    make("char-gpt", "tied=true", TSRI_OBJECTIVE_NEXT, 7);
    read_weights(&again);
    make("char-gpt", "tied=true", TSRI_OBJECTIVE_NEXT, 8);
    read_weights(&other);
    cr_assert(first.size == again.size && first.size == other.size);
    cr_expect(!memcmp(first.data, again.data, first.size));
    cr_expect(memcmp(first.data, other.data, first.size) != 0);
    tsri_base_bytes_clear(&first);
    tsri_base_bytes_clear(&again);
    tsri_base_bytes_clear(&other);
}

/* ---- from a model ---- */

Test(recipe, a_new_head_on_old_layers) {
    static const char *const labels[] = {"a", "b"};
    tsri_train_init_options options = {.folder = folder,
                                       .objective = TSRI_OBJECTIVE_CLASSIFY,
                                       .tokenizer = SOURCE "/models/shakespeare",
                                       .labels = labels,
                                       .n_labels = 2};
    static const char bert[] = SOURCE "/tests/golden/models/bert-tiny/tokens";
    double mean, deviation, first;
    uint64_t zeros;
    tsri_train_made made;
    OK(tsri_train_init_from(bert, &options, &made));
    cr_expect(!strcmp(made.class, "BertForSequenceClassification"), "%s", made.class);
    moments("bert.pooler.dense.weight", &mean, &deviation, &zeros);
    cr_expect(fabs(deviation - 0.02) < 0.003, "a pooler that wasn't there is drawn: %g", deviation);
    moments("classifier.weight", &mean, &first, &zeros);
    cr_expect(fabs(first - 0.02) < 0.006, "five labels of words are not two of texts: %g", first);
    moments("bert.encoder.layer.0.output.dense.weight", &mean, &deviation, &zeros);
    cr_expect(deviation > 0.2, "layers are the model's: %g", deviation);
    options.no_new_head = true;
    cr_expect(tsri_train_init_from(bert, &options, &made) == TSR_E_ARGUMENT);
    cr_expect(strstr(tsr_error_last(), "lacks a classifier of texts"), "%s", tsr_error_last());
    options.no_new_head = false;
    options.n_labels = 0;
    options.objective = TSRI_OBJECTIVE_CLASSIFY;
    cr_expect(tsri_train_init_from(SOURCE "/models/shakespeare", &options, &made) ==
              TSR_E_UNSUPPORTED);
    cr_expect(strstr(tsr_error_last(), "no head that classifies"), "%s", tsr_error_last());
    cr_expect(tsri_train_init_from(SOURCE "/tests/golden/models/llama-tiny/model.gguf", &options,
                                   &made) == TSR_E_UNSUPPORTED);
}

Test(recipe, a_head_is_kept_under_another_of_its_names) {
    static const char deberta[] = SOURCE "/tests/golden/models/deberta_v2/mlm";
    const tsri_train_init_options options = {.folder = folder,
                                             .objective = TSRI_OBJECTIVE_MASKED,
                                             .tokenizer = SOURCE "/models/shakespeare",
                                             .no_new_head = true};
    double mean, deviation;
    uint64_t zeros;
    tsri_train_made made;
    OK(tsri_train_init_from(deberta, &options, &made));
    moments("lm_predictions.lm_head.dense.weight", &mean, &deviation, &zeros);
    cr_expect(deviation > 0.1, "the head is the model's, and not drawn: %g", deviation);
}

/* Every file that a tokenizer is read from goes into a new folder, whichever family it is of. */
Test(recipe, all_files_of_a_tokenizer_are_copied) {
    static const char *const names[] = {"tekken.json",
                                        "tiktoken.model",
                                        "qwen.tiktoken",
                                        "target_vocab.json",
                                        "spiece.model",
                                        "tokenizer_config.json",
                                        "additional_chat_templates/tool_use.jinja"};
    char from[96], to[96], path[256];
    snprintf(from, sizeof from, "%s/from", folder);
    snprintf(to, sizeof to, "%s/to", folder);
    OK(tsri_base_make_folders(from));
    OK(tsri_base_make_folders(to));
    cr_expect(tsri_train_copy_tokenizer(from, to) == TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(), "this folder has no tokenizer"), "%s", tsr_error_last());
    snprintf(path, sizeof path, "%s/additional_chat_templates", from);
    OK(tsri_base_make_folders(path));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", from, names[i]);
        OK(tsri_base_write_whole(path, names[i], strlen(names[i])));
    }
    OK(tsri_train_copy_tokenizer(from, to));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tsri_bytes held = {0};
        snprintf(path, sizeof path, "%s/%s", to, names[i]);
        OK(tsri_base_read_whole(path, 1 << 10, &held));
        cr_expect(held.size == strlen(names[i]) && !memcmp(held.data, names[i], held.size), "%s",
                  names[i]);
        tsri_base_bytes_clear(&held);
    }
}

/* tests/task/fixture.c - makes the tiny instruction model, and collects what callbacks get. */
#include "task/fixture.h"

#include "support/folder.h"
#include "text/base/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char chat_folder[128];
tsr_engine *engine;
tsr_device *device;

static const char golden[] = TESSERA_SOURCE_DIR "/tests/golden/models/llama-tiny";

json_t *read_json(const char *folder, const char *name) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *json = json_load_file(path, 0, NULL);
    cr_assert(json, "%s", path);
    return json;
}

static void path_of(const char *name, char out[256]) {
    snprintf(out, 256, "%s/%s", chat_folder, name);
}

void write_chat_file(const char *name, const char *text) {
    char path[256];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void dump(const char *name, json_t *json) {
    char path[256];
    path_of(name, path);
    cr_assert(json && json_dump_file(json, path, 0) == 0);
    json_decref(json);
}

/* 61 ids: five special tokens, then single characters. */
static json_t *tokenizer(void) {
    static const char *const special[] = {"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"};
    static const char characters[] =
        "abcdefghijklmnopqrstuvwxyz \n<|>_.?/[]SIYNTABCDEFGHIJKLMNOPQRSTUVWXYZ";
    json_t *vocab = json_object(), *added = json_array();
    for (int i = 0; i < 5; i++) {
        json_object_set_new(vocab, special[i], json_integer(i));
        json_array_append_new(added, json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", i, "content",
                                               special[i], "single_word", 0, "lstrip", 0, "rstrip",
                                               0, "normalized", 0, "special", 1));
    }
    for (const char *c = characters; *c && json_object_size(vocab) < 61; c++) {
        const char key[2] = {*c, 0};
        if (!json_object_get(vocab, key))
            json_object_set_new(vocab, key, json_integer((json_int_t)json_object_size(vocab)));
    }
    json_t *bos = json_pack("[{s:{s:s,s:i}},{s:{s:s,s:i}}]", "SpecialToken", "id", "<s>", "type_id",
                            0, "Sequence", "id", "A", "type_id", 0);
    json_t *post =
        json_pack("{s:s,s:o,s:[],s:{s:{s:s,s:[i],s:[s]}}}", "type", "TemplateProcessing", "single",
                  bos, "pair", "special_tokens", "<s>", "id", "<s>", "ids", 1, "tokens", "<s>");
    return json_pack("{s:s,s:o,s:n,s:n,s:o,s:{s:s},s:{s:s,s:s,s:o,s:[]}}", "version", "1.0",
                     "added_tokens", added, "normalizer", "pre_tokenizer", "post_processor", post,
                     "decoder", "type", "Fuse", "model", "type", "BPE", "unk_token", "<unk>",
                     "vocab", vocab, "merges");
}

void make_chat_folder(void) {
    char from[256], to[256];
    const char *temporary = getenv("TMPDIR");
    snprintf(chat_folder, sizeof chat_folder, "%s/tessera-chat-XXXXXX",
             temporary ? temporary : "/tmp");
    cr_assert(mkdtemp(chat_folder));
    snprintf(from, sizeof from, "%s/model.safetensors", golden);
    path_of("model.safetensors", to);
    cr_assert(symlink(from, to) == 0);
    snprintf(from, sizeof from, "%s/config.json", golden);
    json_t *config = json_load_file(from, 0, NULL);
    json_object_set_new(config, "max_position_embeddings",
                        json_integer(1024)); /* positions are rotary, so any length can be read */
    dump("config.json", config);
    dump("tokenizer.json", tokenizer());
    write_chat_file("tokenizer_config.json", "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\"}");
}

void remove_chat_folder(void) {
    folder_drop(chat_folder);
}

/* Puts the value into the array of a safetensors file that has been read. */
static void damage(unsigned char *bytes, const char *array, float value) {
    uint64_t head;
    memcpy(&head, bytes, sizeof head);
    json_t *header = json_loadb((const char *)bytes + sizeof head, (size_t)head, 0, NULL);
    const json_t *place = json_object_get(json_object_get(header, array), "data_offsets");
    cr_assert(place, "%s", array);
    unsigned char *data = bytes + sizeof head + head;
    const json_int_t begin = json_integer_value(json_array_get(place, 0)),
                     end = json_integer_value(json_array_get(place, 1));
    for (json_int_t at = begin; at < end; at += (json_int_t)sizeof value)
        memcpy(data + at, &value, sizeof value);
    json_decref(header);
}

void make_damaged_folder(const char *from, const char *array, float value, char folder[64]) {
    static const char *const others[] = {"config.json", "tokenizer.json", "generation_config.json"};
    static unsigned char bytes[1 << 18];
    char path[1100], to[1100];
    folder_make(folder);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/%s", from, others[i]);
        snprintf(to, sizeof to, "%s/%s", folder, others[i]);
        cr_assert(access(path, F_OK) || symlink(path, to) == 0);
    }
    snprintf(path, sizeof path, "%s/model.safetensors", from);
    snprintf(to, sizeof to, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "rb");
    cr_assert(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    cr_assert(n > 8 && n < sizeof bytes);
    damage(bytes, array, value);
    file = fopen(to, "wb");
    cr_assert(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

void open_reference(void) {
    OK(tsr_engine_create(NULL, &engine));
    OK(tsr_device_open(engine, "reference", NULL, &device));
}

void close_reference(void) {
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
}

void open_chat_model(tsr_model **model) {
    make_chat_folder();
    open_reference();
    OK(tsr_model_open(chat_folder, device, NULL, model));
}

void close_chat_model(tsr_model **model) {
    tsr_model_close(model);
    close_reference();
    remove_chat_folder();
}

int collect(void *data, const tsr_generated *g) {
    collected *c = data;
    if (g->id >= 0) {
        cr_assert(c->n < MOST_IDS);
        c->ids[c->n++] = g->id;
    }
    cr_assert(c->size + g->text_size < MOST_TEXT);
    c->broken += !tsri_text_utf8_valid(g->text, g->text_size);
    memcpy(c->text + c->size, g->text, g->text_size);
    c->size += g->text_size;
    c->text[c->size] = 0;
    c->finish = g->finish;
    return c->cancel_after && c->n >= c->cancel_after;
}

void hypothesis_add(hypothesis *one, const tsr_generated *generated) {
    cr_assert(!one->finished && one->n < MOST_STEPS);
    if (generated->id >= 0)
        one->ids[one->n++] = generated->id;
    one->finished = generated->finish != TSR_FINISH_NONE;
    one->score = generated->score;
}

bool hypothesis_scores(const hypothesis *one, const json_t *wanted) {
    const double w = json_number_value(wanted), error = fabs((double)one->score - w);
    return error <= 1e-4 + 5e-5 * fabs(w);
}

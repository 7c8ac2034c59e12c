/* io/llama2c.c - reads llama2.c checkpoints. All sizes follow from the header, so the file must
 * have exactly as many bytes as they add up to.
 *
 * source  github.com/karpathy/llama2.c: run.c (memory_map_weights), export.py (legacy_export,
 *         version1_export)
 */
#include "base/error.h"
#include "io/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_DIM = 1 << 20,
    MAX_LAYERS = 1024,
    MAX_VOCAB = 1 << 24,
    MAX_CONTEXT = 1 << 24,
    LEGACY_HEADER = 7 * 4,
    HEADER = 256
};

static const char magic[4] = {'2', '4', 'k', 'a'}; /* "ak42" as a little-endian number */

/* The header, as in the file; in the legacy format a negative vocabulary size means an untied
 * classifier. */
typedef struct config {
    int32_t dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len;
} config;

_Static_assert(sizeof(config) == LEGACY_HEADER, "read as it lies");

/* What is wrong with a header, or NULL. */
static const char *fault(const config *c) {
    if (c->dim < 1 || c->dim > MAX_DIM)
        return "dim must be from 1 to 2^20";
    if (c->hidden_dim < 1 || c->hidden_dim > MAX_DIM)
        return "hidden_dim must be from 1 to 2^20";
    if (c->n_layers < 1 || c->n_layers > MAX_LAYERS)
        return "n_layers must be from 1 to 1024";
    if (c->n_heads < 1 || c->dim % c->n_heads != 0 || c->dim / c->n_heads % 2 != 0)
        return "n_heads must divide dim into heads of an even size";
    if (c->n_kv_heads < 1 || c->n_heads % c->n_kv_heads != 0)
        return "n_kv_heads must divide n_heads";
    if (c->vocab_size == 0 || c->vocab_size < -MAX_VOCAB || c->vocab_size > MAX_VOCAB)
        return "vocab_size must be from 1 to 2^24";
    if (c->seq_len < 1 || c->seq_len > MAX_CONTEXT)
        return "seq_len must be from 1 to 2^24";
    return NULL;
}

bool tsri_io_is_llama2c(const unsigned char *head, size_t n) {
    config c = {0};
    if (n >= sizeof magic && memcmp(head, magic, sizeof magic) == 0)
        return true;
    if (n < sizeof c)
        return false;
    memcpy(&c, head, sizeof c);
    return fault(&c) == NULL;
}

/* One array of the model, or one of each layer: its name, with or without a number, and up to two
 * dims. */
typedef struct part {
    const char *name; /* what follows "model.layers.N." where each layer has one */
    bool per_layer;
    int64_t rows, columns; /* rows 0: a vector */
} part;

/* Lists the parts in the order of the file. One without a name is skipped: the legacy format's
 * tables of rotary angles. */
static size_t list_parts(const config *c, bool legacy, bool shared, part out[16]) {
    const int64_t C = c->dim, F = c->hidden_dim,
                  V = c->vocab_size < 0 ? -(int64_t)c->vocab_size : c->vocab_size;
    const int64_t D = C / c->n_heads, KV = D * c->n_kv_heads;
    const part embed = {"model.embed_tokens.weight", false, V, C},
               norm1 = {"input_layernorm.weight", true, 0, C},
               q = {"self_attn.q_proj.weight", true, C, C},
               k = {"self_attn.k_proj.weight", true, KV, C},
               v = {"self_attn.v_proj.weight", true, KV, C},
               o = {"self_attn.o_proj.weight", true, C, C},
               norm2 = {"post_attention_layernorm.weight", true, 0, C},
               gate = {"mlp.gate_proj.weight", true, F, C},
               down = {"mlp.down_proj.weight", true, C, F}, up = {"mlp.up_proj.weight", true, F, C},
               norm = {"model.norm.weight", false, 0, C}, angles = {NULL, false, c->seq_len, D},
               head = {"lm_head.weight", false, V, C};
    const part old[] = {embed, norm1, q, k, v, o, norm2, gate, down, up, norm, angles, head};
    const part new[] = {norm1, norm2, norm, embed, q, k, v, o, gate, down, up, head};
    const size_t n = legacy ? sizeof old / sizeof *old : sizeof new / sizeof *new;
    memcpy(out, legacy ? old : new, n * sizeof *out);
    return shared ? n - 1
                  /* A shared classifier is the embedding, so the head, which is last, is missing */
                  : n;
}

/* How many bytes a part has. The cosines [seq_len, D/2] and the sines after them are seq_len * D
 * numbers. All terms are small, so the sum is below 2^60. */
static uint64_t bytes_of(const part *p, const config *c) {
    return 4 * (uint64_t)(p->rows ? p->rows : 1) * (uint64_t)p->columns *
           (uint64_t)(p->per_layer ? c->n_layers : 1);
}

static tsr_status add_part(tsri_io_archive *archive, const part *p, const config *c,
                           uint64_t offset) {
    const int layers = p->per_layer ? c->n_layers : 1;
    tsri_io_array array = {.type_name = "F32",
                           .dtype = TSR_F32,
                           .rank = p->rows ? 2 : 1,
                           .dims = {p->rows, p->columns},
                           .offset = offset,
                           .bytes = bytes_of(p, c) / (uint64_t)layers};
    if (!p->rows)
        array.dims[0] = p->columns, array.dims[1] = 0;
    array.elements = array.bytes / 4;
    for (int l = 0; l < layers; l++, array.offset += array.bytes) {
        char name[80];
        const int n = p->per_layer ? snprintf(name, sizeof name, "model.layers.%d.%s", l, p->name)
                                   : snprintf(name, sizeof name, "%s", p->name);
        TRY(tsri_io_add_array(archive, &array, name, (size_t)n));
    }
    return TSR_OK;
}

static tsr_status add_config(tsri_io_archive *archive, const config *c, int32_t version,
                             bool shared) {
    const int32_t vocab = c->vocab_size < 0 ? -c->vocab_size : c->vocab_size;
    const struct {
        const char *key;
        int32_t number;
    } numbers[] = {
        {"dim", c->dim},         {"hidden_dim", c->hidden_dim}, {"n_layers", c->n_layers},
        {"n_heads", c->n_heads}, {"n_kv_heads", c->n_kv_heads}, {"vocab_size", vocab},
        {"seq_len", c->seq_len}, {"version", version},
    };
    const unsigned char flag = shared;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        TRY(tsri_io_add_number(archive, numbers[i].key, TSRI_IO_ITEM_I32, &numbers[i].number));
    return tsri_io_add_number(archive, "shared_classifier", TSRI_IO_ITEM_BOOL, &flag);
}

static tsr_status read_header(const tsri_file *file, config *c, int32_t *version, bool *shared) {
    unsigned char head[HEADER] = {0};
    const size_t held = file->size < HEADER ? (size_t)file->size : HEADER;
    TRY(tsri_base_file_read(file, 0, head, held));
    const bool legacy = memcmp(head, magic, sizeof magic) != 0;
    *version = 0;
    if (!legacy && held >= 8)
        memcpy(version, head + 4, sizeof *version);
    if (!legacy && held >= 8 && *version != 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is a llama2.c checkpoint of version %" PRId32
                              "%s; version 1 and the legacy format "
                              "are read: export it with --version 1",
                              file->path, *version, *version == 2 ? " (int8, q80)" : "");
    if (held < (legacy ? LEGACY_HEADER : HEADER))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has %" PRIu64
                              " bytes; the header of a llama2.c checkpoint alone has %d",
                              file->path, file->size, legacy ? LEGACY_HEADER : HEADER);
    memcpy(c, head + (legacy ? 0 : 8), sizeof *c);
    const unsigned char flag = head[8 + sizeof *c];
    const char *why = fault(c);
    if (!why && !legacy && c->vocab_size < 0)
        why = "vocab_size must be from 1 to 2^24";
    if (!why && !legacy && flag > 1)
        why = "its shared_classifier flag must be 0 or 1";
    if (why)
        return tsri_base_fail(TSR_E_FORMAT, "%s is not a llama2.c checkpoint: %s", file->path, why);
    *shared = legacy ? c->vocab_size > 0 : flag == 1;
    return TSR_OK;
}

tsr_status tsri_io_read_llama2c(tsri_io_archive *archive, const char *path) {
    tsri_file *file;
    config c = {0};
    int32_t version;
    bool shared = false;
    part parts[16];
    TRY(tsri_io_add_file(archive, path, &file));
    TRY(read_header(file, &c, &version, &shared));
    const size_t n = list_parts(&c, version == 0, shared, parts);
    uint64_t offset = version == 0 ? LEGACY_HEADER : HEADER, total = offset;
    for (size_t i = 0; i < n; i++)
        total += bytes_of(&parts[i], &c);
    if (total != file->size)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has %" PRIu64
                              " bytes; a llama2.c checkpoint with its header (dim %" PRId32
                              ", %" PRId32 " layers, vocabulary %" PRId32 ") has %" PRIu64,
                              path, file->size, c.dim, c.n_layers,
                              c.vocab_size < 0 ? -c.vocab_size : c.vocab_size, total);
    for (size_t i = 0; i < n; offset += bytes_of(&parts[i], &c), i++)
        if (parts[i].name)
            TRY(add_part(archive, &parts[i], &c, offset));
    return add_config(archive, &c, version, shared);
}

#include "model/weights.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 256 };

/* What finding needs beside the result. */
typedef struct finder {
    tsri_model_weights *weights;
    const tsri_model_names *names;
    const char *prefix; /* what of the names' prefix the file has */
    const char *config_name;
    const tsri_model_keeping *keeping;
    float norm_offset;
    bool *used; /* by array */
} finder;

/* One array that a weight is made of: how many rows of it, and where its rows lie in the array. */
typedef struct source {
    const char *pattern;
    int64_t rows;                 /* outputs, of the weight */
    int64_t first, group, stride; /* group 0: rows one after the other */
    int64_t stored;               /* rows that the array has; 0: as many as `rows` */
} source;

uint32_t tsri_model_weight_of(int32_t layer, tsri_model_role role) {
    return TSRI_WEIGHT_LAYERS + (uint32_t)layer * TSRI_WEIGHT_PER_LAYER + role;
}

const tsri_model_weight *tsri_model_weight_at(const tsri_model_weights *weights, uint32_t id) {
    return id < weights->count && weights->items[id].name[0] ? &weights->items[id] : NULL;
}

static const char *file_of(const tsri_io_archive *archive, const tsri_io_array *array) {
    return archive->files[array->file]->path;
}

/* "prefix + pattern with the layer's number + suffix". */
static void full_name(const finder *finder, const char *pattern, int32_t layer, const char *suffix,
                      char out[NAME]) {
    const char *prefix = pattern == finder->names->head ? "" : finder->prefix;
    const char *hole = strstr(pattern, "%d");
    if (hole)
        snprintf(out, NAME, "%s%.*s%" PRId32 "%s%s", prefix, (int)(hole - pattern), pattern, layer,
                 hole + 2, suffix);
    else
        snprintf(out, NAME, "%s%s%s", prefix, pattern, suffix);
}

static void print_dims(const int64_t *dims, int rank, char out[96]) {
    size_t n = (size_t)snprintf(out, 96, "[");
    for (int i = 0; i < rank && n < 80; i++)
        n += (size_t)snprintf(out + n, 96 - n, "%s%" PRId64, i ? ", " : "", dims[i]);
    snprintf(out + n, 96 - n, "]");
}

static tsr_status check_shape(const finder *finder, const tsri_io_array *array, int rank,
                              const int64_t *dims) {
    bool same = array->rank == rank;
    for (int i = 0; i < rank && same; i++)
        same = array->dims[i] == dims[i];
    if (same)
        return TSR_OK;
    char has[96], needs[96];
    print_dims(array->dims, array->rank, has);
    print_dims(dims, rank, needs);
    const tsri_model_spec *spec = finder->weights->spec;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: tensor \"%s\" has shape %s; %s (hidden size %" PRId32
                          ", vocab_size %" PRId32 ", %" PRId32 " heads of %" PRId32 ") needs %s",
                          file_of(finder->weights->archive, array), array->name, has,
                          finder->config_name, spec->width, spec->vocab, spec->decoder.heads,
                          spec->decoder.head_size, needs);
}

/* The dtype to keep a matrix in: what was asked for; else as stored. Blocks become f32: no half
 * holds scale times integer exactly. */
static tsr_dtype kept(const finder *finder, uint32_t id, const tsri_model_weight *weight) {
    const tsr_dtype wanted = finder->keeping->dtype;
    const bool blocks = tsri_tensor_is_kept_blocks(wanted), whole = weight->dims[1] % 32 == 0;
    if (blocks && id == TSRI_WEIGHT_POSITION)
        return TSR_F32;
    if (wanted != TSR_DTYPE_NONE && (!blocks || whole))
        return wanted;
    tsr_dtype dtype = TSR_DTYPE_NONE;
    for (int i = 0; i < weight->n_parts; i++) {
        tsr_dtype stored = weight->parts[i].array->dtype;
        if (stored != TSR_F16 && stored != TSR_BF16 &&
            !(finder->keeping->stored_blocks && tsri_tensor_is_kept_blocks(stored)))
            stored = TSR_F32;
        dtype = dtype == TSR_DTYPE_NONE || dtype == stored ? stored : TSR_F32;
    }
    return dtype;
}

static tsr_status add_part(finder *finder, tsri_model_weight *weight, const source *source,
                           int32_t layer, const char *suffix, int64_t columns) {
    const tsri_io_archive *archive = finder->weights->archive;
    char name[NAME];
    full_name(finder, source->pattern, layer, suffix, name);
    const tsri_io_array *array = tsri_io_find(archive, name);
    if (!array)
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" is missing; %s needs it",
                              archive->path, name, finder->config_name);
    const int64_t rows = source->stored ? source->stored : source->rows;
    const bool across = columns && finder->names->inputs_first && layer >= 0 &&
                        !tsri_tensor_is_kept_blocks(array->dtype); /* these lie along inputs */
    const int64_t dims[2] = {across ? columns : rows, across ? rows : columns};
    TRY(check_shape(finder, array, columns ? 2 : 1, dims));
    const bool number =
        (array->dtype >= TSR_F32 && array->dtype <= TSR_F64) || array->dtype >= TSR_GGML_Q4_0;
    if (!number)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: tensor \"%s\" is stored as %s; weights are read from "
                              "floating-point and GGUF block types",
                              file_of(archive, array), name, array->type_name);
    weight->parts[weight->n_parts++] =
        (tsri_model_part){.array = array,
                          .rows = source->rows,
                          .first = source->first,
                          .group = source->group ? source->group : source->rows,
                          .stride = source->stride ? source->stride : source->rows,
                          .across = across ? rows : 0};
    finder->used[array - archive->arrays] = true;
    return TSR_OK;
}

/* A matrix of all sources' rows, one below the other, by `columns`; 0 columns: a vector. */
static tsr_status define(finder *finder, uint32_t id, int32_t layer, const char *title,
                         const char *suffix, const source *sources, int n, int64_t columns) {
    tsri_model_weight *weight = &finder->weights->items[id];
    int64_t rows = 0;
    for (int i = 0; i < n; i++)
        rows += sources[i].rows;
    weight->rank = columns ? 2 : 1;
    weight->dims[0] = rows;
    weight->dims[1] = columns;
    for (int i = 0; i < n; i++)
        TRY(add_part(finder, weight, &sources[i], layer, suffix, columns));
    weight->dtype = columns ? kept(finder, id, weight) : TSR_F32;
    if (layer >= 0)
        snprintf(weight->name, sizeof weight->name, "layers.%" PRId32 ".%s%s", layer, title,
                 suffix);
    else
        snprintf(weight->name, sizeof weight->name, "%s%s", title, suffix);
    return TSR_OK;
}

/* A norm's weight and, where the spec has one, its bias (id + 1). */
static tsr_status define_norm(finder *finder, uint32_t id, int32_t layer, const char *title,
                              const char *pattern) {
    const source source = {.pattern = pattern, .rows = finder->weights->spec->width};
    TRY(define(finder, id, layer, title, ".weight", &source, 1, 0));
    finder->weights->items[id].add = finder->norm_offset;
    if (!finder->weights->spec->decoder.norm_bias)
        return TSR_OK;
    return define(finder, id + 1, layer, title, ".bias", &source, 1, 0);
}

static tsr_status define_qkv(finder *finder, int32_t layer) {
    const tsri_model_stack *stack = &finder->weights->spec->decoder;
    const tsri_model_names *names = finder->names;
    const int64_t D = stack->head_size, Dv = stack->value_size, q = stack->heads * D,
                  k = stack->kv_heads * D, v = stack->kv_heads * Dv;
    const source apart[3] = {{.pattern = names->q, .rows = q},
                             {.pattern = names->k, .rows = k},
                             {.pattern = names->v, .rows = v}};
    const source one = {.pattern = names->qkv, .rows = q + k + v};
    source by_head[3];
    for (int i = 0; i < 3; i++)
        by_head[i] = (source){.pattern = names->qkv,
                              .rows = q,
                              .first = i * D,
                              .group = D,
                              .stride = 3 * D,
                              .stored = 3 * q};
    const source *sources = names->fused == TSRI_FUSED_NO    ? apart
                            : names->fused == TSRI_FUSED_QKV ? &one
                                                             : by_head;
    const int n = names->fused == TSRI_FUSED_QKV ? 1 : 3;
    TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_QKV), layer, "qkv", ".weight", sources,
               n, finder->weights->spec->width));
    if (stack->qkv_bias)
        TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_QKV_BIAS), layer, "qkv", ".bias",
                   sources, n, 0));
    if (!stack->qk_norm)
        return TSR_OK;
    const source q_norm = {.pattern = names->q_norm, .rows = D},
                 k_norm = {.pattern = names->k_norm, .rows = D};
    TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_Q_NORM), layer, "q_norm", ".weight",
               &q_norm, 1, 0));
    return define(finder, tsri_model_weight_of(layer, TSRI_ROLE_K_NORM), layer, "k_norm", ".weight",
                  &k_norm, 1, 0);
}

static tsr_status define_mlp(finder *finder, int32_t layer) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_stack *stack = &spec->decoder;
    const tsri_model_names *names = finder->names;
    const source gate_up[2] = {{.pattern = names->gate, .rows = stack->ffn},
                               {.pattern = names->up, .rows = stack->ffn}};
    const source one = {.pattern = names->gate_up, .rows = 2 * (int64_t)stack->ffn};
    const bool apart = !names->gate_up;
    const source *sources = !stack->gated ? &gate_up[1] : apart ? gate_up : &one;
    const int n = stack->gated && apart ? 2 : 1;
    const source down = {.pattern = names->down, .rows = spec->width};
    TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_UP), layer, "up", ".weight", sources,
               n, spec->width));
    TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_DOWN), layer, "down", ".weight", &down,
               1, stack->ffn));
    if (!stack->mlp_bias)
        return TSR_OK;
    TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_UP_BIAS), layer, "up", ".bias",
               sources, n, 0));
    return define(finder, tsri_model_weight_of(layer, TSRI_ROLE_DOWN_BIAS), layer, "down", ".bias",
                  &down, 1, 0);
}

static tsr_status define_layer(finder *finder, int32_t layer) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_stack *stack = &spec->decoder;
    const source out = {.pattern = finder->names->out, .rows = spec->width};
    TRY(define_norm(finder, tsri_model_weight_of(layer, TSRI_ROLE_NORM1), layer, "norm1",
                    finder->names->norm1));
    TRY(define_qkv(finder, layer));
    TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_OUT), layer, "out", ".weight", &out, 1,
               (int64_t)stack->heads * stack->value_size));
    if (stack->out_bias)
        TRY(define(finder, tsri_model_weight_of(layer, TSRI_ROLE_OUT_BIAS), layer, "out", ".bias",
                   &out, 1, 0));
    TRY(define_norm(finder, tsri_model_weight_of(layer, TSRI_ROLE_NORM2), layer, "norm2",
                    finder->names->norm2));
    return define_mlp(finder, layer);
}

/* The rotary frequencies as a weight of their own, divided by the file's factors where it has them.
 */
static tsr_status define_frequencies(finder *finder) {
    tsri_model_weights *weights = finder->weights;
    const tsri_model_rope *rope = &weights->spec->decoder.rope;
    if (weights->spec->decoder.positions != TSRI_POSITIONS_ROTARY)
        return TSR_OK;
    const int64_t pairs = rope->rotary / 2;
    tsri_model_weight *weight = &weights->items[TSRI_WEIGHT_FREQUENCIES];
    *weight = (tsri_model_weight){
        .rank = 1, .dims = {pairs}, .dtype = TSR_F32, .name = "rope.frequencies"};
    TRY(tsri_base_new((size_t)pairs, sizeof(float), &weights->frequencies));
    tsri_model_rope_frequencies(rope, weights->spec->max_positions, 0, weights->frequencies);
    if (!rope->factors[0])
        return TSR_OK;
    const tsri_io_array *array = tsri_io_find(weights->archive, rope->factors);
    if (!array)
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" is missing", weights->archive->path,
                              rope->factors);
    TRY(check_shape(finder, array, 1, &pairs));
    finder->used[array - weights->archive->arrays] = true;
    float factors[TSRI_MODEL_MAX_ROTARY / 2];
    TRY(tsri_io_read_as(weights->archive, array, TSR_F32, 0, (size_t)pairs, factors));
    for (int64_t i = 0; i < pairs; i++) {
        if (!(factors[i] > 0) || isinf(factors[i]))
            return tsri_base_fail(
                TSR_E_FORMAT, "%s: tensor \"%s\"[%" PRId64 "] is %g; a positive number is needed",
                weights->archive->path, rope->factors, i, factors[i]);
        weights->frequencies[i] /= factors[i];
    }
    return TSR_OK;
}

static tsr_status define_all(finder *finder) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_stack *stack = &spec->decoder;
    const tsri_model_names *names = finder->names;
    const source embed = {.pattern = names->embed, .rows = spec->vocab},
                 head = {.pattern = names->head, .rows = spec->vocab};
    const source position = {.pattern = names->position,
                             .rows = spec->max_positions,
                             .first = stack->position_offset,
                             .stored = spec->max_positions + stack->position_offset};
    TRY(define(finder, TSRI_WEIGHT_EMBED, -1, "embed", ".weight", &embed, 1, spec->width));
    if (stack->positions == TSRI_POSITIONS_LEARNED)
        TRY(define(finder, TSRI_WEIGHT_POSITION, -1, "position", ".weight", &position, 1,
                   spec->width));
    for (int32_t layer = 0; layer < stack->layers; layer++)
        TRY(define_layer(finder, layer));
    if (stack->final_norm)
        TRY(define_norm(finder, TSRI_WEIGHT_FINAL_NORM, -1, "final_norm", names->final_norm));
    if (!spec->tied)
        TRY(define(finder, TSRI_WEIGHT_HEAD, -1, "head", ".weight", &head, 1, spec->width));
    if (spec->head_bias)
        TRY(define(finder, TSRI_WEIGHT_HEAD_BIAS, -1, "head", ".bias", &head, 1, 0));
    return define_frequencies(finder);
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* An array that nothing reads may be a part that the spec does not know of: a silent wrong answer.
 */
static tsr_status refuse_unread(const finder *finder) {
    const tsri_io_archive *archive = finder->weights->archive;
    char head[NAME];
    full_name(finder, finder->names->head, 0, ".weight", head);
    for (size_t i = 0; i < archive->n_arrays; i++) {
        const tsri_io_array *array = &archive->arrays[i];
        bool known =
            finder->used[i] || (finder->weights->spec->tied && strcmp(array->name, head) == 0);
        for (const char *const *end = finder->names->ignored; end && *end && !known; end++)
            known = ends_with(array->name, *end);
        if (!known)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: tensor \"%s\" is not part of a %s model as %s describes it",
                                  file_of(archive, array), array->name,
                                  finder->weights->spec->family, finder->config_name);
    }
    return TSR_OK;
}

/* What of the names' prefix the file has: files of a bare base model leave out its first parts. */
static const char *find_prefix(const tsri_io_archive *archive, const tsri_model_names *names) {
    for (const char *tail = names->prefix;; tail = strchr(tail, '.') + 1) {
        char name[NAME];
        snprintf(name, sizeof name, "%s%s.weight", tail, names->embed);
        if (tsri_io_find(archive, name))
            return tail;
        if (!*tail)
            return names->prefix;
    }
}

/* int8 products need a matrix in blocks, at least one. */
static tsr_status check_compute(const tsri_model_weights *weights, const char *config_name) {
    if (weights->keeping.compute != TSR_MODEL_COMPUTE_INT8)
        return TSR_OK;
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && tsri_tensor_is_kept_blocks(weight->dtype))
            return TSR_OK;
    }
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s: int8 products are of weights kept as q8 or q4, and none of this "
                          "model's is: add --dtype q8 (rows must be multiples of 32)",
                          config_name);
}

tsr_status tsri_model_weights_create(const tsri_io_archive *archive, const tsri_model_arch *arch,
                                     const tsri_model_spec *spec, const char *config_name,
                                     const tsri_model_keeping *keeping, tsri_model_weights **out) {
    const bool gguf = archive->format == TSRI_IO_GGUF;
    tsri_model_weights *weights = NULL;
    finder finder = {.names = gguf ? arch->gguf_names : arch->names,
                     .config_name = config_name,
                     .keeping = keeping};
    finder.norm_offset = gguf && arch->gguf_norm_added ? 0 : spec->decoder.norm_offset;
    TRY(tsri_base_new(1, sizeof *weights, &weights));
    finder.weights = weights;
    weights->archive = archive;
    weights->spec = spec;
    weights->keeping = *keeping;
    weights->count = tsri_model_weight_of(spec->decoder.layers, 0);
    tsr_status status = tsri_base_new(weights->count, sizeof *weights->items, &weights->items);
    if (status == TSR_OK)
        status = tsri_base_new(archive->n_arrays, sizeof *finder.used, &finder.used);
    if (status != TSR_OK)
        goto out;
    finder.prefix = find_prefix(archive, finder.names);
    status = define_all(&finder);
    if (status == TSR_OK)
        status = refuse_unread(&finder);
    if (status == TSR_OK)
        status = check_compute(weights, config_name);
out:
    free(finder.used);
    if (status != TSR_OK)
        tsri_model_weights_destroy(&weights);
    *out = weights;
    return status;
}

void tsri_model_weights_destroy(tsri_model_weights **weights) {
    if (!*weights)
        return;
    free((*weights)->items);
    free((*weights)->frequencies);
    free(*weights);
    *weights = NULL;
}

tsr_compute tsri_model_weight_compute(const tsri_model_weights *weights,
                                      const tsri_model_weight *weight) {
    const tsr_model_compute wanted = weights->keeping.compute;
    if (tsri_tensor_is_kept_blocks(weight->dtype) &&
        (wanted == TSR_MODEL_COMPUTE_AUTO || wanted == TSR_MODEL_COMPUTE_INT8))
        return TSR_COMPUTE_INT8;
    return wanted == TSR_MODEL_COMPUTE_F16 ? TSR_COMPUTE_F16 : TSR_COMPUTE_F32;
}

uint64_t tsri_model_weights_bytes(const tsri_model_weights *weights) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < weights->count; i++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, i);
        uint64_t bytes = 0;
        if (weight && tsri_tensor_bytes(weight->dtype,
                                        (uint64_t)weight->dims[0] *
                                            (weight->rank == 2 ? (uint64_t)weight->dims[1] : 1),
                                        &bytes))
            total += bytes;
    }
    return total;
}

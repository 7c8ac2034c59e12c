/* model/weights/arrays_by_name.c - finds the arrays of a weight in a file by the names of a family,
 * and checks their shapes. */
#include "model/weights/arrays_by_name.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"
#include "tensor/transcode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = TSRI_MODEL_ARRAY_NAME };

static const char *file_of(const tsri_io_archive *archive, const tsri_io_array *array) {
    return archive->files[array->file]->path;
}

/* What a pattern is filled in with: the number of the layer, that of the expert, and what follows. */
typedef struct filling {
    int32_t layer, expert;
    const char *suffix;
} filling;

/* Writes one alternative of a pattern with its prefix, the numbers and the suffix. */
static void full_name(const tsri_model_finder *finder, const char *pattern, size_t size,
                      const filling *f, char out[NAME]) {
    const bool bare = *pattern == '/' || *pattern == '=';
    size_t n = (size_t)snprintf(out, NAME, "%s", bare ? "" : finder->prefix);
    const char *tail = *pattern == '=' ? "" : f->suffix, *end = pattern + size;
    for (pattern += bare; pattern < end && n < NAME; pattern++) {
        const bool hole = pattern + 1 < end && *pattern == '%';
        if (hole && (pattern[1] == 'd' || pattern[1] == 'e'))
            n += (size_t)snprintf(out + n, NAME - n, "%" PRId32,
                                  *++pattern == 'd' ? f->layer : f->expert);
        else
            out[n++] = *pattern;
    }
    snprintf(n < NAME ? out + n : out + NAME - 1, n < NAME ? NAME - n : 1, "%s", tail);
}

void tsri_model_find_begin(const tsri_model_finder *finder, const char *pattern, int32_t layer,
                           const char *suffix, char out[TSRI_MODEL_ARRAY_NAME]) {
    full_name(finder, pattern, strlen(pattern), &(filling){.layer = layer, .suffix = suffix}, out);
}

/* In old checkpoints the arrays of norms are called gamma and beta. */
static const tsri_io_array *find_old(const tsri_io_archive *archive, const char *name) {
    static const char *const old[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                         {"LayerNorm.bias", "LayerNorm.beta"}};
    const size_t n = strlen(name);
    char other[NAME];
    for (size_t i = 0; i < 2; i++) {
        const size_t end = strlen(old[i][0]);
        if (n < end || strcmp(name + n - end, old[i][0]) != 0)
            continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(n - end), name, old[i][1]);
        return tsri_io_find(archive, other);
    }
    return NULL;
}

const tsri_io_array *tsri_model_find_stored(const tsri_io_archive *archive, const char *name) {
    const tsri_io_array *array = tsri_io_find(archive, name);
    return array ? array : find_old(archive, name);
}

/* The array of the first alternative that the file has; if `used` is given, all that it has are
 * marked there. `name` becomes that of the array found, else of the first alternative. */
static const tsri_io_array *find_first(const tsri_model_finder *finder, const char *pattern,
                                       const filling *f, bool *used, char name[NAME]) {
    const tsri_io_archive *archive = finder->weights->archive;
    const tsri_io_array *found = NULL;
    char other[NAME];
    for (const char *at = pattern; at;) {
        const char *end = strchr(at, '|');
        full_name(finder, at, end ? (size_t)(end - at) : strlen(at), f, other);
        const tsri_io_array *array = tsri_model_find_stored(archive, other);
        if (array && used)
            used[array - archive->arrays] = true;
        if (at == pattern || (array && !found))
            snprintf(name, NAME, "%s", other);
        found = found ? found : array;
        at = end ? end + 1 : NULL;
    }
    return found;
}

const tsri_io_array *tsri_model_find_array(const tsri_model_finder *finder, const char *pattern,
                                           int32_t layer, const char *suffix) {
    char name[NAME];
    const filling f = {.layer = layer, .suffix = suffix};
    return pattern && !finder->wanted ? find_first(finder, pattern, &f, NULL, name) : NULL;
}

/* Finds how much of the names' prefix the file has: files of a bare base model leave out its first
 * parts. */
void tsri_model_find_by(tsri_model_finder *finder, const tsri_model_names *names) {
    const char *const prefixes[] = {names->prefix, names->other_prefix};
    finder->names = names;
    finder->prefix = names->prefix;
    if (finder->wanted)
        return;
    for (size_t i = 0; i < 2; i++)
        for (const char *at = prefixes[i]; at && *at; at = strchr(at, '.') + 1) {
            finder->prefix = at;
            if (tsri_model_find_array(finder, names->embed, 0, ".weight"))
                return;
        }
    finder->prefix = "";
    if (!tsri_model_find_array(finder, names->embed, 0, ".weight"))
        finder->prefix = names->prefix;
}

static void print_dims(const int64_t *dims, int rank, char out[96]) {
    size_t n = (size_t)snprintf(out, 96, "[");
    for (int i = 0; i < rank && n < 80; i++)
        n += (size_t)snprintf(out + n, 96 - n, "%s%" PRId64, i ? ", " : "", dims[i]);
    snprintf(out + n, 96 - n, "]");
}

static tsr_status check_shape(const tsri_model_finder *finder, const tsri_io_array *array, int rank,
                              const int64_t *dims) {
    /* [1, V] is a vector; and GGUF writes a matrix of one row as [V]: its tools drop the outer dims of 1 */
    const int more = rank == 1 && array->rank == 2 && array->dims[0] == 1 ? 1
                     : rank == 2 && array->rank == 1 && dims[0] == 1      ? -1
                                                                          : 0;
    bool same = array->rank == rank + more;
    for (int i = more < 0; i < rank && same; i++)
        same = array->dims[i + more] == dims[i];
    if (same)
        return TSR_OK;
    char has[96], needs[96];
    print_dims(array->dims, array->rank, has);
    print_dims(dims, rank, needs);
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: tensor \"%s\" has shape %s; %s (hidden size %" PRId32
                          ", vocab_size %" PRId32 ", %" PRId32 " heads of %" PRId32 ") needs %s",
                          file_of(finder->weights->archive, array), array->name, has,
                          finder->config_name, spec->width, spec->vocab, stack->heads,
                          stack->head_size, needs);
}

static bool holds_numbers(tsr_dtype dtype) {
    return (dtype >= TSR_F32 && dtype <= TSR_F64) || dtype >= TSR_GGML_Q4_0;
}

static tsr_status refuse_type(const tsri_model_finder *finder, const tsri_io_array *array,
                              const char *name) {
    char read[256] = "";
    const char *last = NULL;
    size_t n = 0;
    for (int dtype = TSR_F32; dtype < TSRI_TENSOR_DTYPES; dtype++) {
        const tsri_tensor_dtype *info = tsri_tensor_dtype_info((tsr_dtype)dtype);
        if (!info || !holds_numbers((tsr_dtype)dtype))
            continue;
        if (last)
            n += (size_t)snprintf(read + n, sizeof read - n, "%s%s", n ? ", " : "", last);
        last = info->name;
    }
    return tsri_base_fail(
        TSR_E_UNSUPPORTED, "%s: tensor \"%s\" is stored as %s; weights are read from %s and %s",
        file_of(finder->weights->archive, array), name, array->type_name, read, last);
}

static tsr_status check_array(const tsri_model_finder *finder, const tsri_io_array *array,
                              const char *name, int rank, const int64_t *dims) {
    const tsri_io_archive *archive = finder->weights->archive;
    if (!array)
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" is missing; %s needs it",
                              archive->path, name, finder->config_name);
    TRY(check_shape(finder, array, rank, dims));
    return holds_numbers(array->dtype) || array->n_divisors ? TSR_OK
                                                            : refuse_type(finder, array, name);
}

static bool is_position(const tsri_model_spec *spec, uint32_t id) {
    return id == tsri_model_stack_weight(&spec->decoder, TSRI_STACK_POSITION) ||
           id == tsri_model_stack_weight(&spec->encoder, TSRI_STACK_POSITION);
}

/* Tables of positions and of biases by distance, matrices that multiply the state of a recurrent unit,
 * routers, which choose between experts, and convolutions are never kept in blocks. */
static bool is_of_numbers(const tsri_model_spec *spec, uint32_t id) {
    const tsri_model_role role = tsri_model_weight_role(id);
    return is_position(spec, id) || tsri_model_weight_is_relative(spec, id) ||
           id == tsri_model_stack_weight(&spec->encoder, TSRI_STACK_CONV) ||
           role == TSRI_ROLE_FORWARD_STATE || role == TSRI_ROLE_BACKWARD_STATE ||
           role == TSRI_ROLE_ROUTER;
}

/* Beside layers of 4 bits the vocabulary's matrices have 8: an error in a token's embedding, or in
 * the logits, is not averaged out by later layers (docs/performance.md has the perplexities). */
static tsr_dtype wanted_for(const tsri_model_finder *finder, uint32_t id) {
    const tsr_dtype wanted = finder->weights->keeping.dtype;
    const bool vocabulary = id == TSRI_WEIGHT_EMBED || id == TSRI_WEIGHT_HEAD;
    return vocabulary && wanted == TSR_GGML_Q4_0 ? TSR_GGML_Q8_0 : wanted;
}

/* The dtype that a part of a matrix is kept in as it is stored. Blocks lie along inputs; `across`, they lie
 * along what are outputs here. */
static tsr_dtype kept_part(const tsri_model_finder *finder, const tsri_model_part *part) {
    const tsr_dtype stored = part->array->dtype;
    const bool blocks = tsri_tensor_is_kept_blocks(stored) &&
                        finder->weights->keeping.stored_blocks && !part->across;
    return stored == TSR_F16 || stored == TSR_BF16 || blocks ? stored
                                                             : tsri_tensor_exact_floats(stored);
}

/* The dtype to keep a matrix in: the requested one, else that of its parts. */
static tsr_dtype kept(const tsri_model_finder *finder, uint32_t id,
                      const tsri_model_weight *weight) {
    const tsr_dtype wanted = wanted_for(finder, id);
    const bool blocks = tsri_tensor_is_kept_blocks(wanted), whole = weight->dims[1] % 32 == 0;
    if (blocks && is_of_numbers(finder->weights->spec, id))
        return TSR_F32;
    if (wanted != TSR_DTYPE_NONE && (!blocks || whole))
        return wanted;
    bool blank = false;
    tsr_dtype dtype = TSR_DTYPE_NONE;
    for (int i = 0; i < weight->n_parts; i++) {
        const tsri_io_array *array = weight->parts[i].array;
        if (!array ||
            array->dtype ==
                TSR_DTYPE_NONE) { /* rows of one number, which can't be turned into all types */
            blank = true;
            continue;
        }
        const tsr_dtype part = kept_part(finder, &weight->parts[i]);
        dtype = dtype == TSR_DTYPE_NONE || dtype == part ? part : TSR_F32;
    }
    const bool stays =
        !tsri_tensor_is_kept_blocks(dtype) || (!is_of_numbers(finder->weights->spec, id) &&
                                               (!blank || tsri_tensor_is_written_blocks(dtype)));
    return stays ? dtype : tsri_tensor_exact_floats(dtype);
}

/* Whether a weight that is kept as f32 has parts of nothing but blocks that could stay as they are. */
static bool is_of_blocks(const tsri_model_weights *weights, const tsri_model_weight *weight) {
    const tsri_model_keeping *keeping = &weights->keeping;
    bool blocks = keeping->stored_blocks && keeping->dtype == TSR_DTYPE_NONE &&
                  weight->dtype == TSR_F32 && weight->n_parts;
    for (int i = 0; i < weight->n_parts; i++)
        blocks = blocks && weight->parts[i].array && !weight->parts[i].across &&
                 tsri_tensor_is_kept_blocks(weight->parts[i].array->dtype);
    return blocks;
}

bool tsri_model_find_mixed(const tsri_model_finder *finder, const tsri_model_weight *weight) {
    return weight->n_parts > 1 && is_of_blocks(finder->weights, weight);
}

bool tsri_model_weight_is_widened(const tsri_model_weights *weights, uint32_t id) {
    const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
    return weight && weight->rank == 2 && !is_of_numbers(weights->spec, id) &&
           is_of_blocks(weights, weight);
}

/* Lists an array that a weight would be made from; once, even if several weights or parts of one
 * are in it. */
static tsr_status want(tsri_model_finder *finder, uint32_t id, const tsri_model_source *source,
                       const filling *f, int64_t columns) {
    tsri_model_wanted *wanted = finder->wanted;
    const char *end = strchr(source->pattern, '|');
    const int64_t rows = source->stored ? source->stored : source->rows;
    const bool across = columns && finder->names->inputs_first && f->layer >= 0;
    tsri_model_wanted_array array = {.id = id,
                                     .rank = columns ? 2 : 1,
                                     .dims = {across ? columns : rows, across ? rows : columns},
                                     .across = across,
                                     .grouped = source->group && source->group != source->rows};
    if (source->taps && columns) {
        array.rank = 3;
        array.dims[1] = columns / source->taps;
        array.dims[2] = source->taps;
    }
    char name[NAME];
    full_name(finder, source->pattern,
              end ? (size_t)(end - source->pattern) : strlen(source->pattern), f, name);
    if (strlen(name) >= sizeof array.name)
        return tsri_base_fail(TSR_E_INTERNAL, "tensor \"%s\" has a name that is too long", name);
    memcpy(array.name, name, strlen(name) + 1);
    for (size_t i = 0; i < wanted->count; i++)
        if (!strcmp(wanted->items[i].name, array.name))
            return TSR_OK;
    TRY(tsri_base_grow(&wanted->items, &wanted->room, wanted->count + 1, sizeof *wanted->items));
    wanted->items[wanted->count++] = array;
    return TSR_OK;
}

/* Blocks lie along inputs, and matrices that are made when they are read are [outputs, inputs]. */
static bool lies_in_blocks(const tsri_io_array *array) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info(array->dtype);
    return array->made || (type && type->block > 1);
}

static tsr_status add_part(tsri_model_finder *finder, tsri_model_weight *weight,
                           const tsri_model_source *source, const filling *f, int64_t columns) {
    char name[NAME];
    if (!source->pattern) {
        weight->parts[weight->n_parts++] = (tsri_model_part){.rows = source->rows,
                                                             .blank = source->blank,
                                                             .group = source->rows,
                                                             .stride = source->rows};
        return TSR_OK;
    }
    const tsri_io_array *array = find_first(finder, source->pattern, f, finder->used, name);
    const int64_t rows = source->stored ? source->stored : source->rows;
    const bool first =
        source->of ? finder->names->experts_inputs_first : finder->names->inputs_first;
    const bool across = array && columns && f->layer >= 0 &&
                        (source->inputs_first || (first && !lies_in_blocks(array)));
    const int64_t each = source->of ? rows / source->of : rows,
                  matrix[3] = {source->of, across ? columns : each, across ? each : columns},
                  taps[3] = {rows, source->taps ? columns / source->taps : 0, source->taps};
    const bool tapped = source->taps && columns;
    const int more = source->of ? 1 : 0;
    TRY(check_array(finder, array, name, tapped ? 3 : (columns ? 2 : 1) + more,
                    tapped ? taps : matrix + 1 - more));
    weight->parts[weight->n_parts++] =
        (tsri_model_part){.array = array,
                          .rows = source->rows,
                          .first = source->first,
                          .group = source->group ? source->group : source->rows,
                          .stride = source->stride ? source->stride : source->rows,
                          .across = across ? each : 0};
    return TSR_OK;
}

tsr_status tsri_model_find(tsri_model_finder *finder, uint32_t id, int32_t layer, const char *title,
                           const char *suffix, const tsri_model_source *sources, int n,
                           int64_t columns) {
    tsri_model_weight *weight = &finder->weights->items[id];
    int64_t rows = 0;
    for (int i = 0; i < n; i++)
        rows += sources[i].rows;
    weight->rank = columns ? 2 : 1;
    weight->dims[0] = rows;
    weight->dims[1] = columns;
    TRY(tsri_base_new((size_t)n, sizeof *weight->parts, &weight->parts));
    for (int i = 0; i < n; i++) {
        const filling f = {
            .layer = layer, .expert = sources[i].expert, .suffix = sources[i].of ? "" : suffix};
        if (!finder->wanted)
            TRY(add_part(finder, weight, &sources[i], &f, columns));
        else if (sources[i].pattern)
            TRY(want(finder, id, &sources[i], &f, columns));
    }
    weight->dtype = columns ? kept(finder, id, weight) : TSR_F32;
    const char *side = finder->side;
    if (layer >= 0)
        snprintf(weight->name, sizeof weight->name, "%slayers.%" PRId32 ".%s%s", side, layer, title,
                 suffix);
    else
        snprintf(weight->name, sizeof weight->name, "%s%s%s", side, title, suffix);
    return TSR_OK;
}

tsr_status tsri_model_find_computed(tsri_model_finder *finder, uint32_t id, const char *name,
                                    int64_t rows, int64_t columns, float **values) {
    tsri_model_weight *weight = &finder->weights->items[id];
    *weight =
        (tsri_model_weight){.rank = columns ? 2 : 1, .dims = {rows, columns}, .dtype = TSR_F32};
    snprintf(weight->name, sizeof weight->name, "%s", name);
    TRY(tsri_base_new((size_t)(rows * (columns ? columns : 1)), sizeof(float), &weight->values));
    *values = weight->values;
    return TSR_OK;
}

tsr_status tsri_model_find_values(tsri_model_finder *finder, const char *pattern, int32_t layer,
                                  int64_t rows, int64_t columns, float **out) {
    char name[NAME];
    const int64_t dims[2] = {rows, columns};
    const tsri_model_source source = {.pattern = pattern, .rows = rows};
    const filling filled = {.layer = layer, .suffix = ".weight"};
    if (finder->wanted) {
        TRY(want(finder, TSRI_WEIGHT_EMBED, &source, &filled, columns));
        return tsri_base_new((size_t)(rows * (columns ? columns : 1)), sizeof(float), out);
    }
    const tsri_io_array *array = find_first(finder, pattern, &filled, finder->used, name);
    TRY(check_array(finder, array, name, columns ? 2 : 1, dims));
    TRY(tsri_base_new((size_t)array->elements, sizeof(float), out));
    return tsri_io_read_as(finder->weights->archive, array, TSR_F32, 0, array->elements, *out);
}

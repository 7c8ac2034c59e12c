/* tensor/operands.c - the table of operands, made of the lists in operands.h. */
#include "tensor/operands.h"
#include "tensor/shape.h"

#include <stddef.h>
#include <string.h>

/* The words that the lists use. */
enum {
    F32 = TSRI_TENSOR_F32,
    BF16 = TSRI_TENSOR_BF16,
    I32 = TSRI_TENSOR_I32,
    FLOATS = TSRI_TENSOR_FLOATS,
    WEIGHT = TSRI_TENSOR_WEIGHT,
    ANY = TSRI_TENSOR_ANY,
    NUMBERS = TSRI_TENSOR_NUMBERS,
    POSITIVE = TSRI_TENSOR_POSITIVE,
    ODD = TSRI_TENSOR_ODD,
    POSITION = TSRI_TENSOR_POSITION,
    SEED = TSRI_TENSOR_SEED,
    BITS = TSRI_TENSOR_BITS,
    OPTIONAL = TSRI_TENSOR_OPTIONAL,
    TRAILING = TSRI_TENSOR_TRAILING,
    WRITTEN = TSRI_TENSOR_WRITTEN,
    OVERWRITTEN = TSRI_TENSOR_OVERWRITTEN,
    ON_REQUEST = TSRI_TENSOR_ON_REQUEST
};
#define INDEX_OF(word) TSRI_TENSOR_INDEX, .of = word
#define SLOT_OF(word) TSRI_TENSOR_SLOT, .of = word
#define PAST_OF(word) TSRI_TENSOR_PAST, .of = word
#define LENGTH_OF(word) TSRI_TENSOR_LENGTH, .of = word
#define CUT_LENGTH_OF(word) TSRI_TENSOR_CUT_LENGTH, .of = word
#define EXCHANGED(attributes, field) .exchanged_by = offsetof(attributes, field)

#define IN(NAME, text, words, type, means, ...) \
    {.name = #text, .dimensions = words, .dtype = type, .role = means, .flags = __VA_ARGS__},
#define OUT(NAME, text, words, type, ...) \
    {.name = #text, .dimensions = words, .dtype = type, .flags = __VA_ARGS__},
#define NOTHING(...)

/* Each array ends with an empty element, as some ops have no result. */
#define ARRAYS(ID, name, attributes)                                                       \
    static const tsri_tensor_operand name##_in[] = {TSRI_OPERANDS_##name(IN, NOTHING){0}}, \
                                     name##_out[] = {TSRI_OPERANDS_##name(NOTHING, OUT){0}};
TSR_OP_LIST(ARRAYS)

#define ROW(ID, name, attributes)                              \
    [TSR_OP_##ID] = {sizeof name##_in / sizeof *name##_in - 1, \
                     sizeof name##_out / sizeof *name##_out - 1, name##_in, name##_out},
static const tsri_tensor_operands table[TSR_OP_COUNT] = {TSR_OP_LIST(ROW)};

const tsri_tensor_operands *tsri_tensor_operands_of(uint32_t op) {
    return op < TSR_OP_COUNT && table[op].in ? &table[op] : NULL;
}

uint32_t tsri_tensor_least_inputs(uint32_t op) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op);
    uint32_t n = all ? all->n_in : 0;
    while (n && all->in[n - 1].flags & (OPTIONAL | TRAILING))
        n--;
    return n;
}

bool tsri_tensor_input_is(uint32_t op, uint32_t i, tsri_tensor_operand_flag flag) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op);
    return all && i < all->n_in && all->in[i].flags & flag;
}

bool tsri_tensor_result_is(uint32_t op, uint32_t i, tsri_tensor_operand_flag flag) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op);
    return all && i < all->n_out && all->out[i].flags & flag;
}

bool tsri_tensor_op_writes(uint32_t op) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op);
    for (uint32_t i = 0; all && i < all->n_in; i++)
        if (all->in[i].flags & WRITTEN)
            return true;
    return false;
}

/* --- dimensions --- */

const tsr_tensor *tsri_tensor_operand_at(const tsr_op *op, uint32_t place) {
    if (place < op->n_in)
        return op->in[place];
    return place - op->n_in < op->n_out ? op->out[place - op->n_in] : NULL;
}

static const tsri_tensor_operand *facts_of(const tsr_op *op, uint32_t place) {
    const tsri_tensor_operands *all = tsri_tensor_operands_of(op->id);
    if (!all)
        return NULL;
    if (place < op->n_in)
        return place < all->n_in ? &all->in[place] : NULL;
    return place - op->n_in < all->n_out ? &all->out[place - op->n_in] : NULL;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && !memcmp(text, word, length);
}

/* Whether the attribute that exchanges the last two dimensions is set. */
static bool exchanged(const tsr_op *op, const tsri_tensor_operand *facts) {
    uint32_t set = 0;
    if (facts->exchanged_by && op->attrs)
        memcpy(&set, (const char *)op->attrs + facts->exchanged_by, sizeof set);
    return set != 0;
}

/* Finds a word among those of an operand; *n becomes their number, *any the place of "..", or -1. */
static int find_word(const char *words, const char *word, int *n, int *any) {
    int found = -1;
    *any = -1;
    for (*n = 0; *words; ++*n) {
        const size_t length = strcspn(words, " ");
        if (is_word(words, length, word))
            found = *n;
        if (is_word(words, length, ".."))
            *any = *n;
        words += length + (words[length] == ' ');
    }
    return found;
}

int tsri_tensor_axis(const tsr_op *op, uint32_t place, const char *word) {
    const tsri_tensor_operand *facts = facts_of(op, place);
    const tsr_tensor *tensor = tsri_tensor_operand_at(op, place);
    if (!facts || !tensor)
        return -1;
    int n, any;
    const int found = find_word(facts->dimensions, word, &n, &any), rank = (int)tensor->rank;
    if (found < 0 || found == any)
        return -1;
    int axis = any >= 0 && found > any ? rank - n + found : found;
    if (exchanged(op, facts) && axis >= rank - 2)
        axis = 2 * rank - 3 - axis;
    return axis < rank ? axis : -1;
}

/* The product of the dimensions that ".." stands for. */
static tsr_dim leading(const tsr_tensor *tensor, int n, int any) {
    tsr_dim all = tsri_tensor_const(1);
    for (int i = any; i < (int)tensor->rank - (n - 1 - any); i++)
        all = tsri_tensor_times(all, tensor->dim[i]);
    return all;
}

tsr_dim tsri_tensor_size(const tsr_op *op, const char *word) {
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const tsri_tensor_operand *facts = facts_of(op, i);
        const tsr_tensor *tensor = tsri_tensor_operand_at(op, i);
        const int axis = tsri_tensor_axis(op, i, word);
        int n, any;
        if (axis >= 0)
            return tensor->dim[axis];
        if (facts && tensor && find_word(facts->dimensions, word, &n, &any) == any && any >= 0)
            return leading(tensor, n, any);
    }
    return tsri_tensor_const(1);
}

tsr_dim tsri_tensor_positions(const tsr_op *op, const char *word) {
    return tsri_tensor_times(tsri_tensor_size(op, word), tsri_tensor_size(op, "pages"));
}

/* backends/reference/ops.c - the table of the ops that the reference backend has. */
#include "backends/reference/reference.h"

#include <stddef.h>

static const tsri_reference_row rows[] = {
#define X(id, name, attributes) {TSR_OP_##id, #name, tsri_reference_##name},
    TSR_OP_LIST(X)
#undef X
};

/* The ops that need scratch. */
static const struct {
    uint32_t id;
    int64_t (*doubles)(const tsr_op *op, const int64_t *sizes);
} scratches[] = {
    {TSR_OP_LINEAR, tsri_reference_linear_scratch},
    {TSR_OP_GLU_LINEAR, tsri_reference_linear_scratch},
    {TSR_OP_EXPERT_LINEAR, tsri_reference_expert_linear_scratch},
    {TSR_OP_EXPERT_GLU_LINEAR, tsri_reference_expert_linear_scratch},
    {TSR_OP_ATTENTION, tsri_reference_attention_scratch},
    {TSR_OP_QKV_APPEND, tsri_reference_qkv_append_scratch},
    {TSR_OP_GRU_CELL, tsri_reference_gru_cell_scratch},
    {TSR_OP_ADDITIVE_ATTENTION, tsri_reference_additive_attention_scratch},
    {TSR_OP_ATTENTION_GRAD, tsri_reference_attention_grad_scratch},
    {TSR_OP_GRU_CELL_GRAD, tsri_reference_gru_cell_grad_scratch},
    {TSR_OP_ADDITIVE_ATTENTION_GRAD, tsri_reference_additive_attention_grad_scratch},
};

int64_t tsri_reference_scratch(const tsr_op *op, const int64_t *sizes) {
    for (size_t i = 0; i < sizeof scratches / sizeof *scratches; i++)
        if (scratches[i].id == op->id)
            return scratches[i].doubles(op, sizes);
    return 0;
}

const tsri_reference_row *tsri_reference_find(uint32_t id) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((uint32_t)rows[i].id == id)
            return &rows[i];
    return NULL;
}

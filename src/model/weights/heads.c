/* model/weights/heads.c - the weights behind the stacks: the heads of BERT and its relatives, and the output matrix. */
#include "model/weights/define.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER -1e30f /* the logit of a row that is not a token */

tsr_status tsri_model_define_dense(tsri_model_finder *finder, uint32_t id, const char *title,
                                   const char *pattern, int64_t outputs, int64_t inputs,
                                   bool needed) {
    const tsri_io_array *array = tsri_model_find_array(finder, pattern, 0, ".weight");
    const bool wanted = finder->wanted && pattern &&
                        (id == TSRI_WEIGHT_PROJECT || finder->wanted->heads & 1u << id);
    const tsri_model_spec *spec = finder->weights->spec;
    const bool bias = id == TSRI_WEIGHT_LABEL ? spec->label_bias : spec->dense_bias;
    if (!array && !wanted && !needed)
        return TSR_OK;
    const tsri_model_source source = {.pattern = pattern,
                                      .rows = outputs || !array || array->rank < 1 ? outputs
                                              : array->rank == 1
                                                  ? 1 /* a matrix of one row (check_shape) */
                                                  : array->dims[0]};
    TRY(tsri_model_find(finder, id, -1, title, ".weight", &source, 1, inputs));
    if (!bias && !tsri_model_find_array(finder, pattern, 0, ".bias"))
        return TSR_OK;
    return tsri_model_find(finder, id + 1, -1, title, ".bias", &source, 1, 0);
}

/* Whether the classifier's dense layer has the name of the masked LM head's. Then a file has one of
 * the two heads, and one that has the classifier's last matrix has the classifier. */
static bool shares_dense(const tsri_model_names *names) {
    return names->label_dense && names->masked_dense &&
           strcmp(names->label_dense, names->masked_dense) == 0;
}

/* The name of the matrix that labels. Span extraction has one name in nearly all families, and so has what
 * labels in decoders. */
static const char *label_name(const tsri_model_spec *spec, const tsri_model_names *names) {
    const char *label = spec->label_tokens ? names->token_label : names->label;
    if (spec->label_spans)
        return names->span_label ? names->span_label : "/qa_outputs";
    return label ? label : "/score";
}

static tsr_status define_classifier(tsri_model_finder *finder) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = finder->names;
    const int64_t C = spec->width;
    TRY(tsri_model_define_dense(finder, TSRI_WEIGHT_LABEL, "label", label_name(spec, names),
                                spec->labels, C, spec->label_spans));
    if (shares_dense(names) && !tsri_model_weight_at(finder->weights, TSRI_WEIGHT_LABEL))
        return TSR_OK;
    TRY(tsri_model_define_dense(finder, TSRI_WEIGHT_LABEL_DENSE, "label_dense", names->label_dense,
                                C, C, spec->label_norm));
    if (!spec->label_norm)
        return TSR_OK;
    return tsri_model_define_norm(finder, &spec->encoder, TSRI_WEIGHT_LABEL_NORM, -1, "label_norm",
                                  names->label_norm, C);
}

static tsr_status define_masked(tsri_model_finder *finder) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = finder->names;
    const int64_t C = spec->width, E = spec->embed_width ? spec->embed_width : C;
    if (shares_dense(names) && tsri_model_weight_at(finder->weights, TSRI_WEIGHT_LABEL))
        return TSR_OK;
    TRY(tsri_model_define_dense(finder, TSRI_WEIGHT_MASKED_DENSE, "masked_dense",
                                names->masked_dense, E, C, false));
    if (!tsri_model_weight_at(finder->weights, TSRI_WEIGHT_MASKED_DENSE))
        return TSR_OK;
    return tsri_model_define_norm(finder, &spec->encoder, TSRI_WEIGHT_MASKED_NORM, -1,
                                  "masked_norm", names->masked_norm, E);
}

tsr_status tsri_model_define_heads(tsri_model_finder *finder) {
    const int64_t C = finder->weights->spec->width;
    TRY(tsri_model_define_dense(finder, TSRI_WEIGHT_POOLER, "pooler", finder->names->pooler, C, C,
                                false));
    TRY(tsri_model_define_dense(finder, TSRI_WEIGHT_NEXT, "next", finder->names->next, 2, C,
                                false));
    TRY(define_classifier(finder));
    return define_masked(finder);
}

/* Whether the file is a bare base model (LlamaModel): its names leave out the prefix, and it has no
 * output matrix. A file with the prefix but without the matrix is damaged. */
static bool is_bare(const tsri_model_finder *finder) {
    const tsri_model_names *names = finder->names;
    return !finder->weights->spec->tied && !finder->wanted &&
           strlen(finder->prefix) < strlen(names->prefix) &&
           !tsri_model_find_array(finder, names->head, 0, ".weight");
}

/* Whether two arrays hold the same numbers, as stored. */
static tsr_status compare(const tsri_io_archive *archive, const tsri_io_array *a,
                          const tsri_io_array *b, bool *same) {
    enum { PART = 1 << 18 };
    char *parts = NULL;
    *same = a->dtype == b->dtype && a->bytes == b->bytes;
    TRY(tsri_base_new(2, PART, &parts));
    tsr_status status = TSR_OK;
    for (uint64_t at = 0; *same && at < a->bytes && status == TSR_OK; at += PART) {
        const size_t n = a->bytes - at < PART ? (size_t)(a->bytes - at) : PART;
        status = tsri_io_read(archive, a, at, n, parts);
        if (status == TSR_OK)
            status = tsri_io_read(archive, b, at, n, parts + PART);
        *same = status != TSR_OK || !memcmp(parts, parts + PART, n);
    }
    free(parts);
    return status;
}

/* An output matrix that the config calls the embedding, but whose numbers are others, is one of its own: so
 * transformers 5 reads such files, whose config is wrong. Where both are the same, it is passed over. */
static tsr_status untie(tsri_model_finder *finder) {
    const tsri_model_names *names = finder->names;
    tsri_model_weights *weights = finder->weights;
    const tsri_io_array *head, *embed;
    bool same = true;
    if (!weights->spec->tied || !finder->untie || !names->head)
        return TSR_OK;
    head = tsri_model_find_array(finder, names->head, 0, ".weight");
    embed = tsri_model_find_array(finder, names->embed, 0, ".weight");
    if (!head || !embed || head == embed)
        return TSR_OK;
    TRY(compare(weights->archive, head, embed, &same));
    if (!same) {
        *finder->untie = false;
        weights->untied = head->name;
    }
    return TSR_OK;
}

/* An array with the bytes of `stored` and another name; one allocation. */
static tsr_status copy_array(const tsri_io_array *stored, const char *name, tsri_io_array **out) {
    const size_t n = strlen(name) + 1;
    TRY(tsri_base_new(1, sizeof **out + n, out));
    **out = *stored;
    (*out)->name = memcpy(*out + 1, name, n);
    return TSR_OK;
}

tsr_status tsri_model_untie(tsri_model_weights *weights, const char *name) {
    const tsri_model_weight *embed = &weights->items[TSRI_WEIGHT_EMBED];
    tsri_model_weight *head = &weights->items[TSRI_WEIGHT_HEAD];
    const tsri_io_array *array = tsri_io_find(weights->archive, name);
    tsri_model_part *part = NULL;
    TRY(tsri_base_new(1, sizeof *part, &part));
    const tsr_status status =
        array ? TSR_OK : copy_array(embed->parts[0].array, name, &weights->head);
    if (status != TSR_OK) {
        free(part);
        return status;
    }
    *part = embed->parts[0];
    part->array = array ? array : weights->head;
    *head = *embed;
    head->parts = part;
    snprintf(head->name, sizeof head->name, "head.weight");
    return TSR_OK;
}

tsr_status tsri_model_define_output(tsri_model_finder *finder) {
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = finder->names;
    const char *bias_name = names->head_bias ? names->head_bias : names->head;
    const int64_t stored = spec->vocab - spec->blank_start;
    const bool masked = tsri_model_has_masked(finder->weights);
    const bool has_bias =
        spec->head_bias ||
        (names->head_bias && (masked || tsri_model_find_array(finder, bias_name, 0, ".bias")));
    /* A row that is not a token gives a logit that is never the largest. */
    const tsri_model_source head[2] = {{.pattern = names->head, .rows = stored}, {.rows = 1}},
                            bias[2] = {{.pattern = has_bias ? bias_name : NULL, .rows = stored},
                                       {.rows = 1, .blank = NEVER}};
    const int n = spec->blank_start ? 2 : 1;
    if (!spec->decoder.layers && !masked)
        return TSR_OK;
    TRY(untie(finder));
    if (is_bare(finder))
        return TSR_OK;
    if (!spec->tied)
        TRY(tsri_model_find(finder, TSRI_WEIGHT_HEAD, -1, "head", ".weight", head, n,
                            masked && spec->embed_width ? spec->embed_width
                                                        : tsri_model_head_width(spec)));
    if (has_bias || spec->blank_start)
        return tsri_model_find(finder, TSRI_WEIGHT_HEAD_BIAS, -1, "head", ".bias", bias, n, 0);
    return TSR_OK;
}

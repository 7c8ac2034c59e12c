/* model/weights/coded_gptq.c - GPTQ, as AutoGPTQ and GPTQModel write it. Of a matrix of I inputs and O outputs:
 *
 *     NAME.qweight  I32 [I * bits / 32, O]       codes of an output, packed along inputs, lowest bits first
 *     NAME.qzeros   I32 [groups, O * bits / 32]  zero points, packed along outputs
 *     NAME.scales   [groups, O]
 *     NAME.g_idx    I32 [I]                      the group of each input; may be absent
 *
 * w = (code - zero) * scale. With the checkpoint_format "gptq" the stored zero points are less by 1, modulo
 * 2^bits; with "gptq_v2" they are as they are.
 *
 * source  Frantar et al. 2022, arXiv:2210.17323; the layouts of AutoGPTQ 0.7 and GPTQModel 2 */
#include "model/weights/coded.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tsr_status check(tsri_model_coded_job *job) {
    const char *format = "gptq", *words = "int32";
    int64_t bits = 0;
    bool marlin = false;
    job->group = -1;
    TRY(tsri_base_json_int(job->settings, job->what, "bits", 2, 8, &bits));
    TRY(tsri_base_json_int(job->settings, job->what, "group_size", -1, INT32_MAX, &job->group));
    TRY(tsri_base_json_text(job->settings, job->what, "format", &format));
    TRY(tsri_base_json_text(job->settings, job->what, "checkpoint_format", &format));
    TRY(tsri_base_json_text(job->settings, job->what, "pack_dtype", &words));
    TRY(tsri_base_json_bool(job->settings, job->what, "is_marlin_format", &marlin));
    TRY(tsri_base_json_bool(job->settings, job->what, "desc_act", &job->ordered));
    job->bits = (int)bits;
    job->minus_one = strcmp(format, "gptq") == 0;
    if (marlin || (!job->minus_one && strcmp(format, "gptq_v2") != 0))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"quantization_config\": the GPTQ format \"%s\" is not read; gptq "
            "and gptq_v2 are",
            job->what, marlin ? "marlin" : format);
    return strcmp(words, "int32") == 0
               ? TSR_OK
               : tsri_base_fail(
                     TSR_E_UNSUPPORTED,
                     "%s: \"quantization_config\": \"pack_dtype\" is \"%s\"; int32 is read",
                     job->what, words);
}

static tsr_status read(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                       int64_t first, int64_t n, float *codes, float *scales) {
    const int64_t lines = m->codes.dims[0], groups = m->scales.dims[0], word = first * m->bits / 32,
                  words = ((first + n) * m->bits - 1) / 32 + 1 - word;
    const uint32_t mask = (1u << m->bits) - 1;
    uint32_t *packed = NULL, *zeros = NULL;
    float *factors = NULL;
    tsr_status status = tsri_base_new((size_t)(lines * n), sizeof *packed, &packed);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)(groups * words), sizeof *zeros, &zeros);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)(groups * n), sizeof *factors, &factors);
    if (status == TSR_OK)
        status = tsri_model_coded_columns(archive, &m->codes, TSR_I32, first, n, packed);
    if (status == TSR_OK)
        status = tsri_model_coded_columns(archive, &m->zeros, TSR_I32, word, words, zeros);
    if (status == TSR_OK)
        status = tsri_model_coded_columns(archive, &m->scales, TSR_F32, first, n, factors);
    for (int64_t o = 0; status == TSR_OK && o < n; o++)
        for (int64_t i = 0; i < m->columns; i++) {
            const int64_t group = m->group_of[i];
            const uint32_t code = tsri_model_coded_bits(packed + o, n, m->bits, i * m->bits),
                           stored = tsri_model_coded_bits(zeros + group * words, 1, m->bits,
                                                          (first + o) * m->bits - word * 32),
                           zero = (stored + (uint32_t)m->middle) & mask;
            codes[o * m->columns + i] = (float)((int32_t)code - (int32_t)zero);
            scales[o * m->columns + i] = factors[group * n + o];
        }
    free(packed);
    free(zeros);
    free(factors);
    return status;
}

/* Zero points in the middle make the codes as small as they can be: -8 to 7, of 4 bits. */
static tsr_status find_range(const tsri_io_archive *archive, tsri_model_coded_matrix *m) {
    const int half = 1 << (m->bits - 1);
    const uint32_t zero = (uint32_t)(half - m->middle);
    uint32_t word = 0;
    bool middle = false;
    for (int at = 0; at + m->bits <= 32; at += m->bits)
        word |= zero << at;
    if (m->bits != 3) /* codes of 3 bits cross words */
        TRY(tsri_model_coded_all_words(archive, &m->zeros, word, &middle));
    m->lowest = middle ? -half : 1 - 2 * half;
    m->highest = middle ? half - 1 : 2 * half - 1;
    return TSR_OK;
}

/* Older files have biases of zeros for models without biases. They are left out if nothing reads them. */
static tsr_status spare_bias(tsri_model_coded_job *job, const char *stem) {
    enum { PIECE = 4096 };
    float values[PIECE];
    char name[TSRI_CODED_NAME + 8];
    bool zero = true;
    snprintf(name, sizeof name, "%s.bias", stem);
    const tsri_io_array *bias = tsri_io_find(job->archive, name);
    if (!bias || tsri_model_coded_expect(job, bias, NULL, 0, 0, 0) != TSR_OK)
        return TSR_OK; /* a bias of another type is refused where biases are read */
    for (uint64_t at = 0; zero && at < bias->elements; at += PIECE) {
        const uint64_t left = bias->elements - at, n = left < PIECE ? left : PIECE;
        TRY(tsri_io_read_as(job->archive, bias, TSR_F32, at, (size_t)n, values));
        for (uint64_t i = 0; i < n; i++)
            zero = zero && values[i] == 0;
    }
    job->archive->arrays[bias - job->archive->arrays].spare = zero;
    return TSR_OK;
}

static tsr_status take(tsri_model_coded_job *job, size_t index, char stem[TSRI_CODED_NAME],
                       tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index], *zeros, *scales, *g_idx;
    if (!tsri_model_coded_stem(codes->name, ".qweight", stem))
        return TSR_OK;
    TRY(tsri_model_coded_part(job, stem, ".qzeros", true, &zeros));
    TRY(tsri_model_coded_part(job, stem, ".scales", true, &scales));
    TRY(tsri_model_coded_part(job, stem, ".g_idx", job->ordered, &g_idx));
    TRY(spare_bias(job, stem));
    const tsri_io_array *const matrices[] = {codes, zeros, scales};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        if (matrices[i]->rank != 2 || matrices[i]->dims[1] <= 0)
            return tsri_model_coded_refuse_shape(job, matrices[i], "a matrix is needed");
    /* A model may have other bits for some matrices ("dynamic"), so the shapes say how many. */
    const int64_t outputs = codes->dims[1], bits = zeros->dims[1] * 32 / outputs,
                  groups = scales->dims[0];
    if ((bits != 2 && bits != 3 && bits != 4 && bits != 8) || bits * outputs % 32 ||
        zeros->dims[1] * 32 != bits * outputs)
        return tsri_model_coded_refuse_shape(
            job, zeros, "2, 3, 4 or 8 bits for each output of its qweight are read");
    const int64_t inputs = codes->dims[0] * 32 / bits;
    TRY(tsri_model_coded_expect(job, codes, "I32", 2, inputs * bits / 32, outputs));
    TRY(tsri_model_coded_expect(job, zeros, "I32", 2, groups, outputs * bits / 32));
    TRY(tsri_model_coded_expect(job, scales, NULL, 2, groups, outputs));
    TRY(tsri_model_coded_new(job, index, outputs, inputs, read, out));
    tsri_model_coded_matrix *m = *out;
    m->scales = *scales;
    m->zeros = *zeros;
    m->bits = (int)bits;
    m->middle = job->minus_one;
    if (g_idx) {
        TRY(tsri_model_coded_indices(job, g_idx, groups, m));
        return find_range(job->archive, m);
    }
    const int64_t group = job->group > 0 ? job->group : inputs;
    if ((inputs - 1) / group + 1 != groups)
        return tsri_model_coded_refuse_shape(
            job, scales, "\"group_size\" of config.json needs another number of groups");
    for (int64_t i = 0; i < inputs; i++)
        m->group_of[i] = (int32_t)(i / group);
    return find_range(job->archive, m);
}

const tsri_model_coded_format tsri_model_coded_gptq = {
    .method = "gptq", .title = "GPTQ", .check = check, .take = take};

/* model/weights/coded_awq.c - AWQ, as AutoAWQ writes it ("gemm"). Of a matrix of I inputs and O outputs:
 *
 *     NAME.qweight  I32 [I, O / 8]       codes of 4 bits, packed along outputs
 *     NAME.qzeros   I32 [groups, O / 8]  zero points, likewise
 *     NAME.scales   [groups, O]
 *
 * w = (code - zero) * scale. The nibbles of a word, the lowest first, are those of outputs 0, 2, 4, 6, 1, 3, 5
 * and 7 of its eight.
 *
 * source  Lin et al. 2023, arXiv:2306.00978; the layout of AutoAWQ 0.2 */
#include "model/weights/coded.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <strings.h>

enum { BITS = 4, EACH = 8 /* codes of a word */ };

static tsr_status check(tsri_model_coded_job *job) {
    const char *version = "gemm";
    int64_t bits = BITS;
    bool zero_point = true;
    job->group = 128;
    TRY(tsri_base_json_int(job->settings, job->what, "bits", 1, 16, &bits));
    TRY(tsri_base_json_int(job->settings, job->what, "group_size", -1, INT32_MAX, &job->group));
    TRY(tsri_base_json_text(job->settings, job->what, "version", &version));
    TRY(tsri_base_json_bool(job->settings, job->what, "zero_point", &zero_point));
    if (bits != BITS || !zero_point || strcasecmp(version, "gemm") != 0)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"quantization_config\": AWQ is read in the version gemm, with 4 "
            "bits and zero points; this is %s, %d bits%s",
            job->what, version, (int)bits, zero_point ? "" : ", without zero points");
    job->bits = BITS;
    return TSR_OK;
}

static int32_t nibble(const uint32_t *words, int64_t output) {
    static const int place[EACH] = {0, 4, 1, 5, 2, 6, 3, 7};
    return (int32_t)(words[output / EACH] >> BITS * place[output % EACH] & 15);
}

static tsr_status read(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                       int64_t first, int64_t n, float *codes, float *scales) {
    const int64_t groups = m->scales.dims[0], word = first / EACH,
                  words = (first + n - 1) / EACH + 1 - word, skip = first - word * EACH;
    uint32_t *packed = NULL, *zeros = NULL;
    float *factors = NULL;
    tsr_status status = tsri_base_new((size_t)(m->columns * words), sizeof *packed, &packed);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)(groups * words), sizeof *zeros, &zeros);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)(groups * n), sizeof *factors, &factors);
    if (status == TSR_OK)
        status = tsri_model_coded_columns(archive, &m->codes, TSR_I32, word, words, packed);
    if (status == TSR_OK)
        status = tsri_model_coded_columns(archive, &m->zeros, TSR_I32, word, words, zeros);
    if (status == TSR_OK)
        status = tsri_model_coded_columns(archive, &m->scales, TSR_F32, first, n, factors);
    for (int64_t o = 0; status == TSR_OK && o < n; o++)
        for (int64_t i = 0; i < m->columns; i++) {
            const int64_t group = m->group_of[i];
            codes[o * m->columns + i] = (float)(nibble(packed + i * words, skip + o) -
                                                nibble(zeros + group * words, skip + o));
            scales[o * m->columns + i] = factors[group * n + o];
        }
    free(packed);
    free(zeros);
    free(factors);
    return status;
}

static tsr_status take(tsri_model_coded_job *job, size_t index, char stem[TSRI_CODED_NAME],
                       tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index], *zeros, *scales;
    bool middle = false;
    if (tsri_model_coded_stem(codes->name, ".act.scales", stem) ||
        tsri_model_coded_stem(codes->name, ".gelu_impl.scales", stem)) /* Falcon, MPT, BLOOM, ... */
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"%s\" divides the result of an activation, which AWQ does in "
                              "this family and is not supported; use the model in another form",
                              job->archive->path, codes->name);
    if (!tsri_model_coded_stem(codes->name, ".qweight", stem))
        return TSR_OK;
    TRY(tsri_model_coded_part(job, stem, ".qzeros", true, &zeros));
    TRY(tsri_model_coded_part(job, stem, ".scales", true, &scales));
    if (codes->rank != 2)
        return tsri_model_coded_refuse_shape(job, codes, "a matrix is needed");
    const int64_t inputs = codes->dims[0], outputs = codes->dims[1] * EACH,
                  group = job->group > 0 ? job->group : inputs,
                  groups = group > 0 ? (inputs - 1) / group + 1 : 0;
    TRY(tsri_model_coded_expect(job, codes, "I32", 2, inputs, outputs / EACH));
    TRY(tsri_model_coded_expect(job, zeros, "I32", 2, groups, outputs / EACH));
    TRY(tsri_model_coded_expect(job, scales, NULL, 2, groups, outputs));
    TRY(tsri_model_coded_new(job, index, outputs, inputs, read, out));
    tsri_model_coded_matrix *m = *out;
    m->scales = *scales;
    m->zeros = *zeros;
    m->bits = BITS;
    for (int64_t i = 0; i < inputs; i++)
        m->group_of[i] = (int32_t)(i / group);
    TRY(tsri_model_coded_all_words(job->archive, &m->zeros, 0x88888888u, &middle));
    m->lowest = middle ? -8 : -15;
    m->highest = middle ? 7 : 15;
    return TSR_OK;
}

const tsri_model_coded_format tsri_model_coded_awq = {
    .method = "awq", .title = "AWQ", .check = check, .take = take};

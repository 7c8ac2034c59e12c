/* model/weights/coded_bytes.c - reads codes of a byte. */
#include "model/weights/coded_bytes.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sign, 4 bits of exponent with a bias of 7, 3 bits of mantissa; no infinities, and two NaNs. */
static float e4m3(int code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if ((code & 127) == 127)
        return NAN;
    const float size =
        exponent ? ldexpf((float)(8 + mantissa), exponent - 10) : ldexpf((float)mantissa, -9);
    return code & 128 ? -size : size;
}

tsr_status tsri_model_coded_byte_codes(const tsri_model_coded_matrix *m,
                                       const tsri_io_archive *archive, int64_t first, int64_t n,
                                       float *codes) {
    const size_t count = (size_t)(n * m->columns);
    const bool floats = m->codes.dtype == TSR_DTYPE_NONE;
    float table[256];
    uint8_t *bytes = NULL;
    for (int i = 0; i < 256; i++)
        table[i] = floats ? e4m3(i) : (float)(i < 128 ? i : i - 256);
    TRY(tsri_base_new(count, 1, &bytes));
    const tsr_status status =
        tsri_model_coded_bytes(archive, &m->codes, (uint64_t)(first * m->columns), count, bytes);
    for (size_t i = 0; status == TSR_OK && i < count; i++)
        codes[i] = table[bytes[i]];
    free(bytes);
    return status;
}

static tsr_status read(const tsri_model_coded_matrix *m, const tsri_io_archive *archive,
                       int64_t first, int64_t n, float *codes, float *scales) {
    TRY(tsri_model_coded_byte_codes(m, archive, first, n, codes));
    if (m->zeros.name) {
        TRY(tsri_model_coded_spread(m, archive, &m->zeros, 0, first, n, scales));
        for (int64_t i = 0; i < n * m->columns; i++)
            codes[i] -= scales[i];
    }
    return tsri_model_coded_spread(m, archive, &m->scales, 0, first, n, scales);
}

tsr_status tsri_model_coded_of_bytes(tsri_model_coded_job *job, size_t index,
                                     const tsri_io_array *scales, tsri_model_coded_matrix **out) {
    const tsri_io_array *codes = &job->archive->arrays[index];
    const bool integers = codes->dtype == TSR_I8;
    if (codes->rank != 2)
        return tsri_model_coded_refuse_shape(job, codes, "a matrix is needed");
    TRY(tsri_model_coded_new(job, index, codes->dims[0], codes->dims[1], read, out));
    (*out)->lowest = integers ? -128 : 0;
    (*out)->highest = integers ? 127 : 0;
    (*out)->bits = 8;
    return tsri_model_coded_grid(job, scales, *out);
}

/* model/weights/coded_bytes.h - matrices with a byte for each code: e4m3 or i8 [outputs, inputs]. */
#ifndef TSRI_MODEL_WEIGHTS_CODED_BYTES_H
#define TSRI_MODEL_WEIGHTS_CODED_BYTES_H

#include "model/weights/coded.h"

/* Makes the matrix of array `index`, which is F8_E4M3 or I8, with these scales. */
tsr_status tsri_model_coded_of_bytes(tsri_model_coded_job *job, size_t index,
                                     const tsri_io_array *scales, tsri_model_coded_matrix **out);

/* Fills in codes: those of n rows from row `first` on. */
tsr_status tsri_model_coded_byte_codes(const tsri_model_coded_matrix *m,
                                       const tsri_io_archive *archive, int64_t first, int64_t n,
                                       float *codes);

#endif

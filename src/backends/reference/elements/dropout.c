/* backends/reference/elements/dropout.c - dropout, from a counter-based generator.
 *
 * source  Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from
 *         overfitting", JMLR 15 */
#include "backends/reference/reference.h"

#include "base/random.h"

tsr_status tsri_reference_dropout(const tsri_reference_call *call) {
    tsr_dropout_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), seed = tsri_reference_in(call, 1),
                              y = tsri_reference_out(call, 0);
    uint64_t words[4];
    for (int64_t i = 0; i < 4; i++)
        words[i] = (uint32_t)tsri_reference_load_int(&seed, tsri_reference_element_at(&seed, i));
    uint32_t drawn[4] = {0};
    for (int64_t i = 0, n = tsri_reference_count(&y); i < n; i++) {
        if (i % 4 == 0)
            tsri_base_philox(words[0] | words[1] << 32, words[2] | words[3] << 32,
                             (uint64_t)i / 4 | (uint64_t)attrs.site << 32, drawn);
        const bool kept = drawn[i % 4] * 0x1p-32 >= (double)attrs.rate;
        const double value = tsri_reference_load(&x, tsri_reference_element_at(&x, i));
        tsri_reference_store(&y, tsri_reference_element_at(&y, i),
                             kept ? value / (1 - (double)attrs.rate) : 0);
    }
    return TSR_OK;
}

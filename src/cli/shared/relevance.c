/* cli/shared/relevance.c - scores texts with a cross-encoder. */
#include "cli/shared/relevance.h"

#include <math.h>
#include <stdlib.h>

bool tsri_cli_gives_relevance(const tsr_classifier *classifier) {
    return tsr_classifier_labels(classifier) == 1 &&
           tsr_classifier_kind_of(classifier) != TSR_CLASSIFIER_TOKENS;
}

tsr_status tsri_cli_relevance(tsr_classifier *classifier, tsr_string query, const tsr_string *texts,
                              size_t n, float *scores, tsr_classify_stats *stats) {
    tsr_string *queries = calloc(n ? n : 1, sizeof *queries);
    if (!queries)
        return TSR_E_HOST_MEMORY;
    for (size_t i = 0; i < n; i++)
        queries[i] = query;
    const tsr_status status = tsr_classify(classifier, queries, texts, n, scores, stats);
    free(queries);
    if (status == TSR_OK && tsr_classifier_kind_of(classifier) == TSR_CLASSIFIER_REGRESSION)
        for (size_t i = 0; i < n; i++)
            scores[i] = (float)(1 / (1 + exp(-(double)scores[i])));
    return status;
}

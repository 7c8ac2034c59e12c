/* cli/shared/relevance.h - how well texts answer a question, by a cross-encoder: what rerank and
 * serve share. */
#ifndef TESSERA_CLI_SHARED_RELEVANCE_H
#define TESSERA_CLI_SHARED_RELEVANCE_H

#include "cli/base/app.h"

/* Whether the classifier is a cross-encoder's: of whole texts, with one label. */
bool tsri_cli_gives_relevance(const tsr_classifier *classifier);

/* Scores [n] from 0 to 1. The plain number of a regression goes through a sigmoid, as its training had
 * it. */
tsr_status tsri_cli_relevance(tsr_classifier *classifier, tsr_string query, const tsr_string *texts,
                              size_t n, float *scores, tsr_classify_stats *stats);

#endif

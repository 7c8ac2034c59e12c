/* cases/attention/distances.h - what the cases of distance_scores and of its gradient share. */
#ifndef TSRI_CASES_ATTENTION_DISTANCES_H
#define TSRI_CASES_ATTENTION_DISTANCES_H

#include "cases/cases.h"

enum { TSRI_CASES_DISTANCE_FORMS = 7 };
/* B, H, T, S, P, R; the last is timed. */
extern const int64_t tsri_cases_distance_forms[TSRI_CASES_DISTANCE_FORMS][6];

/* A case with the operands by_query, by_key and place, and the symbols' sizes; `what` ends its name. */
tsri_case *tsri_cases_distance_add(tsri_case_list *list, tsr_op_id op, const int64_t form[6],
                                   const char *what);

#endif

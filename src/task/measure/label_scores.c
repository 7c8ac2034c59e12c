/* task/measure/label_scores.c - counts how often a classifier is right: in all, and for each label.
 */
#include "base/error.h"
#include "base/structs.h"
#include "tessera/evaluate.h"

#include <inttypes.h>
#include <string.h>

static double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static tsr_status count(const uint32_t *given, const uint32_t *wanted, size_t n, uint32_t labels,
                        tsr_label_score *each) {
    memset(each, 0, labels * sizeof *each);
    for (size_t i = 0; i < n; i++) {
        if (given[i] >= labels || wanted[i] >= labels)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "text %zu has labels %" PRIu32 " (found) and %" PRIu32
                                  " (right); labels are numbers below %" PRIu32,
                                  i, given[i], wanted[i], labels);
        each[given[i]].given++;
        each[wanted[i]].wanted++;
        each[wanted[i]].right += given[i] == wanted[i];
    }
    return TSR_OK;
}

tsr_status tsr_evaluate_labels(const uint32_t *given, const uint32_t *wanted, size_t n,
                               uint32_t labels, tsr_label_score *each, tsr_label_scores *out) {
    tsr_label_scores all = {.struct_size = sizeof all, .texts = n};
    TRY(NEED(given));
    TRY(NEED(wanted));
    TRY(NEED(each));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_label_scores", out));
    if (!n)
        return tsri_base_fail(TSR_E_ARGUMENT, "no texts were given; at least one is needed");
    TRY(count(given, wanted, n, labels, each));
    for (uint32_t i = 0; i < labels; i++) {
        tsr_label_score *l = &each[i];
        l->precision = share((double)l->right, (double)l->given);
        l->recall = share((double)l->right, (double)l->wanted);
        l->f1 = share(2 * (double)l->right, (double)(l->given + l->wanted));
        all.labels += l->given + l->wanted > 0;
        all.right += l->right;
        all.macro_precision += l->precision;
        all.macro_recall += l->recall;
        all.macro_f1 += l->f1;
        all.weighted_f1 += l->f1 * (double)l->wanted / (double)n;
    }
    all.macro_precision /= all.labels;
    all.macro_recall /= all.labels;
    all.macro_f1 /= all.labels;
    all.accuracy = all.micro_f1 = (double)all.right / (double)n;
    tsri_base_give(&all, sizeof all, out);
    return TSR_OK;
}

/* Exact match and F1 of answers, against the evaluation of SQuAD 2.0 (tests/golden/scores/make_squad.py). */
#include "base/json.h"
#include "tessera/evaluate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct squad {
    tsr_string given[MOST], wanted[4 * MOST];
    uint32_t counts[MOST];
    size_t n, n_wanted;
} squad;

static tsr_string text(const json_t *value) {
    return (tsr_string){json_string_value(value), json_string_length(value)};
}

static void read_case(const json_t *object, squad *c) {
    const json_t *value, *right, *list;
    size_t i, k;
    c->n = c->n_wanted = 0;
    json_array_foreach(json_object_get(object, "given"), i, value) c->given[c->n++] = text(value);
    list = json_object_get(object, "wanted");
    cr_assert(c->n <= MOST && json_array_size(list) == c->n);
    json_array_foreach(list, i, right) {
        c->counts[i] = (uint32_t)json_array_size(right);
        json_array_foreach(right, k, value) c->wanted[c->n_wanted++] = text(value);
    }
}

static void near(const json_t *told, const char *key, double got, size_t i) {
    const json_t *want = json_object_get(told, key);
    cr_expect(json_is_null(want) ? isnan(got) : fabs(got - json_number_value(want)) < 1e-9,
              "case %zu: %s is %.12g, wanted %.12g", i, key, got, json_number_value(want));
}

static void check_case(const json_t *object, size_t i) {
    static squad c;
    tsr_answer_score each[MOST];
    tsr_answer_scores s = {.struct_size = sizeof s};
    const json_t *told = json_object_get(object, "told"),
                 *some = json_object_get(told, "answerable"),
                 *none = json_object_get(told, "unanswerable"), *one;
    size_t k;
    read_case(object, &c);
    cr_assert(tsr_evaluate_answers(c.given, c.wanted, c.counts, c.n, each, &s) == TSR_OK, "%s",
              tsr_error_last());
    json_array_foreach(json_object_get(object, "each"), k, one)
        cr_expect(each[k].exact == (uint32_t)json_integer_value(json_array_get(one, 0)) &&
                      fabs(each[k].f1 - json_number_value(json_array_get(one, 1))) < 1e-12,
                  "case %zu, answer %zu: \"%s\": %u, %.12g", i, k, c.given[k].data, each[k].exact,
                  each[k].f1);
    cr_expect(s.questions == c.n &&
              s.exact == (uint64_t)json_integer_value(json_object_get(told, "exact")));
    cr_expect(s.answerable == (uint64_t)json_integer_value(json_object_get(some, "questions")));
    near(told, "exact_match", s.exact_match, i);
    near(told, "f1", s.f1, i);
    near(some, "exact_match", s.answerable_exact_match, i);
    near(some, "f1", s.answerable_f1, i);
    near(none, "exact_match", s.unanswerable_exact_match, i);
    near(none, "f1", s.unanswerable_exact_match, i);
}

Test(answer_scores, goldens) {
    json_t *cases = json_load_file(TESSERA_SOURCE_DIR "/tests/golden/scores/squad.json", 0, NULL),
           *object;
    size_t i;
    cr_assert(json_array_size(cases) > 10);
    json_array_foreach(cases, i, object) check_case(object, i);
    json_decref(cases);
}

Test(answer_scores, refused) {
    const tsr_string good[] = {{"a cat", 5}, {"a dog", 5}}, bad[] = {{"cat", 3}, {"\xff", 1}};
    const uint32_t counts[] = {1, 1};
    tsr_answer_scores s = {.struct_size = sizeof s};
    cr_expect(tsr_evaluate_answers(good, good, counts, 0, NULL, &s) == TSR_E_ARGUMENT &&
              strstr(tsr_error_last(), "at least one is needed"));
    cr_expect(tsr_evaluate_answers(bad, good, counts, 2, NULL, &s) == TSR_E_FORMAT &&
              strstr(tsr_error_last(), "the given answer 1 is not UTF-8"));
    cr_expect(tsr_evaluate_answers(good, bad, counts, 2, NULL, &s) == TSR_E_FORMAT &&
              strstr(tsr_error_last(), "the right answer 1 is not UTF-8"));
    cr_expect(tsr_evaluate_answers(good, NULL, counts, 2, NULL, &s) == TSR_E_ARGUMENT);
    const uint32_t none[] = {0, 0};
    cr_expect(tsr_evaluate_answers(good, NULL, none, 2, NULL, &s) == TSR_OK && s.answerable == 0 &&
              s.exact == 0 && isnan(s.answerable_f1));
}

/* Learning rates of each schedule, and the clipping of gradients. */
#include "train/recipe/schedule.h"

#include <criterion/criterion.h>
#include <math.h>

static tsri_train_settings with(int schedule, double peak, double least, int64_t warmup) {
    tsri_train_settings s;
    tsri_train_key_defaults(tsri_train_settings_keys(), &s);
    s.lr_scheduler_type = schedule;
    s.learning_rate = peak;
    s.min_learning_rate = least;
    s.warmup_steps = warmup;
    return s;
}

static void near(double got, double wanted, const char *what, int64_t t) {
    cr_expect(fabs(got - wanted) <= 1e-15 * fabs(wanted), "%s at step %lld: %.17g, wanted %.17g",
              what, (long long)t, got, wanted);
}

/* The rates of the goldens' log: peak 0.01, 5 steps of warmup, final 0.001, 20 steps. */
Test(train, cosine_with_warmup) {
    const tsri_train_settings s = with(TSRI_SCHEDULE_COSINE, 0.01, 0.001, 5);
    for (int64_t t = 0; t < 20; t++) {
        const double wanted =
            t < 5 ? 0.01 * (double)(t + 1) / 5
                  : 0.001 + (0.01 - 0.001) * (1 + cos(acos(-1.0) * (double)(t - 5) / 15)) / 2;
        near(tsri_train_rate(&s, t, 20), wanted, "cosine", t);
    }
    near(tsri_train_rate(&s, 5, 20), 0.01, "the highest", 5);
    near(tsri_train_rate(&s, 20, 20), 0.001, "past the end", 20);
    near(tsri_train_rate(&s, 1000, 20), 0.001, "past the end", 1000);
}

Test(train, linear_constant_and_inverse_square_root) {
    tsri_train_settings s = with(TSRI_SCHEDULE_LINEAR, 1, 0, 0);
    near(tsri_train_rate(&s, 0, 4), 1, "linear", 0);
    near(tsri_train_rate(&s, 1, 4), 0.75, "linear", 1);
    near(tsri_train_rate(&s, 3, 4), 0.25, "linear", 3);
    s = with(TSRI_SCHEDULE_LINEAR, 1, 0.5, 2);
    near(tsri_train_rate(&s, 0, 6), 0.5, "linear", 0);
    near(tsri_train_rate(&s, 2, 6), 1, "linear", 2);
    near(tsri_train_rate(&s, 4, 6), 0.75, "linear", 4);
    s = with(TSRI_SCHEDULE_CONSTANT, 3, 0, 7); /* it ignores the warmup */
    near(tsri_train_rate(&s, 0, 9), 3, "constant", 0);
    s = with(TSRI_SCHEDULE_CONSTANT_WITH_WARMUP, 3, 0, 3);
    near(tsri_train_rate(&s, 0, 9), 1, "constant_with_warmup", 0);
    near(tsri_train_rate(&s, 8, 9), 3, "constant_with_warmup", 8);
    s = with(TSRI_SCHEDULE_INVERSE_SQRT, 1, 0, 4000);
    near(tsri_train_rate(&s, 3999, 100000), 1, "inverse_sqrt", 3999);
    near(tsri_train_rate(&s, 15999, 100000), 0.5, "inverse_sqrt", 15999);
    s = with(TSRI_SCHEDULE_INVERSE_SQRT, 1, 0.25, 0);
    near(tsri_train_rate(&s, 0, 10), 1, "inverse_sqrt without warmup", 0);
    near(tsri_train_rate(&s, 99, 1000), 0.25, "inverse_sqrt's least", 99);
}

Test(train, a_share_of_steps_as_warmup_is_rounded_up) {
    tsri_train_settings s = with(TSRI_SCHEDULE_LINEAR, 1, 0, 0);
    s.warmup_ratio = 0.1;
    cr_expect_eq(tsri_train_warmup(&s, 101), 11);
    cr_expect_eq(tsri_train_warmup(&s, 100), 10);
    s.warmup_ratio = 1; /* all steps are warmup: no division by zero at the end */
    near(tsri_train_rate(&s, 9, 10), 1, "all warmup", 9);
    near(tsri_train_rate(&s, 10, 10), 0, "behind it", 10);
}

Test(train, gradients_are_scaled_down_alone) {
    tsri_train_settings s = with(TSRI_SCHEDULE_LINEAR, 1, 0, 0);
    cr_expect_eq(tsri_train_clip(&s, 1), 1);
    cr_expect_eq(tsri_train_clip(&s, 0), 1);
    near(tsri_train_clip(&s, 4), 1 / (4 + 1e-6), "clip", 0);
    s.max_grad_norm = 0;
    cr_expect_eq(tsri_train_clip(&s, 1e9), 1);
}

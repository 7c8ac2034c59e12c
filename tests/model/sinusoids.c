/* The tables of sinusoidal positions. They can serve as positions because going k further turns
 * each pair by an angle that depends only on k: PE[t+k] is a fixed rotation of PE[t], whatever t
 * is. */
#include "model/weights/tables.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 600 };

typedef struct family {
    const char *name;
    tsri_model_sinusoid kind;
    int64_t width;
} family;

static const family families[] = {
    {"2017, in turn", {.first = 0}, 48},
    {"2017, base", {.first = 0}, 512},
    {"Marian and Pegasus, halves", {.halves = true}, 64},
    {"M2M-100, halves to the end, behind the padding's id",
     {.halves = true, .to_end = true, .first = 2},
     48},
    {"OpenNMT, halves to the end from 1", {.halves = true, .to_end = true, .first = 1}, 32},
    {"one pair", {.halves = true}, 2},
};
enum { FAMILIES = sizeof families / sizeof *families };

/* Where the sine and the cosine of pair i are in a row. */
static int64_t sine_at(const family *f, int64_t i) {
    return f->kind.halves ? i : 2 * i;
}

static int64_t cosine_at(const family *f, int64_t i) {
    return f->kind.halves ? f->width / 2 + i : 2 * i + 1;
}

static float *table_of(const family *f) {
    float *table = malloc(ROWS * (size_t)f->width * sizeof *table);
    cr_assert_not_null(table);
    tsri_model_sinusoids(&f->kind, ROWS, f->width, table);
    return table;
}

Test(sinusoids, k_further_is_a_rotation_of_each_pair_by_an_angle_of_its_own) {
    static const int64_t steps[] = {1, 2, 7, 100, 255};
    for (int n = 0; n < FAMILIES; n++) {
        const family *f = &families[n];
        float *table = table_of(f);
        for (int64_t i = 0; i < f->width / 2; i++) {
            const double rate = pow(10000, -(double)i / (f->kind.to_end ? (double)f->width / 2 - 1
                                                                        : (double)f->width / 2));
            for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
                const double turn_sine = sin((double)steps[s] * rate),
                             turn_cosine = cos((double)steps[s] * rate);
                for (int64_t t = 0; t + steps[s] < ROWS; t += 13) {
                    const float *here = table + t * f->width,
                                *there = table + (t + steps[s]) * f->width;
                    const double sine = (double)here[sine_at(f, i)],
                                 cosine = (double)here[cosine_at(f, i)];
                    cr_assert_float_eq(
                        (double)there[sine_at(f, i)], sine * turn_cosine + cosine * turn_sine, 3e-7,
                        "%s: pair %d, %d + %d", f->name, (int)i, (int)t, (int)steps[s]);
                    cr_assert_float_eq(
                        (double)there[cosine_at(f, i)], cosine * turn_cosine - sine * turn_sine,
                        3e-7, "%s: pair %d, %d + %d", f->name, (int)i, (int)t, (int)steps[s]);
                }
            }
        }
        free(table);
    }
}

/* Therefore the dot product of two positions depends only on their distance. */
Test(sinusoids, the_dot_product_of_two_positions_is_that_of_their_distance) {
    for (int n = 0; n < FAMILIES; n++) {
        const family *f = &families[n];
        float *table = table_of(f);
        for (int64_t distance = 0; distance < 300; distance += 11) {
            double first = 0;
            for (int64_t t = 0; t + distance < ROWS; t += 97) {
                double dot = 0;
                for (int64_t c = 0; c < f->width; c++)
                    dot += (double)table[t * f->width + c] *
                           (double)table[(t + distance) * f->width + c];
                first = t ? first : dot;
                cr_assert_float_eq(dot, first, 1e-7 * (double)f->width, "%s: %d and %d further",
                                   f->name, (int)t, (int)distance);
            }
        }
        free(table);
    }
}

Test(sinusoids, rows_begin_where_the_family_begins) {
    for (int n = 0; n < FAMILIES; n++) {
        const family *f = &families[n];
        float *table = table_of(f);
        for (int64_t t = 0; t < ROWS; t += 59) { /* the first pair turns by 1 a step */
            cr_assert_float_eq(table[t * f->width + sine_at(f, 0)],
                               (float)sin((double)(t + f->kind.first)), 1e-7f, "%s", f->name);
            cr_assert_float_eq(table[t * f->width + cosine_at(f, 0)],
                               (float)cos((double)(t + f->kind.first)), 1e-7f, "%s", f->name);
        }
        free(table);
    }
}

Test(sinusoids, odd_widths) {
    float in_turn[3 * 5], to_end[3 * 5];
    tsri_model_sinusoids(&(tsri_model_sinusoid){0}, 3, 5, in_turn);
    cr_assert_float_eq(in_turn[5 + 4], (float)sin(pow(10000, -2 / 2.5)), 1e-7f);
    tsri_model_sinusoids(&(tsri_model_sinusoid){.halves = true, .to_end = true}, 3, 5, to_end);
    for (int t = 0; t < 3; t++)
        cr_assert_eq(to_end[t * 5 + 4], 0);
    cr_assert_float_eq(to_end[5 + 1], 1e-4f, 1e-9f);
}

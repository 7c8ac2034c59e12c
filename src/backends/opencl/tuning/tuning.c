/* backends/opencl/tuning/tuning.c - reads the lines of tuning, and finds those that apply to a
 * variant and an op. */
#include "backends/opencl/tuning/tuning.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/source/source.h"
#include "backends/opencl/tuning/tuning_file.h"
#include "backends/opencl/variants/variants.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/shape.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 6, MAX_FIELD = 512 };

typedef struct line {
    const tsri_opencl_variant *variant;
    char *condition, *from; /* NULL: it has none; "table cl/tuned/x.tsv:7" */
    int rank;               /* higher wins */
    bool scored;
    int score;
    tsri_opencl_wish values;
} line;

struct tsri_opencl_tuning {
    size_t n, capacity;
    line *lines;
};

void tsri_opencl_tuning_free(tsri_opencl_tuning *tuning) {
    if (!tuning)
        return;
    for (size_t i = 0; i < tuning->n; i++) {
        free(tuning->lines[i].condition);
        free(tuning->lines[i].from);
    }
    free(tuning->lines);
    free(tuning);
}

/* --- reading --- */

static tsr_status set_value(const tsri_opencl_variant *variant, const char *place, const char *text,
                            size_t n, tsri_opencl_wish *out) {
    const char *const op = tsri_opencl_op_name(variant->op);
    const char *equals = memchr(text, '=', n);
    char *end = NULL;
    const long value = equals ? strtol(equals + 1, &end, 10) : 0;
    if (!equals || end == equals + 1 || end != text + n || value < INT_MIN || value > INT_MAX)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%.*s\" is not of the form tunable=number", place,
                              (int)n, text);
    const size_t name_n = (size_t)(equals - text);
    tsri_bytes list = {0};
    for (int i = 0; i < TSRI_OPENCL_TUNABLES && variant->tunables[i].name; i++) {
        const tsri_opencl_tunable *tunable = &variant->tunables[i];
        if (strlen(tunable->name) != name_n || memcmp(tunable->name, text, name_n) != 0) {
            (void)!tsri_base_bytes_printf(&list, "%s%s", list.size ? ", " : "", tunable->name);
            continue;
        }
        tsri_base_bytes_clear(&list);
        if (value < tunable->lowest || value > tunable->highest)
            return tsri_base_fail(TSR_E_FORMAT, "%s: %s/%s takes %s from %d to %d, not %ld", place,
                                  op, variant->name, tunable->name, tunable->lowest,
                                  tunable->highest, value);
        out->set[i] = true;
        out->value[i] = (int)value;
        return TSR_OK;
    }
    const tsr_status status =
        tsri_base_fail(TSR_E_FORMAT, "%s: %s/%s has no tunable %.*s; it has %s", place, op,
                       variant->name, (int)name_n, text, list.size ? list.data : "none");
    tsri_base_bytes_clear(&list);
    return status;
}

tsr_status tsri_opencl_read_values(const tsri_opencl_variant *variant, const char *place,
                                   const char *text, size_t n, char separator,
                                   tsri_opencl_wish *out) {
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, separator, n - at);
        const size_t length = end ? (size_t)(end - text) - at : n - at;
        TRY(set_value(variant, place, text + at, length, out));
        at += length + 1;
    }
    return TSR_OK;
}

/* Reads "64-", "2-8" or "1" as the range that it spans; false for other texts. */
static bool read_span(const char *text, size_t n, long *lowest, long *highest) {
    char copy[48], *end = NULL;
    if (!n || n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    *lowest = *highest = strtol(copy, &end, 10);
    if (end == copy || *lowest < 0)
        return false;
    if (*end == '-') {
        const char *second = end + 1;
        *highest = *second ? strtol(second, &end, 10) : LONG_MAX;
        end += !*second;
    }
    return !*end && *lowest <= *highest;
}

/* Conditions about a size, which is within a span. */
typedef struct size_condition {
    const char *name; /* "rows=" */
    int64_t (*of)(const tsr_op *op);
} size_condition;

/* The elements of a row, where they are the same in every run; else none. */
static int64_t columns_of(const tsr_op *op) {
    const tsr_dim columns = op->n_in ? tsri_tensor_columns(op->in[0]) : tsri_tensor_const(-1);
    return columns.symbols ? -1 : columns.factor;
}

static const size_condition size_conditions[] = {{"rows=", tsri_opencl_result_rows},
                                                 {"columns=", columns_of}};

/* NULL: it is about a constant. */
static const size_condition *size_named(const char *condition) {
    for (size_t i = 0; i < sizeof size_conditions / sizeof *size_conditions; i++)
        if (!strncmp(condition, size_conditions[i].name, strlen(size_conditions[i].name)))
            return &size_conditions[i];
    return NULL;
}

/* Reads a condition of n bytes about a size. */
static bool read_size(const size_condition *size, const char *condition, size_t n, long *lowest,
                      long *highest) {
    const size_t name = strlen(size->name);
    return read_span(condition + name, n - name, lowest, highest);
}

static bool names_rows(const char *condition) {
    return size_named(condition) == size_conditions;
}

/* Counts the conditions. Refuses one that is not NAME=VALUE and, where only the rows are known, one
 * that is not about rows. */
static tsr_status check_conditions(const char *place, const char *text, bool only_rows, int *n) {
    long lowest, highest;
    *n = 0;
    for (const char *at = text; at && *at; ++*n) {
        const size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        const size_condition *size = size_named(at);
        if (!equals || equals == at || equals + 1 == at + length ||
            (size && !read_size(size, at, length, &lowest, &highest)))
            return tsri_base_fail(
                TSR_E_FORMAT,
                "%s: \"%.*s\" is not a condition: NAME=VALUE, rows=N, rows=N-M or "
                "rows=N-, or the same of columns",
                place, (int)length, at);
        if (only_rows && !names_rows(at))
            return tsri_base_fail(TSR_E_FORMAT, "%s: a score can depend on rows=..., not on %.*s",
                                  place, (int)length, at);
        at += length + (at[length] == ',');
    }
    return TSR_OK;
}

static const char *const types[] = {"other", "cpu", "gpu", "accelerator"};

const char *tsri_opencl_type_name(uint32_t type) {
    return types[type < 4 ? type : 0];
}

static tsr_status check_type(const char *place, const char *type) {
    for (int i = 0; i < 4; i++)
        if (!strcmp(type, types[i]))
            return TSR_OK;
    return strcmp(type, "*")
               ? tsri_base_fail(TSR_E_FORMAT,
                                "%s: type \"%s\" is not one of cpu, gpu, accelerator, "
                                "other, *",
                                place, type)
               : TSR_OK;
}

/* How specific a line is to this device; 0 where it is about others. */
static int match(const tsr_dev *dev, char *const field[FIELDS]) {
    const tsr_facts *facts = &dev->facts.common;
    const bool any[] = {!strcmp(field[0], "*"), !strcmp(field[1], "*"), !strcmp(field[2], "*")};
    if (fnmatch(field[0], facts->platform, 0) != 0 && fnmatch(field[0], facts->vendor, 0) != 0)
        return 0;
    if (fnmatch(field[1], facts->name, 0) != 0)
        return 0;
    if (!any[2] && strcmp(field[2], tsri_opencl_type_name(facts->type)) != 0)
        return 0;
    return 1 + (!any[1]) * 4 + (!any[0]) * 2 + !any[2];
}

/* Reads one line of a table, cutting its fields apart in place. */
static tsr_status read_fields(tsr_dev *dev, tsri_opencl_tuning *tuning, const char *place,
                              const char *from, int rank, char *const field[FIELDS]) {
    line read = {0};
    int conditions = 0;
    const bool scored = !strncmp(field[5], "score=", 6), always = !strcmp(field[4], "-");
    read.variant = tsri_opencl_find_variant(field[3]);
    if (!read.variant)
        return tsri_base_fail(TSR_E_FORMAT, "%s: there is no kernel variant %s", place, field[3]);
    read.values.variant = read.variant;
    TRY(check_type(place, field[2]));
    if (!always)
        TRY(check_conditions(place, field[4], scored, &conditions));
    if (scored) {
        char *end = NULL;
        read.scored = true;
        read.score = (int)strtol(field[5] + 6, &end, 10);
        if (*end || end == field[5] + 6)
            return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is not a score, score=N", place,
                                  field[5]);
    } else
        TRY(tsri_opencl_read_values(read.variant, place, field[5], strlen(field[5]), ',',
                                    &read.values));
    const int level = match(dev, field);
    if (!level)
        return TSR_OK;
    read.rank = rank + level * 64 + conditions;
    TRY(tsri_base_grow(&tuning->lines, &tuning->capacity, tuning->n + 1, sizeof read));
    read.condition = always ? NULL : tsri_base_copy_text(field[4], strlen(field[4]));
    read.from = tsri_base_copy_text(from, strlen(from));
    tuning->lines[tuning->n++] = read;
    return (always || read.condition) && read.from ? TSR_OK : TSR_E_HOST_MEMORY;
}

static tsr_status read_line(tsr_dev *dev, tsri_opencl_tuning *tuning, const char *file, int number,
                            bool here, const char *text, size_t n) {
    char place[300], from[320], copy[4 * MAX_FIELD], *field[FIELDS], *at = copy;
    int fields = 0;
    snprintf(place, sizeof place, "%.250s:%d", file, number);
    snprintf(from, sizeof from, here ? "tuned here" : "table %s", place);
    if (!n || *text == '#')
        return TSR_OK;
    if (n >= sizeof copy)
        return tsri_base_fail(TSR_E_FORMAT, "%s: a line of %zu bytes is too long", place, n);
    memcpy(copy, text, n);
    copy[n] = 0;
    for (char *next = at; next; at = next) {
        next = strchr(at, '\t');
        if (next)
            *next++ = 0;
        if (fields == FIELDS || !*at)
            fields = FIELDS + 1;
        else
            field[fields++] = at;
        if (fields > FIELDS)
            break;
    }
    if (fields != FIELDS)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: a line has %d fields with a tab between: platform, device, "
                              "type, variant, condition, values",
                              place, FIELDS);
    return read_fields(dev, tuning, place, from, here ? 1 << 16 : 0, field);
}

static tsr_status read_text(tsr_dev *dev, tsri_opencl_tuning *tuning, const char *file, bool here,
                            const char *text) {
    int number = 1;
    for (const char *at = text; at && *at; number++) {
        const size_t n = strcspn(at, "\n");
        TRY(read_line(dev, tuning, file, number, here, at, n));
        at += n + (at[n] == '\n');
    }
    return TSR_OK;
}

typedef struct reading {
    tsr_dev *dev;
    tsri_opencl_tuning *tuning;
} reading;

static tsr_status read_table(void *data, const char *path, const char *text) {
    const reading *r = data;
    char file[300];
    snprintf(file, sizeof file, "cl/%s", path);
    return read_text(r->dev, r->tuning, file, false, text);
}

tsr_status tsri_opencl_tuning_load(tsr_dev *dev, tsri_opencl_tuning **out) {
    const char *folder = getenv("TESSERA_KERNEL_PATH");
    tsri_bytes text = {0};
    char *path = NULL;
    TRY(tsri_base_new(1, sizeof **out, out));
    reading r = {dev, *out};
    folder = folder && *folder ? folder : NULL;
    TRY(tsri_opencl_source_tables(folder, read_table, &r));
    if (folder)
        return TSR_OK;
    tsr_status status = tsri_opencl_tuning_read_here(dev, &path, &text);
    const size_t before = (*out)->n;
    if (status == TSR_OK && text.size && read_text(dev, *out, path, true, text.data) != TSR_OK) {
        tsri_opencl_log(dev->state, TSR_LOG_WARNING,
                        "%s; what was tuned on this machine is not used: run "
                        "tessera tune again",
                        tsri_base_reported());
        while ((*out)->n > before) {
            line *last = &(*out)->lines[--(*out)->n];
            free(last->condition);
            free(last->from);
        }
    }
    tsri_base_bytes_clear(&text);
    free(path);
    return status;
}

/* --- use --- */

int64_t tsri_opencl_result_rows(const tsr_op *op) {
    const tsr_tensor *result = op->n_out ? op->out[0] : NULL;
    int64_t rows = 1;
    for (uint32_t i = 0; result && i < result->rank; i++)
        if (result->dim[i].symbols)
            rows *= tsri_tensor_value(result->dim[i], op->bounds->highest);
    return rows;
}

const char *tsri_opencl_rows_condition(const tsr_op *op) {
    const int64_t rows = tsri_opencl_result_rows(op);
    return rows <= 1 ? "rows=1" : rows <= 8 ? "rows=2-8" : rows <= 63 ? "rows=9-63" : "rows=64-";
}

/* Whether NAME=VALUE is one of the constants. */
static bool among(const char *constants, const char *wanted, size_t n) {
    for (const char *at = constants; *at;) {
        const size_t length = strcspn(at, ",");
        if (length == n && !memcmp(at, wanted, n))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static bool holds(const char *condition, const tsr_op *op, const char *constants) {
    long lowest = 0, highest = 0;
    for (const char *at = condition; at && *at;) {
        const size_t n = strcspn(at, ",");
        const size_condition *size = size_named(at);
        if (size) {
            const int64_t is = size->of(op);
            if (!read_size(size, at, n, &lowest, &highest) || is < lowest || is > highest)
                return false;
        } else if (!among(constants, at, n))
            return false;
        at += n + (at[n] == ',');
    }
    return true;
}

bool tsri_opencl_is_tuned(const tsr_dev *dev, const tsri_opencl_variant *variant) {
    for (size_t i = 0; dev->tuning && i < dev->tuning->n; i++)
        if (dev->tuning->lines[i].variant == variant)
            return true;
    return false;
}

void tsri_opencl_values_of(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op,
                           const tsri_opencl_wish *wish, const char *constants,
                           tsri_opencl_values *out) {
    int rank[TSRI_OPENCL_TUNABLES] = {0};
    *out = (tsri_opencl_values){0};
    for (int t = 0; t < TSRI_OPENCL_TUNABLES && variant->tunables[t].name; t++) {
        out->value[t] = variant->tunables[t].value;
        out->from[t] = "default";
    }
    for (size_t i = 0; dev->tuning && i < dev->tuning->n; i++) {
        const line *l = &dev->tuning->lines[i];
        if (l->variant != variant || l->scored || !holds(l->condition, op, constants))
            continue;
        for (int t = 0; t < TSRI_OPENCL_TUNABLES; t++)
            if (l->values.set[t] && l->rank >= rank[t]) {
                rank[t] = l->rank;
                out->value[t] = l->values.value[t];
                out->from[t] = l->from;
                out->line[t] = true;
            }
    }
    for (int t = 0; wish && wish->variant == variant && t < TSRI_OPENCL_TUNABLES; t++)
        if (wish->set[t]) {
            out->value[t] = wish->value[t];
            out->from[t] = "forced";
            out->line[t] = false;
        }
}

int tsri_opencl_score_of(const tsr_dev *dev, const tsri_opencl_variant *variant, const tsr_op *op) {
    int score = tsri_opencl_variant_score(variant, &dev->facts), rank = 0;
    for (size_t i = 0; dev->tuning && i < dev->tuning->n; i++) {
        const line *l = &dev->tuning->lines[i];
        if (l->variant == variant && l->scored && l->rank >= rank && holds(l->condition, op, "")) {
            rank = l->rank;
            score = l->score;
        }
    }
    return score;
}

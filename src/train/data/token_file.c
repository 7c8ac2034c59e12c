/* train/data/token_file.c - makes a text's tokens once, keeps them in the workspace, and reads
 * them at offsets. */
#include "train/data/token_file.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LABELS = 1 << 16, VERSION = 1 };

/* What an index begins with. */
typedef struct header {
    char magic[8];
    uint32_t version, width;
    uint64_t n_tokens, n_examples, n_labels, label_bytes, bytes;
} header;

static const char magic[8] = "tsrtoken";

typedef struct label_head { /* before a label's text */
    uint64_t line;
    uint64_t size;
} label_head;

/* ---- reading ---- */

static tsr_status damaged(const tsri_file *file) {
    return tsri_base_fail(TSR_E_FORMAT, "%s is damaged; delete it: it will be made again",
                          file->path);
}

static tsr_status read_labels(tsri_train_token_file *t, const header *h) {
    uint64_t at = sizeof *h + h->n_examples * sizeof(tsri_train_entry);
    TRY(tsri_base_new((size_t)h->n_labels, sizeof *t->labels, &t->labels));
    TRY(tsri_base_new((size_t)h->n_labels, sizeof *t->label_lines, &t->label_lines));
    for (; t->n_labels < h->n_labels; t->n_labels++) {
        label_head l;
        TRY(tsri_base_file_read(t->index, at, &l, sizeof l));
        if (l.size > h->label_bytes)
            return damaged(t->index);
        TRY(tsri_base_new((size_t)l.size + 1, 1, &t->labels[t->n_labels]));
        TRY(tsri_base_file_read(t->index, at + sizeof l, t->labels[t->n_labels], (size_t)l.size));
        t->label_lines[t->n_labels] = l.line;
        at += sizeof l + l.size;
    }
    return TSR_OK;
}

static tsr_status read_index(tsri_train_token_file *t) {
    header h;
    TRY(tsri_base_file_read(t->index, 0, &h, sizeof h));
    if (memcmp(h.magic, magic, sizeof magic) || h.version != VERSION ||
        (h.width != 2 && h.width != 4) || h.n_labels > MOST_LABELS || h.n_tokens > UINT64_MAX / 8 ||
        h.n_examples > t->index->size / sizeof(tsri_train_entry) ||
        t->index->size != sizeof h + h.n_examples * sizeof(tsri_train_entry) + h.label_bytes ||
        t->tokens->size != h.n_tokens * h.width)
        return damaged(t->index);
    t->n_tokens = h.n_tokens;
    t->n_examples = h.n_examples;
    t->bytes = h.bytes;
    t->width = h.width;
    return read_labels(t, &h);
}

tsr_status tsri_train_token_file_read(const tsri_train_token_file *t, uint64_t begin, size_t n,
                                      int32_t vocab, int32_t *out) {
    TRY(tsri_base_file_read(t->tokens, begin * t->width, out, n * t->width));
    if (t->width == 2)
        for (size_t i = n; i--;) { /* backwards, so that no id is overwritten before it is read */
            uint16_t id;
            memcpy(&id, (const char *)out + i * sizeof id, sizeof id);
            out[i] = id;
        }
    for (size_t i = 0; i < n; i++)
        if (out[i] < 0 || out[i] >= vocab)
            return damaged(t->tokens);
    return TSR_OK;
}

tsr_status tsri_train_token_file_entries(const tsri_train_token_file *t, uint64_t first,
                                         size_t count, tsri_train_entry *out) {
    TRY(tsri_base_file_read(t->index, sizeof(header) + first * sizeof *out, out,
                            count * sizeof *out));
    for (size_t i = 0; i < count; i++)
        if (out[i].start > t->n_tokens ||
            (uint64_t)out[i].n + out[i].more > t->n_tokens - out[i].start || !out[i].n ||
            (t->n_labels && out[i].label >= t->n_labels))
            return damaged(t->index);
    return TSR_OK;
}

/* ---- making ---- */

typedef struct making {
    const tsri_train_token_file_options *o;
    const char *path;
    tsri_train_records *records;
    tsri_file_writer *tokens, *index;
    header header;
    tsri_text_ids first, second; /* of a record */
    tsri_bytes packed;           /* ids as they are written */
    char **labels;
    uint64_t *label_lines;
    size_t label_room, line_room;
    uint64_t before; /* bytes of the files read before this one */
} making;

static tsr_status write_ids(making *m, const tsri_text_ids *ids) {
    m->packed.size = 0;
    if (m->header.width == 4)
        TRY(tsri_base_writer_write(m->tokens, ids->data, ids->count * sizeof *ids->data));
    else {
        TRY(tsri_base_grow(&m->packed.data, &m->packed.capacity, 2 * ids->count + 1, 1));
        for (size_t i = 0; i < ids->count; i++) {
            const uint16_t id = (uint16_t)ids->data[i];
            memcpy(m->packed.data + 2 * i, &id, sizeof id);
        }
        TRY(tsri_base_writer_write(m->tokens, m->packed.data, 2 * ids->count));
    }
    m->header.n_tokens += ids->count;
    *m->o->prepared += ids->count;
    return TSR_OK;
}

static tsr_status write_id(making *m, int32_t id) {
    const tsri_text_ids one = {.data = &id, .count = 1};
    return id < 0 ? TSR_OK : write_ids(m, &one);
}

/* The label's number in this file. */
static tsr_status number_label(making *m, tsri_train_span s, uint64_t line, uint32_t *out) {
    if (!s.n)
        return tsri_base_fail(TSR_E_FORMAT, "the label is empty");
    for (size_t i = m->header.n_labels; i--;)
        if (strlen(m->labels[i]) == s.n && !memcmp(m->labels[i], s.data, s.n)) {
            *out = (uint32_t)i;
            return TSR_OK;
        }
    if (m->header.n_labels + 1 >= MOST_LABELS)
        return tsri_base_fail(TSR_E_FORMAT,
                              "there are more than %d different labels; is this the right column?",
                              MOST_LABELS - 1);
    const size_t i = (size_t)m->header.n_labels;
    TRY(tsri_base_grow(&m->labels, &m->label_room, i + 1, sizeof *m->labels));
    TRY(tsri_base_grow(&m->label_lines, &m->line_room, i + 1, sizeof *m->label_lines));
    m->labels[i] = tsri_base_copy_text(s.data, s.n);
    if (!m->labels[i])
        return TSR_E_HOST_MEMORY;
    m->label_lines[i] = line;
    m->header.label_bytes += sizeof(label_head) + strlen(m->labels[i]);
    *out = (uint32_t)i;
    m->header.n_labels++;
    return TSR_OK;
}

/* Puts 1 + the numbers of labels in place of those of words. */
static tsr_status number_words(making *m, const tsri_train_record *record) {
    for (size_t i = 0; i < m->second.count; i++) {
        const int32_t word = m->second.data[i];
        uint32_t label;
        if (!word)
            continue;
        TRY(number_label(m, record->labels[word - 1], record->line, &label));
        m->second.data[i] = (int32_t)label + 1;
    }
    return TSR_OK;
}

static tsr_status add_example(making *m, const tsri_train_record *record) {
    tsri_train_entry entry = {.start = m->header.n_tokens,
                              .n = (uint32_t)m->first.count,
                              .more = (uint32_t)m->second.count,
                              .line = (uint32_t)record->line};
    if (m->o->encoder->wants == TSRI_WANTS_LABELS)
        TRY(number_label(m, record->second, record->line, &entry.label));
    if (m->o->encoder->wants == TSRI_WANTS_WORDS)
        TRY(number_words(m, record));
    TRY(write_ids(m, &m->first));
    TRY(write_ids(m, &m->second));
    m->header.n_examples++;
    return tsri_base_writer_write(m->index, &entry, sizeof entry);
}

/* The line of a piece that can't be encoded. */
static uint64_t find_line(making *m, const tsri_train_record *record) {
    uint64_t line = record->line;
    tsri_train_record one = {.piece = true};
    for (size_t at = 0; record->piece && at < record->text.n; line++) {
        const char *text = record->text.data + at, *end = memchr(text, '\n', record->text.n - at);
        one.text = (tsri_train_span){text, end ? (size_t)(end - text) + 1 : record->text.n - at};
        m->first.count = m->second.count = 0;
        if (tsri_train_encode(m->o->encoder, &one, &m->first, &m->second) != TSR_OK)
            return line;
        at += one.text.n;
    }
    return line;
}

static tsr_status add_record(making *m, const tsri_train_record *record) {
    const bool stream = m->o->encoder->wants == TSRI_WANTS_PIECES;
    int32_t before = -1, behind = -1;
    m->first.count = m->second.count = 0;
    tsr_status status = tsri_train_encode(m->o->encoder, record, &m->first, &m->second);
    if (status == TSR_OK && !stream)
        status = add_example(m, record);
    if (status == TSR_E_FORMAT) {
        const uint64_t line = find_line(m, record);
        return tsri_base_fail_within(status, "%s: line %" PRIu64, m->path, line);
    }
    if (status != TSR_OK || !stream || !m->first.count)
        return status;
    tsri_train_encoder_edges(m->o->encoder, &before, &behind);
    if (!record->piece || !m->header.n_tokens)
        TRY(write_id(m, before));
    TRY(write_ids(m, &m->first));
    return record->piece ? TSR_OK : write_id(m, behind);
}

static tsr_status tell(making *m) {
    const tsri_train_data_options *d = m->o->data;
    *m->o->done = m->before + tsri_train_records_done(m->records);
    if (d->progress && d->progress(d->progress_data, *m->o->done, m->o->total, *m->o->prepared))
        return tsri_base_fail(TSR_E_CANCELLED, "reading the data was cancelled");
    return TSR_OK;
}

static tsr_status add_records(making *m) {
    int32_t before, behind;
    bool piece = false;
    for (uint64_t number = 0;; number++) {
        tsri_train_record record;
        TRY(tsri_train_records_next(m->records, &record));
        if (!record.text.data)
            break;
        piece = record.piece;
        TRY(add_record(m, &record));
        if (piece || (number & 1023) == 0)
            TRY(tell(m));
    }
    if (!m->header.n_tokens)
        return tsri_base_fail(TSR_E_FORMAT, "%s holds no tokens; it needs some text", m->path);
    tsri_train_encoder_edges(m->o->encoder, &before, &behind);
    if (piece)
        TRY(write_id(m, behind));
    return tell(m);
}

static tsr_status write_all(making *m) {
    TRY(tsri_base_writer_write(m->index, &m->header, sizeof m->header));
    TRY(add_records(m));
    for (size_t i = 0; i < m->header.n_labels; i++) {
        const label_head l = {m->label_lines[i], strlen(m->labels[i])};
        TRY(tsri_base_writer_write(m->index, &l, sizeof l));
        TRY(tsri_base_writer_write(m->index, m->labels[i], (size_t)l.size));
    }
    m->header.bytes = tsri_train_records_done(m->records);
    return tsri_base_writer_patch(m->index, 0, &m->header, sizeof m->header);
}

/* Writes everything, with BPE dropout where it is set. */
static tsr_status write_cut(making *m) {
    tsri_text_tokenizer *tokenizer = m->o->encoder->model->tokenizer;
    tsri_text_dropout dropout = {
        .rate = m->o->bpe_dropout, .seed = m->o->data->seed, .stream = m->o->number};
    if (!(dropout.rate > 0))
        return write_all(m);
    const tsr_status status = tsri_text_set_dropout(tokenizer, &dropout);
    if (status != TSR_OK)
        return tsri_base_fail_within(status, "bpe_dropout=%g", dropout.rate);
    const tsr_status written = write_all(m);
    tsri_text_set_dropout(tokenizer, NULL);
    return written;
}

static tsr_status make(const char *path, const tsri_train_token_file_options *o, const char *tokens,
                       const char *index) {
    making m = {.o = o, .path = path, .before = *o->done};
    const tsri_model_spec *spec = &o->encoder->model->spec;
    memcpy(m.header.magic, magic, sizeof magic);
    m.header.version = VERSION;
    m.header.width = spec->vocab > 65536 || spec->source_vocab > 65536 ? 4 : 2;
    tsr_status status = tsri_train_records_open(path, o->data, o->encoder->wants, &m.records);
    if (status == TSR_OK)
        status = tsri_base_writer_begin(tokens, &m.tokens);
    if (status == TSR_OK)
        status = tsri_base_writer_begin(index, &m.index);
    if (status == TSR_OK)
        status = write_cut(&m);
    if (status == TSR_OK)
        status = tsri_base_writer_commit(&m.tokens);
    if (status == TSR_OK)
        status = tsri_base_writer_commit(&m.index);
    tsri_base_writer_abandon(&m.tokens);
    tsri_base_writer_abandon(&m.index);
    tsri_train_records_close(&m.records);
    tsri_text_ids_clear(&m.first);
    tsri_text_ids_clear(&m.second);
    tsri_base_bytes_clear(&m.packed);
    for (size_t i = 0; i < m.header.n_labels; i++)
        free(m.labels[i]);
    free(m.labels);
    free(m.label_lines);
    return status;
}

/* ---- a file's tokens, made or found ---- */

/* The form is part of the key, because it follows from the file's name and not from its bytes. */
static tsr_status key_of(const tsri_train_token_file *t, const tsri_train_token_file_options *o,
                         char key[65]) {
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_text(hash, t->digest);
    tsri_base_hash_text(hash, o->encoder->digest);
    tsri_base_hash_text(hash, tsri_train_form_of(t->path, o->encoder->wants));
    if (o->bpe_dropout > 0) {
        tsri_base_hash_add(hash, &o->bpe_dropout, sizeof o->bpe_dropout);
        tsri_base_hash_add(hash, &o->data->seed, sizeof o->data->seed);
        tsri_base_hash_add(hash, &o->number, sizeof o->number);
    }
    tsri_base_hash_end_hex(&hash, key);
    return TSR_OK;
}

static tsr_status open_files(tsri_train_token_file *t, const char *tokens, const char *index) {
    TRY(tsri_base_file_open(tokens, &t->tokens));
    TRY(tsri_base_file_open(index, &t->index));
    return read_index(t);
}

static void close_files(tsri_train_token_file *t) {
    tsri_base_file_close(&t->tokens);
    tsri_base_file_close(&t->index);
    for (size_t i = 0; i < t->n_labels; i++)
        free(t->labels[i]);
    free(t->labels);
    free(t->label_lines);
    t->labels = NULL;
    t->label_lines = NULL;
    t->n_labels = 0;
}

static tsr_status find_or_make(tsri_train_token_file *t, const tsri_train_token_file_options *o) {
    uint64_t bytes;
    char key[65], name[80], again[65];
    TRY(key_of(t, o, key));
    snprintf(name, sizeof name, "%s.tokens", key);
    char *tokens = tsri_base_join(o->workspace, name);
    snprintf(name, sizeof name, "%s.index", key);
    char *index = tsri_base_join(o->workspace, name);
    tsr_status status = tokens && index ? TSR_OK : TSR_E_HOST_MEMORY;
    /* A damaged token file is made again, like a missing one. */
    const bool found = status == TSR_OK && tsri_base_is_file(index) && tsri_base_is_file(tokens) &&
                       open_files(t, tokens, index) == TSR_OK;
    if (status == TSR_OK && !found) {
        close_files(t);
        t->made = true;
        status = make(t->path, o, tokens, index);
        if (status == TSR_OK)
            status = tsri_base_file_digest(t->path, &bytes, again);
        if (status == TSR_OK && strcmp(again, t->digest)) {
            remove(index);
            status = tsri_base_fail(TSR_E_IO, "%s changed while it was read; start again", t->path);
        }
        if (status == TSR_OK)
            status = open_files(t, tokens, index);
    }
    free(tokens);
    free(index);
    return status;
}

tsr_status tsri_train_token_file_open(const char *path,
                                      const tsri_train_token_file_options *options,
                                      tsri_train_token_file **out) {
    tsri_train_token_file *t = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *t, &t));
    const uint64_t before = *options->done;
    t->path = tsri_base_copy_text(path, strlen(path));
    uint64_t bytes;
    tsr_status status =
        t->path ? tsri_base_file_digest(path, &bytes, t->digest) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = find_or_make(t, options);
    *options->done = before + t->bytes;
    if (status != TSR_OK)
        tsri_train_token_file_close(&t);
    *out = t;
    return status;
}

void tsri_train_token_file_close(tsri_train_token_file **tokens) {
    if (!*tokens)
        return;
    close_files(*tokens);
    free((*tokens)->path);
    free(*tokens);
    *tokens = NULL;
}

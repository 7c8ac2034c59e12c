/* cli/serve/server.h - what the parts of tessera serve share. One thread speaks HTTP (http.c); another owns
 * the device and runs the model (engine.c). They meet in exchanges: a request and its answer. */
#ifndef TESSERA_CLI_SERVE_SERVER_H
#define TESSERA_CLI_SERVE_SERVER_H

#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/serve/given.h"

#include <jansson.h>
#include <pthread.h>

typedef struct tsri_serve_buffer {
    char *data; /* NULL, or with a 0 byte behind it */
    size_t size, room;
    bool lost; /* there was too little memory for something */
} tsri_serve_buffer;

void tsri_serve_put(tsri_serve_buffer *buffer, const char *data, size_t n);
void tsri_serve_clear(tsri_serve_buffer *buffer);

typedef struct tsri_serve_limits {
    int64_t kv_tokens; /* of keys and values of a model in memory; 0: by slots and contexts */
    int64_t slots, queue, connections; /* requests that run, wait; open connections */
    int64_t body;                      /* bytes of a request's body */
    int64_t idle, header;              /* seconds without a byte; until the end of the headers */
    int64_t upload;                    /* seconds from there to the end of a small body */
    int64_t drain;                     /* seconds that running requests have after a signal */
    int64_t step_tokens; /* tokens of prompts in a step; 0: as the scheduler chooses */
    int64_t prompt_tokens, new_tokens; /* of a prompt; of all answers to a request; 0: no bound */
    int32_t speculate;                 /* as tsr_generate_options.speculate */
    bool rank;                         /* language models rank documents instead of writing */
    const char *pooling;               /* all models give vectors, pooled so; NULL: they don't */
} tsri_serve_limits;

/* Times that are kept as histograms. */
typedef enum tsri_serve_time {
    TSRI_SERVE_FIRST_TOKEN,
    TSRI_SERVE_BETWEEN_TOKENS,
    TSRI_SERVE_WHOLE,
    TSRI_SERVE_TIMES
} tsri_serve_time;

enum { TSRI_SERVE_BUCKETS = 16 };

typedef struct tsri_serve_metrics {
    tsr_scheduler_counts counts; /* as of the last step, without those of warm_up */
    tsr_scheduler_counts own;    /* what warm_up took */
    struct {
        uint64_t waiting, running;
        uint64_t finished, failed, tokens; /* of requests for vectors and ranks so far */
    } errands;                             /* requests for vectors, ranks and attention */
    uint64_t embedded, ranked;             /* texts, documents */
    uint64_t left; /* clients that hung up before their answer was complete */
    struct {
        uint64_t counts[TSRI_SERVE_BUCKETS + 1], n;
        double sum;
    } times[TSRI_SERVE_TIMES];
} tsri_serve_metrics;

/* What a model does. */
typedef enum tsri_serve_use {
    TSRI_SERVE_ANYTHING, /* what every model does: its tokenizer */
    TSRI_SERVE_TEXT,
    TSRI_SERVE_VECTORS,
    TSRI_SERVE_RANKS
} tsri_serve_use;

typedef struct tsri_serve_prompted tsri_serve_prompted;

typedef struct tsri_serve_model {
    char name[256];
    tsri_serve_given given;
    tsri_serve_use use;
    int64_t context; /* as in tsr_model_options: -c, for TSRI_SERVE_TEXT */
    tsr_model *model;
    tsr_scheduler *scheduler;               /* of TSRI_SERVE_TEXT; else NULL */
    tsr_embedder *embedder;                 /* of TSRI_SERVE_VECTORS */
    tsri_serve_prompted *prompted;          /* own: those with other prompts (embedders.h) */
    tsr_ranker *ranker;                     /* of TSRI_SERVE_RANKS */
    const char *template_text;              /* of chats; NULL: the model's own */
    bool chats;                             /* it writes, and has one of them */
    struct tsri_serve_call_form *call_form; /* own; NULL: not asked for yet */
    bool channels, channels_known;          /* parts.h */
    tsri_serve_metrics metrics;             /* the server's lock guards it */
} tsri_serve_model;

typedef struct tsri_serve_server tsri_serve_server;
typedef struct tsri_serve_job tsri_serve_job;
typedef struct tsri_serve_errand tsri_serve_errand;
typedef struct tsri_serve_look tsri_serve_look;

typedef struct tsri_serve_log {
    bool on, json;
    bool prompts; /* lines have what users wrote */
} tsri_serve_log;

/* What the log tells of a request (log.h). Written by the thread that has the request. */
typedef struct tsri_serve_record {
    char method[24], path[256]; /* as in the request, cut */
    unsigned status;            /* that was sent; 0: none was */
    const char *model;          /* NULL: none was chosen */
    uint64_t prompt_tokens, cached_tokens, new_tokens;
    uint64_t first_ns; /* when the first token came; 0: none did */
    bool left;         /* the client hung up before its answer was complete */
    json_t *texts;     /* own: the fields that a user wrote; NULL: they are not logged */
    char *error;       /* own; NULL: none */
} tsri_serve_record;

/* A request and its answer. `lock` of the server guards what is below it. */
typedef struct tsri_serve_exchange {
    tsri_serve_server *server;
    const struct tsri_serve_route *route;
    struct MHD_Connection *connection;
    int fd;
    tsri_serve_buffer body;
    bool too_large, routed;
    const char *path;    /* %XX decoded, no query; valid in handlers that need no device */
    const char *methods; /* those that its path has, for the header Allow */
    uint64_t received;   /* bytes of the body so far */
    uint64_t began_ns;
    tsri_serve_job *job;     /* the engine's */
    tsri_serve_model *model; /* that answers it; until it is known, the first */
    tsri_serve_record record;
    /* guarded */
    struct tsri_serve_exchange *next,
        *waiting; /* of all exchanges; of those the engine has not seen */
    tsri_serve_buffer out;
    size_t sent;
    unsigned status; /* 0: not known yet */
    bool stream, complete, suspended;
    bool taken;                  /* the engine has, or had, it */
    bool waits;                  /* it counts in n_waiting */
    bool gone;                   /* the client has left */
    bool http_done, engine_done; /* who needs it no more */
} tsri_serve_exchange;

typedef void tsri_serve_handler(tsri_serve_exchange *x);

typedef struct tsri_serve_route {
    const char *method, *path; /* ":model" at the end of a path: any text */
    tsri_serve_handler *handle;
    bool on_device;   /* by the engine's thread; else at once by the HTTP thread */
    bool open;        /* without a key */
    const char *type; /* of what it answers with status 200; NULL: JSON */
} tsri_serve_route;

struct tsri_serve_server {
    tsri_cli_app *app;
    tsri_serve_model *models;
    size_t n_models; /* >= 1 */
    tsri_serve_limits limits;
    char **keys; /* one is wanted in each request; n_keys 0: none */
    size_t n_keys;
    const tsri_cli_list *origins; /* whose pages may use the server (origins.h) */
    tsri_serve_log log;
    struct MHD_Daemon *daemon;
    struct tsri_serve_connection *connections;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* of the engine */
    tsri_serve_exchange *exchanges, *first_waiting, *last_waiting;
    size_t n_waiting;         /* exchanges with `waits` */
    tsri_serve_job *jobs;     /* the engine's: requests for text */
    tsri_serve_errand *texts; /* the engine's: requests for vectors and ranks, the oldest first */
    tsri_serve_errand *looks; /* the engine's: requests for attention, the oldest first */
    tsri_serve_look *packing; /* the engine's: the one whose numbers a thread packs, or NULL */
    uint64_t numbers;         /* of answers, for their ids */
    uint64_t calls;           /* for the ids of calls: it begins with a random number */
    bool draining, stopping;
};

/* A failure of a request: the status, the field at fault (NULL: none), and a sentence. */
typedef struct tsri_serve_failure {
    unsigned status;
    const char *param;
    char message[1024];
} tsri_serve_failure;

/* Fills it, and returns false. */
__attribute__((format(PRINTF, 4, 5))) bool
tsri_serve_fail(tsri_serve_failure *f, unsigned status, const char *param, const char *format, ...);
/* The same from a failed call of the library. param: the field whose value the library was given; NULL: none. */
bool tsri_serve_fail_status(tsri_serve_failure *f, tsr_status status, const char *param);

json_t *tsri_serve_failure_json(const tsri_serve_failure *f);

/* ---- http.c: answers. Each may be called from any thread. Behind the end of an answer they change nothing. ---- */

/* Answers with the whole of `json`, which it releases. */
void tsri_serve_answer(tsri_serve_exchange *x, unsigned status, json_t *json);
void tsri_serve_answer_text(tsri_serve_exchange *x, unsigned status, const char *text, size_t n);
/* Within a stream it is the last event. */
void tsri_serve_answer_failure(tsri_serve_exchange *x, const tsri_serve_failure *f);
/* Streams: an event each, and the end. */
void tsri_serve_event(tsri_serve_exchange *x, json_t *json);
void tsri_serve_end(tsri_serve_exchange *x);

int tsri_serve_http_begin(tsri_serve_server *s, const char *host, uint16_t port, const char *cert,
                          const char *key);
uint16_t tsri_serve_http_port(const tsri_serve_server *s);
void tsri_serve_http_refuse(tsri_serve_server *s); /* takes no new connections */
/* Answers the requests that the engine has taken and not answered: status 503. It may still work on them. */
void tsri_serve_http_give_up(tsri_serve_server *s);
void tsri_serve_http_end(tsri_serve_server *s);
/* Notes the clients that have left before their answers were complete, and ends connections that take
 * too long over their headers, or over a body. */
void tsri_serve_http_look(tsri_serve_server *s);
/* With the lock held: the request has its answer, or counts in its model's metrics from now on. */
void tsri_serve_waits_no_more(tsri_serve_exchange *x);
/* Sets *done, x->http_done or x->engine_done. When both are set, nobody needs the exchange any more: it is logged, its client is
 * counted if it left, and it is freed. */
void tsri_serve_release(tsri_serve_exchange *x, bool *done);

/* ---- engine.c ---- */

/* The engine needs the exchange no more. */
void tsri_serve_give_back(tsri_serve_exchange *x);
void *tsri_serve_engine(void *server);
tsri_serve_handler tsri_serve_completions, tsri_serve_chat, tsri_serve_embeddings,
    tsri_serve_rerank, tsri_serve_attention;

/* ---- routes.c ---- */

/* HEAD finds what GET does. *methods: those that the path has, for the header Allow; NULL: there is no such path. */
const tsri_serve_route *tsri_serve_find_route(const char *method, const char *path,
                                              const char **methods);
/* Parses the body, which must be an object. NULL: it was answered with an error. */
json_t *tsri_serve_body(tsri_serve_exchange *x);

#endif

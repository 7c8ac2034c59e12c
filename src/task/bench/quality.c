/* task/bench/quality.c - compares a model in its dtype with the same model in f32: by the perplexity
 * of a text where it can read one, by the BLEU of its translations where it translates German, else by
 * the cosines of its logits or vectors. */
#include "task/bench/quality.h"

#include "base/error.h"
#include "tessera/evaluate.h"
#include "tessera/translate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 48 };

/* Below it, the model translates something else than German into English. */
#define LEAST_BLEU 10

/* Shakespeare, sonnets 18 and 116. */
static const char text[] =
    "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough "
    "winds "
    "do shake the darling buds of May,\nAnd summer's lease hath all too short a date:\nSometime "
    "too "
    "hot the eye of heaven shines,\nAnd often is his gold complexion dimm'd;\nAnd every fair from "
    "fair sometime declines,\nBy chance or nature's changing course untrimm'd;\nBut thy eternal "
    "summer shall not fade\nNor lose possession of that fair thou owest;\nNor shall Death brag "
    "thou "
    "wander'st in his shade,\nWhen in eternal lines to time thou growest:\nSo long as men can "
    "breathe or eyes can see,\nSo long lives this and this gives life to thee.\n\nLet me not to "
    "the "
    "marriage of true minds\nAdmit impediments. Love is not love\nWhich alters when it alteration "
    "finds,\nOr bends with the remover to remove:\nO no! it is an ever-fixed mark\nThat looks on "
    "tempests and is never shaken;\nIt is the star to every wandering bark,\nWhose worth's "
    "unknown, "
    "although his height be taken.\nLove's not Time's fool, though rosy lips and cheeks\nWithin "
    "his "
    "bending sickle's compass come:\nLove alters not with his brief hours and weeks,\nBut bears it "
    "out even to the edge of doom.\nIf this be error and upon me proved,\nI never writ, nor no man "
    "ever loved.\n";

static const char german[] = "Das kleine Haus steht am Ende der Straße.\n"
                             "Ein Mann fährt mit dem Fahrrad durch die Stadt.\n"
                             "Zwei Kinder spielen im Park mit einem Ball.\n"
                             "Eine Frau liest ein Buch auf einer Bank.\n"
                             "Ein Hund läuft über eine grüne Wiese.\n"
                             "Ich habe heute keine Zeit.\n"
                             "Wo ist der Bahnhof?\n"
                             "Er hat mir ein Geschenk gegeben.\n"
                             "Wir fahren morgen nach Berlin.\n"
                             "Sie spricht sehr gut Englisch.\n"
                             "Das Wetter ist heute schön.\n"
                             "Ich möchte eine Tasse Kaffee trinken.\n"
                             "Kannst du mir helfen?\n"
                             "Mein Bruder arbeitet in einem Krankenhaus.\n"
                             "Das Kind schläft schon.\n"
                             "Wie viel kostet dieses Buch?\n"
                             "Sie hat das Fenster geöffnet.\n"
                             "Ich weiß nicht, was ich sagen soll.\n"
                             "Tom hat gestern seine Schlüssel verloren.\n"
                             "Der Zug kommt um acht Uhr an.\n"
                             "Wir haben zusammen zu Abend gegessen.\n"
                             "Meine Mutter kocht gerade.\n"
                             "Er ist der beste Spieler in unserer Mannschaft.\n"
                             "Ich habe diesen Film schon gesehen.\n"
                             "Bitte schließ die Tür.\n"
                             "Sie wohnt in einer großen Stadt.\n"
                             "Es hat die ganze Nacht geregnet.\n"
                             "Ich bin müde und möchte nach Hause gehen.\n"
                             "Was machst du am Wochenende?\n"
                             "Die Katze sitzt unter dem Tisch.\n"
                             "Ich habe ihn seit Jahren nicht gesehen.\n"
                             "Sie kann nicht schwimmen.\n"
                             "Er wollte Arzt werden.\n"
                             "Das ist nicht mein Problem.\n"
                             "Warum bist du so spät gekommen?\n"
                             "Die Schüler lernen eine neue Sprache.\n"
                             "Wir brauchen mehr Geld.\n"
                             "Ich habe Angst vor großen Hunden.\n"
                             "Er hat das Auto seines Vaters verkauft.\n"
                             "Hast du meine Nachricht bekommen?\n"
                             "Der Lehrer erklärt die Aufgabe noch einmal.\n"
                             "Sie lachte, als sie das Bild sah.\n"
                             "Im Winter ist es hier sehr kalt.\n"
                             "Ich glaube, dass du recht hast.\n"
                             "Das Restaurant ist sonntags geschlossen.\n"
                             "Er trägt einen schwarzen Hut.\n"
                             "Niemand kennt seinen Namen.\n"
                             "Wir müssen vor Mittag fertig sein.\n";
static const char english[] = "The small house is at the end of the street.\n"
                              "A man rides a bicycle through the city.\n"
                              "Two children are playing with a ball in the park.\n"
                              "A woman is reading a book on a bench.\n"
                              "A dog is running across a green meadow.\n"
                              "I have no time today.\n"
                              "Where is the station?\n"
                              "He gave me a present.\n"
                              "We are going to Berlin tomorrow.\n"
                              "She speaks English very well.\n"
                              "The weather is nice today.\n"
                              "I would like to drink a cup of coffee.\n"
                              "Can you help me?\n"
                              "My brother works in a hospital.\n"
                              "The child is already asleep.\n"
                              "How much does this book cost?\n"
                              "She opened the window.\n"
                              "I don't know what to say.\n"
                              "Tom lost his keys yesterday.\n"
                              "The train arrives at eight o'clock.\n"
                              "We had dinner together.\n"
                              "My mother is cooking now.\n"
                              "He is the best player on our team.\n"
                              "I have already seen this movie.\n"
                              "Please close the door.\n"
                              "She lives in a big city.\n"
                              "It rained all night.\n"
                              "I am tired and want to go home.\n"
                              "What are you doing on the weekend?\n"
                              "The cat is sitting under the table.\n"
                              "I haven't seen him for years.\n"
                              "She can't swim.\n"
                              "He wanted to become a doctor.\n"
                              "That's not my problem.\n"
                              "Why did you come so late?\n"
                              "The students are learning a new language.\n"
                              "We need more money.\n"
                              "I am afraid of big dogs.\n"
                              "He sold his father's car.\n"
                              "Did you get my message?\n"
                              "The teacher explains the task once more.\n"
                              "She laughed when she saw the picture.\n"
                              "It is very cold here in winter.\n"
                              "I think you are right.\n"
                              "The restaurant is closed on Sundays.\n"
                              "He is wearing a black hat.\n"
                              "Nobody knows his name.\n"
                              "We have to be finished before noon.\n";

/* ---- translations ---- */

/* The lines of a text, which are as many. */
static void cut(const char *at, tsr_string out[SENTENCES]) {
    for (int i = 0; i < SENTENCES; i++) {
        const size_t n = strcspn(at, "\n");
        out[i] = (tsr_string){.data = at, .size = n};
        at += n + (at[n] == '\n');
    }
}

/* What can't translate the sentences has no BLEU: other languages, no tokenizer. */
static tsr_status translate(tsr_model *model, char **out) {
    static const tsr_translate_options named = {
        .struct_size = sizeof named, .source = "de", .target = "en"};
    size_t n = 0;
    tsr_status status = tsr_translate_text(model, &named, german, sizeof german - 1, out, &n);
    if (status == TSR_E_ARGUMENT) /* its files name no languages, or not these */
        status = tsr_translate_text(model, NULL, german, sizeof german - 1, out, &n);
    return status;
}

static tsr_status measure_bleu(tsr_model *model, double *bleu) {
    tsr_string got[SENTENCES], want[SENTENCES];
    tsr_bleu found = {.struct_size = sizeof found};
    char *translated = NULL;
    tsr_status status = translate(model, &translated);
    *bleu = 0;
    if (status == TSR_E_ARGUMENT || status == TSR_E_STATE || status == TSR_E_UNSUPPORTED)
        return TSR_OK;
    if (status == TSR_OK) {
        cut(translated, got);
        cut(english, want);
        status = tsr_evaluate_bleu(got, want, SENTENCES, &found);
    }
    tsr_text_free(translated);
    *bleu = found.score;
    return status;
}

/* ---- measures ---- */

tsr_status tsri_task_quality_measure(tsr_model *model, tsri_task_gate *gate,
                                     tsri_task_quality *out) {
    const tsri_model *m = tsri_model_of(model);
    *out = (tsri_task_quality){.gate = *gate};
    *gate = (tsri_task_gate){0};
    if (m->spec.encoder.layers && m->spec.decoder.layers)
        return measure_bleu(model, &out->bleu);
    if (!m->tokenizer || m->spec.encoder.layers)
        return TSR_OK;
    const tsr_perplexity_options options = {.struct_size = sizeof options,
                                            .window = m->spec.context < 256 ? 0 : 256};
    tsr_perplexity found = {.struct_size = sizeof found};
    TRY(tsr_evaluate_perplexity(model, text, sizeof text - 1, &options, &found));
    out->perplexity = found.perplexity;
    return TSR_OK;
}

void tsri_task_quality_clear(tsri_task_quality *quality) {
    tsri_task_gate_clear(&quality->gate);
    quality->perplexity = quality->bleu = 0;
}

double tsri_task_quality_cosine(const float *a, const float *b, size_t n) {
    double aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < n; i++) {
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
        ab += (double)a[i] * b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* The mean over the tokens of the gate's prompt. */
static double cosines(const tsri_task_gate *a, const tsri_task_gate *b) {
    const size_t rows = a->encoder ? 1 : TSRI_TASK_GATE_TOKENS, width = (size_t)a->width;
    double sum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += tsri_task_quality_cosine(a->next + i * width, b->next + i * width, width);
    return sum / (double)rows;
}

static double least_of(const char *class_name) {
    return strcmp(class_name, "q4") != 0 ? 0.99 : 0.97;
}

tsr_bench_quality tsri_task_quality_of_cosine(double cosine, const char *class_name) {
    return (tsr_bench_quality){.measure = TSR_BENCH_COSINE,
                               .value = cosine,
                               .f32 = 1,
                               .kept = cosine,
                               .least = least_of(class_name)};
}

tsr_bench_quality tsri_task_quality_compare(const tsri_task_quality *f32,
                                            const tsri_task_quality *got, const char *class_name) {
    if (f32->bleu >= LEAST_BLEU)
        return (tsr_bench_quality){.measure = TSR_BENCH_BLEU,
                                   .value = got->bleu,
                                   .f32 = f32->bleu,
                                   .kept = got->bleu / f32->bleu,
                                   .least = least_of(class_name)};
    if (!(f32->perplexity > 0))
        return tsri_task_quality_of_cosine(cosines(&f32->gate, &got->gate), class_name);
    return (tsr_bench_quality){.measure = TSR_BENCH_PERPLEXITY,
                               .value = got->perplexity,
                               .f32 = f32->perplexity,
                               .kept = f32->perplexity / got->perplexity,
                               .least = least_of(class_name)};
}

void tsri_task_memo_clear(tsri_task_memo *memo) {
    tsri_task_quality_clear(&memo->f32);
    *memo = (tsri_task_memo){0};
}

void tsri_task_memo_begin(tsri_task_memo *memo, const char *name) {
    if (!strcmp(memo->name, name))
        return;
    tsri_task_memo_clear(memo);
    snprintf(memo->name, sizeof memo->name, "%s", name);
}

/* backends/opencl/driver/drivers.c - finds out how the installed drivers behave, from the cache or
 * by trying them in the helper. */
#include "backends/opencl/driver/drivers.h"
#include "backends/opencl/driver/builders.h"
#include "backends/opencl/driver/cache.h"
#include "backends/opencl/driver/helper.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/driver/quirks.h"
#include "backends/opencl/driver/variables.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ICD_LIMIT = 4096, SECONDS = 30, TRIED_AGAIN = 3600, SENTENCE = 1024 };

/* --- the vendor files --- */

static tsr_status add(tsri_opencl_drivers *drivers, const char *path) {
    tsri_bytes text = {0};
    if (tsri_base_read_whole(path, ICD_LIMIT, &text) != TSR_OK)
        return TSR_OK; /* discover.c reports it */
    tsr_status status =
        tsri_base_grow(&drivers->items, &drivers->capacity, drivers->n + 1, sizeof *drivers->items);
    if (status == TSR_OK) {
        const char *data = text.data ? text.data : "";
        tsri_opencl_driver *driver = &drivers->items[drivers->n++];
        *driver = (tsri_opencl_driver){.icd = tsri_base_copy_text(path, strlen(path)),
                                       .library = tsri_base_copy_text(data, strcspn(data, "\r\n")),
                                       .text = tsri_base_copy_text(data, strlen(data))};
        if (!driver->icd || !driver->library || !driver->text)
            status = TSR_E_HOST_MEMORY;
    }
    tsri_base_bytes_clear(&text);
    return status;
}

static bool ends_as_icd(const char *name) {
    const size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".icd");
}

static int is_icd(const struct dirent *entry) {
    return ends_as_icd(entry->d_name);
}

static tsr_status read_vendors(const char *vendors, tsri_opencl_drivers *drivers) {
    struct dirent **entries = NULL;
    tsr_status status = TSR_OK;
    if (!tsri_base_is_folder(vendors))
        return ends_as_icd(vendors) ? add(drivers, vendors) : TSR_OK;
    const int n = scandir(vendors, &entries, is_icd, alphasort);
    for (int i = 0; i < n; i++) {
        char *path = status == TSR_OK ? tsri_base_join(vendors, entries[i]->d_name) : NULL;
        if (path)
            status = add(drivers, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* --- what is cached of them ---
 * Lines of words separated by tabs: "until SECONDS", "library PATH SIZE MTIME", "dead WHY",
 * "device PLATFORM VERSION NAME NUMBER WHY": of the devices with these names, number NUMBER, from 0. */

static tsr_status key_of(const tsr_state *state, const tsri_opencl_driver *driver,
                         tsri_opencl_key *key) {
    tsri_bytes variables = {0};
    tsri_hash *hash = NULL;
    tsr_status status = tsri_opencl_variables(false, &variables);
    if (status == TSR_OK)
        status = tsri_base_hash_begin(&hash);
    if (status == TSR_OK) {
        tsri_base_hash_text(hash, "driver 2"); /* it counts up when the lines change */
        tsri_base_hash_text(hash, state->host->version);
        tsri_base_hash_text(hash, driver->icd);
        tsri_base_hash_text(hash, driver->text);
        tsri_base_hash_add(hash, variables.data, variables.size);
        tsri_base_hash_end(&hash, key->digest);
    }
    tsri_base_bytes_clear(&variables);
    return status;
}

static bool stamp(const char *path, char *text, size_t size) {
    struct stat facts;
    if (stat(path, &facts) != 0)
        return false;
    snprintf(text, size, "%lld\t%lld.%09ld", (long long)facts.st_size,
             (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    return true;
}

/* Whether a cached line is still true. */
static bool holds(char *line) {
    char now[96];
    if (!strncmp(line, "until\t", 6))
        return strtoll(line + 6, NULL, 10) > (long long)time(NULL);
    if (strncmp(line, "library\t", 8) != 0)
        return true;
    char *then = strchr(line + 8, '\t');
    if (!then)
        return false;
    *then = 0;
    const bool same = stamp(line + 8, now, sizeof now) && !strcmp(now, then + 1);
    *then = '\t';
    return same;
}

/* Takes what the cached `text` says into the driver. False where it is not true any more. */
static bool believe(tsri_opencl_driver *driver, const char *text, tsr_status *status) {
    tsri_bytes devices = {0};
    char *copy = tsri_base_copy_text(text, strlen(text)), *rest = copy, *line;
    bool fine = copy != NULL;
    *status = copy ? TSR_OK : TSR_E_HOST_MEMORY;
    while (fine && *status == TSR_OK && (line = strsep(&rest, "\n")) != NULL) {
        fine = holds(line);
        if (fine && !strncmp(line, "dead\t", 5)) {
            free(driver->dead);
            if (!(driver->dead = tsri_base_copy_text(line + 5, strlen(line + 5))))
                *status = TSR_E_HOST_MEMORY;
        } else if (fine && !strncmp(line, "device\t", 7))
            *status = tsri_base_bytes_printf(&devices, "%s\n", line + 7);
    }
    free(copy);
    if (fine && *status == TSR_OK) {
        driver->devices = devices.data;
        return true;
    }
    tsri_base_bytes_clear(&devices);
    free(driver->dead);
    driver->dead = NULL;
    return false;
}

static tsr_status recall(const tsr_state *state, tsri_opencl_driver *driver, bool *known) {
    tsri_opencl_key key;
    tsri_bytes kept = {0};
    TRY(key_of(state, driver, &key));
    tsr_status status = tsri_opencl_cache_load(state, &key, "driver", &kept, known);
    if (status == TSR_OK && *known)
        *known = believe(driver, kept.data ? kept.data : "", &status);
    tsri_base_bytes_clear(&kept);
    return status;
}

/* --- trying --- */

typedef struct attempt {
    tsri_opencl_driver *driver; /* NULL: it need not be tried */
    tsri_opencl_helper helper;
    char *folder;     /* holds its vendor file and its kernel cache */
    unsigned listed;  /* number of devices that were tried */
    tsri_bytes tried; /* a line for each of them */
    tsri_bytes kept;
    bool over;
} attempt;

static tsr_status place_icd(const char *folder, const tsri_opencl_driver *driver) {
    const char *slash = strrchr(driver->icd, '/');
    char *path = tsri_base_join(folder, slash ? slash + 1 : driver->icd);
    const tsr_status status =
        path ? tsri_base_write_whole(path, driver->text, strlen(driver->text)) : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}

static void remove_all(char **folder) {
    if (*folder)
        tsri_opencl_remove_folder(*folder);
    free(*folder);
    *folder = NULL;
}

static tsr_status begin(attempt *a, const char *path) {
    tsri_bytes text = {0};
    const char **env = NULL;
    char *pocl = NULL, skip[16];
    const char *const argv[] = {"probe", "--driver", skip, NULL};
    snprintf(skip, sizeof skip, "%u", a->listed);
    tsr_status status =
        a->folder ? TSR_OK : tsri_base_folder_temporary("tessera-drivers", &a->folder);
    if (status == TSR_OK)
        status = place_icd(a->folder, a->driver);
    if (status == TSR_OK)
        status = (pocl = tsri_base_join(a->folder, "pocl")) ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_opencl_helper_environment(a->folder, pocl, &text, &env);
    if (status == TSR_OK && !tsri_opencl_helper_start(&a->helper, path, argv, env, NULL, 0))
        status = TSR_E_IO;
    free(pocl);
    free(env);
    tsri_base_bytes_clear(&text);
    return status;
}

/* "it crashed (SIGSEGV) when it built a first kernel, tried in a process of its own". */
static void tell(const tsri_opencl_helper *helper, const char *stage, unsigned seconds, char *text,
                 size_t size) {
    char how[64], words[256];
    if (helper->late)
        snprintf(how, sizeof how, "gave no answer in %u s", seconds);
    else
        tsri_opencl_helper_end(helper, how, sizeof how);
    tsri_opencl_helper_last_words(helper, words, sizeof words);
    snprintf(text, size, "it %s %s, tried in a process of its own%s%s%s", how, stage,
             *words ? "; its last words: \"" : "", words, *words ? "\"" : "");
}

static unsigned count_lines(const tsri_bytes *text, const char *line) {
    const size_t n = strlen(line);
    unsigned count = 0;
    for (const char *at = text->data; at && *at; at = strchr(at, '\n') + 1)
        count += !strncmp(at, line, n) && at[n] == '\n';
    return count;
}

/* Turns what the helper said into lines to cache; *died where the helper did not reach its end. */
static tsr_status read_answer(attempt *a, unsigned seconds, bool *died) {
    char *rest = a->helper.said.data, *line, *stage = "before it was loaded", *device = NULL;
    char why[SENTENCE], when[96];
    unsigned before = 0; /* devices with the same names */
    bool ended = false;
    tsr_status status = TSR_OK;
    while (rest && status == TSR_OK && (line = strsep(&rest, "\n")) != NULL) {
        if (!strncmp(line, "stage\t", 6))
            stage = line + 6;
        else if (!strncmp(line, "device\t", 7)) {
            device = line;
            before = count_lines(&a->tried, line);
            status = tsri_base_bytes_printf(&a->tried, "%s\n", line);
            a->listed++;
        } else if (!strcmp(line, "fine"))
            device = NULL;
        else if (!strcmp(line, "end"))
            ended = true;
        else if (!strncmp(line, "library\t", 8) && stamp(line + 8, when, sizeof when))
            status = tsri_base_bytes_printf(&a->kept, "%s\t%s\n", line, when);
    }
    *died = !ended;
    if (ended || status != TSR_OK)
        return status;
    tell(&a->helper, stage, seconds, why, sizeof why);
    const long long until = (long long)time(NULL) + TRIED_AGAIN;
    if (device)
        return tsri_base_bytes_printf(&a->kept, "until\t%lld\n%s\t%u\t%s\n", until, device, before,
                                      why);
    a->over = true;
    return tsri_base_bytes_printf(&a->kept, "until\t%lld\ndead\t%s\n", until, why);
}

/* Tries until all devices of the driver are settled: a device that dies ends the helper before the
 * devices behind it are tried. */
static tsr_status settle(const tsr_state *state, attempt *a, const char *path, unsigned seconds) {
    bool died = true;
    while (died && !a->over) {
        tsr_status status = tsri_opencl_helper_finish(&a->helper, state, seconds);
        if (status == TSR_OK)
            status = read_answer(a, seconds, &died);
        else if (status == TSR_E_CANCELLED)
            status = tsri_base_fail(status, "stopped while trying drivers");
        tsri_opencl_helper_clear(&a->helper);
        TRY(status);
        if (died && !a->over)
            TRY(begin(a, path));
    }
    tsri_opencl_key key;
    tsr_status status = TSR_OK;
    const char *kept = a->kept.data ? a->kept.data : "";
    if (key_of(state, a->driver, &key) == TSR_OK)
        tsri_opencl_cache_save(state, &key, "driver", kept, strlen(kept));
    (void)believe(a->driver, kept, &status);
    return status;
}

/* While a driver that runs chains is tried, a builder starts its compiler; a second one once the trial
 * has left it a core. */
static void warm_builder(tsr_state *state, const tsri_opencl_driver *driver) {
    if (!driver || driver->dead || !state->chain || !tsri_opencl_builds_ahead() ||
        !(tsri_opencl_effects_of_library(driver->library) & TSRI_OPENCL_CHAINS))
        return;
    if (!state->builders)
        state->builders = tsri_opencl_builders_new(state);
    if (state->builders)
        tsri_opencl_builders_warm(state->builders, driver->icd);
}

/* Tries all unknown drivers at the same time, since each takes a while. */
static tsr_status try_unknown(tsr_state *state, attempt *all, size_t n, const char *path) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < n; i++)
        if (all[i].driver && begin(&all[i], path) != TSR_OK) {
            tsri_opencl_log(state, TSR_LOG_DEBUG,
                            "%s: its driver can't be tried before it is loaded",
                            all[i].driver->icd);
            all[i].driver = NULL;
        } else
            warm_builder(state, all[i].driver);
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        status = tsri_opencl_progress(state, "trying drivers", i, n);
        if (status == TSR_OK && all[i].driver)
            status = settle(state, &all[i], path, tsri_opencl_helper_seconds(SECONDS));
        if (status == TSR_OK)
            warm_builder(state, all[i].driver);
    }
    if (status == TSR_OK)
        status = tsri_opencl_progress(state, "trying drivers", n, n);
    for (size_t i = 0; i < n; i++) {
        tsri_opencl_helper_clear(&all[i].helper);
        tsri_base_bytes_clear(&all[i].tried);
        tsri_base_bytes_clear(&all[i].kept);
        remove_all(&all[i].folder);
    }
    return status;
}

static tsr_status note_dead(tsr_state *state, const tsri_opencl_drivers *drivers) {
    for (size_t i = 0; i < drivers->n; i++)
        if (drivers->items[i].dead)
            TRY(tsri_opencl_note(state,
                                 "%s: its driver %s is not used: %s. It is tried again when it, or "
                                 "a variable that steers it, changes, after an hour, or after "
                                 "tessera cache clear",
                                 drivers->items[i].icd, drivers->items[i].library,
                                 drivers->items[i].dead));
    return TSR_OK;
}

tsr_status tsri_opencl_drivers_try(tsr_state *state, const char *vendors,
                                   tsri_opencl_drivers *out) {
    const char *trusted = getenv("TESSERA_TRUST_DRIVERS");
    char path[PATH_MAX];
    attempt *all = NULL;
    size_t unknown = 0;
    *out = (tsri_opencl_drivers){0};
    if (trusted && !strcmp(trusted, "1"))
        return TSR_OK;
    TRY(read_vendors(vendors, out));
    TRY(tsri_base_new(out->n ? out->n : 1, sizeof *all, &all));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < out->n && status == TSR_OK; i++) {
        bool known = !*out->items[i].library;
        if (!known)
            status = recall(state, &out->items[i], &known);
        all[i].driver = known ? NULL : &out->items[i];
        unknown += !known;
    }
    if (status == TSR_OK && unknown) {
        const char *found = tsri_opencl_helper_find(path);
        if (found)
            status = try_unknown(state, all, out->n, found);
        else
            tsri_opencl_log(
                state, TSR_LOG_DEBUG,
                "libexec/tessera/probe is missing: drivers are loaded without being tried first");
    }
    free(all);
    return status == TSR_OK ? note_dead(state, out) : status;
}

/* --- what follows from it --- */

bool tsri_opencl_driver_is_dead(const tsri_opencl_drivers *drivers, const char *icd) {
    for (size_t i = 0; i < drivers->n; i++)
        if (drivers->items[i].dead && !strcmp(drivers->items[i].icd, icd))
            return true;
    return false;
}

tsr_status tsri_opencl_drivers_hide(tsri_opencl_drivers *drivers) {
    const char *before = getenv("OCL_ICD_VENDORS");
    bool any = false;
    for (size_t i = 0; i < drivers->n; i++)
        any |= drivers->items[i].dead != NULL;
    if (!any)
        return TSR_OK;
    if (tsri_base_folder_temporary("tessera-drivers", &drivers->hidden) != TSR_OK)
        return tsri_base_fail(TSR_E_IO, "no folder for temporary files can be written (TMPDIR), so "
                                        "drivers that crash can't be kept from the OpenCL loader");
    if (before && !(drivers->before = tsri_base_copy_text(before, strlen(before))))
        return TSR_E_HOST_MEMORY;
    for (size_t i = 0; i < drivers->n; i++)
        if (!drivers->items[i].dead)
            TRY(place_icd(drivers->hidden, &drivers->items[i]));
    return setenv("OCL_ICD_VENDORS", drivers->hidden, 1) == 0 ? TSR_OK : TSR_E_HOST_MEMORY;
}

void tsri_opencl_drivers_show(tsri_opencl_drivers *drivers, char **vendors) {
    *vendors = drivers->hidden;
    drivers->hidden = NULL;
    if (!*vendors)
        return;
    if (drivers->before)
        setenv("OCL_ICD_VENDORS", drivers->before, 1);
    else
        unsetenv("OCL_ICD_VENDORS");
}

/* Whether a line of words separated by tabs begins with `word`; if so, *line moves past it. */
static bool begins_with(const char **line, const char *word) {
    const size_t n = strlen(word);
    if (strncmp(*line, word, n) != 0 || (*line)[n] != '\t')
        return false;
    *line += n + 1;
    return true;
}

/* How many of the devices before number `which` have its platform, version and name. */
static size_t namesakes(const tsri_opencl_found *all, size_t which) {
    const tsr_facts *own = &all[which].facts.common;
    size_t n = 0;
    for (size_t i = 0; i < which; i++) {
        const tsr_facts *other = &all[i].facts.common;
        n += !strcmp(other->platform, own->platform) && !strcmp(other->name, own->name) &&
             !strcmp(all[i].platform_version, all[which].platform_version);
    }
    return n;
}

tsr_status tsri_opencl_drivers_judge(const tsri_opencl_drivers *drivers, tsri_opencl_found *all,
                                     size_t which) {
    tsri_opencl_found *found = &all[which];
    tsr_facts *facts = &found->facts.common;
    char number[24];
    snprintf(number, sizeof number, "%zu", namesakes(all, which));
    for (size_t i = 0; i < drivers->n; i++)
        for (const char *line = drivers->items[i].devices; line && *line;) {
            const char *next = strchr(line, '\n');
            if (begins_with(&line, facts->platform) &&
                begins_with(&line, found->platform_version) && begins_with(&line, facts->name) &&
                begins_with(&line, number)) {
                char *why = tsri_base_copy_text(line, (size_t)(next - line));
                if (!why)
                    return TSR_E_HOST_MEMORY;
                free(found->died);
                facts->reason = found->died = why;
                facts->usable = 0;
                return TSR_OK;
            }
            line = next + 1;
        }
    return TSR_OK;
}

void tsri_opencl_drivers_clear(tsri_opencl_drivers *drivers) {
    for (size_t i = 0; i < drivers->n; i++) {
        tsri_opencl_driver *driver = &drivers->items[i];
        free(driver->icd);
        free(driver->library);
        free(driver->text);
        free(driver->dead);
        free(driver->devices);
    }
    free(drivers->items);
    free(drivers->before);
    *drivers = (tsri_opencl_drivers){0};
}

void tsri_opencl_drivers_forget(const tsr_state *state) {
    char *path = tsri_base_join(state->host->cache_folder, "opencl");
    DIR *folder = path ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        const size_t n = strlen(entry->d_name);
        if (n > 7 && !strcmp(entry->d_name + n - 7, ".driver"))
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    free(path);
}

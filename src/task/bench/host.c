/* task/bench/host.c - reads the names of the operating system and the processor. */
#include "task/bench/host.h"

#include "base/system/system.h"

#include <stdio.h>
#include <string.h>

/* The value of the first line that has this key, behind the sign after it, without quotes. */
static void read_value(const char *root, const char *file, const char *key, char *out,
                       size_t room) {
    char path[512], line[512];
    *out = 0;
    snprintf(path, sizeof path, "%s%s", root, file);
    FILE *opened = fopen(path, "re");
    while (opened && !*out && fgets(line, sizeof line, opened)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *value = line + strlen(key);
        value += strspn(value, " \t");
        if (*value != ':' && *value != '=') /* the key is a longer one */
            continue;
        value += strspn(value, " \t:=\"");
        snprintf(out, room, "%.*s", (int)strcspn(value, "\"\n"), value);
    }
    if (opened)
        fclose(opened);
}

/* Virtual machines give processors of different generations one name, and ARM's have none: the
 * numbers beside it tell them apart. */
static void read_cpu(const char *root, char *out, size_t room) {
    static const struct {
        const char *key, *name;
    } numbers[] = {{"cpu family", "family"},    {"model", "model"},
                   {"stepping", "stepping"},    {"CPU implementer", "implementer"},
                   {"CPU part", "part"},        {"CPU variant", "variant"},
                   {"CPU revision", "revision"}};
    char value[32];
    read_value(root, "/proc/cpuinfo", "model name", out, room);
    const bool named = *out;
    const char *joint = named ? " (" : "";
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const size_t n = strlen(out);
        read_value(root, "/proc/cpuinfo", numbers[i].key, value, sizeof value);
        if (!*value)
            continue;
        snprintf(out + n, room - n, "%s%s %s", joint, numbers[i].name, value);
        joint = ", ";
    }
    const size_t n = strlen(out);
    if (named && *joint == ',')
        snprintf(out + n, room - n, ")");
}

void tsri_task_read_host(const char *root, tsri_task_host *out) {
    *out = (tsri_task_host){0};
    read_value(root, "/etc/os-release", "PRETTY_NAME", out->os, sizeof out->os);
    read_cpu(root, out->cpu, sizeof out->cpu);
    tsri_system_name(out->kernel, sizeof out->kernel);
    tsri_task_read_governor(root, out->governor, sizeof out->governor);
    out->cores = tsri_system_cores();
    out->memory = tsri_system_memory();
}

/* Reading the options. */

#define _POSIX_C_SOURCE 200809L

#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "pages.h"

static bool number(const char *text, const char *end_characters, uint32_t *value, const char **end) {
    char *stop;
    unsigned long long parsed;

    if (*text < '0' || *text > '9') {
        return false;
    }
    parsed = strtoull(text, &stop, 0);
    if (stop == text || parsed > UINT32_MAX || strchr(end_characters, *stop) == NULL) {
        return false;
    }
    *value = (uint32_t)parsed;
    if (end != NULL) {
        *end = *stop != '\0' ? stop + 1 : stop;
    }
    return true;
}

static bool whole(const char *text, uint32_t *value) {
    return number(text, "", value, NULL);
}

static bool read_range(const char *text, address_range_t *range) {
    return number(text, "-", &range->first, &text) && whole(text, &range->last) &&
           range->first <= range->last;
}

static bool read_region(const char *text, region_t region) {
    address_range_t range;

    if (!read_range(text, &range)) {
        return false;
    }
    cache_map(range, region);
    return true;
}

static bool read_page(const char *text, page_t page) {
    uint32_t address;

    if (!whole(text, &address) || address % PAGE_BYTES != 0u) {
        return false;
    }
    pages_place(page, address);
    return true;
}

static bool read_cost(costs_t *costs, const char *name, const char *text) {
    const struct {
        const char *name;
        uint32_t *value;
    } others[] = {{"branch_taken", &costs->branch_taken},
                  {"condition_failed", &costs->condition_failed},
                  {"word", &costs->word},
                  {"miss", &costs->miss},
                  {"cycle", &costs->cycle}};
    uint32_t value;

    if (!whole(text, &value)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(name, others[i].name) == 0) {
            *others[i].value = value;
            return true;
        }
    }
    if (strcmp(name, "default") == 0) {
        for (kind_t kind = 0; kind < KIND_COUNT; kind++) {
            costs->kind[kind] = value;
        }
        return true;
    }
    for (kind_t kind = 0; kind < KIND_COUNT; kind++) {
        if (strcmp(name, kind_name(kind)) == 0) {
            costs->kind[kind] = value;
            return true;
        }
    }
    return false;
}

static bool read_option(options_t *options, const char *key, const char *value) {
    if (strncmp(key, "cost.", 5) == 0) {
        return read_cost(&options->cycles, key + 5, value);
    }
    if (strncmp(key, "fj.", 3) == 0) {
        return read_cost(&options->energy, key + 3, value);
    }
    if (strcmp(key, "pages") == 0) {
        options->pages_file = value;
        return true;
    }
    if (strcmp(key, "summary") == 0) {
        options->summary_file = value;
        return true;
    }
    if (strcmp(key, "events") == 0) {
        options->events_file = value;
        return true;
    }
    if (strcmp(key, "swo") == 0) {
        options->swo_file = value;
        return true;
    }
    if (strcmp(key, "access") == 0) {
        return read_range(value, &options->access);
    }
    if (strcmp(key, "dwt") == 0) {
        return read_page(value, PAGE_DWT);
    }
    if (strcmp(key, "pmu") == 0) {
        return read_page(value, PAGE_PMU);
    }
    if (strcmp(key, "observer") == 0) {
        return read_page(value, PAGE_OBSERVER);
    }
    if (strcmp(key, "itm") == 0) {
        return read_page(value, PAGE_ITM);
    }
    if (strcmp(key, "cacheable") == 0) {
        return read_region(value, REGION_CACHED);
    }
    if (strcmp(key, "tcm") == 0) {
        options->tcm = true;
        return read_region(value, REGION_TCM);
    }
    if (strcmp(key, "pmu_counters") == 0) {
        return whole(value, &options->pmu_counters) && options->pmu_counters <= 31u;
    }
    if (strcmp(key, "stuck") == 0) {
        options->faults.stuck = true;
        return true;
    }
    if (strcmp(key, "stops_after") == 0) {
        options->faults.stops = true;
        return whole(value, &options->faults.stops_after);
    }
    if (strcmp(key, "zero_after") == 0) {
        options->faults.zero = true;
        return whole(value, &options->faults.zero_after);
    }
    if (strcmp(key, "bus") == 0) {
        return whole(value, &options->bus_bytes) && options->bus_bytes > 0u;
    }
    if (strcmp(key, "cache") == 0) {
        return number(value, ":", &options->cache_size, &value) &&
               number(value, ":", &options->cache_line, &value) && whole(value, &options->cache_ways) &&
               cache_prepare(options->cache_size, options->cache_line, options->cache_ways);
    }
    return false;
}

const char *options_read(options_t *options, int argc, char **argv) {
    *options = (options_t){.access = {1, 0}, .bus_bytes = 4};
    read_cost(&options->cycles, "default", "1");
    options->cycles.condition_failed = 1;
    for (int i = 0; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        char *key;
        bool good;

        if (equals == NULL) {
            return argv[i];
        }
        key = strndup(argv[i], (size_t)(equals - argv[i]));
        good = key != NULL && read_option(options, key, strdup(equals + 1));
        free(key);
        if (!good) {
            return argv[i];
        }
    }
    return NULL;
}

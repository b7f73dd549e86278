#include "events.h"

#include "engine.h"
#include "records.h"

static uint32_t due;
static bool begun;
static const char *wrong;
static uint32_t wrong_op;

static void note(uint32_t op, const char *what) {
    if (wrong == 0) {
        wrong = what;
        wrong_op = op;
    }
}

void events_open(void) {
    due = 0u;
    begun = false;
    wrong = 0;
}

void events_begin(uint32_t op) {
    if (begun || op != due || due >= engine_info()->op_count) {
        note(op, "an operator began out of turn");
    }
    begun = true;
}

bool events_end(uint32_t op) {
    if (!begun || op != due) {
        note(op, "an operator ended that had not begun");
    } else {
        due++;
    }
    begun = false;
    return wrong == 0;
}

uint32_t events_due(void) {
    return due < engine_info()->op_count ? due : 0u;
}

bool events_failed(void) {
    if (begun || due != engine_info()->op_count) {
        note(due, "an inference ended before every operator of the engine's table did");
    }
    if (wrong == 0) {
        return false;
    }
    record_error(WIRE_ERROR_ENGINE_EVENTS, wrong_op, wrong);
    return true;
}

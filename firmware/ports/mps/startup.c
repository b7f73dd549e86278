#include "../common/startup_cortex_m.h"

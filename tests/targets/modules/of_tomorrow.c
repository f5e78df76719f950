/* A profiler module of a later version of the interface. */
#include <stdint.h>
#include <stdlib.h>

const uint32_t sample_profiler_api_version = 1000;

void sample_profiler_init_of_tomorrow(const char* description) {
    (void)description;
    abort();
}

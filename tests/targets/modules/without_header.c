/* A profiler module that says nothing of a version. */
#include <stdlib.h>

void sample_profiler_init_without_header(const char* description) {
    (void)description;
    abort();
}

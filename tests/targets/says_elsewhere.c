/* Another file of `says`, which counts with a counter that is defined in the first. */
#include "sample/trace.h"

SAMPLE_TRACE_COUNTER_EXTERN(shared_items);

void count_elsewhere(void);

void count_elsewhere(void) {
    SAMPLE_TRACE_ADD(shared_items, 2);
}

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_zone.h"

void lttng_zone_begin(void);
void lttng_zone_end(void);
int lttng_zone_is_on(void);

void lttng_zone_begin(void) {
    lttng_ust_tracepoint(sample_bench, zone_begin, 1);
}
void lttng_zone_end(void) {
    lttng_ust_tracepoint(sample_bench, zone_end);
}
int lttng_zone_is_on(void) {
    return lttng_ust_tracepoint_enabled(sample_bench, zone_begin);
}

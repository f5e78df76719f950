/* A zone as LTTng-UST writes it: an event at its begin and one at its end. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sample_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_zone.h"

#if !defined(SAMPLE_BENCH_LTTNG_ZONE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SAMPLE_BENCH_LTTNG_ZONE_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(sample_bench, zone_begin, LTTNG_UST_TP_ARGS(int, zone),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, zone, zone)))
LTTNG_UST_TRACEPOINT_EVENT(sample_bench, zone_end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>

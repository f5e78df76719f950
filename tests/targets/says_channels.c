/* A library with many channels: to switch them all takes a while. */
#include "sample/trace.h"

#define FOUR(name)                        \
    SAMPLE_TRACE_CHANNEL_DEFINE(name##0); \
    SAMPLE_TRACE_CHANNEL_DEFINE(name##1); \
    SAMPLE_TRACE_CHANNEL_DEFINE(name##2); \
    SAMPLE_TRACE_CHANNEL_DEFINE(name##3)
#define SIXTEEN(name) \
    FOUR(name##0);    \
    FOUR(name##1);    \
    FOUR(name##2);    \
    FOUR(name##3)

SIXTEEN(channel_0);
SIXTEEN(channel_1);
SIXTEEN(channel_2);
SIXTEEN(channel_3);

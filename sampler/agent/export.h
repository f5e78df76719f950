// Marks the libc functions that the agent stands before: the only symbols it exports (exports.map).
#pragma once

#define SAMPLE_WRAPPER __attribute__((visibility("default"), used))

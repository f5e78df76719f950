// One of two builds of the library that hot_reload loads: SAMPLE_NAME is the function that works.
// Code lies at the same addresses in both.
#include "work.h"

extern "C" TARGET_KEEP std::uint64_t SAMPLE_NAME(std::uint64_t state, unsigned units) {
    for (unsigned unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    return state + 1;
}

extern "C" TARGET_KEEP std::uint64_t hot_work(std::uint64_t state, unsigned units) {
    return SAMPLE_NAME(state, units) + 1;
}

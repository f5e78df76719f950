// A library that comes and goes: churn loads eight copies, built with SAMPLE_COPY 0 to 7. Their
// code is laid out alike, their frames are not: what is known of one is wrong for another that lies
// where it was.
#include "work.h"

#define SAMPLE_NAME_OF(name, copy) name##copy
#define SAMPLE_NAME(name, copy) SAMPLE_NAME_OF(name, copy)
#define SAMPLE_PLUGIN_MIDDLE SAMPLE_NAME(plugin_middle_, SAMPLE_COPY)
#define SAMPLE_PLUGIN_ENTRY SAMPLE_NAME(plugin_entry_, SAMPLE_COPY)

using Back = std::uint64_t (*)(std::uint64_t);

// More than 128 bytes in all, so that every copy's frame takes instructions of one length.
struct Frame {
    unsigned char bytes[200 + 16 * SAMPLE_COPY];
};

extern "C" TARGET_KEEP std::uint64_t SAMPLE_PLUGIN_MIDDLE(std::uint64_t state, Back back) {
    Frame frame;
    asm volatile("" : : "r"(&frame) : "memory");
    for (int unit = 0; unit < 40; ++unit) {
        state = targets::work_unit(state);
    }
    state = back(state) + 1;
    asm volatile("" : : "r"(&frame) : "memory");
    return state;
}

extern "C" TARGET_KEEP std::uint64_t SAMPLE_PLUGIN_ENTRY(std::uint64_t state, Back back) {
    Frame frame;
    asm volatile("" : : "r"(&frame) : "memory");
    state = SAMPLE_PLUGIN_MIDDLE(state, back) + 1;
    asm volatile("" : : "r"(&frame) : "memory");
    return state;
}

// The smallest agent: one exported function that calls the handler of handlers/good.cpp. The macros
// add one fault each.
#include <cstddef>
#include <cstdio>

struct Record {
    char bytes[64];
};
unsigned handle(const Record& record, std::size_t size);

extern "C" __attribute__((visibility("default"))) unsigned agent_entry(const char* text) {
    Record record{};
    std::snprintf(record.bytes, sizeof record.bytes, "%s", text);
    return handle(record, sizeof record.bytes);
}

#ifdef EXTRA_EXPORT
extern "C" __attribute__((visibility("default"))) int agent_extra() {
    return 1;
}
#endif

#ifdef OWN_MEMCPY
extern "C" void* memcpy(void* to, const void* from, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
    }
    return to;
}
#endif

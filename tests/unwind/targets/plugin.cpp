// A library that calls back.

namespace {
volatile int calls = 0;
}  // namespace

extern "C" [[gnu::visibility("default")]] void plugin_call(void (*callback)()) {
    callback();
    calls = calls + 1;
}

// What a task of ITT and a range of NVTX cost, begin and end, and what that is beyond a zone of
// sample/trace.h. By bench/receivers/run; bare, nobody listens, and it is the cost of the calls.
#include "bench/rounds.h"
#include "sample/trace.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

void* function_in(const char* variable, const char* name) {
    const char* const path = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
    void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
    return library == nullptr ? nullptr : dlsym(library, name);
}

// ---- ITT: its table with the functions that are needed here.

struct Id {
    std::uint64_t words[3];
};
struct Entry {
    const char* name;
    void** function;
    void* initial;
    void* none;
    int group;
};
struct Global {
    unsigned char magic[8] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};
    std::uint64_t before[14] = {};
    Entry* table = nullptr;
    std::uint64_t behind[16] = {};
};
static_assert(offsetof(Global, table) == 120);

void* g_itt_functions[4];
void* g_domain;
void* g_name;

void task() {
    reinterpret_cast<void (*)(void*, Id, Id, void*)>(g_itt_functions[2])(g_domain, {}, {}, g_name);
    reinterpret_cast<void (*)(void*)>(g_itt_functions[3])(g_domain);
}

/// False: there is no such library.
bool begin_itt() {
    void** const functions = g_itt_functions;
    Entry table[] = {{"__itt_domain_create", &functions[0], nullptr, nullptr, 0},
                     {"__itt_string_handle_create", &functions[1], nullptr, nullptr, 0},
                     {"__itt_task_begin", &functions[2], nullptr, nullptr, 0},
                     {"__itt_task_end", &functions[3], nullptr, nullptr, 0},
                     {nullptr, nullptr, nullptr, nullptr, 0}};
    static Global global;
    global.table = table;
    const auto init = reinterpret_cast<void (*)(Global*, int)>(
        function_in("INTEL_LIBITTNOTIFY64", "__itt_api_init"));
    if (init != nullptr) {
        init(&global, -1);
    }
    if (functions[0] == nullptr) {
        return false;
    }
    g_domain = reinterpret_cast<void* (*)(const char*)>(functions[0])("bench");
    g_name = reinterpret_cast<void* (*)(const char*)>(functions[1])("task");
    return true;
}

// ---- NVTX: likewise.

using Function = void (*)();
Function g_functions[16];
Function* g_places[16];

int get_functions(std::uint32_t module, Function*** places, unsigned* count) {
    for (int i = 0; i < 16; ++i) {
        g_places[i] = &g_functions[i];
    }
    *places = g_places;
    *count = 16;
    return module == 1 ? 1 : 0;
}
const void* get_table(std::uint32_t number) {
    static const struct {
        std::size_t bytes;
        int (*get)(std::uint32_t, Function***, unsigned*);
    } callbacks = {sizeof callbacks, get_functions};
    return number == 1 ? &callbacks : nullptr;
}

void range() {
    reinterpret_cast<int (*)(const char*)>(g_functions[9])("range of a usual name");
    reinterpret_cast<int (*)()>(g_functions[11])();
}

bool begin_nvtx() {
    const auto init = reinterpret_cast<int (*)(const void* (*)(std::uint32_t))>(
        function_in("NVTX_INJECTION64_PATH", "InitializeInjectionNvtx2"));
    return init != nullptr && init(get_table) == 1;
}

void zone() {
    SAMPLE_TRACE_ZONE("zone");
}

}  // namespace

int main(int count, char** words) {
    std::vector<sample::bench::Case> cases{{"zone", zone}};
    if (begin_itt()) {
        cases.push_back({"itt/task", task});
    }
    if (begin_nvtx()) {
        cases.push_back({"nvtx/range", range});
    }
    sample::bench::play_rounds(cases, count > 1 ? std::strtol(words[1], nullptr, 10) : 1'000);
}

// A module is looked for
//   1. in the program itself: the function sample_profiler_init_NAME, which it exports;
//   2. beside this library: libsample-profiler-NAME.so;
//   3. by that name, where the loader looks: LD_LIBRARY_PATH, the system's folders.
// All with RTLD_NOW, since callbacks run in signal handlers, and never unloaded, since one may be
// under way at any time.
#include "receivers/modules/loading.h"

#include "receivers/modules/agent.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace sample::modules {
namespace {

constexpr std::size_t kMostModules = 32;
constexpr std::size_t kMostName = 40;

using Init = void (*)(const char*);
using Name = std::array<char, kMostName + 1>;

constinit std::array<Name, kMostModules> g_loaded{};
constinit std::size_t g_loaded_count = 0;
/// Of both. Modules may load others.
pthread_mutex_t g_loading = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/// A module that was found.
struct Module {
    void* library = nullptr;
    Init init = nullptr;
};

bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// What is before the colon: part of a C name, so that it names no folder. False: it is none.
bool read_name(const char* description, Name& name) noexcept {
    std::size_t size = 0;
    while (is_letter(description[size])) {
        ++size;
    }
    if (size == 0 || size > kMostName || (description[size] != '\0' && description[size] != ':')) {
        return false;
    }
    name = {};
    std::memcpy(name.data(), description, size);
    return true;
}

Init init_of(void* library, const Name& name) noexcept {
    std::array<char, kMostName + 32> symbol{};
    std::snprintf(symbol.data(), symbol.size(), "sample_profiler_init_%s", name.data());
    return reinterpret_cast<Init>(::dlsym(library, symbol.data()));
}

void* open_library(const char* path) noexcept {
    return ::dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/// A module's is between kPrefix and its ending; the program's own file has one, too.
sample_module_name name_of_library(const char* path) noexcept {
    constexpr std::string_view kPrefix = "libsample-profiler-";
    const char* const slash = std::strrchr(path, '/');
    std::string_view file{slash == nullptr ? path : slash + 1};
    if (file.starts_with(kPrefix)) {
        file.remove_prefix(kPrefix.size());
        file = file.substr(0, file.find('.'));
    }
    sample_module_name name{};
    for (std::size_t i = 0; i < file.size() && i < sizeof name.letters; ++i) {
        name.letters[i] = is_letter(file[i]) ? file[i] : '_';
    }
    return name;
}

const char* loader_error() noexcept {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is the thread's own.
    const char* const reason = ::dlerror();
    return reason == nullptr ? "unknown" : reason;
}

/// The file of that name beside this library. False: there is none.
bool path_beside_us(const char* file, std::array<char, PATH_MAX>& path) noexcept {
    Dl_info own{};
    if (::dladdr(reinterpret_cast<const void*>(&path_beside_us), &own) == 0) {
        return false;
    }
    const char* const slash = std::strrchr(own.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash - own.dli_fname) + 1;
    const int size = std::snprintf(path.data(), path.size(), "%.*s%s", folder, own.dli_fname, file);
    return folder != 0 && size > 0 && static_cast<std::size_t>(size) < path.size() &&
           ::access(path.data(), F_OK) == 0;
}

/// False: it said why.
bool find_module(const Name& name, Module& module) noexcept {
    void* const program = ::dlopen(nullptr, RTLD_NOW);
    module = {program, init_of(program, name)};
    if (module.init != nullptr) {
        return true;
    }
    std::array<char, kMostName + 32> file{};
    std::snprintf(file.data(), file.size(), "libsample-profiler-%s.so", name.data());
    std::array<char, PATH_MAX> path{};
    module.library = open_library(path_beside_us(file.data(), path) ? path.data() : file.data());
    if (module.library == nullptr) {
        complain(name.data(), "cannot be loaded: ", loader_error());
        return false;
    }
    module.init = init_of(module.library, name);
    if (module.init == nullptr) {
        complain(name.data(), "cannot be loaded: its library has no function sample_profiler_init_",
                 name.data());
        return false;
    }
    return true;
}

/// False: it said why.
bool is_of_our_version(const Name& name, const Module& module) noexcept {
    const auto* const version =
        static_cast<const std::uint32_t*>(::dlsym(module.library, "sample_profiler_api_version"));
    if (version == nullptr) {
        complain(name.data(),
                 "rejected: it does not say for which version of the interface it was compiled: it "
                 "has to include sample/profiler_module.h, and export "
                 "sample_profiler_api_version");
        return false;
    }
    if (*version != SAMPLE_PROFILER_API_VERSION) {
        std::array<char, 128> versions{};
        std::snprintf(versions.data(), versions.size(), "version %u of the interface, this is %d",
                      *version, SAMPLE_PROFILER_API_VERSION);
        complain(name.data(), "rejected: it was compiled for ", versions.data());
        return false;
    }
    return true;
}

bool is_loaded(const Name& name) noexcept {
    for (std::size_t i = 0; i < g_loaded_count; ++i) {
        if (g_loaded[i] == name) {
            return true;
        }
    }
    return false;
}

bool load_named(const Name& name, const char* description) noexcept {
    if (is_loaded(name)) {
        return true;
    }
    if (g_loaded_count == g_loaded.size()) {
        complain(name.data(), "cannot be loaded: there are 32 already");
        return false;
    }
    Module module;
    // Its library's constructors are code of its own as well.
    agent()->set_up(name.data());
    const bool is_found = find_module(name, module) && is_of_our_version(name, module);
    if (is_found) {
        g_loaded[g_loaded_count++] = name;
        module.init(description);
    }
    agent()->set_up(nullptr);
    return is_found;
}

}  // namespace

bool load(const char* description) noexcept {
    Name name{};
    if (description == nullptr || !read_name(description, name)) {
        complain(nullptr,
                 "a module is NAME or NAME:ARGUMENTS, where NAME consists of at most 40 letters, "
                 "digits and _; not ",
                 description == nullptr ? "null" : description);
        return false;
    }
    if (agent()->is_profiled() == 0) {
        complain(name.data(), "not loaded: the program is not profiled");
        return false;
    }
    ::pthread_mutex_lock(&g_loading);
    const bool is_there = load_named(name, description);
    ::pthread_mutex_unlock(&g_loading);
    return is_there;
}

void load_list(const char* list) noexcept {
    std::array<char, PATH_MAX> description{};
    while (list != nullptr && *list != '\0') {
        const std::size_t size = ::strcspn(list, ";");
        if (size >= description.size()) {
            complain(nullptr, "a module of SAMPLE_MODULE is left out: its arguments are too long");
        } else if (size != 0) {
            std::memcpy(description.data(), list, size);
            description[size] = '\0';
            static_cast<void>(load(description.data()));
        }
        list += size + (list[size] == ';' ? 1 : 0);
    }
}

void forget_loading() noexcept {
    const pthread_mutex_t free = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    g_loading = free;
}

sample_module_name keep_library(const void* address) noexcept {
    Dl_info library{};
    if (::dladdr(address, &library) == 0 || library.dli_fname == nullptr) {
        return {};
    }
    // The program itself has a path that may not be one of a library: then this fails.
    static_cast<void>(::dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is the thread's own.
    static_cast<void>(::dlerror());
    return name_of_library(library.dli_fname);
}

}  // namespace sample::modules

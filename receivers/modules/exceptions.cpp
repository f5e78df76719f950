// __cxa_throw, __cxa_rethrow and __cxa_begin_catch.
//
// A C program may load a C++ library late, which finds these here, as the search begins with the
// program's own libraries, and its runtime only among its own dependencies. So where there is no
// next definition, the one is taken that the calling library would have found without us.
// Source: Itanium C++ ABI: Exception Handling, 2.4.3 and 2.5.3.
#include "receivers/modules/exceptions.h"

#include "receivers/modules/next.h"
#include "receivers/modules/profilers.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace sample::modules {
namespace {

using Destroy = void (*)(void*);
using Throw = void(void*, void*, Destroy);
using Rethrow = void();
using BeginCatch = void*(void*);

constexpr const char* kThrow = "__cxa_throw";
constexpr const char* kRethrow = "__cxa_rethrow";
constexpr const char* kBeginCatch = "__cxa_begin_catch";

constinit Next<Throw> g_throw{kThrow};
constinit Next<Rethrow> g_rethrow{kRethrow};
constinit Next<BeginCatch> g_begin_catch{kBeginCatch};

// Past our own, which tell of libraries.
constinit Next<void*(const char*, int)> g_open_caller{"dlopen"};
constinit Next<int(void*)> g_close_caller{"dlclose"};

/// What the library whose code is at `caller` finds in itself and in what it depends on. It is open
/// as long as it runs, so that opening it once more loads nothing, and closing it unloads nothing.
void* definition_for(const void* caller, const char* name) noexcept {
    Dl_info library{};
    if (::dladdr(caller, &library) == 0) {
        return nullptr;
    }
    void* const handle = g_open_caller.get()(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) {
        return nullptr;
    }
    void* const found = ::dlsym(handle, name);
    g_close_caller.get()(handle);
    return found;
}

template <class Function>
Function* definition(Next<Function>& next, const char* name, const void* caller) noexcept {
    Function* function = next.get();
    if (function == nullptr) {
        function = reinterpret_cast<Function*>(definition_for(caller, name));
    }
    if (function == nullptr) {
        complain(nullptr, "the C++ runtime of a library is not found; missing: ", name);
        std::abort();
    }
    return function;
}

/// Of a std::type_info, whose second word it is. Source: Itanium C++ ABI, 2.9.4.
const char* name_of(const void* type) noexcept {
    const char* name = nullptr;
    std::memcpy(&name, static_cast<const char*>(type) + sizeof(void*), sizeof name);
    return name != nullptr && *name == '*' ? name + 1 : name;
}

}  // namespace

}  // namespace sample::modules

namespace modules = sample::modules;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the runtime's names.
SAMPLE_STANDS_BEFORE void __cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
    modules::tell<const void*, const char*>(modules::Event::exception_thrown, exception,
                                            modules::name_of(type));
    modules::definition(modules::g_throw, modules::kThrow, __builtin_return_address(0))(
        exception, type, destroy);
    __builtin_unreachable();
}

SAMPLE_STANDS_BEFORE void __cxa_rethrow() {
    modules::tell<const void*, const char*>(modules::Event::exception_thrown, nullptr, nullptr);
    modules::definition(modules::g_rethrow, modules::kRethrow, __builtin_return_address(0))();
    __builtin_unreachable();
}

SAMPLE_STANDS_BEFORE void* __cxa_begin_catch(void* caught) noexcept {
    void* const exception = modules::definition(modules::g_begin_catch, modules::kBeginCatch,
                                                __builtin_return_address(0))(caught);
    modules::tell<const void*>(modules::Event::exception_caught, exception);
    return exception;
}

// By this name it is ours, whatever the program finds by the other one.
extern "C" [[gnu::alias("__cxa_throw"), gnu::visibility("hidden")]] void sample_modules_throw(
    void* exception, void* type, void (*destroy)(void*));

namespace sample::modules {

bool sees_exceptions() noexcept {
    return is_first(kThrow, reinterpret_cast<void*>(&sample_modules_throw));
}

}  // namespace sample::modules
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

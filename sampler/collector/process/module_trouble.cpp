#include "sampler/collector/process/module_trouble.h"

#include "sample/profiler_module_abi.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace sample::collector {
namespace {

/// By their numbers in profiler_module_abi.h, as docs/modules.md calls them.
constexpr std::array<const char*, SAMPLE_MODULE_CODE_MADE + 1> kEventNames{
    "cleanup",
    "sample_hit",
    "allocated",
    "freed",
    "reallocated",
    "thread_started",
    "thread_stopped",
    "thread_name",
    "library_loaded",
    "library_unloaded",
    "forked",
    "exec",
    "session_started",
    "session_ended",
    "contention",
    "contention_failed",
    "contention_acquired",
    "exception_thrown",
    "exception_caught",
    "code_made",
};

/// The letters at the beginning that may be in a name in C.
std::string name_at_start(std::string_view letters) {
    std::string name;
    for (const char c : letters) {
        const bool is_letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!is_letter) {
            break;
        }
        name += c;
    }
    return name;
}

}  // namespace

std::string module_in_set_up(const capture::AreaHeader& header) {
    std::array<char, capture::kModuleNameBytes> letters{};
    for (std::size_t i = 0; i < letters.size(); ++i) {
        letters[i] = header.module_in_set_up[i].load(std::memory_order_acquire);
    }
    return name_at_start({letters.data(), letters.size()});
}

ModuleCallback module_callback(const capture::Area& area) {
    // Also a slot that was given back since, as its thread is gone.
    for (std::uint32_t index = 0; const capture::ThreadSlot* slot = area.slot(index); ++index) {
        const std::uint64_t event = slot->callback[0].load(std::memory_order_acquire);
        if (event == 0 || event > kEventNames.size()) {
            continue;
        }
        std::array<char, capture::kModuleNameBytes> letters{};
        for (std::size_t i = 0; i + 1 < slot->callback.size(); ++i) {
            const std::uint64_t word = slot->callback[i + 1].load(std::memory_order_acquire);
            std::memcpy(&letters[i * sizeof word], &word, sizeof word);
        }
        return {name_at_start({letters.data(), letters.size()}), kEventNames[event - 1]};
    }
    return {};
}

bool is_crash(int signal) {
    constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (const int one : kCrashes) {
        if (one == signal) {
            return true;
        }
    }
    return false;
}

}  // namespace sample::collector

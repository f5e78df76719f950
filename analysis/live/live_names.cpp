#include "analysis/live/live_names.h"

#include "core/file_rights.h"
#include "core/kernel_clock.h"
#include "symbolize/symbolizer.h"

#include <sys/resource.h>

#include <utility>

namespace sample::analysis {
namespace {

constexpr int kNiceness = 10;
constexpr std::chrono::seconds kBetweenRounds{1};

/// Of the thread that calls.
std::uint64_t thread_cpu_ns() {
    return read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace

LiveNames::LiveNames(LiveNaming naming) : naming_{std::move(naming)}, thread_{[this] { run(); }} {}

LiveNames::~LiveNames() {
    {
        const std::lock_guard lock{mutex_};
        is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

bool LiveNames::has_time() const {
    const std::lock_guard lock{mutex_};
    return !is_busy_ && Clock::now() >= next_round_;
}

void LiveNames::ask(std::vector<NamesWanted> wanted) {
    {
        const std::lock_guard lock{mutex_};
        wanted_ = std::move(wanted);
        is_busy_ = true;
    }
    changed_.notify_one();
}

std::vector<NamesFound> LiveNames::take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(found_, {});
}

NamesFound LiveNames::find(NamesWanted& wanted, symbolize::SymbolCache* cache) const {
    NamingOptions naming;
    naming.debug_folders = naming_.debug_folders;
    const std::uint64_t before = thread_cpu_ns();
    const ActingAs reader{wanted.reader};
    Symbols symbols = symbolize::symbolize(cache, module_identity(wanted.module, {}),
                                           wanted.addresses, places_of(naming))
                          .symbols;
    if (wanted.module.kind != trace::ModuleKind::jit) {
        for (FunctionSymbol& function : symbols.functions) {
            function.name = symbolize::in_form(function.name, naming_.form);
        }
    }
    return {wanted.module.id, thread_cpu_ns() - before, std::move(symbols),
            std::move(wanted.places)};
}

void LiveNames::run() {
    // Of this thread alone. Source: setpriority(2), "C library/kernel differences".
    ::setpriority(PRIO_PROCESS, 0, kNiceness);
    const std::unique_ptr<symbolize::SymbolCache> cache = user_cache(naming_.use_cache);
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return is_over_ || is_busy_; });
        std::vector<NamesWanted> round = std::exchange(wanted_, {});
        lock.unlock();
        for (NamesWanted& each : round) {
            NamesFound found = find(each, cache.get());
            const std::lock_guard relocked{mutex_};
            if (is_over_) {
                return;
            }
            found_.push_back(std::move(found));
        }
        lock.lock();
        if (is_over_) {
            return;
        }
        is_busy_ = false;
        next_round_ = Clock::now() + kBetweenRounds;
    }
}

}  // namespace sample::analysis

// Names for a recording that still grows: a thread of its own looks up what addresses came since
// the last round, and is in nobody's way.
//
// Each round reads a module's symbols anew, so what each one cost is told: who asks lets the module
// rest for a time that suits.
#pragma once

#include "analysis/symbolize_recording.h"
#include "core/symbols.h"
#include "symbolize/names/name_forms.h"
#include "trace/records.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sample::analysis {

struct LiveNaming {
    symbolize::NameForm form = symbolize::NameForm::full;  ///< Of all names but a runtime's own.
    bool use_cache = true;
    std::vector<std::string> debug_folders = {};
};

/// Addresses of one module that are to be named.
struct NamesWanted {
    trace::Module module;
    std::shared_ptr<const FileRights> reader;  ///< Of its files; nullptr: ourselves.
    std::vector<std::uint64_t> addresses;
    std::vector<std::size_t> places;  ///< Of each, in a table of the asker's.
};

struct NamesFound {
    ModuleId module;
    std::uint64_t cpu_ns = 0;  ///< What it took.
    Symbols symbols;           ///< By index into `places`.
    std::vector<std::size_t> places;
};

/// All but the thread itself is the asker's, one thread.
class LiveNames {
public:
    explicit LiveNames(LiveNaming naming);
    /// Waits for the module that is being read.
    ~LiveNames();
    LiveNames(const LiveNames&) = delete;
    LiveNames& operator=(const LiveNames&) = delete;

    /// False while a round goes on, and until a second after it.
    [[nodiscard]] bool has_time() const;
    /// Begins a round. Only if has_time().
    void ask(std::vector<NamesWanted> wanted);
    /// What was found since the last call, module by module.
    [[nodiscard]] std::vector<NamesFound> take();

private:
    using Clock = std::chrono::steady_clock;

    void run();
    [[nodiscard]] NamesFound find(NamesWanted& wanted, symbolize::SymbolCache* cache) const;

    LiveNaming naming_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<NamesWanted> wanted_;
    std::vector<NamesFound> found_;
    bool is_busy_ = false;
    bool is_over_ = false;
    Clock::time_point next_round_;
    std::thread thread_;
};

}  // namespace sample::analysis

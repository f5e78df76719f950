// A process that was profiled, as its area and the recording tell it.
#pragma once

#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/profiled_process.h"
#include "tests/sampler/area_fixture.h"
#include "tests/sampler/recorder_fixture.h"

#include <unistd.h>

#include <memory>
#include <optional>

namespace sample::collector {

inline constexpr std::uint64_t kApp = 0x10000;
inline constexpr std::uint64_t kAgent = 0x30000;

/// A return address whose call lies at `address`.
inline std::uint64_t calls_at(std::uint64_t address) {
    return FrameAddress{ReturnAddress{address + 1}}.bits();
}
inline std::uint64_t exact(std::uint64_t address) {
    return FrameAddress{Pc{address}}.bits();
}

class ProfiledProcessTest : public RecorderFixture {
protected:
    /// The process joins: its main thread has a slot, two modules are known, some time is spent.
    void start(std::uint64_t spent_ns, std::uint64_t carried_ns = 0) {
        ProcessIdentity identity;
        identity.executable = "/bin/tested";
        identity.command_line = "tested --fast";
        identity.pid = ::getpid();
        identity.parent = ::getppid();
        identity.carried_cpu_ns = carried_ns;
        identity.system_before_ns = stat_of(::getpid())->system_cpu_ns;
        identity.source = "test";
        process = std::make_unique<ProfiledProcess>(identity, test.mapping(), recorder, clock);
        main = test.start_thread(static_cast<std::uint32_t>(::getpid()), "main", spent_ns);
        test.add_module(main, "/bin/app", kApp, kApp + 0x10000);
        test.add_module(main, "/lib/agent", kAgent, kAgent + 0x1000, capture::kModuleAgent);
        test.area().header.start_cpu_ns.store(spent_ns);
        process->begin();
    }
    void end(std::optional<std::uint64_t> cpu_ns) {
        process->end(trace::EndKind::exited, 3, {cpu_ns, 0});
        read_back();
    }
    [[nodiscard]] std::uint32_t own_tid() const { return static_cast<std::uint32_t>(::getpid()); }

    TestArea test;
    TickClock clock;
    std::unique_ptr<ProfiledProcess> process;
    std::uint32_t main = 0;
};

}  // namespace sample::collector

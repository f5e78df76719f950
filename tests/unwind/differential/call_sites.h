// Evidence from a process's files: the call instruction before a return address.
#pragma once

#include "tests/unwind/differential/compare.h"
#include "tests/unwind/differential/process.h"

namespace sample::unwind::differential {

class CallSites final : public Evidence {
public:
    /// `process` outlives it.
    explicit CallSites(Process& process) noexcept : process_{process} {}

    /// Source: Intel SDM volume 2, CALL (E8 rel32, FF /2).
    [[nodiscard]] Link link(std::uint64_t callee, std::uint64_t caller) const override;

private:
    [[nodiscard]] bool is_trampoline(std::uint64_t address) const;

    Process& process_;
};

}  // namespace sample::unwind::differential

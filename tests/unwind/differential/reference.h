// libunwind's unw_step over a recorded stack: its remote address space, as `perf script` uses it.
//
// All that it asks for comes from the sample (registers, stack) and from the files (tables, code).
// Where it finds no rule it guesses, by rbp: a walk says from which frame on that is so.
#pragma once

#include "tests/unwind/differential/process.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

struct unw_addr_space;

namespace sample::unwind::differential {

/// Why a read of memory failed.
enum class BadRead : std::uint8_t {
    none,
    below_stack,   ///< Under rsp: a slot that is popped already, not in the copy.
    beyond_stack,  ///< Above the copy, within 8 MiB: cut off.
    elsewhere,
};

struct ReferenceWalk {
    static constexpr std::size_t kNever = ~std::size_t{0};

    std::vector<std::uint64_t> frames;  ///< Leaf first; pcs and return addresses as they are.
    std::size_t first_guess = kNever;   ///< The first frame that was found without a rule.
    int end = 0;                        ///< What the last unw_step returned: 0, or -UNW_E….
    BadRead bad_read = BadRead::none;   ///< The first in the last step.
};

class Reference {
public:
    /// With `cached`, libunwind keeps rules by pc, as programs do that walk many stacks.
    explicit Reference(bool cached);
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;
    ~Reference();

    /// At most `limit` frames. Not thread-safe.
    void walk(Process& process, const Registers& registers, std::span<const std::byte> stack,
              std::size_t limit, ReferenceWalk& out);

private:
    unw_addr_space* space_;
    std::uint64_t generation_ = 0;
};

}  // namespace sample::unwind::differential

#include "sampler/source/own_processor.h"

#include "sampler/capture/raw_syscall.h"

#include <sys/syscall.h>

#include <bit>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr unsigned kWordBits = 64;

}  // namespace

OwnProcessor::Set OwnProcessor::read() noexcept {
    Set set{};
    raw_syscall(SYS_sched_getaffinity, 0, sizeof set, as_argument(set.data()));
    return set;
}

void OwnProcessor::allow(const Set& set) noexcept {
    allowed_ = used_ = set;
    int count = 0;
    for (const std::uint64_t word : set) {
        count += std::popcount(word);
    }
    has_others_ = !is_refused_ && count > 1;
}

void OwnProcessor::begin() noexcept {
    allow(read());
}

void OwnProcessor::step_aside() noexcept {
    const Set now = read();
    if (now != used_) {
        allow(now);
    }
    unsigned processor = 0;
    if (!has_others_ || raw_syscall(SYS_getcpu, as_argument(&processor), 0, 0) != 0 ||
        processor >= kWordBits * used_.size()) {
        return;
    }
    Set others = allowed_;
    others[processor / kWordBits] &= ~(std::uint64_t{1} << processor % kWordBits);
    if (raw_syscall(SYS_sched_setaffinity, 0, sizeof others, as_argument(others.data())) == 0) {
        used_ = others;
    } else {
        is_refused_ = true;
        has_others_ = false;
    }
}

void OwnProcessor::use_any() noexcept {
    if (used_ != allowed_ && read() == used_) {
        raw_syscall(SYS_sched_setaffinity, 0, sizeof allowed_, as_argument(allowed_.data()));
    }
    used_ = allowed_;
}

}  // namespace sample::source

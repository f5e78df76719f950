#include "sampler/source/own_processor.h"

#include "sampler/capture/raw_syscall.h"

#include <sys/syscall.h>

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

void OwnProcessor::begin() noexcept {
    allowed_ = used_ = read();
}

void OwnProcessor::go_to(unsigned processor) noexcept {
    if (is_refused_ || processor >= kWordBits * allowed_.size()) {
        return;
    }
    if (const Set now = read(); now != used_) {
        allowed_ = used_ = now;
    }
    Set one{};
    one[processor / kWordBits] = std::uint64_t{1} << processor % kWordBits;
    if (used_ == one || (allowed_[processor / kWordBits] & one[processor / kWordBits]) == 0) {
        return;
    }
    is_refused_ = raw_syscall(SYS_sched_setaffinity, 0, sizeof one, as_argument(one.data())) != 0;
    if (!is_refused_) {
        used_ = one;
    }
}

void OwnProcessor::use_any() noexcept {
    if (used_ != allowed_ && read() == used_) {
        raw_syscall(SYS_sched_setaffinity, 0, sizeof allowed_, as_argument(allowed_.data()));
    }
    used_ = allowed_;
}

}  // namespace sample::source

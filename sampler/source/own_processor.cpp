#include "sampler/source/own_processor.h"

#include "sampler/capture/raw_syscall.h"

#include <sys/syscall.h>

#include <cerrno>

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
    is_refused_ = false;
}

void OwnProcessor::go_to(unsigned processor) noexcept {
    if (is_refused_) {
        return;
    }
    if (const Set now = read(); now != used_) {
        allowed_ = used_ = now;
    }
    const unsigned word = processor / kWordBits;
    const std::uint64_t bit = std::uint64_t{1} << processor % kWordBits;
    if (word >= allowed_.size() || (allowed_[word] & bit) == 0) {
        use_any();
        return;
    }
    Set one{};
    one[word] = bit;
    if (used_ == one) {
        return;
    }
    const long result = raw_syscall(SYS_sched_setaffinity, 0, sizeof one, as_argument(one.data()));
    if (result == 0) {
        used_ = one;
    } else if (result == -EINVAL) {
        use_any();  // it has gone meanwhile
    } else {
        is_refused_ = true;
    }
}

void OwnProcessor::use_any() noexcept {
    if (used_ != allowed_ && read() == used_) {
        raw_syscall(SYS_sched_setaffinity, 0, sizeof allowed_, as_argument(allowed_.data()));
    }
    used_ = allowed_;
}

}  // namespace sample::source

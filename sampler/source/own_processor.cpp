#include "sampler/source/own_processor.h"

#include "sampler/capture/raw_syscall.h"

#include <sys/syscall.h>

#include <cerrno>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr unsigned kWordBits = 64;

constexpr std::uint64_t bit_of(unsigned processor) noexcept {
    return std::uint64_t{1} << processor % kWordBits;
}

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

void OwnProcessor::look_again() noexcept {
    if (const Set now = read(); now != used_) {
        allowed_ = used_ = now;
    }
}

bool OwnProcessor::use(const Set& set) noexcept {
    if (used_ == set) {
        return true;
    }
    if (is_refused_ && set != allowed_) {
        return false;
    }
    const long result = raw_syscall(SYS_sched_setaffinity, 0, sizeof set, as_argument(set.data()));
    if (result == 0) {
        used_ = set;
    } else if (result != -EINVAL) {  // of a set whose processors have gone
        is_refused_ = true;
    }
    return result == 0;
}

bool OwnProcessor::go_to(unsigned processor) noexcept {
    look_again();
    Set one{};
    if (processor / kWordBits < one.size()) {
        one[processor / kWordBits] = allowed_[processor / kWordBits] & bit_of(processor);
    }
    const bool is_there = one != Set{} && use(one);
    if (!is_there) {
        use(allowed_);
    }
    return is_there;
}

void OwnProcessor::leave(unsigned processor) noexcept {
    look_again();
    Set others = allowed_;
    if (processor / kWordBits < others.size()) {
        others[processor / kWordBits] &= ~bit_of(processor);
    }
    if (others != allowed_ && others != Set{} && use(others)) {
        look_again();  // as that took its time
    }
    use(allowed_);
}

}  // namespace sample::source

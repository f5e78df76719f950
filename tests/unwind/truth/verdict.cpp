// Comparing a walk with the truth; the contracts are in the header.
#include "tests/unwind/truth/verdict.h"

#include <algorithm>
#include <iterator>

namespace sample::unwind::truth {

namespace {

bool is_same(const Frame& truth, FrameAddress walked) noexcept {
    const FrameAddress exact{Pc{truth.address}};
    const FrameAddress called{ReturnAddress{truth.address}};
    if (walked.is_guessed()) {
        return truth.kind != Frame::Kind::exact &&
               walked == FrameAddress::guessed(ReturnAddress{truth.address});
    }
    switch (truth.kind) {
        case Frame::Kind::exact:
            return walked == exact;
        case Frame::Kind::return_address:
            return walked == called;
        default:
            return walked == exact || walked == called;
    }
}

}  // namespace

Verdict judge(std::span<const Frame> truth, std::span<const FrameAddress> walked,
              StopReason reason) noexcept {
    const auto [end_of_truth, end_of_walk] =
        std::mismatch(truth.begin(), truth.end(), walked.begin(), walked.end(), is_same);
    const auto same = static_cast<std::size_t>(end_of_truth - truth.begin());
    Verdict verdict{Verdict::Kind::equal, reason, same == 0 ? 0 : same - 1};
    if (end_of_walk != walked.end()) {
        verdict.kind =
            end_of_truth == truth.end() ? Verdict::Kind::wrong_beyond : Verdict::Kind::wrong_frame;
    } else if (reason != StopReason::root) {
        verdict.kind = Verdict::Kind::incomplete;
    } else if (end_of_truth != truth.end()) {
        verdict.kind = Verdict::Kind::wrong_root;
    }
    verdict.has_guess =
        std::any_of(walked.begin(), end_of_walk == walked.end() ? end_of_walk : end_of_walk + 1,
                    [](FrameAddress frame) { return frame.is_guessed(); });
    if (verdict.is_wrong() && verdict.has_guess) {
        verdict.kind = Verdict::Kind::misguessed;
    }
    return verdict;
}

std::string Verdict::name() const {
    switch (kind) {
        case Kind::equal:
            return "equal";
        case Kind::incomplete:
            return std::string{"incomplete/"} + name_of(reason);
        case Kind::misguessed:
            return "misguessed";
        case Kind::wrong_frame:
            return "wrong/frame";
        case Kind::wrong_root:
            return "wrong/root";
        default:
            return "wrong/beyond";
    }
}

}  // namespace sample::unwind::truth

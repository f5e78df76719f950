// Stretches of a recording's time, for all of its threads: what --from and --to, --between and
// --in-frames ask for.
#pragma once

#include "analysis/instrumentation/program_events.h"
#include "core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sample::analysis {

/// Some of the frames of one kind: one of the two.
struct FrameChoice {
    std::string kind;                             ///< Empty: the first that the file has.
    std::optional<double> slowest_percent;        ///< Rounded up to whole frames.
    std::optional<std::uint64_t> slower_than_ns;  ///< Or as slow.
};

/// What is not given asks for nothing; a moment must fulfil each of the others.
struct MomentChoice {
    std::optional<std::uint64_t> from_ns;  ///< Since the session's start.
    std::optional<std::uint64_t> to_ns;
    /// From a bookmark of the first text to the next one of the second; each time it comes.
    std::optional<std::pair<std::string, std::string>> between;
    std::optional<FrameChoice> frames;

    [[nodiscard]] bool is_everything() const { return !from_ns && !to_ns && !between && !frames; }
};

class Moments {
public:
    struct Span {
        std::uint64_t begin_ns = 0;
        std::uint64_t end_ns = 0;  ///< Exclusive.
    };

    /// All of them.
    Moments() : spans_{{0, UINT64_MAX}} {}
    /// In any order; may overlap.
    explicit Moments(std::vector<Span> spans);

    [[nodiscard]] bool has(std::uint64_t time_ns) const;
    /// Those of both. O(spans of both).
    [[nodiscard]] Moments in(const Moments& other) const;
    /// How long they are together between these two.
    [[nodiscard]] std::uint64_t length_ns(const Span& between) const;
    /// Ascending, and apart from each other.
    [[nodiscard]] const std::vector<Span>& spans() const noexcept { return spans_; }

private:
    std::vector<Span> spans_;
};

struct ChosenMoments {
    Moments moments;
    std::string words;  ///< "from 1.200 s, between 'A' and 'B'", for people; empty: all.
};

/// `start_ns` is the session's. Errors: not_found, if there is no such bookmark or frame, saying
/// which there are.
[[nodiscard]] Result<ChosenMoments> choose_moments(const MomentChoice& choice,
                                                   const ProgramEvents& events,
                                                   std::uint64_t start_ns);

/// Which of the frames, ascending: indices.
[[nodiscard]] std::vector<std::uint32_t> choose_frames(const FramesOfKind& of,
                                                       const FrameChoice& choice);

}  // namespace sample::analysis

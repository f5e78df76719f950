#include "analysis/instrumentation/moments.h"

#include "core/text.h"
#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace sample::analysis {
namespace {

/// What a file without them is told.
Unexpected none_of(std::string_view option, std::string_view things) {
    return unexpected(ErrorCode::not_found,
                      fmt::format("{}: the recording has no {}; record with --trace, of a program "
                                  "that marks them with sample/trace.h",
                                  option, things));
}

/// "'A', 'B', and 3 more"
std::string list_of(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 10;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
        text += (i == 0 ? "'" : ", '") + names[i] + "'";
    }
    return names.size() > kMost ? text + ", and " + grouped(names.size() - kMost) + " more" : text;
}

struct Bookmark {
    std::uint64_t time_ns = 0;
    std::string text;
};

std::vector<Bookmark> bookmarks_of(const Messages& messages) {
    std::vector<Bookmark> bookmarks;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        Messages::Line line = messages.line(i);
        if (line.spec->is_bookmark) {
            bookmarks.push_back({line.time_ns, std::move(line.text)});
        }
    }
    return bookmarks;
}

Unexpected no_such_bookmark(const std::vector<Bookmark>& bookmarks, const std::string& text) {
    std::vector<std::string> texts;
    for (const Bookmark& each : bookmarks) {
        if (std::find(texts.begin(), texts.end(), each.text) == texts.end()) {
            texts.push_back(each.text);
        }
    }
    return unexpected(ErrorCode::not_found, fmt::format("--between: no bookmark is '{}': choose "
                                                        "one of {}",
                                                        text, list_of(texts)));
}

Result<Moments> between(const std::pair<std::string, std::string>& texts,
                        const Messages& messages) {
    const std::vector<Bookmark> bookmarks = bookmarks_of(messages);
    if (bookmarks.empty()) {
        return none_of("--between", "bookmarks");
    }
    for (const std::string& text : {texts.first, texts.second}) {
        if (std::none_of(bookmarks.begin(), bookmarks.end(),
                         [&](const Bookmark& each) { return each.text == text; })) {
            return no_such_bookmark(bookmarks, text);
        }
    }
    std::vector<Moments::Span> spans;
    const Bookmark* first = nullptr;
    for (const Bookmark& each : bookmarks) {
        if (first != nullptr && each.text == texts.second) {
            spans.push_back({first->time_ns, each.time_ns});
            first = nullptr;
        }
        if (first == nullptr && each.text == texts.first) {
            first = &each;
        }
    }
    if (spans.empty()) {
        return unexpected(ErrorCode::not_found,
                          fmt::format("--between: no '{}' comes after a '{}': is it the other way "
                                      "round?",
                                      texts.second, texts.first));
    }
    return Moments{std::move(spans)};
}

Result<ChosenMoments> in_frames(const FrameChoice& choice, const ProgramEvents& events) {
    const FramesOfKind* const of = events.frames_of(choice.kind);
    if (of == nullptr) {
        std::vector<std::string> kinds;
        for (const FramesOfKind& each : events.frames) {
            kinds.push_back(each.name);
        }
        return kinds.empty() || choice.kind.empty()
                   ? none_of("--in-frames", "frames")
                   : unexpected(ErrorCode::not_found,
                                fmt::format("--in-frames: no frames are called '{}': choose one "
                                            "of {}",
                                            choice.kind, list_of(kinds)));
    }
    std::vector<Moments::Span> spans;
    for (const std::uint32_t index : choose_frames(*of, choice)) {
        spans.push_back({of->frames[index].begin_ns, of->frames[index].end_ns});
    }
    const std::string which =
        choice.slower_than_ns
            ? fmt::format("of {} or more", short_duration(*choice.slower_than_ns))
            : fmt::format("the slowest {:g} %", choice.slowest_percent.value_or(kHundred));
    if (spans.empty()) {
        return unexpected(ErrorCode::not_found,
                          fmt::format("--in-frames: none of {} ({}) took {}: the slowest took {}",
                                      counted(of->frames.size(), "frame"), of->name,
                                      short_duration(*choice.slower_than_ns),
                                      short_duration(of->lengths_ns().back())));
    }
    std::string words = fmt::format("in {} of {} frames ({}: {})", grouped(spans.size()),
                                    grouped(of->frames.size()), of->name, which);
    return ChosenMoments{Moments{std::move(spans)}, std::move(words)};
}

}  // namespace

Moments::Moments(std::vector<Span> spans) : spans_{std::move(spans)} {
    std::erase_if(spans_, [](const Span& span) { return span.begin_ns >= span.end_ns; });
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& left, const Span& right) { return left.begin_ns < right.begin_ns; });
    std::size_t kept = 0;
    for (const Span& span : spans_) {
        if (kept != 0 && span.begin_ns <= spans_[kept - 1].end_ns) {
            spans_[kept - 1].end_ns = std::max(spans_[kept - 1].end_ns, span.end_ns);
        } else {
            spans_[kept++] = span;
        }
    }
    spans_.resize(kept);
}

bool Moments::has(std::uint64_t time_ns) const {
    const auto behind =
        std::upper_bound(spans_.begin(), spans_.end(), time_ns,
                         [](std::uint64_t time, const Span& span) { return time < span.begin_ns; });
    return behind != spans_.begin() && time_ns < std::prev(behind)->end_ns;
}

std::uint64_t Moments::length_ns(const Span& between) const {
    const Moments inside = in(Moments{std::vector<Span>{between}});
    std::uint64_t sum = 0;
    for (const Span& span : inside.spans()) {
        sum += span.end_ns - span.begin_ns;
    }
    return sum;
}

Moments Moments::in(const Moments& other) const {
    std::vector<Span> common;
    auto left = spans_.begin();
    auto right = other.spans_.begin();
    while (left != spans_.end() && right != other.spans_.end()) {
        common.push_back(
            {std::max(left->begin_ns, right->begin_ns), std::min(left->end_ns, right->end_ns)});
        (left->end_ns < right->end_ns ? left : right)++;
    }
    return Moments{std::move(common)};
}

std::vector<std::uint32_t> choose_frames(const FramesOfKind& of, const FrameChoice& choice) {
    std::vector<std::uint32_t> chosen = of.slowest();
    if (choice.slowest_percent) {
        const double wanted =
            std::ceil(static_cast<double>(chosen.size()) * *choice.slowest_percent / kHundred);
        chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(wanted)));
    }
    if (choice.slower_than_ns) {
        std::erase_if(chosen, [&](std::uint32_t index) {
            return of.frames[index].length_ns() < *choice.slower_than_ns;
        });
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

Result<ChosenMoments> choose_moments(const MomentChoice& choice, const ProgramEvents& events,
                                     std::uint64_t start_ns) {
    ChosenMoments chosen;
    const auto add = [&chosen](const Moments& moments, const std::string& words) {
        chosen.moments = chosen.moments.in(moments);
        chosen.words += (chosen.words.empty() ? "" : ", ") + words;
    };
    if (choice.from_ns) {
        add(Moments{{{start_ns + *choice.from_ns, UINT64_MAX}}},
            "from " + short_duration(*choice.from_ns));
    }
    if (choice.to_ns) {
        add(Moments{{{0, start_ns + *choice.to_ns}}}, "to " + short_duration(*choice.to_ns));
    }
    if (choice.between) {
        SAMPLE_TRY(moments, between(*choice.between, events.messages));
        add(moments,
            fmt::format("between '{}' and '{}'", choice.between->first, choice.between->second));
    }
    if (choice.frames) {
        SAMPLE_TRY(frames, in_frames(*choice.frames, events));
        add(frames.moments, frames.words);
    }
    return chosen;
}

}  // namespace sample::analysis

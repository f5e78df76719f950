// The contracts are in the header.
#include "tests/unwind/differential/report.h"

#include "symbolize/symbolizer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sample::unwind::differential {

namespace {

using nlohmann::json;

constexpr std::size_t kRowsPrinted = 60;
constexpr std::size_t kFramesShown = 6;
constexpr std::array kVerdicts{Verdict::equal, Verdict::ours, Verdict::their_guess, Verdict::theirs,
                               Verdict::open};

std::string hex(std::uint64_t value) {
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "0x%lx", value);
    return text.data();
}

/// Module and function of places, found for all at once.
class Names {
public:
    explicit Names(const std::set<CodePlace>& places) {
        std::map<const Image*, std::vector<std::uint64_t>> by_image;
        for (const CodePlace& place : places) {
            if (place.image != nullptr) {
                by_image[place.image].push_back(place.address);
            }
        }
        for (const auto& [image, addresses] : by_image) {
            const Symbols found = symbolize::symbolize({image->path(), {}}, addresses).symbols;
            for (std::size_t i = 0; i < addresses.size(); ++i) {
                functions_[CodePlace{image, addresses[i]}] =
                    found.functions[found.frames_of(i).back().function].name;
            }
        }
    }

    static std::string module_of(const CodePlace& place) {
        return place.image == nullptr
                   ? "(no file)"
                   : place.image->path().substr(place.image->path().rfind('/') + 1);
    }
    [[nodiscard]] std::string function_of(const CodePlace& place) const {
        const auto found = functions_.find(place);
        return found == functions_.end() ? "?" : found->second;
    }

private:
    std::map<CodePlace, std::string> functions_;
};

struct Row {
    std::uint64_t samples = 0;
    std::set<std::uint64_t> addresses;
};

struct DifferenceClass {
    std::string verdict, kind, cause, module, function;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const DifferenceClass&) const = default;
};

struct StopClass {
    std::string reason, missing, module, function;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const StopClass&) const = default;
};

template <class Class>
std::vector<std::pair<Class, Row>> by_samples(const std::map<Class, Row>& rows) {
    std::vector<std::pair<Class, Row>> sorted{rows.begin(), rows.end()};
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
        return left.second.samples > right.second.samples;
    });
    return sorted;
}

struct UncalledClass {
    std::string module, function;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const UncalledClass&) const = default;
};

struct Summary {
    std::vector<std::pair<DifferenceClass, Row>> differences;
    std::vector<std::pair<StopClass, Row>> stops;
    std::vector<std::pair<UncalledClass, Row>> uncalled;
};

std::set<CodePlace> places_in(const Tally& tally) {
    std::set<CodePlace> places;
    for (const auto& [key, count] : tally.differences) {
        places.insert(key.place);
    }
    for (const auto& [key, count] : tally.stops) {
        places.insert(key.place);
    }
    const auto insert_example = [&places](const auto& of) {
        places.insert(of.second.ours.begin(), of.second.ours.end());
        places.insert(of.second.theirs.begin(), of.second.theirs.end());
    };
    std::for_each(tally.examples.begin(), tally.examples.end(), insert_example);
    std::for_each(tally.uncalled_examples.begin(), tally.uncalled_examples.end(), insert_example);
    for (const auto& [place, count] : tally.uncalled) {
        places.insert(place);
    }
    std::for_each(tally.stop_examples.begin(), tally.stop_examples.end(), insert_example);
    for (const Example& example : tally.memo_examples) {
        insert_example(std::pair{0, example});
    }
    return places;
}

Summary summarize(const Tally& tally, const Names& names) {
    std::map<DifferenceClass, Row> differences;
    for (const auto& [key, count] : tally.differences) {
        Row& row = differences[{name_of(key.verdict), name_of(key.kind), name_of(key.cause),
                                Names::module_of(key.place), names.function_of(key.place)}];
        row.samples += count;
        row.addresses.insert(key.place.address);
    }
    std::map<StopClass, Row> stops;
    for (const auto& [key, count] : tally.stops) {
        Row& row = stops[{name_of(key.reason), name_of(key.missing), Names::module_of(key.place),
                          names.function_of(key.place)}];
        row.samples += count;
        row.addresses.insert(key.place.address);
    }
    std::map<UncalledClass, Row> uncalled;
    for (const auto& [place, count] : tally.uncalled) {
        Row& row = uncalled[{Names::module_of(place), names.function_of(place)}];
        row.samples += count;
        row.addresses.insert(place.address);
    }
    return {by_samples(differences), by_samples(stops), by_samples(uncalled)};
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_shares(const Tally& tally, const RunFigures& figures, std::FILE* out) {
    const std::uint64_t walked = tally.samples - tally.no_stack;
    std::fprintf(out, "%s\n%lu samples, %lu lost, %lu without a stack, %.1f frames each\n",
                 figures.command.c_str(), tally.samples, figures.lost, tally.no_stack,
                 walked == 0 ? 0 : static_cast<double>(tally.frames) / static_cast<double>(walked));
    std::fprintf(out, "of our frames %.2f %% guessed, %.2f %% taken over by memos; %lu differ so\n",
                 percent(tally.guessed, tally.frames), percent(tally.joined, tally.frames),
                 tally.memo_different);
    for (const Verdict verdict : kVerdicts) {
        std::fprintf(out, "  %-11s %10lu  %8.4f %%\n", name_of(verdict), tally.with(verdict),
                     percent(tally.with(verdict), walked));
    }
    const std::uint64_t cut = tally.lacking(Missing::rest);
    const std::uint64_t pages = tally.lacking(Missing::page);
    const std::uint64_t red_zones = tally.lacking(Missing::red_zone);
    std::fprintf(
        out,
        "  root        %10lu  %8.4f %%, of those whose copy suffices %.4f %%\n"
        "  not copied: longer than a record %lu, behind a page not in memory %lu, red zone %lu\n",
        tally.root, percent(tally.root, walked),
        percent(tally.root, walked - cut - pages - red_zones), cut, pages, red_zones);
}

std::string text_of(const std::set<std::uint64_t>& addresses) {
    std::string text = hex(*addresses.begin());
    if (addresses.size() > 1) {
        text += " … (" + std::to_string(addresses.size()) + " places)";
    }
    return text;
}

void print_frame(const std::vector<CodePlace>& frames, std::size_t at, const Names& names,
                 std::FILE* out) {
    std::fprintf(out, "      #%-3zu %s %s %s\n", at, hex(frames[at].address).c_str(),
                 Names::module_of(frames[at]).c_str(), names.function_of(frames[at]).c_str());
}

/// The leaf, and the frames from `first` on.
void print_frames(const char* who, const std::vector<CodePlace>& frames, std::size_t first,
                  const Names& names, std::FILE* out) {
    std::fprintf(out, "    %s, %zu frames:\n", who, frames.size());
    if (first > 0 && !frames.empty()) {
        print_frame(frames, 0, names, out);
    }
    for (std::size_t i = first; i < std::min(frames.size(), first + kFramesShown); ++i) {
        print_frame(frames, i, names, out);
    }
}

void print_example(const std::string& title, const Example& example, const Names& names,
                   std::FILE* out) {
    const auto parted = std::mismatch(example.ours.begin(), example.ours.end(),
                                      example.theirs.begin(), example.theirs.end());
    const auto at = static_cast<std::size_t>(parted.first - example.ours.begin());
    std::fprintf(out, "  %s; ours ends with %s, unw_step returned %d; %zu bytes from rsp %s\n",
                 title.c_str(), name_of(example.reason), example.end, example.stack_bytes,
                 hex(example.sp).c_str());
    const std::size_t first = at < 3 ? 0 : at - 3;
    print_frames("ours", example.ours, first, names, out);
    print_frames("libunwind", example.theirs, first, names, out);
}

void print_examples(const Tally& tally, std::size_t wanted, const Names& names, std::FILE* out) {
    std::map<std::string, std::size_t> shown;
    for (const auto& [key, example] : tally.examples) {
        const std::string title = std::string{name_of(key.verdict)} + ", " + name_of(key.kind) +
                                  ", " + name_of(key.cause) + ", " + Names::module_of(key.place);
        if (shown[title]++ < wanted) {
            print_example(title, example, names, out);
        }
    }
    for (const auto& [place, example] : tally.uncalled_examples) {
        const std::string title = "no call before the caller, " + Names::module_of(place);
        if (shown[title]++ < wanted) {
            print_example(title, example, names, out);
        }
    }
    for (const auto& [key, example] : tally.stop_examples) {
        const std::string title = std::string{name_of(key.reason)} + ", " + name_of(key.missing) +
                                  ", " + Names::module_of(key.place);
        if (shown[title]++ < wanted) {
            print_example(title, example, names, out);
        }
    }
}

void print_classes(const Summary& summary, std::FILE* out) {
    std::map<std::string, std::uint64_t> classes;
    for (const auto& [of, row] : summary.differences) {
        classes[of.verdict + ", " + of.kind + ", " + of.cause] += row.samples;
    }
    std::fprintf(out, "classes of difference: who is right, kind, what happened to libunwind\n");
    for (const auto& [name, samples] : classes) {
        std::fprintf(out, "  %8lu  %s\n", samples, name.c_str());
    }
}

}  // namespace

double root_percent(const Tally& tally) {
    const std::uint64_t short_copies = tally.lacking(Missing::rest) + tally.lacking(Missing::page) +
                                       tally.lacking(Missing::red_zone);
    return percent(tally.root, tally.samples - tally.no_stack - short_copies);
}

void print_report(const Tally& tally, const RunFigures& figures, std::FILE* out) {
    const Names names{places_in(tally)};
    const Summary summary = summarize(tally, names);
    print_shares(tally, figures, out);
    print_classes(summary, out);
    std::fprintf(out, "by place: the last frame that both have\n");
    for (std::size_t i = 0; i < std::min(kRowsPrinted, summary.differences.size()); ++i) {
        const auto& [of, row] = summary.differences[i];
        std::fprintf(out, "  %8lu  %-11s  %-11s  %-11s  %s %s %s\n", row.samples,
                     of.verdict.c_str(), of.kind.c_str(), of.cause.c_str(), of.module.c_str(),
                     of.function.c_str(), text_of(row.addresses).c_str());
    }
    std::fprintf(out, "not at the root: why, last frame\n");
    for (std::size_t i = 0; i < std::min(kRowsPrinted, summary.stops.size()); ++i) {
        const auto& [of, row] = summary.stops[i];
        std::fprintf(out, "  %8lu  %-17s  %-18s  %s %s %s\n", row.samples, of.reason.c_str(),
                     of.missing.c_str(), of.module.c_str(), of.function.c_str(),
                     text_of(row.addresses).c_str());
    }
    std::fprintf(out, "our frames that no call precedes: of which callee\n");
    for (const auto& [of, row] : summary.uncalled) {
        std::fprintf(out, "  %8lu  %s %s %s\n", row.samples, of.module.c_str(), of.function.c_str(),
                     text_of(row.addresses).c_str());
    }
    for (const Example& example : tally.memo_examples) {
        print_example("the memo's walk differs (shown as libunwind's)", example, names, out);
    }
    if (figures.examples != 0) {
        std::fprintf(out, "examples\n");
        print_examples(tally, figures.examples, names, out);
    }
}

void write_json(const Tally& tally, const RunFigures& figures, std::FILE* out) {
    const Names names{places_in(tally)};
    const Summary summary = summarize(tally, names);
    json root{{"command", figures.command},
              {"samples", tally.samples},
              {"lost", figures.lost},
              {"no_stack", tally.no_stack},
              {"frames", tally.frames},
              {"guessed", tally.guessed},
              {"joined", tally.joined},
              {"memo_different", tally.memo_different},
              {"root", tally.root},
              {"cut", tally.lacking(Missing::rest)},
              {"page", tally.lacking(Missing::page)},
              {"red_zone", tally.lacking(Missing::red_zone)},
              {"unexplained", tally.unexplained()}};
    for (const Verdict verdict : kVerdicts) {
        root[name_of(verdict)] = tally.with(verdict);
    }
    std::uint64_t uncalled = 0;
    for (const auto& [of, row] : summary.uncalled) {
        uncalled += row.samples;
    }
    root["uncalled"] = uncalled;
    root["differences"] = json::array();
    for (const auto& [of, row] : summary.differences) {
        root["differences"].push_back({{"verdict", of.verdict},
                                       {"kind", of.kind},
                                       {"cause", of.cause},
                                       {"module", of.module},
                                       {"function", of.function},
                                       {"samples", row.samples},
                                       {"places", row.addresses.size()},
                                       {"example", hex(*row.addresses.begin())}});
    }
    root["stops"] = json::array();
    for (const auto& [of, row] : summary.stops) {
        root["stops"].push_back({{"reason", of.reason},
                                 {"missing", of.missing},
                                 {"module", of.module},
                                 {"function", of.function},
                                 {"samples", row.samples},
                                 {"example", hex(*row.addresses.begin())}});
    }
    std::fprintf(out, "%s\n", root.dump(1, ' ', false, json::error_handler_t::replace).c_str());
}

}  // namespace sample::unwind::differential

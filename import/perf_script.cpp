#include "callgraph/categories.h"
#include "callgraph/label.h"
#include "core/text.h"
#include "import/perf_script_lines.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

using callgraph::Inlining;

constexpr std::string_view kCommandLine = "# cmdline :";

/// What our own export writes for a sample without a stack.
constexpr std::string_view kNoStack = "[no stack]";

/// Time between or beside samples, as our own export writes it.
bool is_booking(const callgraph::Function& leaf) {
    return callgraph::is_without_stack(leaf) && !callgraph::meaning_of(leaf.name).empty();
}

bool is_clock(std::string_view event) {
    return event == "cpu-clock" || event == "task-clock" || event == "wall-clock";
}

class ScriptReader {
public:
    explicit ScriptReader(const Options& options) : maker_{options} {}

    Result<callgraph::Profile> read(std::string_view text) &&;

private:
    /// False if the line has no place in such a text. `next` is the line behind it.
    bool take_line(std::string_view line, std::string_view next);
    bool take_head(std::string_view line, std::string_view next);
    void begin_sample(const PerfHead& head);
    void take_comment(std::string_view line);
    bool take_frame(std::string_view line);
    /// Without call chains the frame stands in the head; what a tracepoint says there is none.
    void take_frame_of_head();
    /// Adds the sample that the lines so far made.
    void end_sample();
    ProfileMaker::Place place_of_stack(ProfileMaker::Place category);
    /// `outer` is the next frame outwards that was not inlined; nullptr: there is none.
    FunctionId function_of(const PerfFrame& frame, const PerfFrame* outer);
    callgraph::Profile finish() &&;

    ProfileMaker maker_;
    PerfHead head_;
    bool is_in_sample_ = false;
    bool is_call_chain_ = false;     ///< Of the sample.
    bool is_booking_ = false;        ///< Of its place.
    std::vector<PerfFrame> frames_;  ///< Of the sample; the innermost first.
    std::string event_;              ///< The one that is kept; empty before the first sample.
    bool is_time_ = false;
    bool has_event_ = false;
    bool has_period_ = false;
    std::uint64_t other_events_ = 0;
    std::uint64_t other_records_ = 0;
    std::uint64_t other_fields_ = 0;
    std::uint64_t without_period_ = 0;
    bool has_frames_ = false;
    std::uint64_t without_symbol_ = 0;  ///< Frames.
};

bool ScriptReader::take_line(std::string_view line, std::string_view next) {
    if (trimmed(line).empty()) {
        end_sample();
        return true;
    }
    const bool is_indented = is_space(line.front());
    // perf pads the name of a program with spaces; a frame begins with a tab.
    if (line.front() == '\t') {
        if (!is_in_sample_ && is_perf_frame_line(line)) {
            begin_sample({});
        }
    } else if (take_head(line, next)) {
        return true;
    }
    if (line.front() == '#') {
        take_comment(line);
        return true;
    }
    return is_indented && is_in_sample_ && take_frame(line);
}

bool ScriptReader::take_head(std::string_view line, std::string_view next) {
    if (const auto whole = perf_head(line)) {
        begin_sample(*whole);
        return true;
    }
    if (line.front() == '#') {
        return false;
    }
    const PerfHead head = perf_head_in_part(line);
    const bool has_ids_and_event = head.tid != 0 && !head.event.empty() && !is_space(line.front());
    // A name or a number could be any text, but for where it stands: between samples, above a frame
    // or, where the call chain is empty, a blank line. perf ends each field with a space.
    const bool is_above_frames =
        !is_in_sample_ && (next.starts_with('\t') || (trimmed(next).empty() && line.back() == ' '));
    if (!head.has_frame && !head.is_other_record && !has_ids_and_event && !is_above_frames) {
        return false;
    }
    begin_sample(head);
    return true;
}

void ScriptReader::begin_sample(const PerfHead& head) {
    end_sample();
    frames_.clear();
    is_call_chain_ = false;
    head_ = head;
    is_in_sample_ = true;
}

void ScriptReader::take_comment(std::string_view line) {
    if (line.starts_with(kCommandLine)) {
        maker_.profile().command_line = trimmed(line.substr(kCommandLine.size()));
    }
}

bool ScriptReader::take_frame(std::string_view line) {
    // A source line stands two columns in, a frame further.
    constexpr std::string_view kSourceLine = "  ";
    const bool is_source = line.starts_with(kSourceLine) && line.size() > 2 && !is_space(line[2]);
    if (is_source) {
        take_frame_of_head();
    }
    if (is_source && !frames_.empty() && add_source_line(line, frames_.back())) {
        return true;
    }
    // Behind the frames of a call chain, which begin with tabs, other fields stand in the place of
    // the blank line.
    is_call_chain_ = is_call_chain_ || line.front() == '\t';
    if (is_call_chain_ && line.front() != '\t') {
        ++other_fields_;
        end_sample();
        return true;
    }
    const auto frame = perf_frame(line);
    if (frame) {
        frames_.push_back(*frame);
    }
    return frame.has_value();
}

void ScriptReader::take_frame_of_head() {
    if (!frames_.empty()) {
        return;
    }
    const auto frame = perf_frame(head_.rest);
    if (frame && !frame->address.empty()) {
        frames_.push_back(*frame);
    }
}

void ScriptReader::end_sample() {
    if (!std::exchange(is_in_sample_, false)) {
        return;
    }
    if (head_.is_other_record) {
        ++other_records_;
        return;
    }
    if (!has_event_) {
        has_event_ = true;
        event_ = head_.event;
        has_period_ = head_.period.has_value();
        is_time_ = has_period_ && is_clock(event_);
        maker_.profile().metric.unit = is_time_ ? "" : "counts";
    }
    if (head_.event != event_) {
        ++other_events_;
        return;
    }
    take_frame_of_head();
    if (frames_.size() == 1 && frames_[0].symbol == kNoStack) {
        frames_.clear();
    }
    has_frames_ = has_frames_ || !frames_.empty();
    without_period_ += has_period_ && !head_.period ? 1U : 0U;
    const std::uint32_t thread = maker_.thread({head_.pid, head_.tid, head_.comm, {}});
    const auto place = place_of_stack(maker_.category_of_thread(thread));
    maker_.add(place, has_period_ ? head_.period.value_or(0) : 1, is_booking_ ? 0 : 1, thread,
               head_.time_ns);
}

ProfileMaker::Place ScriptReader::place_of_stack(ProfileMaker::Place category) {
    ProfileMaker::Place place = category;
    std::uint32_t call_line = 0;
    const PerfFrame* outer = nullptr;
    is_booking_ = false;
    for (std::size_t i = frames_.size(); i-- > 0;) {
        const PerfFrame& frame = frames_[i];
        const FunctionId function = function_of(frame, outer);
        const bool is_own_line = maker_.function(function).source == frame.file;
        place = maker_.child(place, function,
                             {is_own_line ? frame.line : 0, call_line,
                              frame.is_inlined ? Inlining::all : Inlining::none});
        call_line = frame.line;
        is_booking_ = i == 0 && is_booking(maker_.function(function));
        outer = frame.is_inlined ? outer : &frame;
    }
    return place;
}

FunctionId ScriptReader::function_of(const PerfFrame& frame, const PerfFrame* outer) {
    // perf names no module behind an inlined function: it is that of the code around it.
    const bool is_in_outer =
        frame.is_inlined && outer != nullptr && outer->address == frame.address;
    FunctionKey key;
    std::string name{frame.symbol};
    if (name.empty()) {
        ++without_symbol_;
        name.append(file_name(frame.dso)).append(frame.dso.empty() ? "0x" : "+0x");
        name += frame.address;
    }
    key.name = name;
    key.module = maker_.module(is_in_outer ? outer->dso : frame.dso);
    const FunctionId id = maker_.function(key);
    callgraph::Function& function = maker_.function(id);
    if (function.source.empty()) {
        function.source = frame.file.empty() ? maker_.profile().modules[key.module].name
                                             : std::string{frame.file};
    }
    return id;
}

callgraph::Profile ScriptReader::finish() && {
    callgraph::Profile& profile = maker_.profile();
    if (!is_time_) {
        // Events that are not named may be several.
        const std::string_view weights = has_period_ ? "periods" : "samples";
        profile.event = event_.empty() ? weights : event_;
        profile.metric.unit = has_period_ ? std::string_view{profile.event} : weights;
    } else if (event_ == "task-clock") {
        profile.event = event_;
    } else {
        profile.stats.clock = event_ == "cpu-clock" ? "cpu" : "wall";
    }
    maker_.note_count(other_events_, "samples of other events than " +
                                         (event_.empty() ? "the first" : event_) +
                                         " were left out");
    maker_.note_count(other_records_,
                      "records that are no samples (PERF_RECORD_...) were left out");
    maker_.note_count(other_fields_,
                      "lines of other fields (registers, instructions) were left out");
    maker_.note_count(without_symbol_,
                      "frames have an address alone: perf script -F +sym prints names");
    if (!has_frames_) {
        profile.stats.notes.emplace_back(
            "no sample has a stack: perf script -F +ip,+sym prints them");
    }
    maker_.note_count(without_period_, "samples without a period weigh nothing");
    return std::move(maker_).finish(true);
}

Result<callgraph::Profile> ScriptReader::read(std::string_view text) && {
    Lines lines{text};
    std::string_view line;
    while (lines.next(line)) {
        if (!take_line(line, lines.peek())) {
            return lines.wrong(
                "neither the head of a sample nor a frame of one, as perf script "
                "prints them: " +
                in_quotes(line));
        }
        if (!maker_.problem().empty()) {
            return lines.wrong(maker_.problem());
        }
    }
    end_sample();
    if (!maker_.problem().empty()) {
        return lines.wrong(maker_.problem());
    }
    if (!has_event_) {
        return unexpected(ErrorCode::corrupt, "no sample in what perf script printed");
    }
    return std::move(*this).finish();
}

/// Such a line's count may be as wide as an address, and a name on it may look like one: no address
/// has sixteen decimal digits.
bool is_like_a_folded_stack(std::string_view line) {
    constexpr std::size_t kAddressDigits = 16;
    line = trimmed(line);
    const std::string_view last = line.substr(line.find_last_of(" \t") + 1);
    return to_number(last) && (last.size() >= kAddressDigits || line.find(';') < line.size());
}

}  // namespace

Result<callgraph::Profile> read_perf_script(std::string_view text, const Options& options) {
    return ScriptReader{options}.read(text);
}

bool is_perf_script(std::string_view text) {
    Lines lines{text};
    std::string_view line;
    while (lines.next(line)) {
        if (trimmed(line).empty() || line.front() == '#') {
            continue;
        }
        if (perf_head(line) || is_perf_frame_line(line) || is_perf_frame_line(lines.peek())) {
            return true;
        }
        const PerfHead head = perf_head_in_part(line);
        const bool has_ids_and_event = head.tid != 0 && !head.event.empty();
        return (head.has_frame && !is_like_a_folded_stack(line)) ||
               (has_ids_and_event && lines.peek().starts_with('\t'));
    }
    return false;
}

}  // namespace sample::imports

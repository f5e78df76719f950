#include "sampler/collector/code/jit_code.h"

#include "core/regular_file.h"
#include "core/text.h"

#include <fcntl.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace sample::collector {
namespace {

/// Samples that are drained are not older, if the machine is not past help.
constexpr std::uint64_t kPastNs = 1'000'000'000;
/// A drain takes in no more of a dump, so that nobody waits for it.
constexpr int kMostRecords = 1 << 16;

}  // namespace

JitCode::JitCode(pid_t pid, Recorder& recorder, InheritedCode inherited)
    : recorder_{recorder}, pid_{pid}, place_{pid}, inherited_{std::move(inherited)} {
    trace::Module module;
    module.kind = trace::ModuleKind::jit;
    module.path = place_.path();
    module_ = recorder_.own_module(module);
}

bool JitCode::is_dump(const std::string& path) {
    const std::string_view name = file_name(without_deleted(path));
    constexpr std::string_view kStart = "jit-";
    constexpr std::string_view kEnd = ".dump";
    return name.size() > kStart.size() + kEnd.size() && name.starts_with(kStart) &&
           name.ends_with(kEnd) &&
           std::all_of(name.begin() + kStart.size(),
                       name.end() - static_cast<std::ptrdiff_t>(kEnd.size()),
                       [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

Fd JitCode::open_dump(const Mapping& mapping) const {
    Fd file = open_map_file(pid_, mapping);
    if (!file.is_open() && place_.root().is_open()) {
        file = open_regular(
            open_in(place_.root(), std::string{without_deleted(mapping.path)}.c_str(), O_PATH));
    }
    return place_.is_trusted(file) ? std::move(file) : Fd{};
}

void JitCode::found_dump(const Mapping& mapping) {
    if (reader_ || refused_) {
        return;
    }
    Fd file = open_dump(mapping);
    if (!file.is_open()) {
        return;
    }
    auto reader = jitdump::Reader::open(file.get());
    const bool has_tick_times = reader && reader->header().has_tick_times;
    if (!reader && reader.error().code != ErrorCode::unsupported) {
        return;  // there may be more of it soon
    }
    dump_ = std::move(file);
    dump_path_ = std::string{without_deleted(mapping.path)};
    if (!reader || has_tick_times) {
        refused_ = true;
        recorder_.add_note(dump_path_ + ": not followed, for it is " +
                           (reader ? "timed by the processor's counter: have the JIT compiler use "
                                     "CLOCK_MONOTONIC"
                                   : reader.error().context));
        return;
    }
    trace::Module module;
    module.kind = trace::ModuleKind::jit;
    module.path = dump_path_;
    module.build_id = jitdump::identity_of(reader->header());
    dump_module_ = recorder_.module(module);
    reader_.emplace(std::move(*reader));
    read_on();
}

/// A forked process and its parent may write to one dump.
bool JitCode::is_own(const jitdump::Record& record) const {
    if (record.pid == static_cast<std::uint32_t>(place_.own_pid())) {
        return true;
    }
    if (inherited_.forked_ns != 0) {
        return record.time <= inherited_.forked_ns;
    }
    return record.pid == reader_->header().pid || record.pid == 0;  // 0: it does not say.
}

void JitCode::read_on() {
    if (!reader_) {
        return;
    }
    for (int i = 0; i < kMostRecords; ++i) {
        const auto record = reader_->next();
        if (!record) {
            break;
        }
        if (!is_own(*record)) {
            continue;
        }
        if (record->kind == jitdump::Kind::load) {
            history_.load(record->address, record->code_size, record->code_offset, record->time);
        } else if (record->kind == jitdump::Kind::move) {
            history_.move(record->old_address, record->address, record->code_size, record->time);
        }
    }
    const std::uint64_t now = monotonic_ns();
    history_.forget_before(now - std::min(now, kPastNs));
}

JitCode::Place JitCode::locate(Pc pc, std::uint64_t time_ns) {
    if (reader_) {
        if (const auto found = history_.find(pc.value, time_ns)) {
            return {dump_module_, found->code_offset, found->until_ns};
        }
    }
    return {module_, pc.value, JitHistory::kForever};
}

void JitCode::take_map() {
    const Fd map = place_.open();
    const bool is_trusted = place_.is_trusted(map);
    const bool is_used = is_trusted && !place_.is_stale(map);
    if (map.is_open() && !is_used) {
        recorder_.add_note(
            place_.path() + ": not used, for it " +
            (is_trusted ? "is older than process " : "does not belong to the user of process ") +
            std::to_string(pid_));
    }
    if (is_used || !inherited_.maps.empty()) {
        recorder_.keep_copy(module_, inherited_.maps, is_used ? &map : nullptr);
    } else if (!map.is_open() && dump_.is_open()) {
        // Code that was told of after it ran can be looked up there, too.
        recorder_.keep_file(module_, Fd{::fcntl(dump_.get(), F_DUPFD_CLOEXEC, 0)});
    }
}

void JitCode::finish() {
    if (finished_) {
        return;
    }
    finished_ = true;
    read_on();
    take_map();
    if (history_.late() != 0) {
        recorder_.add_note(dump_path_ + " was written late: " + std::to_string(history_.late()) +
                           " functions may have samples of the code that came to lie where they "
                           "had been");
    }
    if (history_.is_full()) {
        recorder_.add_note(dump_path_ +
                           " tells of more code than can be followed: of what came "
                           "last only the latest code at an address has a name");
    }
    if (reader_) {
        recorder_.keep_file(dump_module_, std::move(dump_));
        reader_.reset();
    }
}

}  // namespace sample::collector

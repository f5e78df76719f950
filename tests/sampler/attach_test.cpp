// The parts of attach that watch no other process: records, what samples weigh, what is mapped.
#include "sampler/attach/code_images.h"
#include "sampler/attach/code_map.h"
#include "sampler/attach/copy_size.h"
#include "sampler/attach/event_records.h"
#include "sampler/attach/event_ring.h"
#include "sampler/attach/target_process.h"
#include "sampler/attach/thread_counts.h"
#include "sampler/collector/process/proc_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sample::attach {
namespace {

/// A record as the kernel lays it out.
class Record {
public:
    explicit Record(std::uint32_t type, std::uint16_t misc = 0) {
        put(perf_event_header{type, misc, 0});
    }
    template <class Value>
    Record& put(Value value) {
        const auto* const begin = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), begin, begin + sizeof value);
        return *this;
    }
    Record& put_text(const std::string& text) {
        const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
        bytes_.insert(bytes_.end(), begin, begin + text.size());
        bytes_.resize((bytes_.size() + 8) / 8 * 8);
        return *this;
    }
    Record& put_end(std::uint32_t pid, std::uint32_t tid, std::uint64_t time_ns) {
        return put(pid).put(tid).put(time_ns);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

struct Seen {
    StackSample last;  ///< Its stack is the record's.
    std::uint64_t lost = 0;
    std::uint64_t number = 0;
    std::string text;
};

class Watcher final : public EventSink {
public:
    explicit Watcher(Seen& seen) : seen_{seen} {}

    void on_sample(const StackSample& sample) override { seen_.last = sample; }
    void on_leaving(const StackSample& sample) override {
        seen_.last = sample;
        seen_.text = "leaving";
    }
    void on_switch(const Switch& change) override {
        seen_.text = std::to_string(change.pid) + "/" + std::to_string(change.tid) +
                     (change.is_in          ? " in"
                      : change.is_preempted ? " out, ready"
                                            : " out");
        seen_.number = change.time_ns;
    }
    void on_waking(const Waking& waking) override {
        seen_.text = std::to_string(waking.woken) + " by " + std::to_string(waking.waker);
    }
    void on_new_code(const NewCode& code) override {
        seen_.text = "code " + std::string{code.path} + " of " + std::to_string(code.pid);
        seen_.number = code.start;
    }
    void on_start(pid_t parent, pid_t pid, pid_t tid, std::uint64_t time_ns) override {
        seen_.text =
            std::to_string(parent) + " made " + std::to_string(pid) + "/" + std::to_string(tid);
        seen_.number = time_ns;
    }
    void on_end(pid_t pid, pid_t tid, std::uint64_t time_ns) override {
        seen_.text = "end " + std::to_string(pid) + "/" + std::to_string(tid);
        seen_.number = time_ns;
    }
    void on_name(pid_t /*pid*/, pid_t tid, std::string_view name) override {
        seen_.text = std::to_string(tid) + " is " + std::string{name};
    }
    void on_exec(pid_t pid, std::string_view name, std::uint64_t time_ns) override {
        seen_.text = std::to_string(pid) + " runs " + std::string{name};
        seen_.number = time_ns;
    }
    void on_lost(std::uint64_t records) override { seen_.lost += records; }

private:
    Seen& seen_;
};

Seen decoded(std::span<const std::byte> record, const EventWishes& wishes = {}) {
    Seen seen;
    Watcher watcher{seen};
    decode(record, wishes, 3, watcher);
    return seen;
}

Seen decoded(const Record& record) {
    return decoded(record.bytes());
}

constexpr std::uint64_t kRegisters = 17;

Record sample_record(std::uint64_t room, std::uint64_t copied) {
    Record record{PERF_RECORD_SAMPLE};
    record.put(std::uint32_t{10}).put(std::uint32_t{11}).put(std::uint64_t{5000});
    record.put(std::uint64_t{93'000}).put(std::uint64_t{0}).put(std::uint64_t{0});
    record.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
    for (std::uint64_t reg = 0; reg < kRegisters; ++reg) {
        record.put(100 + reg);
    }
    record.put(room);
    for (std::uint64_t word = 0; word < room / 8; ++word) {
        record.put(word);
    }
    return record.put(copied);
}

TEST(EventRecords, tell_a_sample) {
    const Seen seen = decoded(sample_record(64, 24));
    EXPECT_EQ(seen.last.pid, 10);
    EXPECT_EQ(seen.last.tid, 11);
    EXPECT_EQ(seen.last.time_ns, 5000U);
    EXPECT_EQ(seen.last.ring, 3U);
    EXPECT_EQ(seen.last.counted_ns, 93'000U);
    // ax is the first that the kernel writes, and DWARF's 0; sp is its eighth, ip its ninth.
    EXPECT_EQ(seen.last.registers.value[0], 100U);
    EXPECT_EQ(seen.last.registers.sp(), 107U);
    EXPECT_EQ(seen.last.registers.pc(), 108U);
    EXPECT_EQ(seen.last.stack.size(), 24U);
    EXPECT_FALSE(seen.last.is_cut_off);
    EXPECT_EQ(time_of(sample_record(64, 24).bytes()), 5000U);
}

std::vector<std::uint64_t> kernel_frames_in(const Record& record) {
    EventWishes wishes;
    wishes.with_count = false;
    wishes.with_kernel_frames = true;
    std::vector<std::uint64_t> frames{1};
    append_kernel_frames(decoded(record.bytes(), wishes).last, frames);
    return frames;
}

TEST(EventRecords, tell_the_kernels_part_behind_the_programs) {
    constexpr std::uint64_t kLeaf = 0xffffffff81000300;
    constexpr std::uint64_t kEntry = 0xffffffff81000100;
    Record record{PERF_RECORD_SAMPLE};
    record.put(std::uint32_t{10}).put(std::uint32_t{11}).put(std::uint64_t{5000});
    record.put(std::uint64_t{3}).put(static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL));
    record.put(kLeaf).put(kEntry);
    const std::vector<std::uint64_t> whole{1, FrameAddress{ReturnAddress{kEntry}}.bits(),
                                           FrameAddress{Pc{kLeaf}}.bits()};
    EXPECT_EQ(kernel_frames_in(record), whole);

    Record in_program{PERF_RECORD_SAMPLE};
    in_program.put(std::uint32_t{10}).put(std::uint32_t{11}).put(std::uint64_t{5000});
    EXPECT_EQ(kernel_frames_in(in_program.put(std::uint64_t{0})), std::vector<std::uint64_t>{1});

    Record cut_off{PERF_RECORD_SAMPLE};
    cut_off.put(std::uint32_t{10}).put(std::uint32_t{11}).put(std::uint64_t{5000});
    EXPECT_EQ(kernel_frames_in(cut_off.put(std::uint64_t{2}).put(kLeaf)),
              std::vector<std::uint64_t>{1});
}

constexpr EventWishes kWithSwitches{
    .period_ns = 1'000'000, .with_count = false, .with_switches = true};

/// Whose third word is `which`.
Record stack_record(std::uint64_t which) {
    Record record{PERF_RECORD_SAMPLE};
    record.put(std::uint32_t{10}).put(std::uint32_t{11}).put(std::uint64_t{5000}).put(which);
    record.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
    for (std::uint64_t reg = 0; reg < kRegisters; ++reg) {
        record.put(100 + reg);
    }
    return record.put(std::uint64_t{0});
}

TEST(EventRecords, tell_a_stack_that_is_left_from_a_sample) {
    const Seen left = decoded(stack_record(1).bytes(), kWithSwitches);
    EXPECT_EQ(left.text, "leaving");
    EXPECT_EQ(left.last.tid, 11);
    EXPECT_EQ(left.last.registers.pc(), 108U);
    const Seen sampled = decoded(stack_record(1'000'000).bytes(), kWithSwitches);
    EXPECT_EQ(sampled.text, "");
    EXPECT_EQ(sampled.last.registers.pc(), 108U);
}

TEST(EventRecords, tell_switches) {
    Record in{PERF_RECORD_SWITCH};
    EXPECT_EQ(decoded(in.put_end(10, 11, 90)).text, "10/11 in");
    EXPECT_EQ(decoded(in).number, 90U);
    EXPECT_EQ(time_of(in.bytes()), 90U);
    Record out{PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT};
    EXPECT_EQ(decoded(out.put_end(10, 11, 91)).text, "10/11 out");
    Record preempted{PERF_RECORD_SWITCH_CPU_WIDE,
                     PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT};
    preempted.put(std::uint32_t{1}).put(std::uint32_t{2}).put_end(10, 11, 92);
    EXPECT_EQ(decoded(preempted).text, "10/11 out, ready");
}

std::string waking_by(std::uint8_t flags) {
    Record record{PERF_RECORD_SAMPLE};
    record.put(std::uint32_t{10}).put(std::uint32_t{11}).put(std::uint64_t{5000});
    record.put(std::uint64_t{0}).put(std::uint32_t{36}).put(std::uint16_t{375}).put(flags);
    record.put(std::uint8_t{0}).put(std::uint32_t{11}).put(std::uint64_t{0}).put(std::uint64_t{0});
    record.put(std::uint32_t{77}).put(std::uint32_t{120}).put(std::uint32_t{1});
    return decoded(record.bytes(), kWithSwitches).text;
}

TEST(EventRecords, tell_who_wakes_whom) {
    EXPECT_EQ(waking_by(0x01), "77 by 11");
    EXPECT_EQ(waking_by(0x08), "77 by 0") << "an interrupt";
    EXPECT_EQ(waking_by(0x10), "77 by 0") << "its second half";
}

TEST(EventRecords, tell_that_a_copy_is_full) {
    EXPECT_TRUE(decoded(sample_record(64, 64)).last.is_cut_off);
}

TEST(EventRecords, take_no_more_than_there_is) {
    // More copied than there was room for, and a record that ends too early.
    EXPECT_TRUE(decoded(sample_record(64, 72)).last.stack.empty());
    const Record whole = sample_record(64, 64);
    for (std::size_t size = sizeof(perf_event_header); size < whole.bytes().size(); size += 8) {
        EXPECT_TRUE(decoded(whole.bytes().first(size)).last.stack.empty()) << size;
    }
}

TEST(EventRecords, tell_threads_and_programs) {
    Record fork{PERF_RECORD_FORK};
    fork.put(std::uint32_t{10}).put(std::uint32_t{10}).put(std::uint32_t{12});
    fork.put(std::uint32_t{11}).put(std::uint64_t{77}).put_end(10, 11, 77);
    EXPECT_EQ(decoded(fork).text, "10 made 10/12");
    EXPECT_EQ(time_of(fork.bytes()), 77U);
    Record comm{PERF_RECORD_COMM};
    comm.put(std::uint32_t{10}).put(std::uint32_t{12}).put_text("worker").put_end(10, 12, 78);
    EXPECT_EQ(decoded(comm).text, "12 is worker");
    Record exec{PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC};
    exec.put(std::uint32_t{10}).put(std::uint32_t{10}).put_text("next").put_end(10, 10, 79);
    EXPECT_EQ(decoded(exec).text, "10 runs next");
    EXPECT_EQ(decoded(exec).number, 79U);
    Record code{PERF_RECORD_MMAP2};
    code.put(std::uint32_t{10}).put(std::uint32_t{10}).put(std::uint64_t{0x7000});
    code.put(std::uint64_t{0x1000}).put(std::uint64_t{0});
    code.put(std::uint64_t{0}).put(std::uint64_t{0}).put(std::uint64_t{0}).put(std::uint64_t{0});
    code.put_text("/lib/x.so").put_end(10, 10, 80);
    EXPECT_EQ(decoded(code).text, "code /lib/x.so of 10");
    EXPECT_EQ(decoded(code).number, 0x7000U);
    Record lost{PERF_RECORD_LOST};
    lost.put(std::uint64_t{1}).put(std::uint64_t{42}).put_end(10, 10, 81);
    EXPECT_EQ(decoded(lost).lost, 42U);
}

StackSample counted(pid_t tid, std::size_t ring, std::uint64_t counted_ns) {
    StackSample sample;
    sample.tid = tid;
    sample.ring = ring;
    sample.counted_ns = counted_ns;
    return sample;
}

TEST(ThreadCounts, weigh_what_a_thread_has_run_on_each_processor) {
    ThreadCounts counts{100};
    EXPECT_EQ(counts.weight_of(counted(1, 0, 100)), 100U);
    EXPECT_EQ(counts.weight_of(counted(1, 1, 130)), 130U);
    // Late: it stands for what was missed.
    EXPECT_EQ(counts.weight_of(counted(1, 0, 450)), 350U);
    EXPECT_EQ(counts.weight_of(counted(2, 0, 90)), 90U);
    counts.forget(1);
    EXPECT_EQ(counts.weight_of(counted(1, 0, 100)), 100U);
}

TEST(ThreadCounts, weigh_a_period_where_nothing_is_known) {
    ThreadCounts counts{100};
    EXPECT_EQ(counts.weight_of(counted(1, 0, 0)), 100U);
    EXPECT_EQ(counts.weight_of(counted(1, 0, 500)), 500U);
    EXPECT_EQ(counts.weight_of(counted(1, 0, 400)), 100U);
}

TEST(ThreadCounts, do_not_know_what_another_thread_had_run_that_has_the_number_by_an_exec) {
    ThreadCounts counts{100};
    EXPECT_EQ(counts.weight_of(counted(1, 0, 100)), 100U);
    counts.exec(1);
    EXPECT_EQ(counts.weight_of(counted(1, 0, 250)), 150U) << "the same thread";
    counts.forget(1);
    counts.exec(1);
    EXPECT_EQ(counts.weight_of(counted(1, 0, 9'000)), 100U);
    EXPECT_EQ(counts.weight_of(counted(1, 0, 9'110)), 110U);
    EXPECT_EQ(counts.weight_of(counted(1, 1, 7'000)), 100U);
}

/// Tells of stacks that need `bytes` each.
void tell_whole(CopySize& copies, std::uint32_t stacks, std::uint32_t bytes) {
    for (std::uint32_t stack = 0; stack < stacks; ++stack) {
        if (copies.tell(true, false)) {
            while (copies.needed() < bytes && copies.need_more()) {
            }
        }
    }
}

TEST(CopySize, becomes_what_stacks_need_and_some_to_spare) {
    CopySize copies;
    tell_whole(copies, CopySize::kFirstTry - 1, 2000);
    EXPECT_EQ(copies.change(32768, 32768), std::nullopt);
    tell_whole(copies, 1, 2000);
    const auto smaller = copies.change(32768, 32768);
    ASSERT_TRUE(smaller);
    EXPECT_GE(*smaller, 3000U);
    EXPECT_LE(*smaller, 4096U);
    tell_whole(copies, CopySize::kFirstTry, 2000);
    EXPECT_EQ(copies.change(*smaller, 32768), std::nullopt);
}

TEST(CopySize, is_the_most_again_when_a_stack_was_cut_off) {
    CopySize copies;
    tell_whole(copies, CopySize::kFirstTry, 2000);
    const std::uint32_t smaller = copies.change(32768, 32768).value_or(32768);
    EXPECT_FALSE(copies.tell(false, true));
    EXPECT_EQ(copies.change(smaller, 32768), 32768U);
    // And is not tried again soon.
    tell_whole(copies, CopySize::kFirstTry, 2000);
    EXPECT_EQ(copies.change(32768, 32768), std::nullopt);
}

TEST(CopySize, stays_the_most_where_it_is_needed) {
    CopySize copies;
    tell_whole(copies, CopySize::kFirstTry, 20000);
    EXPECT_EQ(copies.change(32768, 32768), std::nullopt);
    EXPECT_FALSE(copies.tell(false, true));
    EXPECT_EQ(copies.change(32768, 32768), std::nullopt);
}

/// This process's own code.
std::vector<collector::Mapping> own_code() {
    std::vector<collector::Mapping> mappings = collector::mappings_of(getpid());
    std::erase_if(mappings, [](const auto& mapping) { return !mapping.executable; });
    return mappings;
}

TEST(CodeMap, finds_the_modules_of_a_process) {
    CodeImages images;
    CodeMap map;
    for (const collector::Mapping& mapping : own_code()) {
        if (const auto image = images.find(getpid(), mapping); image != nullptr) {
            const auto bias = image->facts.bias_of_mapping(mapping.start, mapping.offset);
            ASSERT_TRUE(bias) << mapping.path;
            EXPECT_TRUE(map.add(image, *bias)) << mapping.path;
            EXPECT_FALSE(map.add(image, *bias)) << mapping.path;
        }
    }
    const auto here = reinterpret_cast<std::uint64_t>(&own_code);
    const auto libc = reinterpret_cast<std::uint64_t>(&std::strlen);
    EXPECT_NE(map.table().find(Pc{here}), nullptr);
    EXPECT_NE(map.table().find(Pc{libc}), nullptr);
    EXPECT_EQ(map.table().find(Pc{1}), nullptr);
    CodeMap child{map};
    EXPECT_NE(child.table().find(Pc{here}), nullptr);
    EXPECT_NE(child.table().generation(), map.table().generation());
}

TEST(CodeMap, forgets_what_lay_there_before) {
    CodeImages images;
    CodeMap map;
    const std::vector<collector::Mapping> code = own_code();
    std::vector<std::shared_ptr<const CodeImage>> files;
    for (const collector::Mapping& mapping : code) {
        const auto image = images.find(getpid(), mapping);
        if (image != nullptr && !image->is_vdso) {
            files.push_back(image);
        }
    }
    ASSERT_GE(files.size(), 2U);
    constexpr std::uint64_t kSomewhere = std::uint64_t{1} << 40U;
    EXPECT_TRUE(map.add(files[0], kSomewhere));
    EXPECT_TRUE(map.add(files[1], kSomewhere));
    ASSERT_EQ(map.loaded().size(), 1U);
    EXPECT_EQ(map.loaded()[0].image, files[1]);
}

/// How many files of a folder this process has mapped.
std::size_t mapped_files_of(const std::filesystem::path& folder) {
    std::set<std::string> files;
    for (const collector::Mapping& mapping : collector::mappings_of(getpid())) {
        if (mapping.path.starts_with(folder.string() + "/")) {
            files.insert(mapping.path);
        }
    }
    return files.size();
}

TEST(CodeImages, keep_only_so_many_files_that_nobody_runs) {
    const std::filesystem::path folder =
        std::filesystem::canonical(std::filesystem::temp_directory_path()) /
        ("sample-images-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const std::vector<collector::Mapping> code = own_code();
    const auto small = std::find_if(code.begin(), code.end(), [](const collector::Mapping& each) {
        return each.path == "[vdso]";
    });
    ASSERT_NE(small, code.end());
    CodeImages images;
    CodeMap map;
    const auto run = [&](const std::string& name) {
        collector::Mapping mapping;
        mapping.path = folder / name;
        std::ofstream{mapping.path, std::ios::binary}.write(
            reinterpret_cast<const char*>(small->start),
            static_cast<std::streamsize>(small->end - small->start));
        return images.find(getpid(), mapping);
    };
    auto used = run("in use");
    ASSERT_NE(used, nullptr);
    EXPECT_TRUE(map.add(std::move(used), 0));
    for (std::size_t i = 1; i < CodeImages::kMostKept; ++i) {
        EXPECT_NE(run(std::to_string(i)), nullptr);
    }
    images.forget_unused();
    EXPECT_EQ(mapped_files_of(folder), CodeImages::kMostKept);
    EXPECT_NE(run("one more"), nullptr);
    images.forget_unused();
    EXPECT_EQ(mapped_files_of(folder), 1U);
    EXPECT_EQ(map.loaded()[0].image->path, folder / "in use");
    std::filesystem::remove_all(folder);
}

TEST(TargetProcess, refuses_itself) {
    EXPECT_FALSE(check_target(getpid()));
    EXPECT_TRUE(check_target(getppid()));
}

TEST(TargetProcess, that_is_ending_is_no_thread_of_the_kernels) {
    std::array<int, 2> told{};
    std::array<int, 2> end{};
    ASSERT_EQ(pipe2(told.data(), O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(end.data(), O_CLOEXEC), 0);
    const pid_t maker = fork();
    if (maker == 0) {
        close(end[1]);
        const bool is_apart = unshare(CLONE_NEWPID) == 0;
        const pid_t first = is_apart ? fork() : -1;
        const pid_t second = first > 0 ? fork() : first;
        if (second == 0) {
            pause();
            _exit(0);
        }
        // It ends, has no memory any more, and waits until the other one has been asked for.
        if (second > 0 && kill(first, SIGKILL) == 0 &&
            write(told[1], &first, sizeof first) == sizeof first) {
            char any = 0;
            static_cast<void>(read(end[0], &any, 1) + waitpid(second, nullptr, 0));
        }
        _exit(first > 0 && kill(first, SIGKILL) == 0 && waitpid(first, nullptr, 0) == first ? 0
                                                                                            : 1);
    }
    close(told[1]);
    close(end[0]);
    pid_t ending = 0;
    const bool is_there = read(told[0], &ending, sizeof ending) == sizeof ending;
    while (is_there && collector::status_of(ending).find("VmSize") != std::string::npos) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    const Result<void> checked = check_target(ending);
    const bool is_kernels = collector::is_kernel_thread(ending);
    close(end[1]);
    close(told[0]);
    waitpid(maker, nullptr, 0);
    if (!is_there) {
        GTEST_SKIP() << "no namespace of process ids can be made";
    }
    EXPECT_FALSE(is_kernels);
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().context.find("has ended"), std::string::npos)
        << checked.error().context;
}

}  // namespace
}  // namespace sample::attach

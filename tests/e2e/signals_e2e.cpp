// Programs that use signals themselves, ours among them: their handlers run for their signals, ours
// for ours; nothing that they print and no way in which they end is different.
#include "each_source.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sample::e2e {
namespace {

/// A copy of a program, but that its program headers lie at its end, in a last segment of their
/// own, as tools leave them that change programs (LIEF).
void move_headers(const std::string& from, const std::string& to) {
    constexpr std::uint64_t kPage = 4096;
    std::ifstream in{from, std::ios::binary};
    std::string bytes{std::istreambuf_iterator<char>{in}, {}};
    Elf64_Ehdr head;
    std::memcpy(&head, bytes.data(), sizeof head);
    std::vector<Elf64_Phdr> headers(head.e_phnum);
    const std::size_t headers_bytes = headers.size() * sizeof(Elf64_Phdr);
    std::memcpy(headers.data(), bytes.data() + head.e_phoff, headers_bytes);
    bytes.resize((bytes.size() + kPage - 1) / kPage * kPage);
    head.e_phoff = bytes.size();
    std::uint64_t end = 0;
    for (const Elf64_Phdr& header : headers) {
        end = header.p_type == PT_LOAD ? header.p_vaddr + header.p_memsz : end;
    }
    end = (end + kPage - 1) / kPage * kPage;
    bool has_segment = false;
    for (Elf64_Phdr& header : headers) {
        const bool is_segment = header.p_type == PT_NOTE && !has_segment;  // in the place of a note
        if (is_segment || header.p_type == PT_PHDR) {
            header.p_type = is_segment ? PT_LOAD : PT_PHDR;
            header.p_flags = PF_R;
            header.p_offset = head.e_phoff;
            header.p_vaddr = header.p_paddr = end;
            header.p_filesz = header.p_memsz = headers_bytes;
            header.p_align = kPage;
            has_segment = has_segment || is_segment;
        }
    }
    std::memcpy(bytes.data(), &head, sizeof head);
    bytes.append(reinterpret_cast<const char*>(headers.data()), headers_bytes);
    std::ofstream{to, std::ios::binary} << bytes;
    std::filesystem::permissions(to, std::filesystem::perms{0755});
}

class Signals : public EachSource {
protected:
    /// The program uses the signal that this source's samples come by. Not with `thread` and
    /// `timer`: there a signal of the program's own is lost if it comes while a sample waits for
    /// the thread to run, as standard signals do not queue (docs/sampling.md).
    void expect_same_with_our_signal(const char* program, const char* mode) const {
        SCOPED_TRACE(mode);
        const bool is_perf = std::string{GetParam()} == "perf";
        expect_same({target(program), mode, is_perf ? "urg" : "trap"});
        expect_sampled();
    }
    void expect_same_and_sampled(const char* mode) const {
        SCOPED_TRACE(mode);
        expect_same({target("signal_user"), mode});
        expect_sampled();
    }
};

TEST_P(Signals, the_programs_handler_meets_its_own) {
    expect_same_with_our_signal("sigtrap_user", "handler");
    expect_same_with_our_signal("sigtrap_user", "info");
    expect_same_with_our_signal("signal_user", "sysv");
}

TEST_P(Signals, a_blocked_signal_waits_and_keeps_its_words) {
    expect_same_with_our_signal("sigtrap_user", "blocked");
    expect_same_with_our_signal("signal_user", "pending");
    expect_same_with_our_signal("signal_user", "queued");
    expect_same_with_our_signal("signal_user", "let-go");
}

TEST_P(Signals, one_that_waits_is_there_in_the_next_image) {
    expect_same_with_our_signal("signal_user", "exec");
}

TEST_P(Signals, who_waits_for_a_signal_gets_no_sample) {
    expect_same_with_our_signal("sigtrap_user", "sigwait");
    expect_same_with_our_signal("sigtrap_user", "sigtimedwait");
}

TEST_P(Signals, one_that_a_wait_opens_ends_it) {
    expect_same_with_our_signal("signal_user", "opened");
}

TEST_P(Signals, what_was_set_is_read_back) {
    expect_same_with_our_signal("sigtrap_user", "asked");
    expect_same_with_our_signal("sigtrap_user", "ignored");
}

TEST_P(Signals, no_sample_passes_for_a_signal_where_none_can_be_queued) {
    expect_same({target("wordless_signals")});
    expect_sampled();
}

TEST_P(Signals, a_handler_may_leave_by_a_jump) {
    expect_same_with_our_signal("signal_user", "jump");
}

TEST_P(Signals, the_programs_handler_runs_with_the_flags_that_it_asked_for) {
    expect_same_with_our_signal("signal_user", "restart");
    expect_same_with_our_signal("signal_user", "interrupt");
    expect_same_with_our_signal("signal_user", "deep");
}

TEST_P(Signals, a_vfork_child_changes_nothing_of_its_parents) {
    expect_same_with_our_signal("signal_user", "vfork");
}

TEST_P(Signals, a_breakpoint_instruction_is_the_programs) {
    for (const char* mode : {"int3", "int3-blocked", "int3-ignored"}) {
        expect_same_and_sampled(mode);
    }
}

TEST_P(Signals, other_timers_of_the_program_go_on) {
    expect_same_and_sampled("profiling");
    expect_same_and_sampled("alarm");
}

TEST_P(Signals, crash_handlers_say_their_words_and_the_program_dies_as_it_would) {
    expect_same_and_sampled("crash");
    expect_same_and_sampled("abort");
}

TEST_P(Signals, a_program_that_is_not_dumpable_is_sampled) {
    expect_same_and_sampled("undumpable");
}

TEST_P(Signals, an_alternate_stack_that_is_too_small_for_us_is_left_alone) {
    for (const char* bytes : {"4096", "5000", "7000", "8192"}) {
        SCOPED_TRACE(bytes);
        expect_same({target("altstack"), "around", bytes, "0.2"});
        EXPECT_GT(recorded().total_us("work_on_usual_stack"), 0);
    }
}

TEST_P(Signals, handlers_of_a_program_whose_headers_were_moved_run) {
    move_headers(target("signal_user"), file("moved"));
    const Outcome bare = run_here({file("moved"), "crash"});
    if (bare.out.empty()) {
        GTEST_SKIP() << "this kernel tells the loader another place of such headers";
    }
    expect_same({file("moved"), "crash"});
    expect_sampled();
}

SAMPLE_FOR_EACH_SOURCE(Signals);

}  // namespace
}  // namespace sample::e2e

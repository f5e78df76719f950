#include "import/import.h"
#include "import_fixture.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::imports {
namespace {

using callgraph::Inlining;
using callgraph::Profile;

constexpr const char* kTwoThreads = R"(# ========
# cmdline : /usr/bin/perf record -g ./my app
# ========
#
my app  100/101 [001] 10.000300:        200 cpu-clock:pppH: 
	            1166 inl+0x2d (inlined)
	            1166 work(int, (anonymous namespace)::T)+0x2d (/opt/my dir/app)
	            119c main+0xd (/opt/my dir/app)

my app  100/100 [000] 10.000200:        100 cpu-clock:pppH: 
	            119c main+0xd (/tmp/gone (deleted))
	ffffffff8100 [unknown] ([kernel.kallsyms])

my app  100/101 [001] 10.000100:        300 cpu-clock:pppH: 
	            119c main+0xd (/opt/my dir/app)

)";

TEST(PerfScript, keeps_threads_modules_and_inlined_frames) {
    const Profile profile = imported(kTwoThreads);
    EXPECT_EQ(profile.command_line, "/usr/bin/perf record -g ./my app");
    EXPECT_TRUE(profile.is_time());
    EXPECT_EQ(profile.stats.clock, "cpu");
    EXPECT_EQ(profile.stats.samples, 3U);
    EXPECT_EQ(profile.nodes[0].total, 600U);
    ASSERT_EQ(profile.threads.size(), 2U);
    EXPECT_EQ(profile.threads[0].tid, 101U);
    EXPECT_EQ(profile.threads[0].pid, 100U);
    EXPECT_EQ(profile.threads[0].name, "my app");
    EXPECT_EQ(profile.threads[0].process, "my app");
    EXPECT_EQ(profile.threads[0].total, 500U);
    EXPECT_EQ(profile.threads[0].samples, 2U);
    const auto& work = function_called(profile, "work(int, (anonymous namespace)::T)");
    EXPECT_EQ(work.total, 200U);
    EXPECT_EQ(profile.module_of(work).path, "/opt/my dir/app");
    EXPECT_EQ(profile.module_of(work).name, "app");
    EXPECT_EQ(work.source, "app");
    EXPECT_EQ(node_called(profile, "inl").inlining, Inlining::all);
    EXPECT_EQ(profile.module_of(function_called(profile, "inl")).path, "/opt/my dir/app");
    EXPECT_EQ(profile.module_of(function_called(profile, "[unknown]")).path, "[kernel.kallsyms]");
    EXPECT_EQ(profile.modules[3].path, "/tmp/gone (deleted)");
}

TEST(PerfScript, keeps_times_sorted_and_counted_from_the_first_begin) {
    const Profile profile = imported(kTwoThreads);
    // The earliest sample begins 300 ns before 10.000100 s.
    EXPECT_EQ(moments(profile, 0),
              (std::vector<Moment>{{"main", 300, 300}, {"inl", 200'300, 200}}));
    EXPECT_EQ(moments(profile, 1), (std::vector<Moment>{{"main", 100'300, 100}}));
    EXPECT_EQ(profile.stats.wall_ns, 200'300U);
}

TEST(PerfScript, leaves_times_out_where_nobody_asks) {
    EXPECT_FALSE(imported(kTwoThreads, {}, {}).timeline.has_value());
}

TEST(PerfScript, keeps_the_times_of_all_samples_or_none) {
    const Profile profile = imported("a 1 1.5: 3 cycles: 1 f (x)\na 1 3 cycles: 1 f (x)\n");
    EXPECT_EQ(totals(profile), (Totals{{"f", {6, 6}}}));
    EXPECT_FALSE(profile.timeline.has_value());
    EXPECT_TRUE(has_note(profile, "times were left out: 1 samples have none"));
}

TEST(PerfScript, keeps_source_lines) {
    const std::string text =
        "a 1 2.000000: 10 cpu-clock: \n"
        "\t 1166 inl+0x2d\n  b.h:2 (inlined)\n"
        "\t 1166 work+0x2d (/a)\n  a.c:3\n"
        "\t 119c main+0xd (/a)\n  ??:0\n\n";
    const Profile plain = imported(text);
    EXPECT_FALSE(plain.by_line);
    EXPECT_EQ(node_called(plain, "inl").call_line, 3U);
    EXPECT_EQ(node_called(plain, "inl").inlining, Inlining::all);
    EXPECT_EQ(node_called(plain, "work").line, 0U);
    EXPECT_EQ(function_called(plain, "inl").source, "b.h");
    EXPECT_EQ(function_called(plain, "main").source, "a");
    const Profile lines = imported(text, {}, kEverything);
    EXPECT_TRUE(lines.by_line);
    EXPECT_EQ(node_called(lines, "inl").line, 2U);
    EXPECT_EQ(node_called(lines, "work").line, 3U);
}

/// What perf prints below frames of the kernel and of files without line tables.
TEST(PerfScript, takes_source_lines_that_say_nothing_for_no_frames) {
    const Profile profile = imported(
        "a 1 2.000000: 10 cpu-clock: \n"
        "\tffffffff81000e06 vfs_read+0x2 ([kernel.kallsyms])\n"
        "  [kernel.kallsyms][ffffffff81000e06]\n"
        "\t 1166 plt+0x6 (/my prog)\n  my prog[1166]\n"
        "\t 119c main+0xd (/my prog)\n  +13\n\n");
    EXPECT_EQ(totals(profile),
              (Totals{{"main", {10, 0}}, {"plt", {10, 0}}, {"vfs_read", {10, 10}}}));
    EXPECT_EQ(function_called(profile, "vfs_read").source, "[kernel.kallsyms]");
}

TEST(PerfScript, keeps_source_lines_below_samples_without_call_chains) {
    const Profile profile = imported(
        "a 1 2.0: 10 cpu-clock:  1166 work+0x2d (/a)\n  a.c:3\n"
        "a 1 2.1: 10 cpu-clock:  ff read+0x2 ([kernel.kallsyms])\n  [kernel.kallsyms][ff]\n",
        {}, kEverything);
    EXPECT_EQ(totals(profile), (Totals{{"work", {10, 10}}, {"read", {10, 10}}}));
    EXPECT_EQ(function_called(profile, "work").source, "a.c");
    EXPECT_EQ(node_called(profile, "work").line, 3U);
}

/// `perf script --show-task-events --show-lost-events`.
TEST(PerfScript, takes_records_that_are_no_samples_for_none) {
    const Profile profile = imported(
        "bash     0 [000]     0.000000: PERF_RECORD_COMM: bash:7/7\n"
        "sh 9 [001] 1.000000: PERF_RECORD_FORK(9:9):(7:7)\n"
        "sh 9 [001] 1.000100: PERF_RECORD_COMM exec: sh:9/9\n"
        "sh 9 [001] 1.000200: PERF_RECORD_NAMESPACES 9/9 - nr_namespaces: 1\n\t\t[0/net: 3/0xf]\n"
        "sh 9 [001] 1.000300:        100 cpu-clock: \n\t 119c main+0xd (/bin/sh)\n\n"
        "sh 9 [001] 1.000400: PERF_RECORD_EXIT(9:9):(7:7)\n");
    EXPECT_EQ(totals(profile), (Totals{{"main", {100, 100}}}));
    EXPECT_TRUE(profile.is_time());
    EXPECT_EQ(profile.threads.size(), 1U);
    EXPECT_TRUE(has_note(profile, "5 records that are no samples"));
}

TEST(PerfScript, counts_events_that_are_no_clock) {
    const Profile faults = imported(
        "a 1 2.0: 11 page-faults:u: 7f28 _start+0x0 (/lib/ld.so)\n"
        "a 1 2.1: 230 page-faults:u: 7f29 [unknown] (/lib/ld.so)\n");
    EXPECT_EQ(faults.event, "page-faults");
    EXPECT_EQ(faults.metric.unit, "page-faults");
    EXPECT_EQ(totals(faults), (Totals{{"_start", {11, 11}}, {"[unknown]", {230, 230}}}));
    const Profile trace = imported(
        "perf 7 [000] 1.5: sched:sched_switch: prev_comm=perf ==> next_comm=x\n\tff f+0x1 (k)\n\n"
        "perf 7 [000] 1.6: sched:sched_switch: prev_comm=perf ==> next_comm=x\n\tff f+0x1 (k)\n");
    EXPECT_EQ(trace.event, "sched:sched_switch");
    EXPECT_EQ(trace.metric.unit, "samples");
    EXPECT_EQ(totals(trace), (Totals{{"f", {2, 2}}}));
}

TEST(PerfScript, keeps_the_first_event_and_counts_the_others) {
    const Profile profile = imported(
        "a 1 2.0: 5 cpu-clock: 1 f (x)\n"
        "a 1 2.1: 1 page-faults: 1 g (x)\n");
    EXPECT_EQ(totals(profile), (Totals{{"f", {5, 5}}}));
    EXPECT_TRUE(has_note(profile, "1 samples of other events than cpu-clock were left out"));
}

TEST(PerfScript, adds_up_what_two_kinds_of_cores_count) {
    const Profile profile = imported(
        "a 1 2.0: 5 cpu_core/cycles/P: \n\t 1 f (x)\n\n"
        "a 1 2.1: 3 cpu_atom/cycles/P: \n\t 1 f (x)\n\n"
        "a 1 2.2: 1 cpu_atom/cache-misses/: \n\t 1 f (x)\n\n");
    EXPECT_EQ(profile.event, "cycles");
    EXPECT_EQ(totals(profile), (Totals{{"f", {8, 8}}}));
    EXPECT_TRUE(has_note(profile, "1 samples of other events than cycles were left out"));
}

TEST(PerfScript, takes_what_options_of_perf_leave_out) {
    const Profile untimed =
        imported("a 12141 \n\t 1166 inl (inlined)\n\t 1166 work\n", Format::perf_script);
    EXPECT_EQ(totals(untimed), (Totals{{"work", {1, 0}}, {"inl", {1, 1}}}));
    EXPECT_EQ(untimed.metric.unit, "samples");
    EXPECT_FALSE(untimed.timeline.has_value());
    const Profile padded =
        imported("        swapper     0 [000]  1.000001:     7 cycles: \n        ff idle ([k])\n");
    EXPECT_EQ(totals(padded), (Totals{{"idle", {7, 7}}}));
    EXPECT_EQ(padded.threads[0].name, "swapper");
}

std::string twice(const std::string& text) {
    return text + text;
}

/// What perf prints of one recording with call chains, and of one without, by -F.
TEST(PerfScript, takes_heads_of_any_fields) {
    const std::string chain =
        "\n\tffffffff81d35f77 read_zero\n\t           f82ad read\n\t               0 [unknown]\n\n";
    const std::string alone = " ffffffff81d35f77 read_zero\n";
    for (const std::string head :
         {"", "prog ", "27001 ", "27001/27001 ", "prog 27001 ", "[001] ", "prog [001] ",
          "28051.127162: ", "prog 28051.127162: ", "cpu-clock: ", "prog cpu-clock: ",
          "prog 27001 [001] 28051.127162: ", "            prog ", "            dead ",
          "prog 27001 cpu-clock:                 0 ", "prog 27001 28051.127162:                0",
          "prog 2026-11-22 19:36:31.956057 28214.540505: ", "prog K     "}) {
        const Profile chains = imported(twice(head + chain));
        EXPECT_EQ(totals(chains),
                  (Totals{{"[unknown]", {2, 0}}, {"read", {2, 0}}, {"read_zero", {2, 2}}}))
            << head;
        EXPECT_EQ(totals(imported(twice(head + alone))), (Totals{{"read_zero", {2, 2}}})) << head;
    }
}

TEST(PerfScript, takes_no_part_of_a_name_for_the_event) {
    const std::string frame = "\n\t            1166 f\n\n";
    for (const std::string behind : {"", "[001] ", "1.5: ", "cycles: ", "[001] cycles: "}) {
        const std::string rest = behind + frame;
        std::string two = "nginx: worker p    12 " + rest;
        two += "redis-server 12345 " + rest;
        const Profile profile = imported(two);
        ASSERT_EQ(profile.threads.size(), 2U) << behind;
        EXPECT_EQ(profile.threads[0].name, "nginx: worker p") << behind;
        EXPECT_EQ(profile.threads[0].tid, 12U) << behind;
        EXPECT_EQ(totals(profile), (Totals{{"f", {2, 2}}})) << behind;
    }
}

/// -F comm,ip,sym: perf pads a thread's number to five columns or seven.
TEST(PerfScript, takes_no_number_at_the_end_of_a_name_for_the_thread) {
    for (const std::string behind : {"", "[001] ", "cycles: "}) {
        const std::string rest = behind + "\n\t            1166 f\n\n";
        std::string workers = "worker 3 " + rest;
        workers += "worker 4 " + rest;
        const Profile profile = imported(workers);
        ASSERT_EQ(profile.threads.size(), 2U) << behind;
        EXPECT_EQ(profile.threads[0].name, "worker 3") << behind;
        EXPECT_EQ(profile.threads[1].name, "worker 4") << behind;
    }
}

TEST(PerfScript, tells_periods_from_ids_and_weights_by_their_columns) {
    const std::string frame = "\n\t            1166 f\n\n";
    EXPECT_EQ(totals(imported("prog    2000000 " + frame)),
              (Totals{{"f", {2'000'000, 2'000'000}}}));
    EXPECT_EQ(totals(imported("   2000000 " + frame)), (Totals{{"f", {2'000'000, 2'000'000}}}));
    EXPECT_EQ(totals(imported("20000000000 " + frame)).at("f").first, 20'000'000'000U);
    const Profile ids = imported("prog 2000000 " + frame);
    EXPECT_EQ(totals(ids), (Totals{{"f", {1, 1}}}));
    EXPECT_EQ(ids.threads[0].tid, 2'000'000U);
    const Profile weights = imported("prog 2000000                5             1166 f\n");
    EXPECT_EQ(totals(weights), (Totals{{"f", {1, 1}}}));
    EXPECT_EQ(imported("prog    2000000 " + frame).metric.unit, "periods");
}

/// -F with iregs, phys_addr, srcline: behind the last frame, in the place of the blank line.
TEST(PerfScript, leaves_fields_out_that_are_no_part_of_a_stack) {
    const Profile chains = imported(
        "prog 7 \n\t            1166 f\n  a.c:3\n ABI:2    AX:0x0                 0\n"
        "prog 7 \n\t            1166 f\n  a.c:3\n ABI:2    AX:0x0                 0\n");
    EXPECT_EQ(totals(chains), (Totals{{"f", {2, 2}}}));
    EXPECT_TRUE(has_note(chains, "2 lines of other fields"));
    const Profile alone = imported(
        "prog 7             1166 f+0x1 (/a b) ABI:2    AX:0x0                 0\n"
        "prog 7             1166 f+0x2 (/a b)               0\n"
        "prog 7             1166 f\n  a.c:3 ABI:2    AX:0x0 \n");
    ASSERT_EQ(alone.functions.size(), 2U);
    EXPECT_EQ(alone.functions[0].name, "f");
    EXPECT_EQ(alone.functions[0].total, 2U);
    EXPECT_EQ(alone.functions[1].name, "f");
    EXPECT_EQ(alone.functions[1].source, "a.c");
}

TEST(PerfScript, names_frames_without_symbols_by_their_address) {
    const Profile profile =
        imported("\n\tffffffff81d35f77\n\t           f82ad (/lib/libc.so.6)\n\n");
    EXPECT_EQ(totals(profile),
              (Totals{{"libc.so.6+0xf82ad", {1, 0}}, {"0xffffffff81d35f77", {1, 1}}}));
    EXPECT_TRUE(has_note(profile, "perf script -F +sym"));
    EXPECT_TRUE(has_note(imported("prog 7 1.5: \n"), "perf script -F +ip,+sym"));
}

TEST(PerfScript, tells_modules_from_symbols_though_both_hold_parentheses) {
    for (const std::string path :
         {"/c/Program Files (x86)/Game/game.so", "/c/a (b) c (d)/e.so", "/c/(x)/ (y)",
          "/c/Program Files (x86)/game.so (deleted)", "anon_inode:[x] (y)"}) {
        for (const std::string symbol :
             {"Game::update(float)", "(anonymous namespace)::f() const", "operator() (int)"}) {
            const std::string frame =
                std::string{" 401136 "}.append(symbol).append("+0x16 (").append(path).append(")");
            for (const std::string& text :
                 {"game 100 10.1: 5 cycles: \n\t" + frame + "\n\n",
                  "game 100 10.1: 5 cycles:           " + frame.substr(1) + "               0\n"}) {
                const Profile profile = imported(text);
                ASSERT_EQ(profile.functions.size(), 1U) << text;
                EXPECT_EQ(profile.functions[0].name, symbol) << text;
                EXPECT_EQ(profile.module_of(profile.functions[0]).path, path) << text;
            }
        }
    }
    const Profile without_offset = imported(
        "game 100 10.1: 5 cycles: \n\t 40 f(int) (/c/Files (x86)/g.so)\n\t 41 (/c (d)/h.so)\n\n");
    EXPECT_EQ(without_offset.module_of(function_called(without_offset, "f(int)")).path,
              "/c/Files (x86)/g.so");
    EXPECT_EQ(without_offset.module_of(function_called(without_offset, "h.so+0x41")).path,
              "/c (d)/h.so");
}

/// Whatever stands beside it.
TEST(PerfScript, tells_ids_without_a_name_from_periods) {
    const std::string frame = "\n\t            1166 f\n\n";
    for (const std::string head : {"14633  6363.937033:    1003009 cpu-clock: ",
                                   "  14633/14633  6363.937033:    1003009 cpu-clock: ",
                                   "14633 [001]  6363.937033:    1003009 cpu-clock: ",
                                   "14633/14633 [001]  6363.937033:    1003009 cpu-clock:u: "}) {
        const Profile profile = imported(twice(head + frame));
        ASSERT_EQ(profile.threads.size(), 1U) << head;
        EXPECT_EQ(profile.threads[0].tid, 14633U) << head;
        EXPECT_EQ(profile.threads[0].name, "") << head;
        EXPECT_EQ(totals(profile), (Totals{{"f", {2'006'018, 2'006'018}}})) << head;
    }
}

TEST(PerfScript, takes_back_what_our_export_does_to_names) {
    const Profile profile = imported(
        "a 1 1.5: 3 cycles: \n\t 0 [lib.so+0x1f] (/lib.so)\n"
        "\t 0 ::(anonymous namespace)::f() (/lib.so)\n"
        "\t 0 [kernel, caller unseen] ([unknown])\n");
    EXPECT_EQ(totals(profile), (Totals{{"lib.so+0x1f", {3, 3}},
                                       {"(anonymous namespace)::f()", {3, 0}},
                                       {"[kernel, caller unseen]", {3, 0}}}));
    EXPECT_EQ(function_called(profile, "[kernel, caller unseen]").module, 0U);
}

TEST(PerfScript, takes_time_without_samples_for_none) {
    const Profile profile = imported(
        "a 1 1.5: 3 cpu-clock: \n\t 1f f (/a)\n\na 1 1.6: 4 cpu-clock: \n\t 0 [no stack] "
        "([unknown])\n"
        "\na 1 1.7: 5 cpu-clock: \n\t 0 [not sampled] ([unknown])\n");
    EXPECT_EQ(totals(profile), (Totals{{"f", {3, 3}}, {"[not sampled]", {5, 5}}}));
    EXPECT_EQ(profile.stats.samples, 2U);
}

TEST(PerfScript, takes_an_offset_off_the_module) {
    const Profile profile = imported(
        "a 1 1.5: 3 cpu-clock: \n\t 11ba f+0x1a (/tmp/p+0x11ba)\n\n"
        "a 1 1.6: 4 cpu-clock: \n\t 11b6 f+0x16 (/tmp/p+0x11b6)\n\n");
    EXPECT_EQ(totals(profile), (Totals{{"f", {7, 7}}}));
    EXPECT_EQ(profile.module_of(function_called(profile, "f")).path, "/tmp/p");
}

TEST(PerfScript, gives_functions_inlined_in_each_other_one_module) {
    const Profile profile = imported(
        "a 1 1.5: 3 cycles: \n\t 1f deep (inlined)\n"
        "\t 1f inl (inlined)\n\t 1f work (/lib.so)\n"
        "\t 2e other (inlined)\n\t 3d main (/app)\n");
    EXPECT_EQ(profile.module_of(function_called(profile, "deep")).path, "/lib.so");
    EXPECT_EQ(profile.module_of(function_called(profile, "inl")).path, "/lib.so");
    EXPECT_EQ(function_called(profile, "other").module, 0U);
}

TEST(PerfScript, groups_threads_named_alike) {
    const Profile profile = imported(
        "w-1 1 1.5: 3 cycles: 1 f (x)\nw-2 2 1.6: 4 cycles: 1 f (x)\n"
        "x264 3 1.7: 1 cycles: 1 f (x)\nw-1 4 1.8: 3 cycles: 1 f (x)\n");
    ASSERT_EQ(profile.categories.size(), 2U);
    EXPECT_EQ(profile.categories[0].name, "w");
    EXPECT_EQ(profile.node(profile.categories[0].node).total, 10U);
    EXPECT_EQ(profile.categories[1].name, "x264");
    EXPECT_EQ(profile.threads.size(), 4U);
}

TEST(PerfScript, names_threads_by_all_of_their_names) {
    const Profile profile = imported("my 12 prog 77/78 [003] 1.5: 3 cycles: 1 f (x)\n");
    EXPECT_EQ(profile.threads[0].name, "my 12 prog");
    EXPECT_EQ(profile.threads[0].tid, 78U);
    EXPECT_EQ(profile.categories[0].name, "my 12 prog");
}

TEST(PerfScript, refuses_with_the_line) {
    const auto format = Format::perf_script;
    expect_refusal("a 1 2.0: 5 cpu-clock: \n\tff f (x)\nnonsense\n", format,
                   "perf-script: line 3: neither the head of a sample nor a frame");
    expect_refusal("\tff f (x)\n", format, "line 1: neither");
    expect_refusal("# nothing\n", format, "no sample");
    expect_refusal(
        "a 1 2.0: 18446744073709551615 cycles: 1 f (x)\n"
        "a 1 2.0: 1 cycles: 1 f (x)\n",
        format, "the sum of all weights needs more than 64 bits");
}

}  // namespace
}  // namespace sample::imports

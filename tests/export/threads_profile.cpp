#include "threads_profile.h"

namespace sample::exports {

callgraph::Profile threads_profile() {
    ThreadsProfileMaker maker;
    callgraph::Profile& profile = maker.profile;
    profile.command_line = "./app --fast";
    profile.start_unix_ms = 1'700'000'000'000;
    profile.modules.push_back({"app", "/usr/bin/app", "0123abcd"});
    profile.modules.push_back({"libtwo words.so", "/opt/two words/libtwo words.so", ""});
    profile.stats.requested_hz = 1'000'000;
    profile.stats.clock = "cpu";
    profile.stats.samples = 6;
    profile.stats.lost = 3;
    profile.stats.wall_ns = 20'000'000;
    const FunctionId main = maker.function("main", "/src/main.cpp", 10, 1);
    const FunctionId run = maker.function("run(int)", "/src/run.cpp", 20, 1);
    const FunctionId work = maker.function("work<\"a\">", "/src/run.cpp", 30, 1);
    const FunctionId helper = maker.function("helper", "/src/helper.h", 0, 1);
    const FunctionId hidden = maker.function("(anonymous namespace)::hidden()", "x.so", 0, 2);
    const FunctionId offset = maker.function("libtwo words.so+0x1f", "libtwo words.so", 0, 2);
    const FunctionId before = maker.function("[before sampling]");
    const auto app = maker.category("app");
    const auto at_main = maker.child(app, main);
    const auto at_run = maker.child(at_main, run);
    const auto at_run_again = maker.child(at_run, run);
    const auto at_helper = maker.child(at_run_again, helper, {0, 21, callgraph::Inlining::all});
    const auto first = maker.thread("app", "app", 100, 100);
    maker.sample(first, 2000, maker.child(at_run, work), 1000);
    maker.sample(first, 3000, maker.child(at_run, work), 1000);
    maker.book(first, 400, maker.child(app, before), 300);
    maker.sample(first, 4100, maker.child(at_main, work), 1000);
    maker.sample(first, 9000, at_helper, 1000);
    maker.sample(first, 9500, at_main, 1000);
    const auto second = maker.thread("app", "worker 1", 100, 101);
    const auto at_hidden = maker.child(maker.category("worker"), hidden);
    maker.sample(second, 15'000'000, maker.child(at_hidden, offset), 9'000'000);
    return maker.finish();
}

}  // namespace sample::exports

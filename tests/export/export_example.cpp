// Writes a profile made by hand in any format, and what its functions' totals are: for the tests
// that ask other people's programs.
//
// usage: export_example FORMAT FILE      FORMAT as of `sample export`
//        export_example totals FILE      JSON: name, file, line, total and self a function
//
// The profile is always the same: three threads with pauses, late bookings and samples that
// overlap; recursion, functions that many callers share, inlined ones, and names that formats must
// escape.
#include "analysis/export_format.h"
#include "threads_profile.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::Profile;
using Node = ThreadsProfileMaker::Node;

constexpr std::uint64_t kPeriodNs = 1'000'000;

std::vector<FunctionId> make_functions(ThreadsProfileMaker& maker) {
    const std::vector<std::string> names{"main",
                                         "run(int, char const*)",
                                         "work<std::vector<int> >(\"quoted\", 'x')",
                                         "(anonymous namespace)::hidden(long)",
                                         "libpart two.so+0x1f",
                                         "operator()(int) const::{lambda(auto:1)#1}",
                                         "semi;colon",
                                         "back\\slash & <tags>",
                                         "\xce\xb1\xce\xb2 \xe2\x86\x92 utf-8",
                                         "malloc",
                                         "parse",
                                         "print"};
    std::vector<FunctionId> functions;
    std::uint32_t line = 0;
    for (const std::string& name : names) {
        line += 10;
        functions.push_back(maker.function(name, "/src/part.cpp", line, 1 + line % 2));
    }
    return functions;
}

/// A node for each path of a few random functions: all that may be sampled.
std::vector<Node> grow(ThreadsProfileMaker& maker, const std::vector<FunctionId>& functions,
                       Node category, std::mt19937& random) {
    std::vector<Node> nodes;
    std::vector<Node> path{category};
    while (nodes.size() < 60) {
        path.resize(path.size() > 12 ? 3 : path.size());
        path.resize(path.size() - (random() % 3 == 0 ? 0 : random() % path.size()));
        const FunctionId function =
            path.size() == 1 ? functions.front() : functions[random() % functions.size()];
        const auto inlining = random() % 5 == 0 && path.size() > 1 ? callgraph::Inlining::all
                                                                   : callgraph::Inlining::none;
        path.push_back(maker.child(path.back(), function, {0, 0, inlining}));
        nodes.push_back(path.back());
    }
    return nodes;
}

void sample_thread(ThreadsProfileMaker& maker, const std::vector<FunctionId>& functions,
                   std::uint32_t number, std::mt19937& random) {
    const std::string name = number == 0 ? "app" : "worker " + std::to_string(number);
    const Node category = maker.category(number == 0 ? "app" : "worker");
    const std::vector<Node> nodes = grow(maker, functions, category, random);
    const Node rest = maker.child(category, maker.function("[not sampled]"));
    const std::uint32_t thread = maker.thread("app", name, 4000, 4000 + number);
    std::int64_t now = 3'000'000;
    for (int i = 0; i < 400; ++i) {
        const std::uint64_t weight = kPeriodNs - 300 + random() % 600;
        now += static_cast<std::int64_t>(weight + random() % 900) - 400;
        now += random() % 50 == 0 ? 20'000'000 : 0;
        maker.sample(thread, now, nodes[random() % nodes.size()], weight);
        if (i % 100 == 3) {
            maker.book(thread, now - 2'500'000, rest, 12'345);
        }
    }
}

Profile example_profile() {
    std::mt19937 random{11};
    ThreadsProfileMaker maker;
    Profile& profile = maker.profile;
    profile.command_line = "./app --fast \"two words\"";
    profile.start_unix_ms = 1'700'000'000'000;
    profile.modules.push_back({"app", "/usr/bin/app", "0123456789abcdef"});
    profile.modules.push_back({"libpart two.so", "/opt/part two/libpart two.so", ""});
    profile.stats.requested_hz = 1000;
    profile.stats.clock = "cpu";
    profile.stats.source = "sigtrap";
    profile.stats.samples = 1200;
    profile.stats.wall_ns = 2'000'000'000;
    const std::vector<FunctionId> functions = make_functions(maker);
    for (std::uint32_t number = 0; number < 3; ++number) {
        sample_thread(maker, functions, number, random);
    }
    return maker.finish();
}

std::string totals_json(const Profile& profile) {
    nlohmann::json list = nlohmann::json::array();
    for (const callgraph::Function& function : profile.functions) {
        list.push_back({{"name", function.name},
                        {"file", function.source},
                        {"line", function.line},
                        {"total_ns", function.total},
                        {"self_ns", function.self}});
    }
    return list.dump();
}

int write(std::string_view format, const std::string& path) {
    const Profile profile = example_profile();
    std::string text;
    if (format == "totals") {
        text = totals_json(profile);
    } else {
        const auto found = analysis::find_export_format(format);
        const auto written =
            found ? (*found)->write(profile, to_string_sink(text)) : unexpected(found.error());
        if (!written) {
            std::fprintf(stderr, "%s\n", written.error().message().c_str());
            return 1;
        }
    }
    std::ofstream file{path, std::ios::binary};
    return file << text && file.flush() ? 0 : 1;
}

}  // namespace
}  // namespace sample::exports

int main(int count, char** words) {
    const std::span arguments{words, static_cast<std::size_t>(count)};
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FORMAT|totals FILE\n", arguments[0]);
        return 2;
    }
    return sample::exports::write(arguments[1], arguments[2]);
}

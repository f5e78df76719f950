// Profiles two running processes together and prints what each function of both took, inclusively:
// the example of the script profiler's own interface, by sample/profiler.hpp.
//
//     sample -- ./server & sample -- ./client &
//     two_processes client server 5
//
// The processes, by name or id, are recorded by `sample` already, each by a run of its own. C++17;
// nothing is linked. examples/two_processes.py is the same in Python.
#include "sample/profiler.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using sample::profiler::Data;
using sample::profiler::Function;
using sample::profiler::Profiler;
using sample::profiler::Result;

constexpr std::size_t kMostRows = 20;

Result find(Profiler& profiler, const std::string& process) {
    const bool is_number = process.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? profiler.find(static_cast<std::int32_t>(std::atol(process.c_str())))
                     : profiler.find(process);
}

void print_functions(const Data& data) {
    std::string problem;
    const auto info = sample::profiler::deserialize(data.json, &problem);
    if (!info) {
        std::fprintf(stderr, "%s: %s\n", data.name.c_str(), problem.c_str());
        return;
    }
    std::vector<Function> functions = info->functions;
    std::stable_sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
        return a.total_duration > b.total_duration;
    });
    functions.resize(std::min(functions.size(), kMostRows));
    std::printf("%s (%d)\n", data.name.c_str(), data.pid);
    for (const Function& function : functions) {
        std::printf("%12.2f ms  %s\n", static_cast<double>(function.total_duration) / 1000,
                    label(function).c_str());
    }
}

bool is_done(const char* process, const char* what, Result result) {
    if (result != Result::ok) {
        std::fprintf(stderr, "%s: %s: %s\n", process, what, text(result));
    }
    return result == Result::ok;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("usage: two_processes PROCESS PROCESS [SECONDS]\n", stderr);
        return 2;
    }
    const double seconds = argc > 3 ? std::atof(argv[3]) : 5;
    std::vector<Profiler> profilers(2);
    bool is_well = true;
    for (std::size_t i = 0; i < profilers.size(); ++i) {
        profilers[i].on_new_data(print_functions);
        is_well = is_well && is_done(argv[i + 1], "find", find(profilers[i], argv[i + 1]));
    }
    for (std::size_t i = 0; i < profilers.size() && is_well; ++i) {
        is_well = is_done(argv[i + 1], "start", profilers[i].start());
    }
    if (is_well) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }
    for (std::size_t i = 0; i < profilers.size() && is_well; ++i) {
        is_well = is_done(argv[i + 1], "stop", profilers[i].stop()) &&
                  is_done(argv[i + 1], "data", profilers[i].request_data());
    }
    return is_well ? 0 : 1;
}

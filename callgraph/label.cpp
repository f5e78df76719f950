#include "callgraph/label.h"

#include "core/text.h"
#include "trace/records.h"

#include <algorithm>
#include <utility>

namespace sample::callgraph {

namespace {

constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
    {trace::kNotSampled, "time that a clock measured between the samples of a thread"},
    {trace::kTooManyThreads, "time of threads that came when no more could be sampled at once"},
    {trace::kRingWorker, "CPU time of the kernel's threads that serve the program's io_uring"},
    {trace::kBeforeStart, "time before the first sample: exec, and loading the libraries"},
    {trace::kKernelUnseen, "time inside the kernel, where samples could not be taken"},
    {trace::kStackIncomplete, "the callers of stacks that broke off before their thread's start"},
    {trace::kStackTruncated, "the callers of stacks that are deeper than --max-stack"},
    {trace::kFramesElided, "the middle of stacks that are deeper than --max-stack"},
    {trace::kWaitsForProcessor, "time in which threads could have run, but no processor was free"},
    {trace::kWaitNotSeen, "time in which threads slept in a place that was not seen"},
    {trace::kSamplingThread, "CPU time of the profiler's own thread inside the program"},
    {trace::kUnknownCode, "code at addresses in no known file"},
    {trace::kJitCode, "all code made at run time"},
    {"[jit code]", "code made at run time that has no name"},
    {"[kernel]", "the kernel's own code"},
    {kMemoryName, "malloc, free and their kin, as one group"},
};

/// "run" for "pool::Worker::run": what follows the last "::" outside template arguments.
std::string_view without_scope(std::string_view name) {
    int depth = 0;
    for (std::size_t i = name.size(); i-- > 1;) {
        if (name[i] == '>') {
            ++depth;
        } else if (name[i] == '<') {
            --depth;
        } else if (depth == 0 && name[i] == ':' && name[i - 1] == ':') {
            return name.substr(i + 1);
        }
    }
    return name;
}

}  // namespace

std::string label(const Function& function) {
    if (!is_blank(function.name)) {
        return function.name;
    }
    if (is_blank(function.source)) {
        return "<anonymous>";
    }
    if (function.line == 0) {
        return function.source;
    }
    return function.source + ":" + std::to_string(function.line);
}

bool is_without_stack(const Function& function) {
    return function.module == 0 && function.source.empty() && function.name != kMemoryName &&
           function.name != trace::kUnknownCode && !function.name.starts_with(trace::kWokenBy) &&
           function.name.size() > 2 && function.name.front() == '[' && function.name.back() == ']';
}

bool is_named_by_a_runtime(const Function& function) {
    return (function.flags & (kNative | kZone)) != 0;
}

std::string_view meaning_of(std::string_view name) {
    if (name.starts_with(trace::kNotProfiled)) {
        return "time of a program without an agent: static, setuid, or started by such a one";
    }
    if (name.starts_with(trace::kWokenBy)) {
        return "time of sleeps that this thread has ended";
    }
    const auto* const found =
        std::find_if(std::begin(kMeanings), std::end(kMeanings),
                     [&](const auto& meaning) { return meaning.first == name; });
    return found == std::end(kMeanings) ? std::string_view{} : found->second;
}

bool is_named(const Function& function, std::string_view name) {
    const std::string label_text = label(function);
    const std::string_view whole = label_text;
    const std::string_view bare = whole.substr(0, whole.find('('));
    return whole == name || (!bare.empty() && (bare == name || without_scope(bare) == name));
}

}  // namespace sample::callgraph

// How long it takes to name all addresses of a recording, and how much memory: what a report of it
// costs beyond reading it. Names come from this machine's files alone, never from the recording;
// with a folder for the cache, from that where it has them. Run it in a fresh process, once to have
// the files in the page cache (and the names in the folder).
//
// usage: name_recording RECORDING [CACHE_FOLDER]
#include "analysis/symbolize_recording.h"
#include "callgraph/load_recording.h"
#include "symbolize/cache/symbol_cache.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <optional>

namespace {

long peak_kib() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

long long cpu_us() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto us = [](const timeval& time) { return time.tv_sec * 1'000'000LL + time.tv_usec; };
    return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace

int main(int count, char** words) {
    if (count != 2 && count != 3) {
        std::fprintf(stderr, "usage: analysis::name_recording RECORDING [CACHE_FOLDER]\n");
        return 2;
    }
    const auto recording = sample::callgraph::load_recording(words[1]);
    if (!recording) {
        std::fprintf(stderr, "%s\n", recording.error().message().c_str());
        return 1;
    }
    const long before_kib = peak_kib();
    const long long before_us = cpu_us();
    const auto start = std::chrono::steady_clock::now();
    std::optional<sample::symbolize::SymbolCache> cache;
    sample::analysis::NamingOptions options;
    options.from_recording = false;
    if (count == 3) {
        options.cache = &cache.emplace(words[2]);
    }
    const sample::analysis::RecordingSymbols named =
        sample::analysis::symbolize_recording(*recording, options);
    const auto took = std::chrono::steady_clock::now() - start;
    for (const std::string& problem : named.problems) {
        std::fprintf(stderr, "%s\n", problem.c_str());
    }
    std::size_t named_count = 0;
    for (std::size_t i = 0; i < named.symbols.runs.size(); ++i) {
        const auto frames = named.symbols.frames_of(i);
        named_count += !frames.empty() && named.symbols.functions[frames.back().function].origin !=
                                              sample::NameOrigin::none
                           ? 1
                           : 0;
    }
    std::printf("addresses=%zu\nnamed=%zu\nfunctions=%zu\nframes=%zu\n",
                recording->addresses().size(), named_count, named.symbols.functions.size(),
                named.symbols.frames.size());
    std::printf(
        "wall_us=%lld\ncpu_us=%lld\nbefore_kib=%ld\npeak_kib=%ld\n",
        static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()),
        cpu_us() - before_us, before_kib, peak_kib());
    return 0;
}

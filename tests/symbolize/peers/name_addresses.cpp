// Names addresses of a program as `addr2line -afiC` would print them, for comparisons with its
// peers and for timing.
//
// usage: name_addresses PROGRAM < ADDRESSES     (hexadecimal, one a line)
//        name_addresses --time PROGRAM < ADDRESSES
//
// With --time the names are not printed, but how long they took and how much memory.
#include "symbolize/symbolizer.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace sample::symbolize {
namespace {

std::vector<std::uint64_t> read_addresses() {
    std::vector<std::uint64_t> result;
    for (std::string line; std::getline(std::cin, line);) {
        result.push_back(std::stoull(line, nullptr, 16));
    }
    return result;
}

void print(const Symbols& symbols, const std::vector<std::uint64_t>& addresses) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        std::printf("0x%llx\n", static_cast<unsigned long long>(addresses[i]));
        for (const SymbolFrame& frame : symbols.frames_of(i)) {
            const FunctionSymbol& function = symbols.functions[frame.function];
            const std::string& file = symbols.files[frame.file];
            std::printf("%s\n%s:%u\n",
                        function.origin == NameOrigin::none ? "??" : function.name.c_str(),
                        file.empty() ? "??" : file.c_str(), frame.line);
        }
    }
}

long peak_kib() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

int run(const std::string& program, bool only_time) {
    const std::vector<std::uint64_t> addresses = read_addresses();
    const auto start = std::chrono::steady_clock::now();
    const ModuleSymbols named = symbolize({program, {}}, addresses);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (!named.problem.empty()) {
        std::fprintf(stderr, "%s\n", named.problem.c_str());
    }
    if (only_time) {
        std::printf("addresses=%zu\nfunctions=%zu\nframes=%zu\nseconds=%.3f\npeak_kib=%ld\n",
                    addresses.size(), named.symbols.functions.size(), named.symbols.frames.size(),
                    took.count(), peak_kib());
    } else {
        print(named.symbols, addresses);
    }
    return 0;
}

}  // namespace
}  // namespace sample::symbolize

int main(int count, char** words) {
    const bool only_time = count == 3 && std::string_view{words[1]} == "--time";
    if (count != 2 && !only_time) {
        std::fprintf(stderr, "usage: name_addresses [--time] PROGRAM < ADDRESSES\n");
        return 2;
    }
    return sample::symbolize::run(words[count - 1], only_time);
}

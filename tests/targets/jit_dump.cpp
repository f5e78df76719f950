// Two functions made at run time, one after the other at the same address, again and again, and a
// jitdump that tells when.
//
//     jit_dump FOLDER SECONDS
//
// Stats: "dumped_short" does n steps, then "dumped_long" 3n, at the very same addresses, with the
// same bytes. In every other round calls_short and calls_long call them; in between calls_either
// calls both, and they call work_for_short and work_for_long. Both have source lines: 10 where they
// begin, 11 from the loop on.
// Source: Linux tools/perf/Documentation/jitdump-specification.txt.
#include "jit.h"
#include "work.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace {

class Dump {
public:
    explicit Dump(const std::string& path)
        : fd_{open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)} {
        put32(0x4A695444);
        put32(1);
        put32(40);
        put32(EM_X86_64);
        put32(0);
        put32(static_cast<std::uint32_t>(getpid()));
        put64(targets::wall_ns());
        put64(0);
        write_out();
        // How profilers find it.
        if (mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd_, 0) == MAP_FAILED) {
            std::abort();
        }
    }

    void load(const char* name, const unsigned char* code, std::size_t code_size) {
        const auto start = reinterpret_cast<std::uint64_t>(code);
        const std::string file = "dumped.src";
        const std::string same = "\xff";
        begin(2, 16 + 16 + 2 * 17 + file.size() + same.size());
        put64(start);
        put64(2);
        put_line(start, 10, file);
        put_line(start + targets::kJitLoop, 11, same);
        begin(0, 56 + std::strlen(name) + 1 + code_size);
        put32(static_cast<std::uint32_t>(getpid()));
        put32(static_cast<std::uint32_t>(gettid()));
        put64(start);
        put64(start);
        put64(code_size);
        put64(index_++);
        bytes_.append(name, std::strlen(name) + 1);
        bytes_.append(reinterpret_cast<const char*>(code), code_size);
        write_out();
    }

private:
    void begin(std::uint32_t id, std::size_t size) {
        put32(id);
        put32(static_cast<std::uint32_t>(size));
        put64(targets::wall_ns());
    }
    void put_line(std::uint64_t address, std::uint32_t line, const std::string& file) {
        put64(address);
        put32(line);
        put32(0);
        bytes_.append(file.c_str(), file.size() + 1);
    }
    void put32(std::uint32_t value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void put64(std::uint64_t value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void write_out() {
        if (write(fd_, bytes_.data(), bytes_.size()) != static_cast<ssize_t>(bytes_.size())) {
            std::abort();
        }
        bytes_.clear();
    }

    int fd_;
    std::uint64_t index_ = 0;
    std::string bytes_;
};

}  // namespace

std::uint64_t work(std::uint64_t state, std::uint64_t steps) {
    for (; steps != 0; steps -= 256) {
        state = targets::work_unit(state);
    }
    return state;
}

TARGET_KEEP std::uint64_t work_for_short(std::uint64_t state, std::uint64_t steps) {
    return work(state, steps);
}

TARGET_KEEP std::uint64_t work_for_long(std::uint64_t state, std::uint64_t steps) {
    return work(state + 1, steps);
}

TARGET_KEEP std::uint64_t calls_short(targets::JitFunction function, std::uint64_t state,
                                      std::uint64_t steps) {
    return function(state, steps, nullptr) + 1;
}

TARGET_KEEP std::uint64_t calls_long(targets::JitFunction function, std::uint64_t state,
                                     std::uint64_t steps) {
    return function(state, steps, nullptr) + 1;
}

TARGET_KEEP std::uint64_t calls_either(targets::JitFunction function, std::uint64_t state,
                                       std::uint64_t steps, targets::JitWork work) {
    return function(state, steps, work) + 1;
}

/// About half a millisecond on average: many times between two looks at the dump.
std::uint64_t steps_of(std::uint64_t state) {
    return 256 * (1 + (state >> 40U) % 2048);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("FOLDER SECONDS");
    }
    Dump dump{std::string{argv[1]} + "/jit-" + std::to_string(getpid()) + ".dump"};
    unsigned char* const memory = targets::jit_memory(4096);
    const targets::Rounds clock{targets::Budget{}};
    const std::uint64_t end_ns = targets::seconds_to_ns(argv[2]);
    std::uint64_t state = 88172645463325252U;
    while (clock.cpu_ns() < end_ns) {
        const std::uint64_t n = steps_of(state);
        const auto compile = [&](const char* name, const auto& code) {
            const targets::JitFunction function = targets::compile_to(memory, code);
            dump.load(name, memory, sizeof code);
            return function;
        };
        state = calls_short(compile("dumped_short", targets::kJitCode), state, n);
        state = calls_long(compile("dumped_long", targets::kJitCode), state, 3 * n);
        state =
            calls_either(compile("dumped_short", targets::kJitCaller), state, n, work_for_short);
        state =
            calls_either(compile("dumped_long", targets::kJitCaller), state, 3 * n, work_for_long);
    }
    targets::consume(state);
    clock.tell_stats();
    return 0;
}

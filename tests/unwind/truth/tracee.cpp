// ptrace and /proc; the contracts are in the header.
#include "tests/unwind/truth/tracee.h"

#include <elf.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace sample::unwind::truth {

namespace {

constexpr long kBreakpoint = 0xcc;
constexpr int kNotStarted = 127;

std::string proc_path(pid_t pid, const char* name) {
    return "/proc/" + std::to_string(pid) + "/" + name;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

Result<void> request(__ptrace_request what, pid_t pid, std::uint64_t address, std::uint64_t data) {
    if (ptrace(what, pid, reinterpret_cast<void*>(address), reinterpret_cast<void*>(data)) == -1) {
        return unexpected(Error::from_errno("ptrace request " + std::to_string(what)));
    }
    return {};
}

Result<int> wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, __WALL) == -1) {
        if (errno != EINTR) {
            return unexpected(Error::from_errno("waitpid"));
        }
    }
    return status;
}

}  // namespace

Result<Tracee> Tracee::start(std::vector<std::string> command,
                             std::vector<std::string> environment) {
    const std::vector<char*> arguments = pointers_to(command);
    const std::vector<char*> variables = pointers_to(environment);
    const pid_t pid = fork();
    if (pid == -1) {
        return unexpected(Error::from_errno("fork"));
    }
    if (pid == 0) {
        // Refused in some containers; then addresses differ from run to run, nothing else.
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        execve(arguments[0], arguments.data(), variables.data());
        _exit(kNotStarted);
    }
    Tracee tracee{pid};
    const auto status = wait_for(pid);
    if (!status) {
        return unexpected(status.error());
    }
    if (!WIFSTOPPED(*status) || WSTOPSIG(*status) != SIGTRAP) {
        tracee.pid_ = -1;
        return unexpected(ErrorCode::not_found, "cannot start " + command[0]);
    }
    if (auto set = request(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL); !set) {
        return unexpected(set.error());
    }
    return tracee;
}

Tracee::Tracee(Tracee&& other) noexcept
    : pid_{std::exchange(other.pid_, -1)}, signal_{other.signal_} {}

Tracee::~Tracee() {
    if (pid_ != -1) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, __WALL);
    }
}

Result<void> Tracee::run_to(std::uint64_t address) const {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, pid_, reinterpret_cast<void*>(address), nullptr);
    if (errno != 0) {
        return unexpected(Error::from_errno("cannot read the program's entry point"));
    }
    const auto original = static_cast<std::uint64_t>(word);
    if (auto set = request(PTRACE_POKETEXT, pid_, address, (original & ~0xffULL) | kBreakpoint);
        !set) {
        return set;
    }
    if (auto run = request(PTRACE_CONT, pid_, 0, 0); !run) {
        return run;
    }
    const auto status = wait_for(pid_);
    if (!status) {
        return unexpected(status.error());
    }
    user_regs_struct values{};
    const bool is_there = WIFSTOPPED(*status) && WSTOPSIG(*status) == SIGTRAP &&
                          ptrace(PTRACE_GETREGS, pid_, nullptr, &values) == 0 &&
                          values.rip == address + 1;
    if (!is_there) {
        return unexpected(ErrorCode::not_found, "the program did not reach its entry point");
    }
    values.rip = address;
    if (auto restored = request(PTRACE_POKETEXT, pid_, address, original); !restored) {
        return restored;
    }
    return request(PTRACE_SETREGS, pid_, 0, reinterpret_cast<std::uint64_t>(&values));
}

Result<Tracee::Stop> Tracee::step() {
    const auto signal = static_cast<std::uint64_t>(std::exchange(signal_, 0));
    if (auto stepped = request(PTRACE_SINGLESTEP, pid_, 0, signal); !stepped) {
        return unexpected(stepped.error());
    }
    const auto status = wait_for(pid_);
    if (!status) {
        return unexpected(status.error());
    }
    if (WIFEXITED(*status) || WIFSIGNALED(*status)) {
        pid_ = -1;
        return WIFEXITED(*status) ? Stop{Event::exited, WEXITSTATUS(*status)}
                                  : Stop{Event::killed, WTERMSIG(*status)};
    }
    if (WSTOPSIG(*status) == SIGTRAP) {
        return Stop{};
    }
    signal_ = WSTOPSIG(*status);
    return Stop{Event::signal, signal_};
}

Result<Registers> Tracee::registers() const {
    user_regs_struct values{};
    if (ptrace(PTRACE_GETREGS, pid_, nullptr, &values) == -1) {
        return unexpected(Error::from_errno("cannot read registers"));
    }
    Registers registers;
    registers.value = {values.rax, values.rdx, values.rcx, values.rbx, values.rsi, values.rdi,
                       values.rbp, values.rsp, values.r8,  values.r9,  values.r10, values.r11,
                       values.r12, values.r13, values.r14, values.r15, values.rip};
    return registers;
}

bool Tracee::read(std::uint64_t address, std::span<std::byte> out) const {
    const iovec local{out.data(), out.size()};
    const iovec remote{reinterpret_cast<void*>(address), out.size()};
    return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(out.size());
}

std::uint64_t Tracee::auxiliary(std::uint64_t type) const {
    std::ifstream file{proc_path(pid_, "auxv"), std::ios::binary};
    Elf64_auxv_t entry{};
    while (file.read(reinterpret_cast<char*>(&entry), sizeof(entry))) {
        if (entry.a_type == type) {
            return entry.a_un.a_val;
        }
    }
    return 0;
}

std::vector<Mapping> Tracee::mappings() const {
    std::vector<Mapping> found;
    std::ifstream file{proc_path(pid_, "maps")};
    for (std::string line; std::getline(file, line);) {
        std::istringstream words{line};
        Mapping mapping;
        char dash = 0;
        std::string access;
        std::string device;
        std::string inode;
        words >> std::hex >> mapping.range.begin >> dash >> mapping.range.end >> access >>
            mapping.offset >> device >> inode >> std::ws;
        std::getline(words, mapping.path);
        mapping.writable = access.find('w') != std::string::npos;
        mapping.executable = access.find('x') != std::string::npos;
        found.push_back(std::move(mapping));
    }
    return found;
}

}  // namespace sample::unwind::truth

// Blocking calls that move much data are never short unless a signal handler has run; this program
// has none.
//
//     transfers WAY ROUNDS
//
// WAY: write, writev, pwritev2 (to a pipe), send (to a socket), read, pread, preadv2 (of
// /dev/zero), read_chk, pread_chk (as fortified programs call them), getrandom
//
// Stats: `short N of ROUNDS`, right: 0. Before each it computes for 100 µs, so that there are
// samples where the kernel's time has none. Nobody who reads slows the mover down: it moves, waits,
// moves on.
#include "work.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20U;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libc's names.
extern "C" ssize_t __read_chk(int fd, void* data, std::size_t bytes, std::size_t room);
extern "C" ssize_t __pread_chk(int fd, void* data, std::size_t bytes, off_t at, std::size_t room);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

TARGET_KEEP ssize_t move_once(std::string_view way, int to, int zero, std::vector<char>& block) {
    if (way == "writev") {
        const iovec parts[] = {{block.data(), kBytes / 2}, {block.data() + kBytes / 2, kBytes / 2}};
        return writev(to, parts, 2);
    }
    if (way == "pwritev2") {
        const iovec parts[] = {{block.data(), kBytes / 2}, {block.data() + kBytes / 2, kBytes / 2}};
        return pwritev2(to, parts, 2, -1, 0);
    }
    if (way == "send") {
        return send(to, block.data(), kBytes, 0);
    }
    if (way == "read_chk") {
        return __read_chk(zero, block.data(), kBytes, block.size());
    }
    if (way == "pread") {
        return pread(zero, block.data(), kBytes, 0);
    }
    if (way == "pread_chk") {
        return __pread_chk(zero, block.data(), kBytes, 0, block.size());
    }
    if (way == "preadv2") {
        const iovec part{block.data(), kBytes};
        return preadv2(zero, &part, 1, -1, 0);
    }
    if (way == "getrandom") {
        return getrandom(block.data(), kBytes, 0);
    }
    return way == "read" ? read(zero, block.data(), kBytes) : write(to, block.data(), kBytes);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("WAY ROUNDS");
    }
    const std::string_view way = argv[1];
    const unsigned long rounds = targets::number(argv[2]);
    std::vector<char> block(kBytes);
    int ends[2];
    if ((way == "send" ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe2(ends, O_CLOEXEC)) != 0) {
        return 2;
    }
    if (fork() == 0) {
        close(ends[1]);
        char part[16384];
        while (read(ends[0], part, sizeof part) > 0) {
        }
        _exit(0);
    }
    close(ends[0]);
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    unsigned long cut = 0;
    for (unsigned long round = 0; round < rounds; ++round) {
        targets::burn(100'000);
        cut += move_once(way, ends[1], zero, block) != static_cast<ssize_t>(kBytes) ? 1 : 0;
    }
    close(ends[1]);
    wait(nullptr);
    std::printf("short %lu of %lu\n", cut, rounds);
    return cut == 0 ? 0 : 1;
}

// A daemon's manner: closes every descriptor it did not open, then works and writes a file.
//
//     close_all FILE SECONDS
//
// Stats: `open_before=` counts descriptors above 2 found at the start (0 under a plain shell),
// `open_after=0`. FILE gets descriptor 3 and in the end holds exactly "kept\n". The work after the
// closing is in after_closing().
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

namespace {

std::uint64_t open_descriptors() {
    std::uint64_t count = 0;
    for (int fd = 3; fd < 1024; ++fd) {
        count += fcntl(fd, F_GETFD) != -1 ? 1 : 0;
    }
    return count;
}

}  // namespace

TARGET_KEEP void after_closing(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("FILE SECONDS");
    }
    targets::tell("open_before", open_descriptors());
    closefrom(3);
    targets::tell("open_after", open_descriptors());
    const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    targets::tell("file_descriptor", static_cast<std::uint64_t>(fd));
    after_closing(targets::seconds_to_ns(argv[2]));
    const bool written = write(fd, "kept\n", 5) == 5 && close(fd) == 0;
    return written ? 0 : 1;
}

// A program that ends and leaves a child running, as daemons do.
//
//     leaves_child FIFO
//
// Stats: the parent works 50 ms and ends with 0. The child holds none of 0 to 2, works 50 ms, and
// lives until FIFO, opened for reading, has a writer that closes it.
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("FIFO");
    }
    const pid_t pid = fork();
    if (pid == 0) {
        for (int fd = 0; fd < 3; ++fd) {
            close(fd);
        }
        targets::burn(50'000'000);
        const int fifo = open(argv[1], O_RDONLY | O_CLOEXEC);
        char byte = 0;
        while (read(fifo, &byte, 1) > 0) {
        }
        _exit(0);
    }
    targets::burn(50'000'000);
    targets::tell("child", static_cast<std::uint64_t>(pid));
}

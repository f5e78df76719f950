// A program that ends and leaves a child running, as daemons do.
//
//     leaves_child FIFO
//
// Stats: the child holds none of 0 to 2, works 50 ms, and lives until FIFO, opened for reading, has
// a writer that closes it. Once it has worked, the parent works as long and ends with 0.
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("FIFO");
    }
    int worked[2];
    if (pipe2(worked, O_CLOEXEC) != 0) {
        return 2;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(worked[0]);
        for (int fd = 0; fd < 3; ++fd) {
            close(fd);
        }
        targets::burn(50'000'000);
        close(worked[1]);
        const int fifo = open(argv[1], O_RDONLY | O_CLOEXEC);
        char byte = 0;
        while (read(fifo, &byte, 1) > 0) {
        }
        _exit(0);
    }
    close(worked[1]);
    char byte = 0;
    while (read(worked[0], &byte, 1) > 0) {
    }
    targets::burn(50'000'000);
    targets::tell("child", static_cast<std::uint64_t>(pid));
}

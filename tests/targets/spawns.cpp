// A child of posix_spawn, and a signal that comes while it is made.
//
//     spawns FOLDER
//
// The signal waits until libc has made the child and told its number: two FIFOs in FOLDER, which
// the child opens before its exec, and a thread that sends the signal in between see to it. Stats:
// the handler finds the number.
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

namespace {

pid_t child = 0;
volatile pid_t found = -1;

void look(int /*signal*/) {
    found = *static_cast<volatile pid_t*>(&child);
}

void make_fifo(const std::string& path) {
    unlink(path.c_str());
    if (mkfifo(path.c_str(), 0600) != 0) {
        std::perror("mkfifo");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("FOLDER");
    }
    const std::string first = std::string{argv[1]} + "/first";
    const std::string second = std::string{argv[1]} + "/second";
    struct sigaction action {};
    action.sa_handler = look;
    sigaction(SIGUSR1, &action, nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, first.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 0, second.c_str(), O_RDONLY, 0);
    int known = 0;
    for (int turn = 0; turn < 5; ++turn) {
        make_fifo(first);
        make_fifo(second);
        child = 0;
        found = -1;
        std::thread sender{[&, self = pthread_self()] {
            // Each returns when the child has come to it.
            const int in_child = open(first.c_str(), O_WRONLY | O_CLOEXEC);
            pthread_kill(self, SIGUSR1);
            const int goes_on = open(second.c_str(), O_WRONLY | O_CLOEXEC);
            close(in_child);
            close(goes_on);
        }};
        const char* words[] = {"true", nullptr};
        const int result =
            posix_spawn(&child, "/bin/true", &actions, nullptr, const_cast<char**>(words), environ);
        sender.join();
        int status = 0;
        waitpid(child, &status, 0);
        known += result == 0 && status == 0 && found == child ? 1 : 0;
        targets::burn(2'000'000);
    }
    std::printf("known: %d\n", known);
    return 0;
}

// Preloaded: libc's calls for messages fail, as those of a library may that stands before them and
// does not know the socket.
#include <sys/socket.h>

#include <cerrno>

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved.
extern "C" ssize_t recvmsg(int /*socket*/, msghdr* /*message*/, int /*flags*/) {
    errno = EBADF;
    return -1;
}

extern "C" ssize_t sendmsg(int /*socket*/, const msghdr* /*message*/, int /*flags*/) {
    errno = EBADF;
    return -1;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

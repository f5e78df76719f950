// A library that ends the program before main(), and before the agent's constructor where it is
// loaded first.
#include <unistd.h>

__attribute__((constructor)) static void end() {
    _exit(9);
}

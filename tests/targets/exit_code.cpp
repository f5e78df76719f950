// Ends with the code it is given.
//
//     exit_code N [TEXT]
//
// Stats: TEXT on stdout and on stderr, each with a newline, some work, exit code N.
#include "work.h"

int main(int argc, char** argv) {
    if (argc < 2) {
        return targets::usage("N [TEXT]");
    }
    if (argc > 2) {
        std::printf("%s\n", argv[2]);
        std::fprintf(stderr, "%s\n", argv[2]);
    }
    targets::burn(20'000'000);
    return static_cast<int>(targets::number(argv[1]));
}

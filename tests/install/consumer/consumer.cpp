// Prints the version of the headers that it was compiled with.
#include <sample/version.h>

#include <cstdio>

int main() {
    std::printf("%d.%d.%d %s\n", SAMPLE_VERSION_MAJOR, SAMPLE_VERSION_MINOR, SAMPLE_VERSION_PATCH,
                SAMPLE_VERSION);
    return 7;
}

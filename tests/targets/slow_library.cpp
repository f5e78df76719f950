// A library whose constructor takes 200 ms of CPU time.
#include "work.h"

TARGET_KEEP void work_before_main(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

namespace {

__attribute__((constructor)) void start() {
    work_before_main(200'000'000);
}

}  // namespace

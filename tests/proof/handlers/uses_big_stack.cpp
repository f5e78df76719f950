// stack: two functions whose frames fit, each alone, and do not fit together.
void outer(char* out);

namespace {

__attribute__((noinline)) void fill(char* out) {
    char frame[2500];
    asm volatile("" : : "r"(&frame) : "memory");
    *out = frame[0];
}

}  // namespace

void outer(char* out) {
    char frame[2500];
    fill(frame);
    asm volatile("" : : "r"(&frame) : "memory");
    *out = frame[1];
}

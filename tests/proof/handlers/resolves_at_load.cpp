// start-up: an ifunc, whose resolver runs in the loader.
extern "C" {
static int plain(int value) {
    return value + 1;
}
static int (*choose())(int) {
    return plain;
}
int handle(int value) __attribute__((ifunc("choose")));
}

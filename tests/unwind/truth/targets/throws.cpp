// Exceptions: thrown through frames with and without clean-up, caught, thrown again; a virtual
// call.
#include "scenes.h"

namespace {

struct Guard {
    explicit Guard(unsigned by) : by_{by} {}
    ~Guard() { sink = sink + leaf(by_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

private:
    unsigned by_;
};

struct Problem {
    unsigned code = 0;
};

struct Base {
    virtual ~Base() = default;
    virtual unsigned run(unsigned x) = 0;
};

struct Thrower : Base {
    NOINLINE unsigned run(unsigned x) override {
        if (x > 2) {
            throw Problem{x};
        }
        return leaf(x);
    }
};

NOINLINE unsigned through_clean_up(Base& base, unsigned x) {
    const Guard guard{x};
    return base.run(x) + 1;
}

NOINLINE unsigned throws_again(Base& base, unsigned x) {
    try {
        return through_clean_up(base, x);
    } catch (const Problem& problem) {
        sink = sink + problem.code;
        throw;
    }
}

}  // namespace

extern "C" void play_throws() {
    Thrower thrower;
    sink = sink + through_clean_up(thrower, 1);
    try {
        sink = sink + throws_again(thrower, 3);
        fail();
    } catch (const Problem& problem) {
        sink = sink + problem.code;
    }
}

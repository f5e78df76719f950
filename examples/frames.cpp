// A program that says what it is doing: frames, zones in them, a counter, bookmarks and messages.
//
//   sample --freq 10k --trace default -- ./frames
//   sample report --view frames
//   sample report --in-frames slowest:2%
#include "sample/trace.hpp"

#include <cmath>
#include <thread>

namespace {

SAMPLE_TRACE_COUNTER(bodies, "bodies", INTEGER);

volatile double result;

void compute(int rounds) {
    double sum = 0;
    for (int i = 0; i < rounds; ++i) {
        sum += std::sin(i);
    }
    result = sum;
}

void collide(int rounds) {
    SAMPLE_TRACE_ZONE("collide");
    compute(rounds);
}

void simulate(int frame) {
    SAMPLE_TRACE_ZONE("simulate");
    compute(20'000);
    // Each fiftieth frame looks at all pairs anew.
    collide(frame % 50 == 49 ? 200'000 : 10'000);
}

void render() {
    SAMPLE_TRACE_ZONE_COLOURED("render", "graphics", 0xff8800);
    compute(30'000);
}

void load_level() {
    SAMPLE_TRACE_THREAD_NAME("loader");
    SAMPLE_TRACE_ZONE("load level");
    compute(4'000'000);
    SAMPLE_TRACE_BOOKMARK("level %d loaded", 1);
}

void play(int frame) {
    SAMPLE_TRACE_FRAME_BEGIN(SAMPLE_TRACE_MAIN_FRAME);
    SAMPLE_TRACE_SET(bodies, 3L * frame);
    simulate(frame);
    render();
    if (frame % 50 == 49) {
        SAMPLE_TRACE_LOG("game", SAMPLE_TRACE_WARNING, "frame %d looked at all pairs", frame);
    }
    SAMPLE_TRACE_FRAME_END(SAMPLE_TRACE_MAIN_FRAME);
}

}  // namespace

int main() {
    constexpr int kFrames = 500;
    SAMPLE_TRACE_THREAD_NAME("game");
    std::thread loader{load_level};
    for (int frame = 0; frame < kFrames; ++frame) {
        play(frame);
    }
    loader.join();
    SAMPLE_TRACE_BOOKMARK("level left");
    return 0;
}

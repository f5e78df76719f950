// Multiplies small matrices, 200,000 times, by oneDNN: two tasks of ITT each. Prints the seconds,
// those of its processors, and a sum over the result.
#include <dnnl.hpp>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <vector>

// NOLINTNEXTLINE(bugprone-exception-escape): a program that ends then.
int main() {
    constexpr long kSize = 32;
    const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    const dnnl::memory::desc shape{
        {kSize, kSize}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab};
    std::vector<float> left(kSize * kSize, 1.F);
    std::vector<float> right(kSize * kSize, 2.F);
    std::vector<float> product(kSize * kSize, 0.F);
    dnnl::memory a{shape, engine, left.data()};
    dnnl::memory b{shape, engine, right.data()};
    dnnl::memory c{shape, engine, product.data()};
    dnnl::matmul multiply{{{shape, shape, shape}, engine}};
    const auto execute = [&](int times) {
        for (int i = 0; i < times; ++i) {
            multiply.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
        }
    };
    execute(1);  // It compiles itself then, which takes 50 ms.
    const std::clock_t used = std::clock();
    const auto begin = std::chrono::steady_clock::now();
    execute(200'000);
    stream.wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.6f %.6f %.0f\n", took.count(),
                static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC,
                std::accumulate(product.begin(), product.end(), 0.0));
}

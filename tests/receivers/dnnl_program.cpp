// Multiplies two matrices, five times.
#include <dnnl.hpp>

#include <cstdio>
#include <vector>

// NOLINTNEXTLINE(bugprone-exception-escape): a program that ends then.
int main() {
    constexpr long kSize = 64;
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
    for (int i = 0; i < 5; ++i) {
        multiply.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    }
    stream.wait();
    std::printf("%.0f\n", static_cast<double>(product[5]));
}

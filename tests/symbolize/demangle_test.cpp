#include "symbolize/names/demangle.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <string>

namespace sample::symbolize {
namespace {

TEST(Demangle, shows_cpp_names_with_their_arguments) {
    EXPECT_EQ(demangle("_ZN3foo3barEi"), "foo::bar(int)");
    EXPECT_EQ(demangle("_ZNK6shapes6Circle4areaEv"), "shapes::Circle::area() const");
    EXPECT_EQ(demangle("_ZN12_GLOBAL__N_110unexportedEi"),
              "(anonymous namespace)::unexported(int)");
}

TEST(Demangle, shows_parts_and_copies_of_a_function_as_clones) {
    EXPECT_EQ(demangle("_ZN3foo3barEi.cold"), "foo::bar(int) [clone .cold]");
    EXPECT_EQ(demangle("_Z3foov.constprop.0.part.1"), "foo() [clone .constprop.0] [clone .part.1]");
}

TEST(Demangle, shows_rust_names_without_their_hashes) {
    EXPECT_EQ(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
              "core::fmt::Write::write_fmt");
    EXPECT_EQ(demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$"
                       "$GT$3bar17h930b740aa94f1d3aE"),
              "<Test + 'static as foo::Bar<Test>>::bar");
    EXPECT_EQ(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
    EXPECT_EQ(demangle("_RNvMs_NtCs9ltgdHTiPiY_8allocate3vecINtB4_3VecpE3newB6_"),
              "<allocate::vec::Vec<_>>::new");
}

TEST(Demangle, shows_what_rust_v0_can_say) {
    EXPECT_EQ(demangle("_RNCNvC1a4main0"), "a::main::{closure#0}");
    EXPECT_EQ(demangle("_RNvXs_C1aNtB4_1SNtB4_1T1f"), "<a::S as a::T>::f");
    EXPECT_EQ(demangle("_RNvC1au8gdel_5qa"), "a::g\u00f6del");
    EXPECT_EQ(demangle("_RINvC1a1fKj7b_Kb1_Kc28_Kan3_E"), "a::f::<123, true, '(', -3>");
    EXPECT_EQ(demangle("_RINvC1a1fFUKCEuE"), "a::f::<unsafe extern \"C\" fn()>");
    EXPECT_EQ(demangle("_RINvC1a1fDNtB2_1TEL_E"), "a::f::<dyn a::T>");
    EXPECT_EQ(demangle("_RINvC1a1fTRL_eAhj3_SlzEE"), "a::f::<(&str, [u8; 3], [i32], !)>");
}

TEST(Demangle, shows_names_of_modules) {
    EXPECT_EQ(demangle("_ZW3net3runv"), "run@net()");
    EXPECT_EQ(demangle("_ZW3netWP3tcp3runv"), "run@net:tcp()");
}

TEST(Demangle, shows_rust_names_that_the_compiler_split) {
    EXPECT_EQ(demangle("_RNvCs1234_7mycrate3foo.cold"), "mycrate::foo [clone .cold]");
    EXPECT_EQ(demangle("_RNvCs1234_7mycrate3foo.llvm.4711"), "mycrate::foo");
    EXPECT_EQ(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.cold"),
              "core::fmt::Write::write_fmt [clone .cold]");
    EXPECT_EQ(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.4711"),
              "core::fmt::Write::write_fmt");
}

TEST(Demangle, shows_d_names) {
    EXPECT_EQ(demangle("_D8demangle4testFiZv"), "demangle.test(int)");
    EXPECT_EQ(demangle("_D3app10__T3mapTiZ3mapFNaNbiZi"), "app.map!(int).map(int)");
    EXPECT_EQ(demangle("_D3app1S6__dtorMFZv"), "app.S.~this()");
    EXPECT_EQ(demangle("_D3app3runFiZ5innerMFNaNbNiNfZv"), "app.run(int).inner()");
    EXPECT_EQ(demangle("_Dmain"), "D main");
}

TEST(Demangle, leaves_every_other_name_as_it_is) {
    for (const char* name : {"", "_", "_Z", "_R", "_D", "main", "_init", "_DYNAMIC", "_ZN", "_Z3fo",
                             "printf.cold", "$s4main3fooyyF", "_RNvC"}) {
        EXPECT_EQ(demangle(name), name);
    }
}

TEST(Demangle, gives_up_on_names_that_unfold_without_end) {
    // Each pair holds the one before it twice: 17 MB if it were printed. Every pair adds two
    // substitutions, "pair" and the pair itself: S1_ and S2_, S3_ and S4_, …
    const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string name = "_Z1fSt4pairIiiE";
    for (std::size_t i = 0; i < 18; ++i) {
        const char previous = digits.at(2 * i);
        name.append("St4pairIS").append(1, previous).append("_S").append(1, previous).append("_E");
    }
    EXPECT_EQ(demangle(name), name);
}

/// A D name whose type is an associative array from the next smaller one to that again.
std::string doubled_d_type(std::size_t times) {
    const std::string start = "_D1a";
    std::string name = start + std::string(times, 'H') + "i";
    for (std::size_t i = 0; i < times; ++i) {
        const std::size_t distance = name.size() - (start.size() + times - i);
        std::string digits{static_cast<char>('a' + distance % 26)};
        for (std::size_t rest = distance / 26; rest != 0; rest /= 26) {
            digits.insert(digits.begin(), static_cast<char>('A' + rest % 26));
        }
        name += "Q" + digits;
    }
    return name;
}

// It would take longer than the universe is old.
TEST(Demangle, gives_up_on_d_types_that_double_again_and_again) {
    EXPECT_EQ(demangle(doubled_d_type(8)), "a");
    EXPECT_EQ(demangle(doubled_d_type(100)), doubled_d_type(100));
}

TEST(Demangle, leaves_long_d_names_that_refer_back_to_types) {
    const std::string module = "_D500" + std::string(500, 'm');
    const std::string name = module + doubled_d_type(16).substr(2);
    EXPECT_EQ(demangle(name), name);
}

TEST(Demangle, survives_deep_nesting_in_d_names) {
    std::string name = "_D1aF";
    for (int i = 0; i < 30'000; ++i) {
        name += "DF";
    }
    name += "ZvZvZv";
    EXPECT_EQ(demangle(name), name);
}

TEST(Demangle, follows_references_in_d_names) {
    EXPECT_EQ(demangle("_D3app3runFS3app1SQhQjZv"), "app.run(app.S, app.S, app.S)");
    EXPECT_EQ(demangle("_D5Quick5QueryFiZv"), "Quick.Query(int)");
}

TEST(Demangle, returns_very_long_names_as_they_are) {
    const std::string name = "_Z3foo" + std::string(100'000, 'i');
    EXPECT_EQ(demangle(name), name);
}

TEST(Demangle, shows_cpp_names_of_some_kilobytes) {
    std::string name = "_Z1f";
    std::string text = "f(";
    for (int i = 0; i < 200; ++i) {
        const std::string type = "type" + std::to_string(100 + i);
        name += "PK7" + type;
        text += (i == 0 ? "" : ", ") + type + " const*";
    }
    EXPECT_EQ(demangle(name), text + ")");
}

/// What `demangle` returns on a stack of 2 MiB.
std::string demangled_on_a_small_stack(const std::string& name) {
    struct Job {
        const std::string& name;
        std::string result;
    } job{name, {}};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{2} << 20);
    pthread_t thread{};
    const auto work = [](void* opaque) -> void* {
        auto& one = *static_cast<Job*>(opaque);
        one.result = demangle(one.name);
        return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, &attributes, work, &job), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return job.result;
}

TEST(Demangle, needs_little_stack) {
    const auto repeated = [](const std::string& text, std::size_t times) {
        std::string result;
        for (std::size_t i = 0; i < times; ++i) {
            result += text;
        }
        return result;
    };
    for (const std::string& name :
         {"_Z1f" + repeated("P", 4000) + "i", "_Z1fIX" + repeated("il", 2000) + "EEvv",
          "_Z1f" + repeated("M", 4000) + "i", "_ZN" + repeated("UlN", 1300) + "1aEv",
          "_D1aF" + repeated("DF", 2000) + "ZvZvZv"}) {
        EXPECT_EQ(demangled_on_a_small_stack(name), name);
    }
}

TEST(Demangle, survives_deep_nesting) {
    const std::string name = "_Z3foo" + std::string(60'000, 'P') + "i";
    EXPECT_EQ(demangle(name), name);
}

}  // namespace
}  // namespace sample::symbolize

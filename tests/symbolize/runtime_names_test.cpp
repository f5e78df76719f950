#include "symbolize/runtime/runtime_names.h"

#include <gtest/gtest.h>

namespace sample::symbolize {
namespace {

struct Case {
    const char* given;
    const char* name;
    const char* source;
    std::uint32_t line;
};

class RuntimeNames : public testing::TestWithParam<Case> {};

TEST_P(RuntimeNames, are_readable) {
    const ReadableName name = readable_name(GetParam().given);
    EXPECT_EQ(name.name, GetParam().name);
    EXPECT_EQ(name.source, GetParam().source);
    EXPECT_EQ(name.line, GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    Python, RuntimeNames,
    testing::Values(Case{"py::fib:/home/u/a b/fib.py", "fib", "/home/u/a b/fib.py", 0},
                    Case{"py::Foo.<locals>.<lambda>:<string>", "Foo.<locals>.<lambda>", "<string>",
                         0},
                    Case{"py::a:C:\\x.py", "a", "C:\\x.py", 0}, Case{"py::a", "py::a", "", 0}));

INSTANTIATE_TEST_SUITE_P(
    V8, RuntimeNames,
    testing::Values(Case{"LazyCompile:*fib /srv/a b/fib.js:12:20", "fib", "/srv/a b/fib.js", 12},
                    Case{"JS:~Module._compile node:internal/modules/cjs/loader:1483:37",
                         "Module._compile", "node:internal/modules/cjs/loader", 1483},
                    Case{"JS:^get size file:///srv/x.mjs:3:7", "get size", "/srv/x.mjs", 3},
                    Case{"JS:+spin x.js:2:14", "spin", "x.js", 2},
                    Case{"JS:* /srv/x.js:5:1", "(anonymous)", "/srv/x.js", 5},
                    Case{"Function:fib x.js:1:1", "fib", "x.js", 1},
                    Case{"Script:~ /srv/x.js:1:1", "(script)", "/srv/x.js", 1},
                    Case{"Eval:~ /srv/x.js:1:1", "(eval)", "/srv/x.js", 1},
                    Case{"JS:*fib", "fib", "", 0}, Case{"JS:", "(anonymous)", "", 0},
                    Case{"Builtin:ArrayMap", "Builtin:ArrayMap", "", 0},
                    Case{"RegExp:^a:1:2", "RegExp:^a:1:2", "", 0}));

INSTANTIATE_TEST_SUITE_P(
    Java, RuntimeNames,
    testing::Values(Case{"LFib;::fib", "Fib.fib", "", 0},
                    Case{"Lcom/foo/Bar;::baz", "com.foo.Bar.baz", "", 0},
                    Case{"Lcom/foo/Bar;baz(I[[Ljava/lang/String;J)V",
                         "com.foo.Bar.baz(int, java.lang.String[][], long)", "", 0},
                    Case{"Lcom/foo/Bar;baz()V", "com.foo.Bar.baz()", "", 0},
                    Case{"Lcom/foo/Bar;<init>(Q)V", "com.foo.Bar.<init>", "", 0},
                    Case{"LFoo;", "LFoo;", "", 0}, Case{"L;::x", "L;::x", "", 0},
                    Case{"int Fib.fib(int)", "int Fib.fib(int)", "", 0},
                    Case{"Interpreter", "Interpreter", "", 0}));

INSTANTIATE_TEST_SUITE_P(
    Others, RuntimeNames,
    testing::Values(Case{"Program:Main (string[])", "Program:Main (string[])", "", 0},
                    Case{"_ZN3foo3barEi", "foo::bar(int)", "", 0},
                    Case{"two\nlines\tand a tab", "two lines and a tab", "", 0},
                    Case{"", "", "", 0}));

}  // namespace
}  // namespace sample::symbolize

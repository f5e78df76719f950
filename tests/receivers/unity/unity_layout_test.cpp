// The headers' layouts and values are what plug-ins were compiled with that others have built.
#include "sample/unity/IUnityLog.h"
#include "sample/unity/IUnityMemoryManager.h"
#include "sample/unity/IUnityProfiler.h"
#include "sample/unity/IUnityProfilerCallbacks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

extern "C" const std::size_t unity_layout_of_c[];
extern "C" const std::size_t unity_layout_of_c_count;

namespace sample {
namespace {

#include "tests/receivers/unity/unity_layout.inc"

TEST(UnityLayout, of_cpp_is_that_of_the_facts) {
    const std::size_t expected[] = {UNITY_LAYOUT_EXPECTED};
    const std::size_t actual[] = {UNITY_LAYOUT_ACTUAL};
    ASSERT_EQ(std::size(actual), std::size(expected));
    for (std::size_t i = 0; i < std::size(expected); ++i) {
        EXPECT_EQ(actual[i], expected[i]) << i;
    }
}

TEST(UnityLayout, of_c_is_that_of_cpp) {
    const std::size_t expected[] = {UNITY_LAYOUT_EXPECTED};
    ASSERT_EQ(unity_layout_of_c_count, std::size(expected));
    for (std::size_t i = 0; i < std::size(expected); ++i) {
        EXPECT_EQ(unity_layout_of_c[i], expected[i]) << i;
    }
}

TEST(UnityLayout, cpp_passes_guids_by_reference) {
    EXPECT_FALSE(std::is_trivially_copyable_v<UnityInterfaceGUID>);
}

TEST(UnityLayout, guids_are_those_of_the_facts) {
    EXPECT_TRUE(GetUnityInterfaceGUID<IUnityProfiler>() ==
                UnityInterfaceGUID(0x2CE79ED8316A4833, 0x87076B2013E1571F));
    EXPECT_TRUE(GetUnityInterfaceGUID<IUnityProfilerV2>() ==
                UnityInterfaceGUID(0xB957E0189CB6A30B, 0x83CE589AE85B9068));
    EXPECT_TRUE(GetUnityInterfaceGUID<IUnityProfilerCallbacks>() ==
                UnityInterfaceGUID(0x572FDB38CE3C4B1F, 0xA6071A9A7C4F52D8));
    EXPECT_TRUE(GetUnityInterfaceGUID<IUnityProfilerCallbacksV2>() ==
                UnityInterfaceGUID(0x5DEB59E88F2D4571, 0x81E8583069A5E33C));
    EXPECT_TRUE(GetUnityInterfaceGUID<IUnityLog>() ==
                UnityInterfaceGUID(0x9E7507FA5B444D5D, 0x92FB979515EA83FC));
    EXPECT_TRUE(GetUnityInterfaceGUID<IUnityMemoryManager>() ==
                UnityInterfaceGUID(0xBAF9E57C61A811EC, 0xC5A7CC7861A811EC));
}

}  // namespace
}  // namespace sample

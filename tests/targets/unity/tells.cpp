// A plug-in that says on stdout what it is told, a line a call; of markers of Unity's own only what
// happens.
#include "sample/unity/IUnityProfilerCallbacks.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

IUnityProfilerCallbacksV2* g_callbacks = nullptr;

std::string narrow(const UnityProfilerMarkerData& data) {
    std::string text;
    for (std::uint32_t i = 0; i + 1 < data.size; i += 2) {
        char16_t unit = 0;
        std::memcpy(&unit, static_cast<const char*>(data.ptr) + i, sizeof unit);
        text += unit < 0x80 ? static_cast<char>(unit) : '?';
    }
    return text;
}

template <class T>
T read_as(const UnityProfilerMarkerData& data) {
    T value{};
    std::memcpy(&value, data.ptr, sizeof value);
    return value;
}

std::string text_of(const UnityProfilerMarkerData& data) {
    switch (data.type) {
        case kUnityProfilerMarkerDataTypeInstanceId:
            return "id:" + std::to_string(read_as<std::int32_t>(data));
        case kUnityProfilerMarkerDataTypeUInt32:
            return "u32:" + std::to_string(read_as<std::uint32_t>(data));
        case kUnityProfilerMarkerDataTypeInt64:
            return "i64:" + std::to_string(read_as<std::int64_t>(data));
        case kUnityProfilerMarkerDataTypeDouble:
            return "f64:" + std::to_string(read_as<double>(data));
        case kUnityProfilerMarkerDataTypeString:
            return std::string{"s:"} + static_cast<const char*>(data.ptr);
        case kUnityProfilerMarkerDataTypeString16:
            return "s16:" + narrow(data);
        default:
            return "type" + std::to_string(data.type);
    }
}

void say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

void on_category(const UnityProfilerCategoryDesc* category, void* /*user*/) {
    char colour[16];
    std::snprintf(colour, sizeof colour, "%08" PRIx32, category->rgbaColor);
    say("category " + std::to_string(category->id) + " " + category->name + " " + colour);
}

void on_event(const UnityProfilerMarkerDesc* marker, UnityProfilerMarkerEventType type,
              std::uint16_t count, const UnityProfilerMarkerData* data, void* user) {
    const char* const words[] = {"begin", "end", "single"};
    std::string line = std::string{words[type]} + " " + marker->name;
    for (std::uint16_t i = 0; i < count; ++i) {
        line += " " + text_of(data[i]);
    }
    say(line + (user == &g_callbacks ? "" : " wrong user"));
}

void on_marker(const UnityProfilerMarkerDesc* marker, void* /*user*/) {
    say(std::string{"marker "} + marker->name + " of " + std::to_string(marker->categoryId) +
        " flags " + std::to_string(marker->flags));
    g_callbacks->RegisterMarkerEventCallback(marker, on_event, &g_callbacks);
}

void on_frame(void* /*user*/) {
    say("frame");
}

void on_thread(const UnityProfilerThreadDesc* thread, void* /*user*/) {
    say(std::string{"thread "} + thread->groupName + "/" + thread->name);
}

void on_flow(UnityProfilerFlowEventType type, std::uint32_t number, void* /*user*/) {
    say("flow " + std::to_string(type) + " " + std::to_string(number));
}

}  // namespace

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginLoad(IUnityInterfaces* interfaces) {
    g_callbacks = interfaces->Get<IUnityProfilerCallbacksV2>();
    g_callbacks->RegisterCreateCategoryCallback(on_category, nullptr);
    g_callbacks->RegisterCreateMarkerCallback(on_marker, nullptr);
    g_callbacks->RegisterFrameCallback(on_frame, nullptr);
    g_callbacks->RegisterCreateThreadCallback(on_thread, nullptr);
    g_callbacks->RegisterFlowEventCallback(on_flow, nullptr);
}

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginUnload() {
    g_callbacks->UnregisterCreateCategoryCallback(on_category, nullptr);
    g_callbacks->UnregisterCreateMarkerCallback(on_marker, nullptr);
    g_callbacks->UnregisterMarkerEventCallback(nullptr, on_event, nullptr);
    g_callbacks->UnregisterFrameCallback(on_frame, nullptr);
    g_callbacks->UnregisterCreateThreadCallback(on_thread, nullptr);
    g_callbacks->UnregisterFlowEventCallback(on_flow, nullptr);
    say("unloaded");
}

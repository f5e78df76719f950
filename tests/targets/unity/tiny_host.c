/* A second host, made of what is known of real ones alone: none of our headers. It takes one
 * callback of each kind, and a GUID by reference, as a player that is built from C++ does.
 *
 * usage: unity_tiny_host PLUGIN [v1] */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct guid {
    uint64_t high;
    uint64_t low;
};
struct marker {
    const void* callback;
    uint32_t id;
    uint16_t flags;
    uint16_t category;
    const char* name;
    const void* metadata;
};
struct data {
    uint8_t type;
    uint8_t reserved0;
    uint16_t reserved1;
    uint32_t size;
    const void* ptr;
};
struct category {
    uint16_t id;
    uint16_t reserved;
    uint32_t colour;
    const char* name;
};
struct thread {
    uint64_t id;
    const char* group;
    const char* name;
};

typedef void (*category_callback)(const struct category*, void*);
typedef void (*marker_callback)(const struct marker*, void*);
typedef void (*event_callback)(const struct marker*, uint16_t, uint16_t, const struct data*, void*);
typedef void (*frame_callback)(void*);
typedef void (*thread_callback)(const struct thread*, void*);
typedef void (*flow_callback)(uint8_t, uint32_t, void*);

enum { MARKERS = 5 };
static struct marker s_markers[MARKERS] = {{0, 0, 0, 20, "PlayerLoop", 0},
                                           {0, 1, 2, 1, "Profiler.Default", 0},
                                           {0, 2, 0, 17, "GC.Alloc", 0},
                                           {0, 3, 128, 16, "Draw Calls", 0},
                                           {0, 4, 0, 5, "Physics.Step", 0}};
static event_callback s_events[MARKERS];
static void* s_users[MARKERS];
static marker_callback s_on_marker;
static frame_callback s_on_frame;
static flow_callback s_on_flow;
static int s_registered;

static int register_category(category_callback callback, void* user) {
    static const struct category all[] = {
        {0, 0, 0x11223344, "Render"}, {1, 0, 0x0000ff00, "Scripts"}, {5, 0, 0xabcdefff, "Physics"}};
    unsigned i;
    ++s_registered;
    for (i = 0; i < 3; ++i) {
        callback(&all[i], user);
    }
    return 0;
}
static int register_marker(marker_callback callback, void* user) {
    int i;
    ++s_registered;
    s_on_marker = callback;
    for (i = 0; i < MARKERS; ++i) {
        callback(&s_markers[i], user);
    }
    return 0;
}
static int register_event(const struct marker* marker, event_callback callback, void* user) {
    ++s_registered;
    s_events[marker->id] = callback;
    s_users[marker->id] = user;
    return 0;
}
static int unregister_event(const struct marker* marker, event_callback callback, void* user) {
    int i;
    for (i = 0; i < MARKERS; ++i) {
        if ((marker == 0 || marker == &s_markers[i]) && s_events[i] == callback &&
            ((marker == 0 && user == 0) || s_users[i] == user)) {
            s_events[i] = 0;
            --s_registered;
        }
    }
    return 0;
}
static int register_frame(frame_callback callback, void* user) {
    (void)user;
    ++s_registered;
    s_on_frame = callback;
    return 0;
}
static int register_thread(thread_callback callback, void* user) {
    struct thread own;
    own.id = (uint64_t)pthread_self();
    own.group = "Player";
    own.name = "UnityMain";
    ++s_registered;
    callback(&own, user);
    return 0;
}
static int register_flow(flow_callback callback, void* user) {
    (void)user;
    ++s_registered;
    s_on_flow = callback;
    return 0;
}
static int unregister(void* callback, void* user) {
    (void)callback;
    (void)user;
    --s_registered;
    return 0;
}

static void* s_table[12] = {
    (void*)register_category, (void*)unregister,       (void*)register_marker, (void*)unregister,
    (void*)register_event,    (void*)unregister_event, (void*)register_frame,  (void*)unregister,
    (void*)register_thread,   (void*)unregister,       (void*)register_flow,   (void*)unregister};
static int s_is_v1;

static void* get(uint64_t high, uint64_t low) {
    if (high == 0x572FDB38CE3C4B1FULL && low == 0xA6071A9A7C4F52D8ULL) {
        return s_table;
    }
    if (!s_is_v1 && high == 0x5DEB59E88F2D4571ULL && low == 0x81E8583069A5E33CULL) {
        return s_table;
    }
    return 0;
}
static void* get_by_reference(const struct guid* guid) {
    return get(guid->high, guid->low);
}

static void emit(int marker, uint16_t type, uint16_t count, const struct data* data) {
    if (s_events[marker] != 0) {
        s_events[marker](&s_markers[marker], type, count, data, s_users[marker]);
    }
}

static void play_frame(int number) {
    static const uint16_t text[] = {'M', 'y', ' ', 0x00e4, 0xd83d, 0xde00};
    const int32_t instance = 7;
    const uint32_t category = 1;
    const int64_t bytes = 1000;
    const int32_t calls = number;
    struct data data[3];
    memset(data, 0, sizeof data);
    if (s_on_frame != 0) {
        s_on_frame(0);
    }
    emit(0, 0, 0, 0);
    data[0].type = 1;
    data[0].size = sizeof instance;
    data[0].ptr = &instance;
    data[1].type = 9;
    data[1].size = sizeof text;
    data[1].ptr = text;
    data[2].type = 3;
    data[2].size = sizeof category;
    data[2].ptr = &category;
    emit(1, 0, 3, data);
    emit(1, 1, 0, 0);
    emit(4, 0, 0, 0);
    if (s_on_flow != 0) {
        s_on_flow(0, (uint32_t)number + 1, 0);
    }
    emit(4, 1, 0, 0);
    if (s_on_flow != 0) {
        s_on_flow(2, (uint32_t)number + 1, 0);
    }
    memset(data, 0, sizeof data);
    data[0].type = 4;
    data[0].size = sizeof bytes;
    data[0].ptr = &bytes;
    emit(2, 2, 1, data);
    data[0].type = 2;
    data[0].size = sizeof calls;
    data[0].ptr = &calls;
    emit(3, 2, 1, data);
    emit(0, 1, 0, 0);
}

int main(int count, char** words) {
    void* interfaces[4];
    void* plugin = count > 1 ? dlopen(words[1], RTLD_NOW) : 0;
    void (*load)(void*);
    void (*unload)(void);
    int i;
    if (plugin == 0) {
        fprintf(stderr, "%s\n", count > 1 ? dlerror() : "usage: unity_tiny_host PLUGIN [v1]");
        return 2;
    }
    s_is_v1 = count > 2 && strcmp(words[2], "v1") == 0;
    interfaces[0] = (void*)get_by_reference;
    interfaces[1] = 0;
    interfaces[2] = (void*)get;
    interfaces[3] = 0;
    *(void**)&load = dlsym(plugin, "UnityPluginLoad");
    *(void**)&unload = dlsym(plugin, "UnityPluginUnload");
    load(interfaces);
    printf("registered %d\n", s_registered);
    emit(0, 1, 0, 0); /* Of a zone that had begun before. */
    for (i = 0; i < 10; ++i) {
        play_frame(i);
    }
    unload();
    printf("left %d\n", s_registered);
    return 0;
}

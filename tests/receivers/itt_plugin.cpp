// A library with an ITT of its own, which says a task.
#include "itt_static.h"

extern "C" __attribute__((visibility("default"))) void say_in_plugin() {
    static itt_static::Part itt;
    itt_static::Text name{"in the plugin", nullptr, 0, nullptr, nullptr};
    itt_static::Domain domain{1, "plugin", nullptr, 0, nullptr, nullptr};
    // Made before the library is there, as the static part itself does.
    itt.global.domains = &domain;
    itt.global.texts = &name;
    itt.load();
    const itt_static::Id none = {0, 0, 0};
    itt.call("task_begin", static_cast<const itt_static::Domain*>(&domain), none, none, &name);
    itt.call("task_end", static_cast<const itt_static::Domain*>(&domain));
    itt.global.domains = nullptr;
}

// A plug-in that lends what it was given to whoever has loaded it.
#include "sample/unity/IUnityInterface.h"

extern "C" UNITY_INTERFACE_EXPORT IUnityInterfaces* lent_interfaces;
IUnityInterfaces* lent_interfaces = nullptr;

extern "C" void UNITY_INTERFACE_EXPORT UnityPluginLoad(IUnityInterfaces* interfaces) {
    lent_interfaces = interfaces;
}

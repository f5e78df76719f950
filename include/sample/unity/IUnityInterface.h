/* The registry by which a host and its native plug-ins give each other tables of functions: names,
 * values and layouts of Unity's low-level native plug-in interface. C and C++. docs/unity.md.
 *
 * A plug-in exports UnityPluginLoad(IUnityInterfaces*) and UnityPluginUnload(), either or both. An
 * interface is a plain struct of C functions without an object, and has a GUID.
 *
 * In C++ a GUID has a copy constructor, so it is passed by reference; in C by value. Hosts take
 * both. The functions ...Split mean the same to everybody. */
#ifndef SAMPLE_UNITY_IUNITYINTERFACE_H
#define SAMPLE_UNITY_IUNITYINTERFACE_H

/* Names that are not ours, and C: NOLINTBEGIN(readability-identifier-naming,
 * modernize-use-using, cppcoreguidelines-*, hicpp-*, google-*, bugprone-macro-parentheses) */

#define UNITY_INTERFACE_API
#define UNITY_INTERFACE_EXPORT __attribute__((visibility("default")))

struct UnityInterfaceGUID {
#ifdef __cplusplus
    UnityInterfaceGUID(unsigned long long high, unsigned long long low)
        : m_GUIDHigh(high), m_GUIDLow(low) {}
    UnityInterfaceGUID(const UnityInterfaceGUID& other)
        : m_GUIDHigh(other.m_GUIDHigh), m_GUIDLow(other.m_GUIDLow) {}
    ~UnityInterfaceGUID() = default;
    UnityInterfaceGUID& operator=(const UnityInterfaceGUID& other) = default;

    bool Equals(const UnityInterfaceGUID& other) const {
        return m_GUIDHigh == other.m_GUIDHigh && m_GUIDLow == other.m_GUIDLow;
    }
    bool LessThan(const UnityInterfaceGUID& other) const {
        return m_GUIDHigh < other.m_GUIDHigh ||
               (m_GUIDHigh == other.m_GUIDHigh && m_GUIDLow < other.m_GUIDLow);
    }
#endif
    unsigned long long m_GUIDHigh;
    unsigned long long m_GUIDLow;
};
typedef struct UnityInterfaceGUID UnityInterfaceGUID;

#ifdef __cplusplus
inline bool operator==(const UnityInterfaceGUID& left, const UnityInterfaceGUID& right) {
    return left.Equals(right);
}
inline bool operator!=(const UnityInterfaceGUID& left, const UnityInterfaceGUID& right) {
    return !left.Equals(right);
}
inline bool operator<(const UnityInterfaceGUID& left, const UnityInterfaceGUID& right) {
    return left.LessThan(right);
}

/* UNITY_DECLARE_INTERFACE(IMine) { ... };  UNITY_REGISTER_INTERFACE_GUID(high, low, IMine) */
struct IUnityInterface {};
template <typename Type>
inline UnityInterfaceGUID GetUnityInterfaceGUID();

#define UNITY_DECLARE_INTERFACE(NAME) struct NAME : IUnityInterface
#define UNITY_REGISTER_INTERFACE_GUID(HIGH, LOW, TYPE)        \
    template <>                                               \
    inline UnityInterfaceGUID GetUnityInterfaceGUID<TYPE>() { \
        return UnityInterfaceGUID(HIGH##ULL, LOW##ULL);       \
    }
#define UNITY_REGISTER_INTERFACE_GUID_IN_NAMESPACE(HIGH, LOW, TYPE, NAMESPACE) \
    UNITY_REGISTER_INTERFACE_GUID(HIGH, LOW, NAMESPACE::TYPE)
#define UNITY_GET_INTERFACE_GUID(TYPE) GetUnityInterfaceGUID<TYPE>()
#else
typedef void IUnityInterface;

#define UNITY_DECLARE_INTERFACE(NAME) \
    typedef struct NAME NAME;         \
    struct NAME
#define UNITY_REGISTER_INTERFACE_GUID(HIGH, LOW, TYPE) \
    static const UnityInterfaceGUID TYPE##_GUID __attribute__((unused)) = {HIGH##ULL, LOW##ULL};
#define UNITY_REGISTER_INTERFACE_GUID_IN_NAMESPACE(HIGH, LOW, TYPE, NAMESPACE) \
    UNITY_REGISTER_INTERFACE_GUID(HIGH, LOW, TYPE)
#define UNITY_GET_INTERFACE_GUID(TYPE) TYPE##_GUID
#endif

#define UNITY_GET_INTERFACE(INTERFACES, TYPE) \
    ((TYPE*)(INTERFACES)->GetInterface(UNITY_GET_INTERFACE_GUID(TYPE)))

/* Null: there is no such interface. One that is registered lives as long as whoever asks for it. */
typedef struct IUnityInterfaces {
    IUnityInterface*(UNITY_INTERFACE_API* GetInterface)(UnityInterfaceGUID guid);
    void(UNITY_INTERFACE_API* RegisterInterface)(UnityInterfaceGUID guid, IUnityInterface* ptr);
    IUnityInterface*(UNITY_INTERFACE_API* GetInterfaceSplit)(unsigned long long guidHigh,
                                                             unsigned long long guidLow);
    void(UNITY_INTERFACE_API* RegisterInterfaceSplit)(unsigned long long guidHigh,
                                                      unsigned long long guidLow,
                                                      IUnityInterface* ptr);
#ifdef __cplusplus
    template <typename Interface>
    Interface* Get() {
        return static_cast<Interface*>(GetInterface(GetUnityInterfaceGUID<Interface>()));
    }
    template <typename Interface>
    void Register(IUnityInterface* ptr) {
        RegisterInterface(GetUnityInterfaceGUID<Interface>(), ptr);
    }
#endif
} IUnityInterfaces;

#ifdef __cplusplus
extern "C" {
#endif
void UNITY_INTERFACE_EXPORT UNITY_INTERFACE_API UnityPluginLoad(IUnityInterfaces* unityInterfaces);
void UNITY_INTERFACE_EXPORT UNITY_INTERFACE_API UnityPluginUnload(void);
#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming, modernize-use-using, cppcoreguidelines-*, hicpp-*,
 * google-*, bugprone-macro-parentheses) */

#endif

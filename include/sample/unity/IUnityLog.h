/* How a native plug-in writes to the log. Names, values and layouts of Unity's interface. C and
 * C++. docs/unity.md. */
#ifndef SAMPLE_UNITY_IUNITYLOG_H
#define SAMPLE_UNITY_IUNITYLOG_H

#include "IUnityInterface.h"

/* Names that are not ours, and C: NOLINTBEGIN(readability-identifier-naming,
 * modernize-use-using, cppcoreguidelines-*, hicpp-*, google-*) */

typedef enum UnityLogType {
    kUnityLogTypeError = 0,
    kUnityLogTypeWarning = 2,
    kUnityLogTypeLog = 3,
    kUnityLogTypeException = 4
} UnityLogType;

/* Unity 2021.2 and later. */
UNITY_DECLARE_INTERFACE(IUnityLog) {
    void(UNITY_INTERFACE_API * Log)(UnityLogType type, const char* message, const char* fileName,
                                    const int fileLine);
};
UNITY_REGISTER_INTERFACE_GUID(0x9E7507FA5B444D5D, 0x92FB979515EA83FC, IUnityLog)

#define UNITY_WRITE_LOG(PTR_, TYPE_, MSG_) (PTR_)->Log((TYPE_), (MSG_), __FILE__, __LINE__)
#define UNITY_LOG(PTR_, MSG_) UNITY_WRITE_LOG(PTR_, kUnityLogTypeLog, MSG_)
#define UNITY_LOG_WARNING(PTR_, MSG_) UNITY_WRITE_LOG(PTR_, kUnityLogTypeWarning, MSG_)
#define UNITY_LOG_ERROR(PTR_, MSG_) UNITY_WRITE_LOG(PTR_, kUnityLogTypeError, MSG_)

/* NOLINTEND(readability-identifier-naming, modernize-use-using, cppcoreguidelines-*, hicpp-*,
 * google-*) */

#endif

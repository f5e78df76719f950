/* Steers `sample` from a program: starts and stops the sampling of the calling process or of
 * another one, and asks for the callgraph that was recorded. C11 and C++; sample/profiler.hpp is
 * the C++ face. docs/profiler-api.md is the manual.
 *
 * Headers only: nothing is linked. Where libsample.so is not loaded, each call for the own process
 * costs a load and a branch and returns SAMPLE_PROFILING_NO_AGENT. Other processes are reached
 * through their session's socket, so the caller itself needs no agent for that.
 *
 * A session is one run of `sample` with all the processes that it records; what is started or
 * stopped here is started or stopped for all of them.
 *
 * No call keeps a descriptor open, changes a signal's action or raises SIGPIPE; what is opened is
 * closed on exec. Calls are thread-safe for distinct handles, and for the null handle. None is
 * async-signal-safe but where it says so. errno is changed only by SAMPLE_PROFILING_FAILED. */
#ifndef SAMPLE_PROFILER_H
#define SAMPLE_PROFILER_H

/* C, too: NOLINTBEGIN(modernize-deprecated-headers) */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
/* NOLINTEND(modernize-deprecated-headers) */

#include "sample/agent_note.h"
#include "sample/profiler_abi.h"

#pragma GCC system_header

#if !defined(__linux__) || !defined(__x86_64__)
#error "sample/profiler.h is for Linux on x86-64"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SAMPLE_PROFILING_DEFAULT_HZ 1000U
#define SAMPLE_PROFILING_MOST_HZ 10000U

enum sample_profiling_result {
    SAMPLE_PROFILING_OK = 0,
    SAMPLE_PROFILING_NO_AGENT,      /* The calling process runs without libsample.so. */
    SAMPLE_PROFILING_NO_SESSION,    /* Nobody records the process, or its collector has ended. */
    SAMPLE_PROFILING_BAD_FREQUENCY, /* Not from 1 to 10000 Hz: nothing was done. */
    SAMPLE_PROFILING_NOT_OWNER,     /* Another owner of the session sets whether it samples, and how
                                       often: sample_profiling_status() tells that. */
    SAMPLE_PROFILING_AMBIGUOUS,     /* Several sessions have that name. */
    SAMPLE_PROFILING_TIMED_OUT,
    SAMPLE_PROFILING_REFUSED, /* By the session; the handle's `problem` says why. */
    SAMPLE_PROFILING_NOT_OPEN,
    SAMPLE_PROFILING_FAILED, /* By the system; errno says why. */
    /* Of sample_agent_load() alone. */
    SAMPLE_PROFILING_NO_LIBRARY,    /* libsample.so was not found, or the loader refused it. */
    SAMPLE_PROFILING_SIGNAL_IN_USE, /* The program handles SIGURG, or a thread blocks it. */
    SAMPLE_PROFILING_PRIVILEGED     /* A setuid program and its like. */
};

/* Whose session: a plain value that holds nothing which would have to be given back. {0} stands for
 * the calling process; so does a null pointer, for calls that need no session to be open. */
struct sample_profiling {
    int32_t pid;         /* A process of the session; 0: the calling one. Read only. */
    uint32_t timeout_ms; /* How long the session may be silent. 0: 5 s, and a minute for data. */
    uint32_t is_owner;   /* Of the session that is open. Read only, as all that follows. */
    uint32_t reserved;
    char socket[108]; /* Empty: the calling process's. */
    char token[44];   /* Empty: no session is open. */
    char problem[160];
};

struct sample_profiling_state {
    uint32_t is_connected;
    uint32_t is_sampling;
    uint32_t frequency_hz; /* 0: what is sampled has none, such as an --event. */
    uint32_t is_owner;     /* Of an open session. */
};

/* What a session has recorded so far. */
struct sample_profiling_data {
    const char* json; /* Version 2 of the script-profiler format, ended by a zero. */
    size_t bytes;     /* Without the zero. */
    int32_t pid;      /* Whose handle it was asked with; the own id for the calling process. */
    const char* name; /* Of that process, as the kernel has it (comm); empty: it has ended. */
};
typedef void (*sample_profiling_on_data)(void* context, const struct sample_profiling_data* data);

/* ---- How it works. Names that end with _ are not for users. */

/* Null: no agent when this module was loaded. Written by the loader's thread and by
 * sample_agent_load() alone. */
SAMPLE_AGENT_OF_MODULE_ const struct sample_profiler_functions* sample_profiling_agent = 0;

static inline const struct sample_profiler_functions* sample_profiling_agent_(void) {
    return __atomic_load_n(&sample_profiling_agent, __ATOMIC_RELAXED);
}

static inline void sample_profiling_find_agent_(void) {
    const struct sample_profiler_functions* found =
        (const struct sample_profiler_functions*)sample_agent_find_table_(SAMPLE_PROFILER_NOTE);
    if (found != 0 && found->version == SAMPLE_PROFILER_VERSION && found->bytes >= sizeof *found) {
        __atomic_store_n(&sample_profiling_agent, found, __ATOMIC_RELAXED);
    }
}
__attribute__((constructor(101), used)) static void sample_profiling_join_(void) {
    if (sample_profiling_agent_() == 0) {
        sample_profiling_find_agent_();
    }
}

/* The rest of the word after ` key=` in a line, up to the next blank; null: it has none. */
static inline const char* sample_profiling_find_value_(const char* line, const char* key) {
    const size_t length = strlen(key);
    const char* at = line;
    while ((at = strchr(at, ' ')) != 0) {
        ++at;
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            return at + length + 1;
        }
    }
    return 0;
}
static inline uint32_t sample_profiling_number_(const char* line, const char* key,
                                                uint32_t missing) {
    const char* value = sample_profiling_find_value_(line, key);
    return value == 0 ? missing : (uint32_t)strtoul(value, 0, 10);
}

static inline int sample_profiling_has_word_(const char* line, const char* key, const char* word) {
    const char* value = sample_profiling_find_value_(line, key);
    return value != 0 && strcspn(value, " ") == strlen(word) &&
           strncmp(value, word, strlen(word)) == 0;
}

/* <time.h> needs _POSIX_C_SOURCE. Source: clock_gettime(2). */
struct sample_profiling_time_ {
    long seconds;
    long nanoseconds;
};
extern int sample_profiling_clock_(int clock,
                                   struct sample_profiling_time_* time) __asm__("clock_gettime");
static inline int64_t sample_profiling_now_ms_(void) {
    struct sample_profiling_time_ now = {0, 0};
    (void)sample_profiling_clock_(1 /* CLOCK_MONOTONIC */, &now);
    return (int64_t)now.seconds * 1000 + now.nanoseconds / 1000000;
}

/* At the end of a call: errno is as it was, `saved`, but where it says why. */
static inline int sample_profiling_done_(int saved, int result) {
    if (result != SAMPLE_PROFILING_FAILED) {
        errno = saved;
    }
    return result;
}

/* A connection, and what came by it that nobody has taken yet. */
struct sample_profiling_stream_ {
    int fd;
    uint32_t timeout_ms;
    int64_t give_up_ms;
};

static inline int sample_profiling_close_(struct sample_profiling_stream_* stream, int result) {
    const int saved = errno;
    (void)close(stream->fd);
    errno = saved;
    return result;
}

/* The session has been heard, so it may be silent for as long again. */
static inline void sample_profiling_wait_anew_(struct sample_profiling_stream_* stream) {
    stream->give_up_ms = sample_profiling_now_ms_() + stream->timeout_ms;
}

static inline int sample_profiling_await_(struct sample_profiling_stream_* stream, short events) {
    for (;;) {
        struct pollfd one = {0, 0, 0};
        const int64_t left = stream->give_up_ms - sample_profiling_now_ms_();
        int ready;
        one.fd = stream->fd;
        one.events = events;
        ready = left <= 0 ? 0 : poll(&one, 1, (int)left);
        if (ready > 0) {
            return SAMPLE_PROFILING_OK;
        }
        if (ready == 0) {
            return SAMPLE_PROFILING_TIMED_OUT;
        }
        if (errno != EINTR) {
            return SAMPLE_PROFILING_FAILED;
        }
    }
}

static inline int sample_profiling_is_trusted_(int fd) {
    /* struct ucred and SO_PEERCRED, as on x86-64, need _GNU_SOURCE. Source: unix(7). */
    enum { PEER_CREDENTIALS = 17 };
    struct {
        int32_t pid;
        uint32_t user;
        uint32_t group;
    } peer = {0, 0, 0};
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, PEER_CREDENTIALS, &peer, &bytes) == 0 &&
           (peer.user == (uint32_t)geteuid() || peer.user == 0);
}

static inline int sample_profiling_connect_(struct sample_profiling_stream_* stream,
                                            const char* path) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    if (path[0] == 0 || strlen(path) >= sizeof address.sun_path) {
        return SAMPLE_PROFILING_NO_SESSION;
    }
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path, strlen(path));
    stream->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (stream->fd < 0) {
        return SAMPLE_PROFILING_FAILED;
    }
    sample_profiling_wait_anew_(stream);
    while (connect(stream->fd, (const struct sockaddr*)&address, sizeof address) != 0) {
        /* EAGAIN: too many others want to be let in. */
        if (errno == EAGAIN && sample_profiling_now_ms_() < stream->give_up_ms) {
            (void)poll(0, 0, 1);
        } else if (errno != EINTR) {
            const int result = errno == EAGAIN ? SAMPLE_PROFILING_TIMED_OUT
                               : errno == ENOENT || errno == ECONNREFUSED || errno == EACCES
                                   ? SAMPLE_PROFILING_NO_SESSION
                                   : SAMPLE_PROFILING_FAILED;
            return sample_profiling_close_(stream, result);
        }
    }
    return sample_profiling_is_trusted_(stream->fd)
               ? SAMPLE_PROFILING_OK
               : sample_profiling_close_(stream, SAMPLE_PROFILING_NO_SESSION);
}

static inline int sample_profiling_send_(struct sample_profiling_stream_* stream, const char* text,
                                         size_t bytes) {
    while (bytes != 0) {
        const ssize_t sent = send(stream->fd, text, bytes, MSG_NOSIGNAL);
        if (sent >= 0) {
            text += sent;
            bytes -= (size_t)sent;
        } else if (errno == EAGAIN) {
            const int result = sample_profiling_await_(stream, POLLOUT);
            if (result != SAMPLE_PROFILING_OK) {
                return result;
            }
        } else if (errno != EINTR) {
            return errno == EPIPE || errno == ECONNRESET ? SAMPLE_PROFILING_NO_SESSION
                                                         : SAMPLE_PROFILING_FAILED;
        }
    }
    return SAMPLE_PROFILING_OK;
}

/* As many bytes as there are, at most `bytes`; *got is 0 at the end. */
static inline int sample_profiling_receive_(struct sample_profiling_stream_* stream, char* into,
                                            size_t bytes, size_t* got) {
    for (;;) {
        const ssize_t received = recv(stream->fd, into, bytes, 0);
        if (received >= 0) {
            *got = (size_t)received;
            sample_profiling_wait_anew_(stream);
            return SAMPLE_PROFILING_OK;
        }
        if (errno == EAGAIN) {
            const int result = sample_profiling_await_(stream, POLLIN);
            if (result != SAMPLE_PROFILING_OK) {
                return result;
            }
        } else if (errno != EINTR) {
            return errno == ECONNRESET ? SAMPLE_PROFILING_NO_SESSION : SAMPLE_PROFILING_FAILED;
        }
    }
}

/* The session's file and command are in it. */
#define SAMPLE_PROFILING_LINE_BYTES_ 16384

/* The reply's line, without its end; a longer one is cut. Takes no byte behind it. */
static inline int sample_profiling_receive_line_(struct sample_profiling_stream_* stream,
                                                 char line[SAMPLE_PROFILING_LINE_BYTES_]) {
    size_t length = 0;
    for (;;) {
        char letter;
        size_t got = 0;
        const int result = sample_profiling_receive_(stream, &letter, 1, &got);
        if (result != SAMPLE_PROFILING_OK) {
            return result;
        }
        if (got == 0) {
            return SAMPLE_PROFILING_NO_SESSION;
        }
        if (letter == '\n') {
            line[length] = 0;
            return SAMPLE_PROFILING_OK;
        }
        if (length + 1 < SAMPLE_PROFILING_LINE_BYTES_) {
            line[length++] = letter;
        }
    }
}

static inline void sample_profiling_note_problem_(struct sample_profiling* handle,
                                                  const char* text) {
    if (handle != 0) {
        (void)snprintf(handle->problem, sizeof handle->problem, "%s", text);
    }
}

/* Sends a request and takes the reply's line. Only with OK the connection stays open. */
static inline int sample_profiling_request_(struct sample_profiling* handle, const char* words,
                                            uint32_t most_ms,
                                            struct sample_profiling_stream_* stream,
                                            char line[SAMPLE_PROFILING_LINE_BYTES_]) {
    char own[108] = "";
    char request[128];
    const char* path = own;
    int result;
    if (handle != 0 && handle->socket[0] != 0) {
        path = handle->socket;
    } else {
        const struct sample_profiler_functions* agent = sample_profiling_agent_();
        if (agent == 0) {
            return SAMPLE_PROFILING_NO_AGENT;
        }
        if (agent->socket_path(own, sizeof own) == 0) {
            return SAMPLE_PROFILING_NO_SESSION;
        }
    }
    if (handle != 0 && handle->token[0] != 0) {
        (void)snprintf(request, sizeof request, "%s token=%s\n", words, handle->token);
    } else {
        (void)snprintf(request, sizeof request, "%s\n", words);
    }
    stream->timeout_ms = handle != 0 && handle->timeout_ms != 0 ? handle->timeout_ms : most_ms;
    result = sample_profiling_connect_(stream, path);
    if (result != SAMPLE_PROFILING_OK) {
        return result;
    }
    result = sample_profiling_send_(stream, request, strlen(request));
    if (result == SAMPLE_PROFILING_OK) {
        result = sample_profiling_receive_line_(stream, line);
    }
    if (result == SAMPLE_PROFILING_OK && strncmp(line, "ok", 2) != 0) {
        sample_profiling_note_problem_(handle, strncmp(line, "error ", 6) == 0 ? line + 6 : line);
        result = SAMPLE_PROFILING_REFUSED;
    }
    return result == SAMPLE_PROFILING_OK ? result : sample_profiling_close_(stream, result);
}

#define SAMPLE_PROFILING_PATIENCE_MS_ 5000U
#define SAMPLE_PROFILING_PATIENCE_FOR_DATA_MS_ 60000U

/* A request that has a line for an answer and nothing else. */
static inline int sample_profiling_ask_(struct sample_profiling* handle, const char* words,
                                        char line[SAMPLE_PROFILING_LINE_BYTES_]) {
    struct sample_profiling_stream_ stream = {-1, 0, 0};
    const int saved = errno;
    const int result =
        sample_profiling_request_(handle, words, SAMPLE_PROFILING_PATIENCE_MS_, &stream, line);
    if (result == SAMPLE_PROFILING_OK && handle != 0 && handle->token[0] != 0) {
        /* Whoever owned it may have gone. */
        handle->is_owner = sample_profiling_number_(line, "owner", handle->is_owner);
    }
    if (result == SAMPLE_PROFILING_OK) {
        (void)sample_profiling_close_(&stream, result);
    }
    return sample_profiling_done_(saved, result);
}

/* The calling process without an open session: words in memory that it shares with the collector,
 * which need no descriptor. */
static inline int sample_profiling_is_direct_(const struct sample_profiling* handle) {
    return handle == 0 || (handle->socket[0] == 0 && handle->token[0] == 0);
}

static inline int sample_profiling_control_(struct sample_profiling* handle, uint32_t command,
                                            uint32_t frequency_hz) {
    const struct sample_profiler_functions* agent = sample_profiling_agent_();
    struct sample_profiler_sampling sampling = {0, 0, 0};
    uint32_t done;
    agent->sampling(&sampling);
    if (sampling.is_connected == 0) {
        return SAMPLE_PROFILING_NO_SESSION;
    }
    done = agent->control(command, frequency_hz,
                          handle != 0 && handle->timeout_ms != 0 ? handle->timeout_ms
                                                                 : SAMPLE_PROFILING_PATIENCE_MS_);
    if (done == SAMPLE_PROFILER_TAKES_NONE) {
        sample_profiling_note_problem_(handle, "the session takes no samples");
        return SAMPLE_PROFILING_REFUSED;
    }
    return done != 0 ? SAMPLE_PROFILING_OK : SAMPLE_PROFILING_TIMED_OUT;
}

/* What goes by a socket is not part of its caller, which may run on a signal's small stack.
 * `samples`: whether the session samples then; -1: as before. `frequency_hz`: 0: as before. */
__attribute__((noinline, unused)) static int sample_profiling_set_by_socket_(
    struct sample_profiling* handle, const char* format, int samples, uint32_t frequency_hz) {
    char line[SAMPLE_PROFILING_LINE_BYTES_];
    char words[40];
    int result;
    (void)snprintf(words, sizeof words, format, (unsigned)frequency_hz);
    result = sample_profiling_ask_(handle, words, line);
    if (result == SAMPLE_PROFILING_OK && sample_profiling_number_(line, "owner", 1) == 0) {
        /* It does what its owner has asked for, which may be the same. */
        const int is_sampling = sample_profiling_has_word_(line, "state", "running");
        if ((samples >= 0 && samples != is_sampling) ||
            (frequency_hz != 0 &&
             sample_profiling_number_(line, "freq", frequency_hz) != frequency_hz)) {
            result = SAMPLE_PROFILING_NOT_OWNER;
        }
    }
    return result;
}

static inline int sample_profiling_command_(struct sample_profiling* handle, uint32_t command,
                                            const char* words) {
    return sample_profiling_is_direct_(handle)
               ? sample_profiling_control_(handle, command, 0)
               : sample_profiling_set_by_socket_(handle, words, command == SAMPLE_PROFILER_RESUME,
                                                 0);
}

__attribute__((noinline, unused)) static int sample_profiling_status_by_socket_(
    struct sample_profiling* handle, struct sample_profiling_state* state) {
    char line[SAMPLE_PROFILING_LINE_BYTES_];
    const int result = sample_profiling_ask_(handle, "status", line);
    if (result == SAMPLE_PROFILING_OK) {
        state->is_connected = 1;
        state->is_sampling = sample_profiling_has_word_(line, "state", "running") ? 1 : 0;
        state->frequency_hz = sample_profiling_number_(line, "freq", 0);
        state->is_owner = handle->is_owner;
    }
    return result;
}

/* Without an agent there is nothing to say it to. */
static inline int sample_profiling_has_nobody_(const struct sample_profiling* handle) {
    return (handle == 0 || handle->socket[0] == 0) && sample_profiling_agent_() == 0;
}

/* ---- The calls. Each returns an enum sample_profiling_result. */

/* Begins to sample, by the CPU time of each thread, `frequency_hz` times a second: 1 to 10000; 0
 * stands for 1000. Where the process samples already it is a change of frequency. Async-signal-safe
 * for the null handle. */
static inline int sample_profiling_start(struct sample_profiling* handle, uint32_t frequency_hz) {
    const uint32_t frequency = frequency_hz == 0 ? SAMPLE_PROFILING_DEFAULT_HZ : frequency_hz;
    if (sample_profiling_has_nobody_(handle)) {
        return SAMPLE_PROFILING_NO_AGENT;
    }
    if (frequency > SAMPLE_PROFILING_MOST_HZ) {
        return SAMPLE_PROFILING_BAD_FREQUENCY;
    }
    return sample_profiling_is_direct_(handle)
               ? sample_profiling_control_(handle, SAMPLE_PROFILER_START, frequency)
               : sample_profiling_set_by_socket_(handle, "start freq=%u", 1, frequency);
}

/* Ends sampling; what was recorded stays. Async-signal-safe for the null handle. */
static inline int sample_profiling_stop(struct sample_profiling* handle) {
    return sample_profiling_has_nobody_(handle)
               ? SAMPLE_PROFILING_NO_AGENT
               : sample_profiling_command_(handle, SAMPLE_PROFILER_STOP, "stop");
}

/* For a part of the program that is not to be seen. Async-signal-safe for the null handle. */
static inline int sample_profiling_pause(struct sample_profiling* handle) {
    return sample_profiling_has_nobody_(handle)
               ? SAMPLE_PROFILING_NO_AGENT
               : sample_profiling_command_(handle, SAMPLE_PROFILER_PAUSE, "pause");
}

/* Goes on with the frequency that it had. Async-signal-safe for the null handle. */
static inline int sample_profiling_resume(struct sample_profiling* handle) {
    return sample_profiling_has_nobody_(handle)
               ? SAMPLE_PROFILING_NO_AGENT
               : sample_profiling_command_(handle, SAMPLE_PROFILER_RESUME, "resume");
}

/* Another frequency, whether it samples just now or not. */
static inline int sample_profiling_set_frequency(struct sample_profiling* handle,
                                                 uint32_t frequency_hz) {
    if (sample_profiling_has_nobody_(handle)) {
        return SAMPLE_PROFILING_NO_AGENT;
    }
    return frequency_hz == 0 || frequency_hz > SAMPLE_PROFILING_MOST_HZ
               ? SAMPLE_PROFILING_BAD_FREQUENCY
               : sample_profiling_set_by_socket_(handle, "freq %u", -1, frequency_hz);
}

/* Whether it samples, and how often. Async-signal-safe for the null handle. */
static inline int sample_profiling_status(struct sample_profiling* handle,
                                          struct sample_profiling_state* state) {
    memset(state, 0, sizeof *state);
    if (sample_profiling_has_nobody_(handle)) {
        return SAMPLE_PROFILING_NO_AGENT;
    }
    if (sample_profiling_is_direct_(handle)) {
        struct sample_profiler_sampling sampling = {0, 0, 0};
        sample_profiling_agent_()->sampling(&sampling);
        state->is_connected = sampling.is_connected;
        state->is_sampling = sampling.is_sampling;
        state->frequency_hz = sampling.frequency_hz;
        return state->is_connected != 0 ? SAMPLE_PROFILING_OK : SAMPLE_PROFILING_NO_SESSION;
    }
    return sample_profiling_status_by_socket_(handle, state);
}

/* Joins those who share the session. The first one owns it: it alone sets whether the session
 * samples, and how often, and the others' requests change nothing (SAMPLE_PROFILING_NOT_OWNER,
 * where they want something else). `handle->is_owner` says which of the two this is. What was
 * recorded is kept. A process that ends has closed; one that forks and its child have the same
 * session open once. */
static inline int sample_profiling_open(struct sample_profiling* handle) {
    char line[SAMPLE_PROFILING_LINE_BYTES_];
    struct sample_profiling_time_ now = {0, 0};
    int result;
    if (sample_profiling_has_nobody_(handle)) {
        return SAMPLE_PROFILING_NO_AGENT;
    }
    if (handle->token[0] != 0) {
        return SAMPLE_PROFILING_OK;
    }
    /* No other handle of any process has it. */
    (void)sample_profiling_clock_(0 /* CLOCK_REALTIME */, &now);
    (void)snprintf(handle->token, sizeof handle->token, "%d-%lx-%lx", (int)getpid(),
                   (unsigned long)now.seconds * 1000000000UL + (unsigned long)now.nanoseconds,
                   (unsigned long)(uintptr_t)handle & 0xffffffUL);
    result = sample_profiling_ask_(handle, "open", line);
    if (result != SAMPLE_PROFILING_OK) {
        handle->token[0] = 0;
    }
    return result;
}

/* Leaves the session, which is open no more, whatever this returns. */
static inline int sample_profiling_close(struct sample_profiling* handle) {
    char line[SAMPLE_PROFILING_LINE_BYTES_];
    int result;
    if (sample_profiling_has_nobody_(handle)) {
        return SAMPLE_PROFILING_NO_AGENT;
    }
    if (handle->token[0] == 0) {
        return SAMPLE_PROFILING_NOT_OPEN;
    }
    result = sample_profiling_ask_(handle, "close", line);
    handle->token[0] = 0;
    handle->is_owner = 0;
    return result;
}

static inline void sample_profiling_read_comm_(int32_t pid, char name[17]) {
    char path[40];
    FILE* file;
    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    name[0] = 0;
    file = fopen(path, "re");
    if (file != 0) {
        const size_t read = fread(name, 1, 16, file);
        name[read] = 0;
        name[strcspn(name, "\n")] = 0;
        (void)fclose(file);
    }
}

/* All bytes until the connection's end, and a zero. The caller frees *json. */
static inline int sample_profiling_receive_all_(struct sample_profiling_stream_* stream,
                                                char** json, size_t* bytes) {
    size_t room = (size_t)1 << 16;
    size_t got = 1;
    *bytes = 0;
    *json = (char*)malloc(room);
    while (*json != 0 && got != 0) {
        int result;
        if (*bytes + 1 == room) {
            char* larger = (char*)realloc(*json, room *= 2);
            if (larger == 0) {
                free(*json);
                *json = 0;
                break;
            }
            *json = larger;
        }
        result = sample_profiling_receive_(stream, *json + *bytes, room - 1 - *bytes, &got);
        if (result != SAMPLE_PROFILING_OK) {
            free(*json);
            *json = 0;
            return result;
        }
        *bytes += got;
    }
    if (*json == 0) {
        errno = ENOMEM;
        return SAMPLE_PROFILING_FAILED;
    }
    (*json)[*bytes] = 0;
    return SAMPLE_PROFILING_OK;
}

/* Not part of its caller, which is nothing without an agent. */
__attribute__((noinline, unused)) static int sample_profiling_request_data_(
    struct sample_profiling* handle, sample_profiling_on_data on_data, void* context) {
    struct sample_profiling_stream_ stream = {-1, 0, 0};
    char line[SAMPLE_PROFILING_LINE_BYTES_];
    char name[17];
    char* json = 0;
    struct sample_profiling_data data = {0, 0, 0, 0};
    int result;
    result = sample_profiling_request_(handle, "data", SAMPLE_PROFILING_PATIENCE_FOR_DATA_MS_,
                                       &stream, line);
    if (result != SAMPLE_PROFILING_OK) {
        return result;
    }
    result = sample_profiling_receive_all_(&stream, &json, &data.bytes);
    (void)sample_profiling_close_(&stream, result);
    if (result == SAMPLE_PROFILING_OK && data.bytes == 0) {
        sample_profiling_note_problem_(handle, "the session sent nothing: it may have ended");
        free(json);
        return SAMPLE_PROFILING_REFUSED;
    }
    if (result != SAMPLE_PROFILING_OK) {
        return result;
    }
    if (data.bytes < 2 || memcmp(json + data.bytes - 2, "}\n", 2) != 0) {
        sample_profiling_note_problem_(handle, "the session sent a part of the data only");
        free(json);
        return SAMPLE_PROFILING_REFUSED;
    }
    data.json = json;
    data.pid = handle == 0 || handle->pid == 0 ? (int32_t)getpid() : handle->pid;
    sample_profiling_read_comm_(data.pid, name);
    data.name = name;
    on_data(context, &data);
    free(json);
    return SAMPLE_PROFILING_OK;
}

/* What a result says, in words. Async-signal-safe. */
static inline const char* sample_profiling_text(int result) {
    switch (result) {
        case SAMPLE_PROFILING_OK:
            return "done";
        case SAMPLE_PROFILING_NO_AGENT:
            return "no agent: run the program with `sample -- COMMAND`";
        case SAMPLE_PROFILING_NO_SESSION:
            return "no session of `sample` records the process";
        case SAMPLE_PROFILING_BAD_FREQUENCY:
            return "the frequency must be from 1 to 10000 Hz";
        case SAMPLE_PROFILING_NOT_OWNER:
            return "another owner of the session sets whether it samples, and how often";
        case SAMPLE_PROFILING_AMBIGUOUS:
            return "several sessions have that name: give a process id";
        case SAMPLE_PROFILING_TIMED_OUT:
            return "the session did not answer in time";
        case SAMPLE_PROFILING_REFUSED:
            return "the session refused";
        case SAMPLE_PROFILING_NOT_OPEN:
            return "the session is not open";
        case SAMPLE_PROFILING_FAILED:
            return "the system refused; see errno";
        case SAMPLE_PROFILING_NO_LIBRARY:
            return "libsample.so was not found, or the loader refused it: name its path";
        case SAMPLE_PROFILING_SIGNAL_IN_USE:
            return "the program handles or blocks SIGURG, which samples would come by: run it with "
                   "`sample -- COMMAND`";
        case SAMPLE_PROFILING_PRIVILEGED:
            return "the program has more rights than who started it";
    }
    return "unknown";
}

/* Asks for the callgraph of what was recorded so far, and gives it to `on_data`, which is called
 * before this returns, once with OK, else not at all. What it is given is valid during that call.
 * The collector names the functions for it, which may take seconds; the program's threads are not
 * stopped meanwhile. */
static inline int sample_profiling_request_data(struct sample_profiling* handle,
                                                sample_profiling_on_data on_data, void* context) {
    const int saved = errno;
    return sample_profiling_has_nobody_(handle)
               ? SAMPLE_PROFILING_NO_AGENT
               : sample_profiling_done_(saved,
                                        sample_profiling_request_data_(handle, on_data, context));
}

/* ---- Other processes: those that a running session of the same user records. */

/* <unistd.h> has it with _POSIX_C_SOURCE. Source: readlink(2). */
extern ssize_t sample_profiling_read_link_(const char* path, char* into,
                                           size_t bytes) __asm__("readlink");
/* The same of <sys/stat.h>. Source: stat(2). */
extern int sample_profiling_lstat_(const char* path, struct stat* into) __asm__("lstat");

/* One that is looked for: by its id, or by its name where that is not null. It takes the handle's
 * `timeout_ms` over. */
struct sample_profiling_search_ {
    struct sample_profiling* handle;
    int32_t pid;
    const char* name;
    uint32_t timeout_ms;
    uint32_t found;
    uint32_t folders; /* That were looked into. */
    struct stat folder[3];
};

/* As the kernel has it (comm), or as its file is called. */
static inline int sample_profiling_is_called_(int32_t pid, const char* name) {
    char comm[17];
    char link[40];
    char file[4096];
    ssize_t length;
    const char* slash;
    sample_profiling_read_comm_(pid, comm);
    if (strcmp(comm, name) == 0) {
        return 1;
    }
    (void)snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    length = sample_profiling_read_link_(link, file, sizeof file - 1);
    if (length <= 0) {
        return 0;
    }
    file[length] = 0;
    slash = strrchr(file, '/');
    return slash != 0 && strcmp(slash + 1, name) == 0;
}

/* Whether the session's command is called so: a word, percent-encoded, of which only the part
 * before the first blank is the program's file. */
static inline int sample_profiling_is_command_(const char* line, const char* name) {
    const char* at = sample_profiling_find_value_(line, "command");
    const char* match = name;
    if (at == 0) {
        return 0;
    }
    while (*at != 0 && *at != ' ') {
        char letter = *at;
        if (letter == '%' && at[1] != 0 && at[2] != 0) {
            char digits[3];
            digits[0] = at[1];
            digits[1] = at[2];
            digits[2] = 0;
            letter = (char)strtoul(digits, 0, 16);
            at += 2;
        }
        ++at;
        if (letter == ' ') {
            break;
        }
        match = letter == '/' ? name : match != 0 && *match == letter ? match + 1 : 0;
    }
    return match != 0 && match != name && *match == 0;
}

/* A session that says which process is its first, and whether another one belongs to it. */
static inline void sample_profiling_look_at_session_(struct sample_profiling_search_* search,
                                                     const char* path) {
    struct sample_profiling session;
    char line[SAMPLE_PROFILING_LINE_BYTES_];
    char words[32];
    int32_t first;
    memset(&session, 0, sizeof session);
    session.timeout_ms = search->timeout_ms;
    (void)snprintf(session.socket, sizeof session.socket, "%s", path);
    (void)snprintf(words, sizeof words, search->name != 0 ? "status" : "status pid=%d",
                   (int)search->pid);
    if (sample_profiling_ask_(&session, words, line) != SAMPLE_PROFILING_OK) {
        return; /* A socket that was left behind. */
    }
    first = (int32_t)sample_profiling_number_(line, "root", 0);
    if (search->name != 0 ? sample_profiling_is_called_(first, search->name) ||
                                sample_profiling_is_command_(line, search->name)
                          : sample_profiling_number_(line, "member", 0) != 0) {
        session.pid = search->name != 0 ? first : search->pid;
        *search->handle = session;
        ++search->found;
    }
}

/* Whether nobody else can put a socket there, and it was not looked into by another name. */
static inline int sample_profiling_is_to_look_into_(struct sample_profiling_search_* search,
                                                    const char* folder) {
    struct stat* const info = &search->folder[search->folders];
    uint32_t i;
    if (sample_profiling_lstat_(folder, info) != 0 || !S_ISDIR(info->st_mode) ||
        info->st_uid != geteuid() || (info->st_mode & 07777U) != 0700U) {
        return 0;
    }
    for (i = 0; i < search->folders; ++i) {
        if (search->folder[i].st_dev == info->st_dev && search->folder[i].st_ino == info->st_ino) {
            return 0;
        }
    }
    ++search->folders;
    return 1;
}

static inline void sample_profiling_look_into_(struct sample_profiling_search_* search,
                                               const char* folder) {
    DIR* const entries =
        sample_profiling_is_to_look_into_(search, folder) ? opendir(folder) : (DIR*)0;
    const struct dirent* entry;
    if (entries == 0) {
        return;
    }
    while ((entry = readdir(entries)) != 0) {
        char path[sizeof search->handle->socket];
        const char* dot = strrchr(entry->d_name, '.');
        if (dot != 0 && strcmp(dot, ".sock") == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path) {
            sample_profiling_look_at_session_(search, path);
        }
    }
    (void)closedir(entries);
}

static inline int sample_profiling_find_(struct sample_profiling* handle, int32_t pid,
                                         const char* name) {
    struct sample_profiling_search_ search;
    char folder[4096];
    const char* runtime = getenv("XDG_RUNTIME_DIR");
    const int saved = errno;
    memset(&search, 0, sizeof search);
    search.handle = handle;
    search.pid = pid;
    search.name = name;
    search.timeout_ms = handle->timeout_ms;
    memset(handle, 0, sizeof *handle);
    if (runtime != 0 && runtime[0] == '/') {
        (void)snprintf(folder, sizeof folder, "%s/sample", runtime);
        sample_profiling_look_into_(&search, folder);
    }
    (void)snprintf(folder, sizeof folder, "/run/user/%u/sample", (unsigned)geteuid());
    sample_profiling_look_into_(&search, folder);
    (void)snprintf(folder, sizeof folder, "/tmp/sample-%u", (unsigned)geteuid());
    sample_profiling_look_into_(&search, folder);
    errno = saved;
    if (search.found == 1) {
        return SAMPLE_PROFILING_OK;
    }
    memset(handle, 0, sizeof *handle);
    handle->timeout_ms = search.timeout_ms;
    return search.found == 0 ? SAMPLE_PROFILING_NO_SESSION : SAMPLE_PROFILING_AMBIGUOUS;
}

/* Makes *handle, which must be {0} or have been used, one of the session that records the process
 * `pid`; else one of the own process. A question to each session that runs. */
static inline int sample_profiling_find_process(struct sample_profiling* handle, int32_t pid) {
    return sample_profiling_find_(handle, pid, 0);
}

/* The same by a name, as people know the session: its command's file, or what the kernel calls its
 * first process (comm). */
static inline int sample_profiling_find_name(struct sample_profiling* handle, const char* name) {
    return sample_profiling_find_(handle, 0, name);
}

/* ---- Bringing the agent into a process that was started without it. */

/* Linked where there is one: a static program has no loader. Source: dlopen(3). */
extern void* sample_profiling_dlopen_(const char* path, int flags) __asm__("dlopen")
    __attribute__((weak));
/* Source: getauxval(3); <sys/auxv.h> is not in every libc. */
extern unsigned long sample_profiling_auxiliary_(unsigned long type) __asm__("getauxval");

/* The hexadecimal mask that a line like "SigBlk:" of a thread has; 0: the thread has ended. Source:
 * proc(5). */
static inline uint64_t sample_profiling_signal_mask_(const char* thread, const char* name) {
    char line[256];
    uint64_t mask = 0;
    FILE* file;
    (void)snprintf(line, sizeof line, "/proc/self/task/%.20s/status", thread);
    file = fopen(line, "re");
    while (file != 0 && fgets(line, sizeof line, file) != 0) {
        if (strncmp(line, name, strlen(name)) == 0) {
            mask = strtoull(line + strlen(name), 0, 16);
            break;
        }
    }
    if (file != 0) {
        (void)fclose(file);
    }
    return mask;
}

static inline int sample_profiling_blocks_or_handles_(uint64_t signals) {
    DIR* const threads = opendir("/proc/self/task");
    const struct dirent* thread;
    int is_used = threads == 0; /* Nobody can tell. */
    while (threads != 0 && (thread = readdir(threads)) != 0) {
        if (thread->d_name[0] != '.' &&
            ((sample_profiling_signal_mask_(thread->d_name, "SigBlk:") |
              sample_profiling_signal_mask_(thread->d_name, "SigCgt:")) &
             signals) != 0) {
            is_used = 1;
        }
    }
    if (threads != 0) {
        (void)closedir(threads);
    }
    return is_used;
}

/* Whether a signal of ours could meet somebody who waits for one of the program's. */
static inline int sample_profiling_uses_signal_(void) {
    const uint64_t urgent = (uint64_t)1 << (23 - 1); /* SIGURG */
    int looks = 20;
    /* libc blocks all signals in a thread while it is made. */
    while (sample_profiling_blocks_or_handles_(urgent)) {
        if (--looks == 0) {
            return 1;
        }
        (void)poll(0, 0, 1);
    }
    return 0;
}

/* The program itself comes first. Source: dl_iterate_phdr(3). */
static inline int sample_profiling_look_for_loader_(struct sample_agent_object_* object,
                                                    size_t bytes, void* has_loader) {
    uint16_t i;
    (void)bytes;
    for (i = 0; i < object->segment_count; ++i) {
        if (object->segments[i].type == 3) { /* PT_INTERP */
            *(int*)has_loader = 1;
        }
    }
    return 1;
}
/* A static program would get a second libc with the library. */
static inline int sample_profiling_has_loader_(void) {
    int has_loader = 0;
    sample_agent_for_each_object_(sample_profiling_look_for_loader_, &has_loader);
    return has_loader && sample_profiling_dlopen_ != 0;
}

/* Beside the program, or in ../lib, as an installation has it; else where the loader looks. */
static inline const char* sample_profiling_find_library_(char* path, size_t bytes) {
    static const char* const places[] = {"libsample.so", "../lib/libsample.so"};
    const char* named = getenv("SAMPLE_AGENT");
    const ssize_t length = sample_profiling_read_link_("/proc/self/exe", path, bytes - 1);
    char* slash;
    size_t i;
    if (named != 0 && named[0] != 0) {
        return named;
    }
    path[length > 0 ? length : 0] = 0;
    slash = strrchr(path, '/');
    for (i = 0; slash != 0 && i < sizeof places / sizeof places[0]; ++i) {
        const size_t folder = (size_t)(slash - path) + 1;
        if (folder + strlen(places[i]) < bytes) {
            memcpy(path + folder, places[i], strlen(places[i]) + 1);
            if (access(path, R_OK) == 0) {
                return path;
            }
        }
    }
    return places[0];
}

/* Loads libsample.so into the calling process, unless it is there, for good; samples are taken from
 * then on, as the variables SAMPLE_FREQ, SAMPLE_OUTPUT and so on say. `path`: of libsample.so;
 * null: SAMPLE_AGENT, else beside the program or in ../lib, else where the loader looks.
 *
 * What a start with the agent has and this has not: docs/profiler-api.md. It is refused where the
 * program uses SIGURG itself. The collector is a process that is nobody's child. To be called once,
 * early, by one thread. Takes some 10 ms; threads that exist already are sampled, too. */
static inline int sample_agent_load(const char* path) {
    char found[4096];
    struct sample_profiler_sampling sampling = {0, 0, 0};
    sample_profiling_join_(); /* Another module may have loaded it. */
    if (sample_profiling_agent_() == 0) {
        if (sample_profiling_auxiliary_(23 /* AT_SECURE */) != 0) {
            return SAMPLE_PROFILING_PRIVILEGED;
        }
        if (sample_profiling_uses_signal_()) {
            return SAMPLE_PROFILING_SIGNAL_IN_USE;
        }
        if (path == 0) {
            path = sample_profiling_find_library_(found, sizeof found);
        }
        if (!sample_profiling_has_loader_() ||
            sample_profiling_dlopen_(path, 2 | 0x1000 /* RTLD_NOW | RTLD_NODELETE */) == 0) {
            return SAMPLE_PROFILING_NO_LIBRARY;
        }
        sample_profiling_find_agent_();
        if (sample_profiling_agent_() == 0) {
            return SAMPLE_PROFILING_NO_LIBRARY; /* Of another version. */
        }
    }
    sample_profiling_agent_()->sampling(&sampling);
    return sampling.is_connected != 0 ? SAMPLE_PROFILING_OK : SAMPLE_PROFILING_NO_SESSION;
}

#ifdef __cplusplus
}
#endif

#endif

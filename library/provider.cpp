// The lock of a provider. One of POSIX, as std::shared_mutex lets readers keep a writer out for
// ever.
#include "sample/analysis.hpp"

#include <pthread.h>

namespace sample::analysis {

struct Provider::Impl {
    Impl() {
        pthread_rwlockattr_t attributes{};
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&lock, &attributes);
        pthread_rwlockattr_destroy(&attributes);
    }
    ~Impl() { pthread_rwlock_destroy(&lock); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    pthread_rwlock_t lock{};
};

Provider::Provider() : impl_{std::make_unique<Impl>()} {}
Provider::~Provider() = default;

Provider::ReadScope::ReadScope(const Provider& provider) noexcept : provider_{provider} {
    pthread_rwlock_rdlock(&provider_.impl_->lock);
}
Provider::ReadScope::~ReadScope() {
    pthread_rwlock_unlock(&provider_.impl_->lock);
}

Provider::EditScope::EditScope(Provider& provider) noexcept : provider_{provider} {
    pthread_rwlock_wrlock(&provider_.impl_->lock);
}
Provider::EditScope::~EditScope() {
    pthread_rwlock_unlock(&provider_.impl_->lock);
}

}  // namespace sample::analysis

// tls: the general dynamic model calls __tls_get_addr, which may allocate (compiled for it).
extern thread_local int depth;
thread_local int depth = 0;

int handle();
int handle() {
    return ++depth;
}

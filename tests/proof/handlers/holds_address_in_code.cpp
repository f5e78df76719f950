// relocation: the loader would have to write this address into the code.
int target = 0;

void* handle();
void* handle() {
    void* address = nullptr;
    asm volatile("movabs $target, %0" : "=r"(address));
    return address;
}

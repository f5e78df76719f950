// indirect: nobody can say what runs.
int handle(int (*callee)(int), int value);
int handle(int (*callee)(int), int value) {
    return callee(value) + 1;
}

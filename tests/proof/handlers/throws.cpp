// exception: needs the unwinder and its tables (the test compiles it with -fexceptions).
int handle(int value);
int handle(int value) {
    try {
        if (value < 0) {
            throw value;
        }
    } catch (int thrown) {
        return thrown;
    }
    return value;
}

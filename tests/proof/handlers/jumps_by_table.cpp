// indirect: a switch compiled to a jump table (the test compiles it with -fjump-tables).
int handle(int value);
int handle(int value) {
    switch (value) {
        case 0:
            asm volatile("nop");
            return 17;
        case 1:
            asm volatile("nop\nnop");
            return 91;
        case 2:
            asm volatile("nop\nnop\nnop");
            return 7;
        case 3:
            asm volatile("pause");
            return 55;
        case 4:
            asm volatile("pause\nnop");
            return 34;
        case 5:
            asm volatile("pause\nnop\nnop");
            return 3;
        default:
            return 0;
    }
}

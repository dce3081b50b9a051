// A switch with many cases becomes a table of branches.

__device__ __noinline__ int leap(int op, int a, int b) {
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return b ? a / b : 0;
    case 4: return b ? a % b : 0;
    case 5: return a & b;
    case 6: return a | b;
    case 7: return a ^ b;
    case 8: return a << (b & 31);
    case 9: return a >> (b & 31);
    case 10: return min(a, b);
    case 11: return max(a, b);
    case 12: return ~a;
    case 13: return -b;
    case 14: return __popc(a);
    case 15: return __clz(b);
    }
    return -1;
}

//@ interpret<<<1, 64>>>(ops u8[1280] range(0,18), in i32[64] random, out i32[64] zero)
extern "C" __global__ void interpret(const unsigned char *ops, const int *in, int *out) {
    int a = in[threadIdx.x], b = threadIdx.x;
    for (int i = 0; i < 20; i++) {
        int v = leap(ops[threadIdx.x * 20 + i], a, b);
        b = a;
        a = v;
    }
    out[threadIdx.x] = a;
}

//@ automaton<<<1, 32>>>(text u8[1024] text(5), out i32[32] zero)
extern "C" __global__ void automaton(const char *text, int *out) {
    enum { Start, A, AB, ABC, Lost } state = Start;
    int found = 0;
    for (int i = 0; i < 32; i++) {
        char c = text[threadIdx.x * 32 + i];
        switch (state) {
        case Start: state = c == 'a' ? A : Start; break;
        case A: state = c == 'b' ? AB : c == 'a' ? A : Lost; break;
        case AB: state = c == 'c' ? ABC : c == 'a' ? A : Start; break;
        case ABC: found++; state = c == 'a' ? A : Start; break;
        case Lost: state = c == 'e' ? Start : Lost; found += 100; break;
        }
    }
    out[threadIdx.x] = found * 10 + state;
}

// Arrays in local memory, indexed by what is known only when running.

//@ permute<<<1, 64>>>(in u8[1024] range(0,16), out i32[64] zero)
extern "C" __global__ void permute(const unsigned char *in, int *out) {
    int a[16], s = 0;
    for (int i = 0; i < 16; i++) a[i] = i * i;
    const unsigned char *p = in + threadIdx.x * 16;
    for (int i = 0; i < 16; i++) { int t = a[p[i]]; a[p[i]] = a[i]; a[i] = t; }
    for (int i = 0; i < 16; i++) s = s * 3 + a[i];
    out[threadIdx.x] = s;
}

struct Item { char name[3]; double weight; short next; };

//@ linked<<<1, 32>>>(order u8[256] range(0,8), out f64[32] zero)
extern "C" __global__ void linked(const unsigned char *order, double *out) {
    Item items[8];
    for (int i = 0; i < 8; i++) {
        items[i].weight = i + 0.25 * threadIdx.x;
        items[i].next = order[threadIdx.x * 8 + i];
        for (int j = 0; j < 3; j++) items[i].name[j] = 'a' + (i + j) % 5;
    }
    double w = 0;
    for (int i = threadIdx.x % 8, n = 0; n < 12; n++, i = items[i].next) w += items[i].weight * items[i].name[n % 3];
    out[threadIdx.x] = w;
}

//@ stack_machine<<<1, 32>>>(code u8[512] range(0,6), out i32[32] zero)
extern "C" __global__ void stack_machine(const unsigned char *code, int *out) {
    int stack[20] = {1, 2, 3}, sp = 3;
    for (int i = 0; i < 16; i++) {
        int op = code[threadIdx.x * 16 + i];
        if (op < 2 || sp < 2) stack[sp++] = op + i;
        else if (op == 2) { sp--; stack[sp - 1] += stack[sp]; }
        else if (op == 3) { sp--; stack[sp - 1] *= stack[sp]; }
        else if (op == 4) { int t = stack[sp - 1]; stack[sp - 1] = stack[sp - 2]; stack[sp - 2] = t; }
        else stack[sp - 1] = -stack[sp - 1];
    }
    out[threadIdx.x] = stack[sp - 1] + sp * 1000;
}

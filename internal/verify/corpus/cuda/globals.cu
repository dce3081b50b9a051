// Variables of the module: addresses as initialisers, arrays of structs, state
// that stays from launch to launch.

__device__ int values[8] = {5, 3, 8, 1, 9, 2, 7, 4};
__device__ int *third = &values[3];
__device__ int **through = &third;
__device__ const char text[] = "device text";

struct Node { const Node *next; int *value; short id; };
__device__ Node last = {nullptr, values, 33};
__device__ Node chain[2] = {{&last, &values[1], 11}, {&last, &values[2], 22}};

__device__ unsigned long long counter;
__device__ unsigned char flags[4] = {1, 0, 1, 1};

//@ follow<<<1, 8>>>(out i32[8] zero)
extern "C" __global__ void follow(int *out) {
    const Node *n = &chain[threadIdx.x % 2];
    for (int i = 0; i < threadIdx.x && n->next; i++) n = n->next;
    out[threadIdx.x] = *n->value * 100 + n->id + **through;
}

//@ advance<<<2, 32>>>()
//@ advance<<<3, 32>>>()
//@ get counter u64[1]
//@ set values i32[8] ramp(10,10)
//@ follow<<<1, 8>>>(out i32[8] zero)
//@ get flags u8[4]
extern "C" __global__ void advance() {
    atomicAdd(&counter, threadIdx.x + 1ull);
    if (blockIdx.x == 0 && threadIdx.x < 4) flags[threadIdx.x] ^= 1;
}

//@ spell<<<1, 11>>>(out u8[11] zero)
extern "C" __global__ void spell(char *out) { out[threadIdx.x] = text[10 - threadIdx.x]; }

// Memory that kernels allocate, and memory functions.

//@ allocated<<<1, 32>>>(out i32[32] zero)
extern "C" __global__ void allocated(int *out) {
    int n = threadIdx.x % 4 + 2;
    int *p = (int *)malloc(n * sizeof(int)), s = 0;
    if (!p) { out[threadIdx.x] = -1; return; }
    for (int i = 0; i < n; i++) p[i] = i * threadIdx.x;
    for (int i = 0; i < n; i++) s += p[i];
    free(p);
    out[threadIdx.x] = s;
}

struct Node { int value; Node *next; };

//@ list<<<1, 8>>>(out i32[8] zero)
extern "C" __global__ void list(int *out) {
    Node *head = nullptr;
    for (int i = 0; i < 5; i++) head = new Node{i * 10 + (int)threadIdx.x, head};
    int s = 0;
    while (head) {
        s = s * 3 + head->value;
        Node *next = head->next;
        delete head;
        head = next;
    }
    out[threadIdx.x] = s;
}

//@ copied<<<1, 16>>>(in u8[512] random, out u8[512] zero)
extern "C" __global__ void copied(const unsigned char *in, unsigned char *out) {
    const unsigned char *from = in + threadIdx.x * 32;
    unsigned char *to = out + threadIdx.x * 32;
    memcpy(to, from, 16 + threadIdx.x);
    memset(to + 16 + threadIdx.x, 0xee, 16 - threadIdx.x);
    if (threadIdx.x & 1) memcpy(to + 20, from + 3, 9);
}

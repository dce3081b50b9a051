// CRC-32 by a table in constant memory that is computed first, and bit by bit.

__constant__ unsigned nibbles[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
__device__ unsigned table[256];

//@ make_table<<<1, 256>>>()
//@ get table u32[256]
extern "C" __global__ void make_table() {
    unsigned c = threadIdx.x;
    for (int i = 0; i < 8; i++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
    table[threadIdx.x] = c;
}

//@ crc_table<<<1, 32>>>(text u8[1024] text, out u32[32] zero, len i32 32)
extern "C" __global__ void crc_table(const unsigned char *text, unsigned *out, int len) {
    const unsigned char *p = text + threadIdx.x * len;
    unsigned c = ~0u;
    for (int i = 0; i < len; i++) c = table[(c ^ p[i]) & 255] ^ c >> 8;
    out[threadIdx.x] = ~c;
}

//@ crc_nibbles<<<1, 32>>>(text u8[1024] text, out u32[32] zero, len i32 31)
extern "C" __global__ void crc_nibbles(const unsigned char *text, unsigned *out, int len) {
    const unsigned char *p = text + threadIdx.x * len;
    unsigned c = ~0u;
    while (len-- > 0) {
        c ^= *p++;
        c = c >> 4 ^ nibbles[c & 15];
        c = c >> 4 ^ nibbles[c & 15];
    }
    out[threadIdx.x] = ~c;
}

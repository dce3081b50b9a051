// Rays against spheres and planes: branches, structs, refs, square roots.

struct Vec {
    float x, y, z;
    __device__ Vec operator+(const Vec &o) const { return {x + o.x, y + o.y, z + o.z}; }
    __device__ Vec operator-(const Vec &o) const { return {x - o.x, y - o.y, z - o.z}; }
    __device__ Vec operator*(float s) const { return {x * s, y * s, z * s}; }
    __device__ float dot(const Vec &o) const { return x * o.x + y * o.y + z * o.z; }
    __device__ Vec unit() const { return *this * (1 / sqrtf(dot(*this))); }
};

struct Ray { Vec at, to; };
struct Hit { float t; Vec normal; int what; };

__device__ bool sphere(const Ray &r, Vec c, float radius, Hit &h, int what) {
    Vec d = r.at - c;
    float b = d.dot(r.to), q = b * b - d.dot(d) + radius * radius;
    if (q < 0) return false;
    float t = -b - sqrtf(q);
    if (t < 1e-3f || t >= h.t) return false;
    h = {t, (r.at + r.to * t - c).unit(), what};
    return true;
}

__device__ __noinline__ Hit trace(const Ray &r) {
    Hit h = {1e9f, {0, 0, 0}, -1};
    sphere(r, {0, 0, 5}, 1, h, 0);
    sphere(r, {1.5f, 0.3f, 4}, 0.5f, h, 1);
    if (r.to.y < -1e-3f) {
        float t = (-1 - r.at.y) / r.to.y;
        if (t < h.t) h = {t, {0, 1, 0}, 2};
    }
    return h;
}

//@ render<<<2x2, 8x8>>>(out u8[256] zero, hits u32[4] zero)
extern "C" __global__ void render(unsigned char *out, unsigned *hits) {
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    Ray r = {{0, 0, 0}, Vec{(x - 7.6f) / 9, (7.4f - y) / 9, 1}.unit()};
    float light = 0, keep = 1;
    for (int bounce = 0; bounce < 3; bounce++) {
        Hit h = trace(r);
        atomicAdd(&hits[h.what + 1], 1);
        if (h.what < 0) { light += keep * 0.8f; break; }
        light += keep * fmaxf(0, h.normal.dot(Vec{0.5f, 0.7f, -0.5f})) * (h.what == 2 ? 0.3f : 0.6f);
        keep *= 0.4f;
        r = {r.at + r.to * h.t, r.to - h.normal * (2 * r.to.dot(h.normal))};
    }
    out[y * 16 + x] = (unsigned char)(fminf(light, 1) * 15);
}

// Virtual functions of objects that a kernel makes.

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
};

struct Circle : Shape {
    float r;
    __device__ Circle(float r) : r(r) {}
    __device__ float area() const override { return 3.0f * r * r; }
};

struct Box : Shape {
    float w, h;
    __device__ Box(float w, float h) : w(w), h(h) {}
    __device__ float area() const override { return w * h; }
    __device__ int corners() const override { return 4; }
};

struct Cube : Box {
    using Box::Box;
    __device__ float area() const override { return 6 * Box::area(); }
};

//@ areas<<<1, 64>>>(size f32[64] range(1,2), area f32[64] zero ~1e-6, corners i32[64] zero)
extern "C" __global__ void areas(const float *size, float *area, int *corners) {
    int i = threadIdx.x;
    float s = size[i];
    Circle circle(s);
    Box box(s, 2 * s);
    Cube cube(s, s);
    const Shape *shapes[3] = {&circle, &box, &cube};
    const Shape *mine = shapes[i % 3];
    area[i] = mine->area();
    corners[i] = mine->corners();
}

"""What a child process that was made by fork, without exec, gets from the driver."""
import ctypes
import os

cuda = ctypes.CDLL("libcuda.so.1")
device, context, count = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
assert cuda.cuInit(0) == 0
assert cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
child = os.fork()
if child == 0:
    print("in the child: cuInit", cuda.cuInit(0), "cuDeviceGetCount", cuda.cuDeviceGetCount(ctypes.byref(count)),
          "cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
print("the parent goes on")

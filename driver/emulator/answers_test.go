package emulator_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// testdata/h200-answers.txt contains the result codes and stored values of driver calls that the
// headers do not fully specify. They were recorded with driver 580 on a machine with a GPU. Each
// line holds one call.

const (
	answersFile = "testdata/h200-answers.txt"
	// differencesFile lists the calls whose result in the emulator differs from the driver's. Each
	// line has the reason.
	differencesFile = "testdata/differences.txt"
	// unaskedFile lists the calls that only a real driver can run, because the emulator lacks a
	// feature. Each line has the reason.
	unaskedFile = "testdata/unasked.txt"
	// writeAnswers is an environment variable that holds the path of the file to record. Set it on
	// a machine with a GPU to update testdata/h200-answers.txt.
	writeAnswers = "PURECUDA_WRITE_ANSWERS"
)

type questioner struct {
	*rig
	group   string
	answers []answer
	file    *os.File
}

type answer struct{ question, text string }

// ask records the result code of a call and, if the call succeeded, the values that it stored.
func (q *questioner) ask(question string, err error, stored ...any) {
	q.t.Helper()
	text := fmt.Sprint(uint32(code(err)))
	if err == nil && len(stored) > 0 {
		text += ":" + strings.TrimSuffix(fmt.Sprintln(append([]any{""}, stored...)...), "\n")
	}
	a := answer{q.group + ": " + question, text}
	q.answers = append(q.answers, a)
	if q.file != nil {
		fmt.Fprintf(q.file, "%s = %s\n", a.question, a.text)
	}
}

// Each group starts with a newly opened driver.
var questions = []struct {
	group string
	ask   func(q *questioner)
}{
	{"ranges", askRanges}, {"memory", askMemory}, {"virtual", askVirtual}, {"arrays", askArrays},
	{"devices", askDevices}, {"contexts", askContexts}, {"coredumps", askCoredumps}, {"modules", askModules},
	{"launches", askLaunches}, {"streams", askStreams}, {"occupancy", askOccupancy}, {"logs", askLogs},
	{"sharing", askSharing}, {"textures", askTextures}, {"rest", askRest},
}

func TestAnswersAreThoseOfTheDriver(t *testing.T) {
	kept := readLines(t, answersFile)
	differences := readLines(t, differencesFile)
	unasked := readLines(t, unaskedFile)
	asked := make(map[string]bool)
	for _, group := range questions {
		t.Run(group.group, func(t *testing.T) {
			q := &questioner{rig: newRig(t), group: group.group}
			q.open()
			group.ask(q)
			for _, a := range q.answers {
				asked[a.question] = true
				q.compare(a, kept, differences)
			}
		})
	}
	if len(kept) == 0 {
		t.Error(answersFile, "has no answers")
	}
	if os.Getenv(writeAnswers) == "" { // a recorded call that no test makes is stale
		for _, question := range forgotten(kept, unasked, asked) {
			t.Errorf("%s was answered by the driver and is not asked", question)
		}
	}
	for question := range unasked {
		switch {
		case kept[question] == "":
			t.Errorf("%s is said not to be asked, and no driver was", question)
		case !onGPU && asked[question]:
			t.Errorf("%s is said not to be asked, and is", question)
		}
	}
	for question := range differences {
		if !asked[question] {
			t.Errorf("%s is said to differ and is not asked", question)
		}
	}
	t.Logf("%d answers, %d of them differ and are explained", len(asked), len(differences))
}

// forgotten returns the recorded calls that the test should have made but did not.
func forgotten(kept, unasked map[string]string, asked map[string]bool) (list []string) {
	for question := range kept {
		if _, not := unasked[question]; !asked[question] && (onGPU || !not) {
			list = append(list, question)
		}
	}
	return list
}

func TestForgottenQuestionsAreNoticed(t *testing.T) {
	kept := map[string]string{"asked": "0", "forgotten": "0"}
	if list := forgotten(kept, nil, map[string]bool{"asked": true}); len(list) != 1 || list[0] != "forgotten" {
		t.Errorf("noticed %q", list)
	}
}

func (q *questioner) compare(a answer, kept, differences map[string]string) {
	q.t.Helper()
	want, ok := kept[a.question]
	reason, differs := differences[a.question]
	switch {
	case q.file != nil: // the answers are being recorded, not compared
	case !ok:
		q.t.Errorf("%s = %s: the driver was not asked", a.question, a.text)
	case !onGPU && differs && a.text == want:
		q.t.Errorf("%s = %s as on the driver, and yet is said to differ: %s", a.question, a.text, reason)
	case (onGPU || !differs) && a.text != want:
		q.t.Errorf("%s = %s, the driver said %s", a.question, a.text, want)
	}
}

func (q *questioner) open() {
	name := os.Getenv(writeAnswers)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	q.ok(err)
	q.file = f
	q.t.Cleanup(func() { f.Close() })
}

// readLines reads a file with lines of the form "question = text".
func readLines(t *testing.T, file string) map[string]string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kept := make(map[string]string)
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if question, said, ok := strings.Cut(text, " = "); ok && !strings.HasPrefix(text, "#") {
			kept[question] = said
		}
	}
	return kept
}

func (q *questioner) managed(size uintptr) (p cu.CUdeviceptr) {
	q.t.Helper()
	q.ok(q.CuMemAllocManaged(&p, size, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	q.t.Cleanup(func() { q.CuMemFree(p) })
	return p
}

var (
	device0 = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	host    = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_HOST}
)

func alignedPages(n int) unsafe.Pointer {
	const page = 4096
	b := make([]byte, (n+1)*page)
	return unsafe.Pointer(&b[-uintptr(unsafe.Pointer(&b[0]))%page])
}

func itoa(n int) string { return strconv.Itoa(n) }

func askDevices(q *questioner) {
	var luid [8]byte
	var mask uint32
	var v int32
	var size uintptr
	var dev cu.CUdevice
	q.ask("luid", q.CuDeviceGetLuid(&luid[0], &mask, q.dev))
	var list [64]uint64
	q.ask("NvSciSync", q.CuDeviceGetNvSciSyncAttributes(unsafe.Pointer(&list), q.dev, 1))
	q.ask("NvSciSync without a list", q.CuDeviceGetNvSciSyncAttributes(nil, q.dev, 1))
	ops := [12]cu.CUatomicOperation{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	var caps [12]uint32
	q.ask("host atomics", q.CuDeviceGetHostAtomicCapabilities(&caps[0], &ops[0], 11, q.dev), caps[:11])
	q.ask("an unknown atomic", q.CuDeviceGetHostAtomicCapabilities(&caps[0], &ops[11], 1, q.dev))
	q.ask("no atomics", q.CuDeviceGetHostAtomicCapabilities(&caps[0], &ops[0], 0, q.dev))
	q.ask("atomics to NULL", q.CuDeviceGetHostAtomicCapabilities(nil, &ops[0], 1, q.dev))
	q.ask("atomics of device 99", q.CuDeviceGetHostAtomicCapabilities(&caps[0], &ops[0], 1, 99))
	q.ask("peer atomics with itself", q.CuDeviceGetP2PAtomicCapabilities(&caps[0], &ops[0], 1, q.dev, q.dev))
	q.ask("peer atomics with device 99", q.CuDeviceGetP2PAtomicCapabilities(&caps[0], &ops[0], 1, q.dev, 99))
	var note cu.CUasyncCallbackHandle
	called := cu.CUasyncCallback(loader.NewCallback(func(uintptr) {}))
	err := q.CuDeviceRegisterAsyncNotification(q.dev, called, nil, &note)
	q.ask("register a notification", err, note != 0)
	if err == nil {
		q.ask("unregister a notification", q.CuDeviceUnregisterAsyncNotification(q.dev, note))
	}
	q.ask("register no function", q.CuDeviceRegisterAsyncNotification(q.dev, 0, nil, &note))
	q.ask("notification of device 99", q.CuDeviceRegisterAsyncNotification(99, called, nil, &note))
	q.ask("flush RDMA", q.CuFlushGPUDirectRDMAWrites(cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER))
	q.ask("flush RDMA elsewhere", q.CuFlushGPUDirectRDMAWrites(9, cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER))
	for _, a := range []cu.CUdevice_attribute{0, 500} {
		q.ask("attribute "+itoa(int(a)), q.CuDeviceGetAttribute(&v, a, q.dev))
	}
	q.ask("attribute of device 99", q.CuDeviceGetAttribute(&v, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99))
	q.ask("attribute to NULL", q.CuDeviceGetAttribute(nil, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, q.dev))
	q.ask("device -1", q.CuDeviceGet(&dev, -1))
	q.ask("device to NULL", q.CuDeviceGet(nil, 0))
	q.ask("memory of device 99", q.CuDeviceTotalMem(&size, 99))
	q.ask("bus id that is none", q.CuDeviceGetByPCIBusId(&dev, cstr("nothing")))
	q.ask("bus id of nothing", q.CuDeviceGetByPCIBusId(&dev, cstr("0000:FE:1F.0")))
	var name [4]byte
	q.ask("short name", q.CuDeviceGetName(&name[0], 4, q.dev), name[3])
}

func askContexts(q *questioner) {
	var ctx cu.CUcontext
	q.ask("attach", q.CuCtxAttach(&ctx, 0), ctx == q.ctx)
	q.ask("detach", q.CuCtxDetach(q.ctx))
	q.ask("attach with flags", q.CuCtxAttach(&ctx, 1))
	q.ask("attach to NULL", q.CuCtxAttach(nil, 0))
	q.ask("detach from 0", q.CuCtxDetach(0))
	q.ok(q.CuCtxSetCurrent(q.ctx))
	var flags uint32
	q.ask("flags", q.CuCtxGetFlags(&flags), flags)
	q.ask("set flags 3", q.CuCtxSetFlags(3))
	q.ask("set unknown flags", q.CuCtxSetFlags(1<<20))
	q.ask("set blocking", q.CuCtxSetFlags(uint32(cu.CU_CTX_SCHED_BLOCKING_SYNC)))
	q.ask("flags that were set", q.CuCtxGetFlags(&flags), flags)
	q.ok(q.CuCtxSetFlags(0))
	for l := cu.CUlimit(0); l <= cu.CU_LIMIT_MAX+1; l++ {
		var v uintptr
		q.ask("limit "+itoa(int(l)), q.CuCtxGetLimit(&v, l), v)
	}
	for l := cu.CUlimit(3); l <= cu.CU_LIMIT_MAX+1; l++ {
		q.ask("set limit "+itoa(int(l)), q.CuCtxSetLimit(l, 64))
	}
	q.ask("a huge stack", q.CuCtxSetLimit(cu.CU_LIMIT_STACK_SIZE, 1<<40))
	q.ask("set cache 3", q.CuCtxSetCacheConfig(3))
	q.ask("set cache 9", q.CuCtxSetCacheConfig(9))
	q.ask("set banks 9", q.CuCtxSetSharedMemConfig(9))
	var banks cu.CUsharedconfig
	q.ask("set banks of 8 bytes", q.CuCtxSetSharedMemConfig(cu.CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE))
	q.ask("banks", q.CuCtxGetSharedMemConfig(&banks), uint32(banks))
	var version uint32
	q.ask("version", q.CuCtxGetApiVersion(q.ctx, &version), version)
	q.ask("version of 0", q.CuCtxGetApiVersion(0, &version), version)
	var affinity cu.CUexecAffinityParam
	q.ask("affinity", q.CuCtxGetExecAffinity(&affinity, cu.CU_EXEC_AFFINITY_TYPE_SM_COUNT))
	var least, greatest int32
	q.ask("priorities", q.CuCtxGetStreamPriorityRange(&least, &greatest), least, greatest)
	q.ask("priorities to NULL", q.CuCtxGetStreamPriorityRange(nil, nil))
	q.ask("persisting lines", q.CuCtxResetPersistingL2Cache())
	var active int32
	q.ask("primary flags 3", q.CuDevicePrimaryCtxSetFlags(q.dev, 3))
	q.ask("primary flags of device 99", q.CuDevicePrimaryCtxSetFlags(99, 0))
	q.ask("primary state", q.CuDevicePrimaryCtxGetState(q.dev, &flags, &active), flags, active)
	q.ask("primary state to NULL", q.CuDevicePrimaryCtxGetState(q.dev, nil, nil))
	q.ask("primary flags", q.CuDevicePrimaryCtxSetFlags(q.dev, uint32(cu.CU_CTX_SCHED_YIELD)))
	q.ask("primary state then", q.CuDevicePrimaryCtxGetState(q.dev, &flags, &active), flags, active)
	q.ok(q.CuDevicePrimaryCtxSetFlags(q.dev, 0))
	q.ask("release of device 99", q.CuDevicePrimaryCtxRelease(99))
	q.ask("retain device 99", q.CuDevicePrimaryCtxRetain(&ctx, 99))
	q.ask("peer of itself", q.CuCtxEnablePeerAccess(q.ctx, 0))
	q.ask("peer with flags", q.CuCtxEnablePeerAccess(q.ctx, 1))
	q.ask("peer 0", q.CuCtxEnablePeerAccess(0, 0))
	q.ask("peer that is not enabled", q.CuCtxDisablePeerAccess(q.ctx))
	q.ask("create with flags 3", q.CuCtxCreate(&ctx, nil, 3, q.dev))
	q.ask("create on device 99", q.CuCtxCreate(&ctx, nil, 0, 99))
	q.ask("push 0", q.CuCtxPushCurrent(0))
	q.ask("destroy 0", q.CuCtxDestroy(0))
	q.ask("destroy the primary one", q.CuCtxDestroy(q.ctx))
	q.ask("current then", q.CuCtxGetCurrent(&ctx), ctx == q.ctx)
	q.ok(q.CuCtxSetCurrent(q.ctx))
	var id uint64
	q.ask("id", q.CuCtxGetId(0, &id))
	q.ask("id to NULL", q.CuCtxGetId(0, nil))
	askWithoutContext(q)
}

func askWithoutContext(q *questioner) {
	q.ok(q.CuCtxSetCurrent(0))
	var ctx cu.CUcontext
	var flags uint32
	var p cu.CUdeviceptr
	var dev cu.CUdevice
	var id uint64
	var v uintptr
	q.ask("nothing: pop", q.CuCtxPopCurrent(&ctx))
	q.ask("nothing: attach", q.CuCtxAttach(&ctx, 0))
	q.ask("nothing: flags", q.CuCtxGetFlags(&flags))
	q.ask("nothing: id", q.CuCtxGetId(0, &id))
	q.ask("nothing: device", q.CuCtxGetDevice(&dev))
	q.ask("nothing: alloc", q.CuMemAlloc(&p, 4))
	q.ask("nothing: limit", q.CuCtxGetLimit(&v, cu.CU_LIMIT_STACK_SIZE))
	q.ask("nothing: synchronize", q.CuCtxSynchronize())
	q.ask("nothing: profiler", q.CuProfilerStart())
	q.ask("nothing: prefetch", q.CuMemPrefetchAsync(0, 4, device0, 0, 0))
	q.ask("nothing: version", q.CuCtxGetApiVersion(0, &flags))
	q.ok(q.CuCtxSetCurrent(q.ctx))
}

func askCoredumps(q *questioner) {
	for a := cu.CUcoredumpSettings(0); a <= cu.CU_COREDUMP_MAX+1; a++ {
		var v [2048]byte
		size := uintptr(len(v))
		q.ask("attribute "+itoa(int(a)), q.CuCoredumpGetAttribute(a, unsafe.Pointer(&v), &size), size, v[0])
		size, v = uintptr(len(v)), [2048]byte{}
		q.ask("global attribute "+itoa(int(a)), q.CuCoredumpGetAttributeGlobal(a, unsafe.Pointer(&v), &size), size, v[0])
		size = 0
		q.ask("attribute without room "+itoa(int(a)), q.CuCoredumpGetAttributeGlobal(a, unsafe.Pointer(&v), &size), size)
		size = 77
		q.ask("size of attribute "+itoa(int(a)), q.CuCoredumpGetAttribute(a, nil, &size), size)
	}
	yes, size := byte(1), uintptr(1)
	at := unsafe.Pointer(&yes)
	for a := cu.CUcoredumpSettings(1); a <= 4; a++ {
		q.ask("set "+itoa(int(a)), q.CuCoredumpSetAttribute(a, at, &size))
		q.ask("set global "+itoa(int(a)), q.CuCoredumpSetAttributeGlobal(a, at, &size))
		var v byte
		q.ask("what was set "+itoa(int(a)), q.CuCoredumpGetAttribute(a, unsafe.Pointer(&v), &size), v)
	}
	four := uintptr(4)
	word := uint32(1)
	q.ask("set with 4 bytes", q.CuCoredumpSetAttribute(cu.CU_COREDUMP_LIGHTWEIGHT, unsafe.Pointer(&word), &four), four)
	q.ask("set from NULL", q.CuCoredumpSetAttribute(cu.CU_COREDUMP_LIGHTWEIGHT, nil, &four))
	q.ask("set flags", q.CuCoredumpSetAttribute(cu.CU_COREDUMP_GENERATION_FLAGS, unsafe.Pointer(&word), &four))
	name := []byte("core.%p\x00")
	length := uintptr(len(name))
	q.ask("set a file", q.CuCoredumpSetAttributeGlobal(cu.CU_COREDUMP_FILE, unsafe.Pointer(&name[0]), &length))
	q.ask("set a file of a context", q.CuCoredumpSetAttribute(cu.CU_COREDUMP_FILE, unsafe.Pointer(&name[0]), &length))
}

func askRest(q *questioner) {
	pid := int32(os.Getpid())
	var state cu.CUprocessState
	var tid int32
	q.ask("cuCheckpointProcessGetState of this process", q.CuCheckpointProcessGetState(pid, &state), uint32(state))
	q.ask("cuCheckpointProcessGetState of an invalid process", q.CuCheckpointProcessGetState(-5, &state))
	q.ask("cuCheckpointProcessGetRestoreThreadId", q.CuCheckpointProcessGetRestoreThreadId(pid, &tid), tid > 0)
	q.ask("cuCheckpointProcessUnlock", q.CuCheckpointProcessUnlock(pid, nil))
	q.ask("multicast granularity", q.CuMulticastGetGranularity(new(uintptr), &cu.CUmulticastObjectProp{NumDevices: 1, Size: 2 << 20}, 0))
	var g cu.CUmemGenericAllocationHandle
	err := q.CuMulticastCreate(&g, &cu.CUmulticastObjectProp{NumDevices: 1, Size: 2 << 20})
	q.ask("multicast object", err)
	if err == nil {
		q.ask("release a multicast object", q.CuMemRelease(g))
	}
	q.ask("decompress nothing", q.CuMemBatchDecompressAsync(nil, 0, 0, nil, 0))
	q.ask("cuMemMapArrayAsync of no arrays", q.CuMemMapArrayAsync(nil, 0, 0))
	var x cu.CUexternalMemory
	q.ask("cuImportExternalMemory without a handle type", q.CuImportExternalMemory(&x, &cu.CUDA_EXTERNAL_MEMORY_HANDLE_DESC{Size: 4096}))
	q.ask("cuImportExternalMemory of NULL", q.CuImportExternalMemory(&x, nil))
	q.ask("cuGraphicsMapResources of no resources", q.CuGraphicsMapResources(0, nil, 0))
	q.ask("cuDestroyExternalMemory of handle 0", q.CuDestroyExternalMemory(0))
	q.ask("cuGraphicsUnregisterResource of handle 0", q.CuGraphicsUnregisterResource(0))
	var green cu.CUgreenCtx
	q.ask("green context of a stream", q.CuStreamGetGreenCtx(q.stream(), &green), green)
	q.ask("green context of the NULL stream", q.CuStreamGetGreenCtx(0, &green), green)
}

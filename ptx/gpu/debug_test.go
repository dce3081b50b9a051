package gpu_test

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

func TestPrintf(t *testing.T) {
	var b bytes.Buffer
	mustRun(t, gpu.D1(2), gpu.D1(32), func(k gpu.Thread) {
		gpu.Printf(k, "%d %.1f %v\n", k.Rank(), 0.5, k.Rank() == 3)
	}, gpu.Output(&b))
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 65 || strings.Count(b.String(), "3 0.5 true\n") != 2 {
		t.Errorf("%q", b.String())
	}
}

func TestAssert(t *testing.T) {
	p := wantPanic(t, "assertion failed: the rank is even (block (0,0,0), thread (1,0,0), ", gpu.D1(1), gpu.D1(8), func(k gpu.Thread) {
		gpu.Assert(k, true, "never")
		gpu.Assert(k, k.Rank()%2 == 0, "the rank is even")
	})
	var a gpu.AssertionError
	if !errors.As(p, &a) || a != "the rank is even" {
		t.Errorf("%v", p.Value)
	}
}

func TestExitEndsOnlyTheThread(t *testing.T) {
	var n int
	mustRun(t, gpu.D1(1), gpu.D1(32), func(k gpu.Thread) {
		if k.Rank() != 7 {
			k.Exit()
		}
		n++
	})
	if n != 1 {
		t.Errorf("%d threads continued", n)
	}
	wantPanic(t, "trap", gpu.D1(1), gpu.D1(1), func(k gpu.Thread) { k.Trap() })
}

func TestClocks(t *testing.T) {
	mustRun(t, gpu.D1(1), gpu.D1(1), func(k gpu.Thread) {
		c, g := k.Clock64(), k.GlobalTimer()
		k.Sleep(2_000_000)
		if k.Clock64() <= c || k.GlobalTimer() <= g {
			t.Error("a clock stands still")
		}
		if low := k.Clock(); low-uint32(c) > 1<<31 {
			t.Errorf("Clock %d is not after Clock64 %d", low, c)
		}
	})
}

func TestWhatRunDoesNotSimulate(t *testing.T) {
	var r uint32
	twice := gpu.Extern[func(int) int]("twice.ptx", "twice", nil)
	for name, kernel := range map[string]func(gpu.Thread){
		"Conditional.Set":    func(k gpu.Thread) { gpu.Conditional(1).Set(k, 1) },
		"PTX":                func(gpu.Thread) { gpu.PTX("mov.u32 %0, %1;", gpu.Out(&r), gpu.In(uint32(1))) },
		"PurePTX":            func(gpu.Thread) { gpu.PurePTX("", gpu.InOut(&r), gpu.Addr(&r), gpu.SharedAddr(&r)) },
		"twice of twice.ptx": func(gpu.Thread) { twice(1) },
	} {
		wantPanic(t, "gpu.Run does not simulate "+name+": compile the kernel with go2ptx and use the emulator", gpu.D1(1), gpu.D1(1), kernel)
	}
	if f := gpu.Extern("twice.ptx", "twice", func(x int) int { return 2 * x }); f(21) != 42 {
		t.Error("Extern does not return the simulation")
	}
	if gpu.Device() {
		t.Error("the test is on a device")
	}
}

func TestRunRefusesSizes(t *testing.T) {
	kernel := func(gpu.Thread) {}
	for text, err := range map[string]error{
		"the kernel is nil":             gpu.Run(gpu.D1(1), gpu.D1(1), nil),
		"the size (-1,1,1) is negative": gpu.Run(gpu.D1(-1), gpu.D1(1), kernel),
		"a block of 1025 threads":       gpu.Run(gpu.D1(1), gpu.D1(1025), kernel),
		"-1 bytes":                      gpu.Run(gpu.D1(1), gpu.D1(1), kernel, gpu.SharedSize(-1)),
		"do not divide a grid":          gpu.Run(gpu.D1(3), gpu.D1(1), kernel, gpu.Cluster(gpu.D1(2))),
		"the writer of Output is nil":   gpu.Run(gpu.D1(1), gpu.D1(1), kernel, gpu.Output(nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q", err, text)
		}
	}
	mustRun(t, gpu.Dim{}, gpu.Dim{}, kernel, nil) // zero fields count as 1
}

// Every run must report the same failure, which is the one in the first block and thread.
func TestThePanicOfTheFirstThreadIsReported(t *testing.T) {
	for range 50 {
		p := wantPanic(t, "17", gpu.D1(64), gpu.D1(64), func(k gpu.Thread) {
			if k.BlockX() >= 40 {
				panic(k.BlockX())
			}
			k.Sync()
			if k.BlockX() == 17 && k.Rank() >= 9 {
				panic(17)
			}
		})
		if p.Block != gpu.D3(17, 0, 0) || p.Thread != gpu.D3(9, 0, 0) || p.Value != 17 {
			t.Fatalf("%v", p)
		}
	}
}

// After a panic, Run stops the threads that wait for the panicked thread, and starts no later
// block.
func TestAPanicStopsTheOthers(t *testing.T) {
	for name, wait := range map[string]func(k gpu.Thread){
		"Sync":        func(k gpu.Thread) { k.Sync() },
		"BarrierSync": func(k gpu.Thread) { k.BarrierSync(1, 64) },
		"Shuffle":     func(k gpu.Thread) { gpu.Shuffle(k, 1, 0); k.Sync() },
		"Sleep": func(k gpu.Thread) {
			for {
				k.Sleep(1)
			}
		},
		"Exit and Sync": func(k gpu.Thread) {
			if k.Rank() > 32 {
				k.Exit()
			}
			k.Sync()
		},
	} {
		p := wantPanic(t, "stop", gpu.D1(1000), gpu.D1(64), func(k gpu.Thread) {
			if k.BlockX() == 0 && k.Rank() == 3 {
				panic("stop")
			}
			if k.BlockX() == 0 {
				wait(k)
			}
		})
		if p.Thread != gpu.D3(3, 0, 0) || !strings.Contains(p.Stack, "TestAPanicStopsTheOthers") {
			t.Errorf("%s: %v\n%s", name, p, p.Stack)
		}
	}
}

func TestValuesOfPanics(t *testing.T) {
	cause := errors.New("cause")
	if p := wantPanic(t, "cause (block", gpu.D1(1), gpu.D1(1), func(gpu.Thread) { panic(cause) }); !errors.Is(p, cause) {
		t.Error("the error is not wrapped")
	}
	wantPanic(t, "panic called with nil", gpu.D1(1), gpu.D1(1), func(gpu.Thread) { panic(nil) })
	wantPanic(t, "nil pointer", gpu.D1(1), gpu.D1(1), func(gpu.Thread) { *(*int)(nil) = 1 })
	wantPanic(t, "divide by zero", gpu.D1(1), gpu.D1(2), func(k gpu.Thread) { _ = 1 / (k.Rank() - 1) })
	wantPanic(t, "runtime.Goexit was called", gpu.D1(1), gpu.D1(1), func(gpu.Thread) { runtime.Goexit() })
}

// The zero Thread is the only thread of its grid.
func TestZeroThread(t *testing.T) {
	var k gpu.Thread
	if k.GlobalX() != 0 || k.BlockDimX() != 1 || k.GridDimY() != 1 || k.ClusterSize() != 1 || k.GridStrideZ() != 1 || k.BlockSize() != 1 {
		t.Error("the indices are wrong")
	}
	k.Sync()
	k.SyncWarp()
	k.ClusterSync()
	k.GridSync()
	k.CommitGroup()
	k.WaitGroup(0)
	k.CommitBulkGroup()
	k.WaitBulkGroup(0)
	if k.SyncCount(true) != 1 || gpu.Ballot(k, true) != 1 || gpu.ReduceAdd(k, int32(5)) != 5 || gpu.ShuffleXor(k, 7, 0) != 7 {
		t.Error("a collective operation of one thread is wrong")
	}
	x, y := gpu.Shared[int](k), 3
	gpu.CopyAsync(k, x, &y)
	if *x != 3 {
		t.Error("CopyAsync of one thread did nothing")
	}
	src, dst := []int64{1, 2}, make([]int64, 2)
	bar := new(gpu.Barrier)
	bar.Init(k, 1)
	phase := bar.ArriveExpect(k, 16)
	gpu.CopyBulk(k, dst, src, bar)
	bar.Wait(k, phase)
	gpu.CopyBulkOut(k, src, []int64{8, 9})
	if dst[1] != 2 || src[1] != 9 {
		t.Errorf("bulk copies: %v and %v", dst, src)
	}
	defer func() {
		if d, ok := recover().(*gpu.Deadlock); !ok || d.Waits[0].For != "Barrier.Wait" {
			t.Errorf("a wait for a phase that never completes: %v", d)
		}
	}()
	bar.Wait(k, bar.Arrive(k)^1)
}

package nvrtc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/internal/gputest"
)

func compileOK(t *testing.T, c *Compiler, p Program) *Result {
	t.Helper()
	r, err := c.Compile(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSecondCompilationComesFromTheCache(t *testing.T) {
	f, cache := &fake{}, testCache(t)
	p := Program{Name: "k.cu", Source: "s", Arch: Real(9, 0), NameExpressions: []string{"add<float>"}}
	first := compileOK(t, newFake(t, f, WithCache(cache)), p)
	again := compileOK(t, newFake(t, f, WithCache(cache)), p) // a new compiler, as another process would have
	if first.Cached || !again.Cached || f.compiled.Load() != 1 {
		t.Errorf("cached %v, then %v; %d compilations", first.Cached, again.Cached, f.compiled.Load())
	}
	if string(again.PTX) != string(first.PTX) || string(again.Cubin) != string(first.Cubin) || again.Lowered["add<float>"] != first.Lowered["add<float>"] {
		t.Errorf("the cache gives %+v, it was %+v", again, first)
	}
	if s := cache.Stats(); s.Hits != 1 || s.Misses != 1 || s.Stored != 1 || s.Failed != 0 {
		t.Errorf("statistics %+v", s)
	}
}

func TestResultsBelongToTheirCallers(t *testing.T) {
	c := newFake(t, &fake{}, WithCache(testCache(t)))
	r := compileOK(t, c, Program{Source: "s", NameExpressions: []string{"n"}})
	r.PTX[0], r.Lowered["n"] = 'x', "x"
	if again := compileOK(t, c, Program{Source: "s", NameExpressions: []string{"n"}}); again.PTX[0] == 'x' || again.Lowered["n"] == "x" {
		t.Error("a change of one result is in the next")
	}
}

func TestWhateverAResultDependsOnIsInItsKey(t *testing.T) {
	f := &fake{}
	c := newFake(t, f, WithCache(testCache(t)))
	folder := gputest.TempDir(t)
	programs := []Program{
		{Source: "s"},
		{Source: "s2"},
		{Source: "s", Name: "other.cu"},
		{Source: "s", Arch: "compute_80"},
		{Source: "s", Options: []string{"-DN=1"}},
		{Source: "s", Options: []string{"-DN=1", "-DM"}},
		{Source: "s", Options: []string{"-DM", "-DN=1"}},
		{Source: "s", NameExpressions: []string{"-DN=1"}},
		{Source: "s", Headers: map[string]string{"h": ""}},
		{Source: "s", Headers: map[string]string{"h": "1"}},
		{Source: "s", Headers: map[string]string{"h1": ""}},
		{Source: "s", IncludePaths: []string{folder}},
	}
	for i, p := range programs {
		if r := compileOK(t, c, p); r.Cached {
			t.Errorf("program %d was taken for another one: %+v", i, p)
		}
	}
	for i, p := range programs {
		if r := compileOK(t, c, p); !r.Cached {
			t.Errorf("program %d was not found again: %+v", i, p)
		}
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	f := &fake{compile: func(*fakeProgram) (Code, string) { return NVRTC_ERROR_COMPILATION, "k.cu(1): error: x" }}
	cache := testCache(t)
	c := newFake(t, f, WithCache(cache))
	for range 2 {
		if _, err := c.Compile(t.Context(), Program{Source: "s"}); err == nil {
			t.Fatal("no error")
		}
	}
	if s := cache.Stats(); f.compiled.Load() != 2 || s.Stored != 0 {
		t.Errorf("%d compilations, %+v", f.compiled.Load(), s)
	}
}

func entryFile(t *testing.T, c *Cache) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Dir(), "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v; want one file", files, err)
	}
	return files[0]
}

func TestDamagedEntryIsCompiledAgain(t *testing.T) {
	damages := map[string]func([]byte) []byte{
		"a changed byte": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut off":        func(b []byte) []byte { return b[:len(b)-3] },
		"a head only":    func(b []byte) []byte { return b[:10] },
		"empty":          func([]byte) []byte { return nil },
		"another format": func(b []byte) []byte { b[len(keyFormat)-1] = '0'; return b },
		"another key's":  func([]byte) []byte { return encode(key{1}, &Result{PTX: []byte("wrong")}) },
	}
	for what, damage := range damages {
		t.Run(what, func(t *testing.T) {
			f, cache := &fake{}, testCache(t)
			c := newFake(t, f, WithCache(cache))
			want := compileOK(t, c, Program{Source: "s"})
			path := entryFile(t, cache)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			got := compileOK(t, c, Program{Source: "s"})
			if got.Cached || string(got.PTX) != string(want.PTX) {
				t.Errorf("the result is %q, cached %v", got.PTX, got.Cached)
			}
			if s := cache.Stats(); s.Damaged != 1 || s.Stored != 2 || s.Failed != 0 {
				t.Errorf("statistics %+v", s)
			}
			if !compileOK(t, c, Program{Source: "s"}).Cached {
				t.Error("the entry was not mended")
			}
		})
	}
}

func TestEntriesOfAnyBytesAreReadBackOrRefused(t *testing.T) {
	r := &Result{PTX: []byte("p\x00\xff"), Cubin: []byte{0}, Log: "l", Lowered: map[string]string{"a": "b", "": "c"}}
	data := encode(key{7}, r)
	got, err := decode(key{7}, data)
	if err != nil || string(got.PTX) != string(r.PTX) || string(got.Cubin) != string(r.Cubin) || got.Log != r.Log || got.Lowered[""] != "c" || len(got.Lowered) != 2 {
		t.Errorf("read back %+v, %v", got, err)
	}
	for i := range data {
		if _, err := decode(key{7}, data[:i]); err == nil {
			t.Errorf("the first %d bytes pass for an entry", i)
		}
	}
	p := packed{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'} // declares a length of 2^64-1 bytes
	if b := p.take(); b != nil || len(p) != 0 {
		t.Errorf("a length of 2^64-1 gives %q", b)
	}
}

func TestCacheKeepsToItsBound(t *testing.T) {
	const one = 1000
	cache, err := NewCache(filepath.Join(gputest.TempDir(t), "c"), 8*one)
	if err != nil {
		t.Fatal(err)
	}
	var keys []key
	for i := range 12 {
		k := key{byte(i)}
		keys = append(keys, k)
		cache.put(k, &Result{PTX: make([]byte, one-120)})
		when := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(cache.path(k), when, when); err != nil && i != 8 {
			t.Fatal(err)
		}
		if i == 6 && cache.get(keys[0]) == nil { // get makes this entry the most recently used
			t.Fatal("an entry went before its time")
		}
	}
	entries, err := cache.entries()
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, e := range entries {
		total += e.size
	}
	if total > 8*one || len(entries) < 5 {
		t.Errorf("%d entries of %d bytes in a cache of %d", len(entries), total, 8*one)
	}
	if cache.get(keys[0]) == nil || cache.get(keys[11]) == nil || cache.get(keys[1]) != nil {
		t.Errorf("not the entries that were used last are left: %+v", cache.Stats())
	}
	if s := cache.Stats(); s.Evicted == 0 || s.Failed != 0 {
		t.Errorf("statistics %+v", s)
	}
}

func TestFilesThatWereNeverFinishedGo(t *testing.T) {
	cache := testCache(t)
	cache.put(key{1}, &Result{PTX: []byte("p")})
	old, young := filepath.Join(cache.Dir(), "1.part"), filepath.Join(cache.Dir(), "2.part")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	when := time.Now().Add(-2 * partAge)
	if err := os.Chtimes(old, when, when); err != nil {
		t.Fatal(err)
	}
	cache.put(key{2}, &Result{PTX: []byte("p")})
	if isFile(old) || !isFile(young) {
		t.Errorf("the old one is there: %v, the young one: %v", isFile(old), isFile(young))
	}
	if err := cache.Clear(); err != nil {
		t.Fatal(err)
	}
	if entries, err := cache.entries(); err != nil || len(entries) != 0 {
		t.Errorf("after Clear there are %v, %v", entries, err)
	}
}

func TestFolderThatCannotBeWrittenFailsNoCompilation(t *testing.T) {
	file := filepath.Join(gputest.TempDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cache, err := NewCache(filepath.Join(file, "below"), 0)
	if err != nil {
		t.Fatal(err)
	}
	compileOK(t, newFake(t, &fake{}, WithCache(cache)), Program{Source: "s"})
	if s := cache.Stats(); s.Failed == 0 || s.Err == nil || s.Stored != 0 {
		t.Errorf("statistics %+v", s)
	}
}

func TestManyWhoWantTheSameShareOneCompilation(t *testing.T) {
	const callers = 8
	finish := make(chan struct{})
	f := &fake{compile: func(*fakeProgram) (Code, string) { <-finish; return 0, "" }}
	cache := testCache(t)
	c := newFake(t, f, WithCache(cache))
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if r, err := c.Compile(t.Context(), Program{Source: "s"}); err != nil || !strings.HasSuffix(string(r.PTX), "s") {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
	time.Sleep(10 * time.Millisecond)
	close(finish)
	wg.Wait()
	if n := f.compiled.Load(); n != 1 {
		t.Errorf("%d compilations", n)
	}
}

func TestCompilersOfSeveralProcessesShareAFolder(t *testing.T) {
	dir := gputest.TempDir(t)
	var wg sync.WaitGroup
	for range 4 {
		cache, err := NewCache(dir, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		c := newFake(t, &fake{}, WithCache(cache))
		wg.Go(func() {
			for i := range 200 {
				source := strings.Repeat("x", 100*(i%17))
				r, err := c.Compile(t.Context(), Program{Source: source})
				if err != nil || !strings.HasSuffix(string(r.PTX), "\n"+source) {
					t.Errorf("wrong result %v, %v", r, err)
					return
				}
			}
			if s := cache.Stats(); s.Damaged != 0 {
				t.Errorf("statistics %+v", s)
			}
		})
	}
	wg.Wait()
}

func TestTheEnvironmentNamesTheFolderOrTurnsTheCacheOff(t *testing.T) {
	dir := gputest.TempDir(t)
	t.Setenv(CacheVariable, dir)
	if c := defaultCache(); c == nil || c.Dir() != dir {
		t.Errorf("cache %v, want one in %s", c, dir)
	}
	t.Setenv(CacheVariable, "off")
	if c := defaultCache(); c != nil {
		t.Errorf("a cache in %s, want none", c.Dir())
	}
	c, err := New(&fake{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Cache() != nil {
		t.Error("a compiler has a cache although it is off")
	}
}

func TestTheUsersCacheIsWhereItIsSaidToBe(t *testing.T) {
	t.Setenv(CacheVariable, "")
	want, err := DefaultCacheDir()
	if err != nil {
		if defaultCache() != nil {
			t.Error("a cache without a place")
		}
		return
	}
	if !strings.HasSuffix(filepath.ToSlash(want), "/purecuda/nvrtc") {
		t.Errorf("the user's cache is in %s", want)
	}
	if c := defaultCache(); c == nil || c.Dir() != want {
		t.Errorf("cache %+v, want one in %s", c, want)
	}
}

func TestCacheWithoutAPlaceIsRefused(t *testing.T) {
	if _, err := NewCache("", 0); err == nil {
		t.Error("no folder, no error")
	}
	if _, err := NewCache(gputest.TempDir(t), -1); err == nil {
		t.Error("-1 bytes, no error")
	}
	if c, err := NewCache("relative", 0); err != nil || !filepath.IsAbs(c.Dir()) {
		t.Errorf("%v, %v", c, err)
	}
}

func TestOptionsThatWriteFilesAreNotCached(t *testing.T) {
	f := &fake{}
	c := newFake(t, f, WithCache(testCache(t)))
	options := []string{"--time=x", "-time=x", "--pch", "-pch-dir=x", "--create-pch=x", "-fdevice-time-trace=x"}
	for _, o := range options {
		for range 2 {
			compileOK(t, c, Program{Source: "s", Options: []string{o}})
		}
	}
	if n := int(f.compiled.Load()); n != 2*len(options) {
		t.Errorf("%d compilations, want %d", n, 2*len(options))
	}
	if slices.ContainsFunc([]string{"--use_fast_math", "-DN", "-G", "--std=c++17"}, uncached) {
		t.Error("an ordinary option is not cached")
	}
}

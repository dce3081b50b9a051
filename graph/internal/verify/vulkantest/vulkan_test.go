package vulkantest

import "testing"

func TestSemaphoreKeepsItsValue(t *testing.T) {
	d, err := Open()
	if err != nil {
		t.Skip(err) // this machine has no NVIDIA Vulkan driver
	}
	s, err := d.NewSemaphore()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Signal(7); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Value(); err != nil || v != 7 {
		t.Errorf("value %d (%v), want 7", v, err)
	}
	if fd, err := s.FD(); err != nil || fd < 0 {
		t.Errorf("file descriptor %d (%v)", fd, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

package launch

import (
	"maps"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

type (
	attribute = cu.CUlaunchAttributeID
	value     = cu.CUlaunchAttributeValue
)

// Attributes holds the attributes of a launch or a kernel node. Attributes that only affect the
// hardware of a real device are stored and returned, but have no effect. Changing a copy does not
// change the original.
type Attributes struct {
	Cooperative   int32
	Cluster       vm.Dim3
	Priority      int32
	HasPriority   bool
	Serialization int32
	// AtStart and AtEnd are the handles of the programmatic event and the launch completion event.
	// 0 means that there is none.
	AtStart, AtEnd uintptr

	others map[attribute]value // copies share the map, so it is never changed in place
}

// Set sets an attribute. isEvent reports whether a handle refers to an event.
func (a *Attributes) Set(id attribute, v *value, isEvent func(uintptr) bool) cu.CUresult {
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_IGNORE:
	case cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if *v.Cooperative() < 0 || *v.Cooperative() > 1 {
			return errInvalidValue
		}
		a.Cooperative = *v.Cooperative()
	case cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		d := v.ClusterDim()
		a.Cluster = vm.Dim3{X: d.X, Y: d.Y, Z: d.Z}
	case cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		a.Priority, a.HasPriority = *v.Priority(), true
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		a.Serialization = *v.ProgrammaticStreamSerializationAllowed()
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		return setEvent(&a.AtStart, uintptr(v.ProgrammaticEvent().Event), isEvent)
	case cu.CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return setEvent(&a.AtEnd, uintptr(v.LaunchCompletionEvent().Event), isEvent)
	case cu.CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return errNotSupported
	default:
		if !kept(id) {
			return errInvalidValue
		}
		others := map[attribute]value{}
		maps.Copy(others, a.others)
		others[id] = *v
		a.others = others
	}
	return success
}

func setEvent(to *uintptr, h uintptr, isEvent func(uintptr) bool) cu.CUresult {
	if !isEvent(h) {
		return cu.CUDA_ERROR_INVALID_HANDLE
	}
	*to = h
	return success
}

// kept reports whether a launch attribute is stored but has no effect.
func kept(id attribute) bool {
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
		cu.CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
		cu.CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
		cu.CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
		cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		return true
	}
	return false
}

// Get stores the value of an attribute in out.
func (a *Attributes) Get(id attribute, out *value) cu.CUresult {
	*out = value{}
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		*out.Cooperative() = a.Cooperative
	case cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		d := out.ClusterDim()
		d.X, d.Y, d.Z = a.Cluster.X, a.Cluster.Y, a.Cluster.Z
	case cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		*out.Priority() = a.Priority
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		*out.ProgrammaticStreamSerializationAllowed() = a.Serialization
	default:
		if !kept(id) {
			return errInvalidValue
		}
		*out = a.others[id]
	}
	return success
}

// Stream holds the attributes of a stream. They are stored and returned, but have no effect.
type Stream struct {
	Priority int32
	others   map[attribute]value
}

// The priorities of streams. Lower numbers are more urgent.
const (
	LeastPriority    = 0
	GreatestPriority = -5
)

// ClampPriority returns the nearest valid priority.
func ClampPriority(p int32) int32 { return min(max(p, GreatestPriority), LeastPriority) }

// Get stores the value of an attribute in out.
func (s *Stream) Get(id attribute, out *value) cu.CUresult {
	*out = value{}
	switch {
	case id == cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		*out.Priority() = s.Priority
	case ofStream(id):
		*out = s.others[id]
	default:
		return errInvalidValue
	}
	return success
}

// Set sets an attribute.
func (s *Stream) Set(id attribute, v *value) cu.CUresult {
	switch {
	case id == cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		s.Priority = ClampPriority(*v.Priority())
		return success
	case !ofStream(id),
		id == cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY && *v.SyncPolicy() > cu.CU_SYNC_POLICY_BLOCKING_SYNC:
		return errInvalidValue
	}
	if s.others == nil {
		s.others = make(map[attribute]value)
	}
	s.others[id] = *v
	return success
}

// CopyFrom copies the attributes of another stream, except for its priority.
func (s *Stream) CopyFrom(other *Stream) {
	for id, v := range other.others {
		s.Set(id, &v)
	}
}

func ofStream(id attribute) bool {
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return true
	}
	return false
}

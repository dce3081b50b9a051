package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// launchAttrs are the attributes of a launch or a kernel node. Attributes that only steer the
// hardware of a real device are stored and returned, but have no effect.
type launchAttrs struct {
	cooperative   int32
	cluster       vm.Dim3
	priority      int32
	hasPriority   bool
	serialization int32
	others        map[cu.CUlaunchAttributeID]cu.CUlaunchAttributeValue

	atStart, atEnd *event // programmatic and launch completion events
}

func (a *launchAttrs) set(c call, id cu.CUlaunchAttributeID, v *cu.CUlaunchAttributeValue) result {
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_IGNORE:
	case cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if *v.Cooperative() < 0 || *v.Cooperative() > 1 {
			return errInvalidValue
		}
		a.cooperative = *v.Cooperative()
	case cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		d := v.ClusterDim()
		a.cluster = vm.Dim3{X: d.X, Y: d.Y, Z: d.Z}
	case cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		a.priority, a.hasPriority = *v.Priority(), true
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		a.serialization = *v.ProgrammaticStreamSerializationAllowed()
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		return eventAttribute(c, uintptr(v.ProgrammaticEvent().Event), &a.atStart)
	case cu.CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return eventAttribute(c, uintptr(v.LaunchCompletionEvent().Event), &a.atEnd)
	case cu.CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return errNotSupported
	default:
		if !keptAttribute(id) {
			return errInvalidValue
		}
		others := map[cu.CUlaunchAttributeID]cu.CUlaunchAttributeValue{id: *v}
		for k, old := range a.others {
			if k != id {
				others[k] = old
			}
		}
		a.others = others // never changed in place: copies of a share it
	}
	return success
}

func eventAttribute(c call, h uintptr, to **event) result {
	ev := find[event](c.e, h)
	if ev == nil {
		return errInvalidHandle
	}
	*to = ev
	return success
}

// keptAttribute reports whether an attribute is stored but has no effect here.
func keptAttribute(id cu.CUlaunchAttributeID) bool {
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

func (a *launchAttrs) get(id cu.CUlaunchAttributeID, out *cu.CUlaunchAttributeValue) result {
	*out = cu.CUlaunchAttributeValue{}
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		*out.Cooperative() = a.cooperative
	case cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		d := out.ClusterDim()
		d.X, d.Y, d.Z = a.cluster.X, a.cluster.Y, a.cluster.Z
	case cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		*out.Priority() = a.priority
	case cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		*out.ProgrammaticStreamSerializationAllowed() = a.serialization
	default:
		if !keptAttribute(id) {
			return errInvalidValue
		}
		*out = a.others[id]
	}
	return success
}

// events records the events of the launch. A kernel starts and ends as one step here, so both
// events are recorded after it.
func (a *launchAttrs) events(s *stream) result {
	for _, ev := range []*event{a.atStart, a.atEnd} {
		if ev != nil {
			ev.record(s)
		}
	}
	return success
}

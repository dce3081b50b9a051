package emulator

import "github.com/purecuda/cuda/driver/cu"

func cuStreamGetAttribute(c call) result {
	s, r := streamAt(c, 0)
	out := at[cu.CUlaunchAttributeValue](c, 2)
	switch {
	case r != success:
		return r
	case out == nil:
		return errInvalidValue
	}
	id := cu.CUlaunchAttributeID(c.Uint32(1))
	*out = cu.CUlaunchAttributeValue{}
	switch {
	case id == cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		*out.Priority() = s.priority
	case streamAttribute(id):
		*out = s.attrs[id]
	default:
		return errInvalidValue
	}
	return success
}

func cuStreamSetAttribute(c call) result {
	s, r := streamAt(c, 0)
	in := at[cu.CUlaunchAttributeValue](c, 2)
	id := cu.CUlaunchAttributeID(c.Uint32(1))
	switch {
	case r != success:
		return r
	case in == nil:
		return errInvalidValue
	case id == cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		s.priority = min(max(*in.Priority(), greatestPriority), leastPriority)
		return success
	case !streamAttribute(id),
		id == cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY && *in.SyncPolicy() > cu.CU_SYNC_POLICY_BLOCKING_SYNC:
		return errInvalidValue
	}
	s.setAttribute(id, *in)
	return success
}

func (s *stream) setAttribute(id cu.CUlaunchAttributeID, v cu.CUlaunchAttributeValue) {
	if s.attrs == nil {
		s.attrs = make(map[cu.CUlaunchAttributeID]cu.CUlaunchAttributeValue)
	}
	s.attrs[id] = v
}

// streamAttribute reports whether a stream has the attribute.
func streamAttribute(id cu.CUlaunchAttributeID) bool {
	switch id {
	case cu.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
		cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
		cu.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		return true
	}
	return false
}

func cuStreamCopyAttributes(c call) result {
	dst, r := streamAt(c, 0)
	if r != success {
		return r
	}
	src, r := streamAt(c, 1)
	if r != success {
		return r
	}
	for id, v := range src.attrs {
		dst.setAttribute(id, v)
	}
	return success
}

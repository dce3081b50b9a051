package emulator

import "github.com/purecuda/cuda/driver"

func cuStreamGetAttribute(c call) result {
	s, r := streamAt(c, 0)
	out := at[driver.CUlaunchAttributeValue](c, 2)
	switch {
	case r != success:
		return r
	case out == nil:
		return errInvalidValue
	}
	id := driver.CUlaunchAttributeID(c.Uint32(1))
	*out = driver.CUlaunchAttributeValue{}
	switch {
	case id == driver.CU_LAUNCH_ATTRIBUTE_PRIORITY:
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
	in := at[driver.CUlaunchAttributeValue](c, 2)
	id := driver.CUlaunchAttributeID(c.Uint32(1))
	switch {
	case r != success:
		return r
	case in == nil:
		return errInvalidValue
	case id == driver.CU_LAUNCH_ATTRIBUTE_PRIORITY:
		s.priority = min(max(*in.Priority(), greatestPriority), leastPriority)
		return success
	case !streamAttribute(id),
		id == driver.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY && *in.SyncPolicy() > driver.CU_SYNC_POLICY_BLOCKING_SYNC:
		return errInvalidValue
	}
	s.setAttribute(id, *in)
	return success
}

func (s *stream) setAttribute(id driver.CUlaunchAttributeID, v driver.CUlaunchAttributeValue) {
	if s.attrs == nil {
		s.attrs = make(map[driver.CUlaunchAttributeID]driver.CUlaunchAttributeValue)
	}
	s.attrs[id] = v
}

// streamAttribute reports whether a stream has the attribute.
func streamAttribute(id driver.CUlaunchAttributeID) bool {
	switch id {
	case driver.CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		driver.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
		driver.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
		driver.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
		driver.CU_LAUNCH_ATTRIBUTE_PRIORITY:
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

package loader

import "os"

// SecureEnv returns the value of an environment variable that names something to open. In a process
// with more rights than its user (setuid), it returns "", as secure_getenv(3) does, because the
// user must not control what such a process opens.
func SecureEnv(name string) string {
	if Privileged() {
		return ""
	}
	return os.Getenv(name)
}

// Privileged reports whether the process runs with more rights than its user.
func Privileged() bool { return hasRights() }

// hasRights is a variable so that tests, which cannot raise their own rights, can replace it.
var hasRights = privileged

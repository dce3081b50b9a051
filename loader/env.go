package loader

import "os"

// SecureEnv returns the value of an environment variable that names something to open. Like
// secure_getenv(3), it returns "" in a process that runs with more rights than its user
// (setuid), because the user must not control what such a process opens.
func SecureEnv(name string) string {
	if Privileged() {
		return ""
	}
	return os.Getenv(name)
}

// Privileged reports whether the process runs with more rights than its user.
func Privileged() bool { return hasRights() }

// hasRights is privileged, replaceable by tests, which cannot give themselves rights.
var hasRights = privileged

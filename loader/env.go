package loader

import "os"

// SecureEnv returns the value of an environment variable that names something
// to open. It is "" in a process that runs with more rights than its user
// (setuid), whom such a variable must not lead, as with secure_getenv(3).
func SecureEnv(name string) string {
	if Privileged() {
		return ""
	}
	return os.Getenv(name)
}

// Privileged reports whether the process runs with more rights than its user.
func Privileged() bool { return hasRights() }

// hasRights is privileged, but for tests: none can give itself rights.
var hasRights = privileged

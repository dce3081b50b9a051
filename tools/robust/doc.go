// Package robust tests programs of this module by building and running them.
package robust

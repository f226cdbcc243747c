//go:build !unix

package runstore

import "math"

// freeBytes is not known here.
func freeBytes(string) (uint64, error) { return math.MaxUint64, nil }

// fileID is not known here.
func fileID(string) uint64 { return 0 }

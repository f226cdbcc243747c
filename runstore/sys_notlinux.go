//go:build !linux

package runstore

import "os"

// dataSync makes f's data durable.
func dataSync(f *os.File) error { return f.Sync() }

//go:build !unix

package cli

// hideTyping is left to the read itself here.
func hideTyping(int) error { return nil }

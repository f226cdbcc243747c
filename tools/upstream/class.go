package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Class says what a failure calls for. The zero value is no failure.
type Class int

// The classes; the package comment defines them.
const (
	Transient Class = iota + 1
	Permanent
	Business
)

// String returns the class in lower case, or "Class(n)" for an unknown one.
func (c Class) String() string {
	switch c {
	case Transient:
		return "transient"
	case Permanent:
		return "permanent"
	case Business:
		return "business"
	}
	return "Class(" + strconv.Itoa(int(c)) + ")"
}

// Error is a failure of a service whose class is known.
type Error struct {
	Class   Class
	Service string // as people call it, e.g. "tax service"
	Text    string // one sentence without secrets, safe to show to anyone
	// RetryAfter is how long the service asked not to be called; 0: it did not say.
	RetryAfter time.Duration
	Err        error // cause, for logs only; may be nil
}

// Error returns the text and the cause, for logs.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf sorts err: by the class of the first [*Error] in it, by
// [*OpenError] (transient), or by what the standard library tells about
// timeouts and connections. Everything else is Permanent, nil is 0.
func ClassOf(err error) Class {
	var known *Error
	var open *OpenError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &known) && known.Class != 0:
		return known.Class
	case errors.As(err, &open):
		return Transient
	case errors.Is(err, context.Canceled):
		return Permanent
	case isTimeout(err), isConnection(err):
		return Transient
	}
	return Permanent
}

// SafeText returns what may be shown of err: the Text of an [*Error] or
// [*OpenError], and for all else a fixed sentence, because the texts of other
// errors may quote addresses and secrets.
func SafeText(err error) string {
	var known *Error
	var open *OpenError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &known) && known.Text != "":
		return known.Text
	case errors.As(err, &open):
		return open.Error()
	case isTimeout(err):
		return "the service did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the call was canceled"
	case isConnection(err):
		return "the connection to the service failed"
	}
	return "the call failed"
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// isConnection reports whether a connection could not be made or broke. An
// unknown host is neither: its name is wrong until somebody mends it.
func isConnection(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "read" || op.Op == "write") {
		return true
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNREFUSED,
		syscall.ECONNABORTED, syscall.EPIPE} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}

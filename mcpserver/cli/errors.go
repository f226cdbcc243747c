package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// The exit codes; see the package comment.
const (
	ExitOK          = 0
	ExitInternal    = 1
	ExitUsage       = 2
	ExitStopped     = 3
	ExitRefused     = 4
	ExitStore       = 5
	ExitInterrupted = 130
)

// Error is an error for people: it is shown as it is. Code is stable and meant
// for scripts.
type Error struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`           // what happened; what it means
	Details []string `json:"details,omitempty"` // one line each
	Hint    string   `json:"hint,omitempty"`    // what to type next
	Exit    int      `json:"-"`
}

// Error is the message and the details, without the hint.
func (e *Error) Error() string {
	text := e.Message
	for _, d := range e.Details {
		text += "\n  " + d
	}
	return text
}

// ended is the error of a command that has printed its result and ends with a
// code other than 0; nothing more is printed.
type ended int

func (ended) Error() string { return "the result is printed" }

func usageError(message, hint string) *Error {
	return &Error{Code: "usage", Exit: ExitUsage, Message: message, Hint: hint}
}

func configError(message, hint string) *Error {
	return &Error{Code: "config", Exit: ExitUsage, Message: message, Hint: hint}
}

// explain turns any error into one for people. What it does not know is
// "internal": only a reference is shown, the same for the same text, and
// internal is true.
func explain(ctx context.Context, err error) (_ *Error, internal bool) {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e, false
	case errors.Is(err, errInterrupted),
		errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errInterrupted):
		return &Error{Code: "interrupted", Exit: ExitInterrupted,
			Message: "interrupted; every step that was reported is saved"}, false
	}
	return &Error{Code: "internal", Exit: ExitInternal,
		Message: "an error inside orderdesk ended the command (reference " + reference(err) + "); " +
			"every step that was reported is saved"}, true
}

// reference names an error by its text: 8 hex digits of the SHA-256.
func reference(err error) string {
	sum := sha256.Sum256([]byte(err.Error()))
	return hex.EncodeToString(sum[:4])
}

package tools

import (
	"errors"
	"fmt"
)

// Refusal is an answer for the model: one plain sentence or two that say what to send instead. Every other error is
// ours and is never shown to a model.
//
// Text is one line and free of control, bidi and invisible characters when it comes from [Refusef].
type Refusal struct {
	Text string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Refusef returns a [*Refusal]. Whatever the arguments bring along is made harmless with [Visible]; text from outside
// should still be passed through [Quote], so that a reader sees where it begins and ends.
func Refusef(format string, args ...any) error {
	return &Refusal{Text: Visible(fmt.Sprintf(format, args...))}
}

// AsRefusal finds the [*Refusal] in err's chain.
func AsRefusal(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}

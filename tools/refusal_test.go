package tools

import (
	"errors"
	"fmt"
	"testing"
)

func TestRefusal(t *testing.T) {
	refused := Refusef("item %s is not \u202eknown\n", Quote("4\n"))
	want := `item "4\n" is not \u{202e}known\n`
	for _, err := range []error{refused, fmt.Errorf("call: %w", refused), errors.Join(errors.New("x"), refused)} {
		if r, ok := AsRefusal(err); !ok || r.Text != want || r.Error() != want {
			t.Errorf("%v: got %+v, %v; want %s", err, r, ok, want)
		}
	}
	for _, err := range []error{nil, errors.New("ours")} {
		if r, ok := AsRefusal(err); ok || r != nil {
			t.Errorf("%v: got %+v, want none", err, r)
		}
	}
}

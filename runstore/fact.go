package runstore

import (
	"encoding/json"
	"errors"
	"time"
)

// Fact is one successful read. It belongs to a tool and the checked ids it was
// asked with, so there is one fact per question, whatever the spelling.
type Fact struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"`
	ReadAt time.Time       `json:"read_at"`
	// Raw is the result as it came, if invisible characters in it were kept
	// from the model.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Failure is the last failed read of one question. It is no fact: the next
// call tries again. A successful read deletes it.
type Failure struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	Text string          `json:"text"`
	At   time.Time       `json:"at"`
}

func factKey(kind, run, tool string, ids []string) Key {
	return NewKey(kind, append([]string{run, tool}, ids...)...)
}

// Fact reads what tool answered for ids in this run; false if it has not.
func (tx *Tx) Fact(run *Run, tool string, ids ...string) (Fact, bool, error) {
	var f Fact
	ok, err := tx.lookup(factKey("fact", run.ID, tool, ids), &f)
	return f, ok, err
}

// Failure reads the last failure of the question; false if there is none.
func (tx *Tx) Failure(run *Run, tool string, ids ...string) (Failure, bool, error) {
	var f Failure
	ok, err := tx.lookup(factKey("failure", run.ID, tool, ids), &f)
	return f, ok, err
}

// PutFact saves f, and clears the question's failure. A zero ReadAt is now.
func (tx *Tx) PutFact(run *Run, f Fact, ids ...string) error {
	if f.ReadAt.IsZero() {
		f.ReadAt = tx.Now()
	}
	k := factKey("failure", run.ID, f.Tool, ids)
	if ok, err := tx.lookup(k, &Failure{}); err != nil {
		return err
	} else if ok {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	return tx.Put(factKey("fact", run.ID, f.Tool, ids), f)
}

// DropFact forgets what tool answered for ids in this run, if it did.
func (tx *Tx) DropFact(run *Run, tool string, ids ...string) error {
	k := factKey("fact", run.ID, tool, ids)
	if ok, err := tx.lookup(k, &Fact{}); !ok || err != nil {
		return err
	}
	return tx.Delete(k)
}

// PutFailure saves f as the question's last failure.
func (tx *Tx) PutFailure(run *Run, f Failure, ids ...string) error {
	f.At = tx.Now()
	return tx.Put(factKey("failure", run.ID, f.Tool, ids), f)
}

// lookup is Get with absence as a value.
func (tx *Tx) lookup(k Key, v any) (bool, error) {
	err := tx.Get(k, v)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

package runstore

import (
	"errors"
	"fmt"
	"time"
)

// NoteState says what people think of a note.
type NoteState string

const (
	NoteValid     NoteState = "valid"
	NoteCorrected NoteState = "corrected" // its text was replaced by a person
	NoteDisputed  NoteState = "disputed"
	NoteDeleted   NoteState = "deleted"
)

// Subject is what a note is about: a kind and an id, both checked.
type Subject struct {
	Kind string `json:"kind"` // no blanks, part of a key
	ID   string `json:"id"`
	Text string `json:"text"` // as people and models write it
}

// Note outlives the run that wrote it. It is data, shown quoted, never an
// instruction and never the truth about today.
type Note struct {
	ID      string    `json:"id"` // "N1"
	Subject Subject   `json:"subject"`
	Text    string    `json:"text"` // one line
	Author  string    `json:"author"`
	Run     string    `json:"run"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	State   NoteState `json:"state"`
	Changed *Change   `json:"changed,omitempty"` // the last correction or deletion
}

// Change records who changed a note, when, and what it said before.
type Change struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Before string    `json:"before"`
}

// Current reports whether the note is shown to runs at now.
func (n Note) Current(now time.Time) bool {
	return (n.State == NoteValid || n.State == NoteCorrected) && now.Before(n.Expires)
}

func noteKey(n int) Key { return NewKey("note", Seq(n)) }

func noteNumber(id string) int {
	if len(id) < 2 || id[0] != 'N' {
		return 0
	}
	return actionNumber("A" + id[1:])
}

// AddNote saves a new note and returns it with its id.
func (tx *Tx) AddNote(n Note) (Note, error) {
	c, err := tx.counters()
	if err != nil {
		return n, err
	}
	c.Notes++
	n.ID, n.Created, n.State = fmt.Sprintf("N%d", c.Notes), tx.Now(), NoteValid
	if err := tx.Put(countersKey(), c); err != nil {
		return n, err
	}
	if err := tx.Put(NewKey("subject", n.Subject.Kind, n.Subject.ID, Seq(c.Notes)), n.ID); err != nil {
		return n, err
	}
	return n, tx.Put(noteKey(c.Notes), n)
}

// Note reads a note by its id; [ErrNotFound] without one.
func (tx *Tx) Note(id string) (Note, error) {
	num := noteNumber(id)
	if num == 0 {
		return Note{}, ErrNotFound
	}
	var n Note
	err := tx.Get(noteKey(num), &n)
	return n, err
}

// PutNote saves a changed note.
func (tx *Tx) PutNote(n Note) error {
	num := noteNumber(n.ID)
	if num == 0 {
		return ErrNotFound
	}
	return tx.Put(noteKey(num), n)
}

// Notes calls fn with every note, oldest first, until fn returns false.
func (tx *Tx) Notes(fn func(Note) bool) error {
	return tx.Scan(NewKey("note"), "", func(_ string, get func(any) error) (bool, error) {
		var n Note
		if err := get(&n); err != nil {
			return false, err
		}
		return fn(n), nil
	})
}

// NotesAbout returns the last limit notes about a subject that are current.
func (tx *Tx) NotesAbout(kind, id string, limit int) ([]Note, error) {
	var found []Note
	err := tx.Scan(NewKey("subject", kind, id), "", func(_ string, get func(any) error) (bool, error) {
		var note string
		if err := get(&note); err != nil {
			return false, err
		}
		n, err := tx.Note(note)
		if errors.Is(err, ErrNotFound) {
			return true, nil
		}
		if err == nil && n.Current(tx.Now()) {
			found = append(found, n)
		}
		return true, err
	})
	if len(found) > limit {
		found = found[len(found)-limit:]
	}
	return found, err
}

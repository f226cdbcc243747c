package tools

import (
	"fmt"
	"time"

	"orderdesk/runstore"
)

// DefaultNoteAge is how long a note is shown to later runs.
const DefaultNoteAge = 90 * 24 * time.Hour

// MaxNote bounds a memory note, in characters.
const MaxNote = 300

// SaveNote is the memory_save_note tool. expires is how long the note is
// shown to later runs.
func SaveNote(age time.Duration) func(*Writing) (any, error) {
	return func(w *Writing) (any, error) {
		text, _ := w.Args["note"].(string)
		about, _ := w.Args["subject"].(string)
		subject, err := w.Domain.Subject(about)
		if err != nil {
			return nil, err
		}
		if text == "" {
			return nil, Refusef("note must be 1 to %d characters; you sent none.", MaxNote)
		}
		if err := CheckLine("note", text, MaxNote); err != nil {
			return nil, err
		}
		known, err := w.Tx.NotesAbout(subject.Kind, subject.ID, maxSame)
		if err != nil {
			return nil, err
		}
		for _, n := range known {
			if n.Text == text {
				w.Unchanged = true
				return map[string]any{"saved": false, "message": "This exact note already exists."}, nil
			}
		}
		n := runstore.Note{Subject: subject, Text: text, Author: w.Who.Name, Run: w.Run.ID, Expires: w.Tx.Now().Add(age)}
		if n, err = w.Tx.AddNote(n); err != nil {
			return nil, err
		}
		return map[string]any{"saved": true, "subject": subject.Text, "note_id": n.ID}, nil
	}
}

// maxSame is how many notes about a subject are looked through for the same
// text.
const maxSame = 50

// NoteChange is a person's change of a note.
type NoteChange struct {
	State runstore.NoteState
	Text  string // for a correction
	By    string
}

// ChangeNote applies a person's correction, dispute or deletion and puts it
// into the audit log. [runstore.ErrNotFound] if there is no such note.
func ChangeNote(tx *runstore.Tx, id string, c NoteChange) (runstore.Note, error) {
	n, err := tx.Note(id)
	if err != nil {
		return n, err
	}
	if n.State == runstore.NoteDeleted {
		return n, fmt.Errorf("note %s: %w", id, runstore.ErrNotFound)
	}
	if c.State == runstore.NoteCorrected {
		if c.Text == "" {
			return n, Refusef("the corrected text must be 1 to %d characters.", MaxNote)
		}
		if err := CheckLine("text", c.Text, MaxNote); err != nil {
			return n, err
		}
	}
	n.Changed = &runstore.Change{By: c.By, At: tx.Now(), Before: n.Text}
	n.State = c.State
	if c.State == runstore.NoteCorrected {
		n.Text = c.Text
	}
	if err := tx.Audit(runstore.AuditEntry{What: "note_" + string(c.State), By: c.By, Run: n.Run}, n); err != nil {
		return n, err
	}
	return n, tx.PutNote(n)
}

package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orderdesk/runstore"
	"orderdesk/tools"
)

func (a *app) notesCommand() *cobra.Command {
	all := false
	list := &cobra.Command{
		Use: "list", Short: "List what later runs are told", Args: upTo(0),
		RunE: a.with(func(ctx context.Context, s *Settings, _ []string) error { return a.notesList(ctx, s, all) }),
	}
	list.Flags().BoolVar(&all, "all", false, "also expired and deleted notes")
	return parent("notes", "List, correct or delete what runs remember", list,
		&cobra.Command{Use: "correct NOTE TEXT", Short: "Replace a note's text; who, when and the old text are recorded",
			Example: "  orderdesk notes correct N3 \"Address was completed on 5 October.\"",
			Args:    exactly(2), RunE: a.with(a.notesCorrect)},
		&cobra.Command{Use: "delete NOTE", Short: "Show a note to no further run",
			Args: exactly(1), RunE: a.with(a.notesDelete)})
}

func (a *app) notesList(ctx context.Context, s *Settings, all bool) error {
	var notes []runstore.Note
	err := a.readStore(ctx, s, "notes", func(store *runstore.Store) (err error) {
		notes, err = notesOf(ctx, store.View, all)
		return err
	})
	if err != nil {
		return err
	}
	return a.out.result(map[string]any{"notes": notes}, func() {
		if len(notes) == 0 {
			a.out.say("There are no notes.")
			return
		}
		t := a.out.table("NOTE", "ABOUT", "WRITTEN", "BY", "EXPIRES", "STATE", "TEXT")
		for _, n := range notes {
			t.row(n.ID, n.Subject.Text, n.Created.Format(time.DateOnly), n.Author, n.Expires.Format(time.DateOnly), string(n.State), n.Text)
		}
		t.print()
	})
}

// notesOf reads the notes that hold, or all.
func notesOf(ctx context.Context, view viewer, all bool) ([]runstore.Note, error) {
	var notes []runstore.Note
	err := view(ctx, func(tx *runstore.Tx) error {
		notes = []runstore.Note{} // it may run again
		return tx.Notes(func(n runstore.Note) bool {
			if all || n.Current(tx.Now()) {
				notes = append(notes, n)
			}
			return true
		})
	})
	return notes, err
}

func (a *app) notesCorrect(ctx context.Context, s *Settings, args []string) error {
	return a.changeNote(ctx, s, args[0], tools.NoteChange{State: runstore.NoteCorrected, Text: args[1]}, "corrected")
}

func (a *app) notesDelete(ctx context.Context, s *Settings, args []string) error {
	return a.changeNote(ctx, s, args[0], tools.NoteChange{State: runstore.NoteDeleted}, "deleted; no further run sees it")
}

func (a *app) changeNote(ctx context.Context, s *Settings, id string, c tools.NoteChange, what string) error {
	who, err := a.me()
	if err != nil {
		return err
	}
	c.By = who.Name
	var n runstore.Note
	err = a.withStore(ctx, s, "notes", func(store *runstore.Store) error {
		return noteError(id, store.Update(ctx, func(tx *runstore.Tx) (err error) {
			n, err = tools.ChangeNote(tx, id, c)
			return err
		}))
	})
	if err != nil {
		return err
	}
	return a.out.result(n, func() { a.out.say("Note %s is %s.", n.ID, what) })
}

// noteError says for people what keeps a note from being changed.
func noteError(id string, err error) error {
	if errors.Is(err, runstore.ErrNotFound) {
		return &Error{Code: "no_note", Exit: ExitUsage, Message: "there is no note " + cut(visible(id), 40), Hint: "orderdesk notes list"}
	}
	if refusal, ok := tools.AsRefusal(err); ok {
		return usageError(strings.TrimSuffix(refusal.Text, ".")+"; nothing recorded", "orderdesk notes correct NOTE TEXT")
	}
	return err
}

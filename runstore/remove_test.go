package runstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, ".keep")
	if err := os.WriteFile(foreign, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), Options{Dir: dir, Command: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	first := s.ID()
	var locked *LockedError
	if err := Remove(dir, nil); !errors.As(err, &locked) || locked.Command != "a test" {
		t.Errorf("Remove of an open store: %v, want a LockedError that names the holder", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, dbName, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir, nil); err != nil {
		t.Fatalf("Remove of a damaged store: %v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("Remove took what is not the store's: %v", err)
	}
	if s, err = Open(context.Background(), Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if s.ID() == first {
		t.Error("the new store has the old one's id")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(filepath.Join(dir, "none"), nil); err != nil {
		t.Errorf("Remove where nothing is: %v", err)
	}
}

// TestRemoveForeign: what no store of ours has made stays, whatever it is
// called; a mistyped directory costs nothing.
func TestRemoveForeign(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"db/customers.sqlite", "backup-x/photo", "register/src.go"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	before := files(t, dir)
	var no *DirError
	err := Remove(dir, func() error { return os.RemoveAll(filepath.Join(dir, "register")) })
	if !errors.As(err, &no) || no.Dir != dir {
		t.Errorf("got %v, want a DirError", err)
	}
	sameFiles(t, before, files(t, dir))
	if err := Remove(t.TempDir(), func() error { return errors.New("called") }); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
}

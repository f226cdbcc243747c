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
	if err := Remove(dir); !errors.As(err, &locked) || locked.Command != "a test" {
		t.Errorf("Remove of an open store: %v, want a LockedError that names the holder", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, dbName, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err != nil {
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
	if err := Remove(filepath.Join(dir, "none")); err != nil {
		t.Errorf("Remove where nothing is: %v", err)
	}
}

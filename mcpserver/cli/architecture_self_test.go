package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// soundHouse is a small tree without a breach.
func soundHouse() map[string]string {
	return map[string]string{
		"go.mod":                              "module orderdesk\n\ngo 1.26\n",
		"main.go":                             "// Command orderdesk works through orders.\npackage main\n\nimport _ \"orderdesk/mcpserver/cli\"\n",
		".ci/run":                             "",
		"mcpserver/cli/cli.go":                "// Package cli is the command line.\npackage cli\n\nimport (\n\t\"os\"\n\t\"github.com/spf13/cobra\"\n)\n\nvar root cobra.Command\n\nvar out = os.Stdout\n",
		"mcpserver/cli/wire.go":               "package cli\n\nimport _ \"orderdesk/tools/creditrelease\"\n\nconst about = \"works through orders of customers\"\n",
		"mcpserver/cli/cli_test.go":           "package cli\n\n// An order of a customer.\nimport _ \"github.com/rogpeppe/go-internal/testscript\"\n",
		"tools/tools.go":                      "// Package tools knows items, of no recorder and no creditor.\npackage tools\n\nimport _ \"orderdesk/runstore\"\n",
		"tools/upstream/upstream.go":          "// Package upstream calls services.\npackage upstream\n\nimport retry \"github.com/sethvargo/go-retry\"\n\ntype Client struct{ b retry.Backoff }\n",
		"tools/creditrelease/domain.go":       "// Package creditrelease releases orders.\npackage creditrelease\n\nimport (\n\t_ \"orderdesk/tools\"\n\t_ \"orderdesk/tools/upstream\"\n\t\"github.com/shopspring/decimal\"\n)\n\ntype Amount struct{ Value decimal.Decimal }\n",
		"tools/creditrelease/sampledata/d.go": "// Package sampledata is made up.\npackage sampledata\n\nimport (\n\t_ \"os\"\n\t_ \"orderdesk/tools/creditrelease\"\n)\n",
		"runstore/store.go":                   "// Package runstore remembers.\npackage runstore\n\nimport \"github.com/dgraph-io/badger/v4\"\n\ntype Store struct{ db *badger.DB }\n\nfunc (s *Store) open(o badger.Options) {}\n",
		"runstore/runstoretest/memory.go":     "// Package runstoretest is for tests.\npackage runstoretest\n\nimport _ \"orderdesk/runstore\"\n",
	}
}

func breaches(t *testing.T, tree fs.FS) []string {
	t.Helper()
	h, err := loadHouse(tree, blueprint())
	if err != nil {
		t.Fatal(err)
	}
	return h.check()
}

func inMemory(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

// TestArchitectureOnDisk checks a sound tree and a bad one as they lie on disk.
func TestArchitectureOnDisk(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, inMemory(soundHouse())); err != nil {
		t.Fatal(err)
	}
	if got := breaches(t, os.DirFS(root)); len(got) > 0 {
		t.Errorf("sound: got %q, want nothing", got)
	}
	bad := "package runstore\n\nimport _ \"orderdesk/tools\"\n"
	if err := os.WriteFile(filepath.Join(root, "runstore", "bad.go"), []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := breaches(t, os.DirFS(root)); len(got) != 1 {
		t.Errorf("bad: got %q, want one breach", got)
	}
}

// TestArchitectureBreaches breaks each rule once.
func TestArchitectureBreaches(t *testing.T) {
	long := strings.Repeat("\t_ = 0\n", 40)
	tests := []struct {
		name, file, content string
		want                []string // part of each breach, sorted
	}{
		{"top level", "docs/x.txt", "x", []string{"docs: does not belong"}},
		{"import to the left", "runstore/a.go", "package runstore\n\nimport _ \"orderdesk/tools\"\n", []string{"runstore must not import tools"}},
		{"import to the left in a test", "runstore/a_test.go", "package runstore_test\n\nimport _ \"orderdesk/tools\"\n", []string{"runstore must not import tools"}},
		{"import of main", "tools/a.go", "package tools\n\nimport _ \"orderdesk\"\n", []string{"tools must not import ."}},
		{"sub-folder apart", "runstore/apart/a.go", "// Package apart is.\npackage apart\n", []string{"runstore/apart: neither imports runstore nor"}},
		{"leaf that knows the tree", "tools/upstream/a.go", "package upstream\n\nimport _ \"orderdesk/tools/creditrelease/sampledata\"\n",
			[]string{"only mcpserver/cli/wire.go may import a domain", "tools/upstream: neither imports tools nor"}},
		{"domain in the engine", "mcpserver/cli/a.go", "package cli\n\nimport _ \"orderdesk/tools/creditrelease\"\n", []string{"a.go: only mcpserver/cli/wire.go may import a domain"}},
		{"second owner", "tools/a.go", "package tools\n\nimport _ \"github.com/dgraph-io/badger/v4/options\"\n", []string{"github.com/dgraph-io/badger/v4 belongs to runstore"}},
		{"second owner in a test", "tools/a_test.go", "package tools\n\nimport _ \"github.com/spf13/cobra\"\n", []string{"github.com/spf13/cobra belongs to mcpserver/cli"}},
		{"no owner", "tools/a.go", "package tools\n\nimport _ \"example.com/new\"\n", []string{"example.com/new has no owner"}},
		{"test module in code", "tools/a.go", "package tools\n\nimport _ \"github.com/rogpeppe/go-internal/testscript\"\n", []string{"github.com/rogpeppe/go-internal belongs to tests"}},
		{"foreign type in a field", "runstore/a.go", "package runstore\n\nimport \"github.com/dgraph-io/badger/v4\"\n\ntype A struct{ DB *badger.DB }\n", []string{"a.go:5: github.com/dgraph-io/badger/v4 shows in exported API as badger.DB"}},
		{"foreign type embedded", "runstore/a.go", "package runstore\n\nimport b \"github.com/dgraph-io/badger/v4\"\n\ntype A struct{ *b.DB }\n", []string{"as b.DB"}},
		{"foreign type in a function", "runstore/a.go", "package runstore\n\nimport \"github.com/dgraph-io/badger/v4\"\n\nfunc A() (int, func(badger.Txn)) { return 0, nil }\n", []string{"as badger.Txn"}},
		{"foreign type in a method", "runstore/a.go", "package runstore\n\nimport \"github.com/dgraph-io/badger/v4\"\n\nfunc (s *Store) A(badger.Item) {}\n", []string{"as badger.Item"}},
		{"foreign type in an interface", "tools/upstream/a.go", "package upstream\n\nimport \"github.com/sethvargo/go-retry\"\n\ntype A interface{ B() retry.Backoff }\n", []string{"as retry.Backoff"}},
		{"foreign value", "runstore/a.go", "package runstore\n\nimport \"github.com/dgraph-io/badger/v4\"\n\nvar ErrA = badger.ErrConflict\n", []string{"as badger.ErrConflict"}},
		{"no package comment", "tools/upstream/upstream.go", "package upstream\n", []string{"tools/upstream: has 0 package comments"}},
		{"two package comments", "tools/a.go", "// Package tools again.\npackage tools\n", []string{"tools: has 2 package comments"}},
		{"empty name", "tools/util/a.go", "// Package util is.\npackage util\n\nimport _ \"orderdesk/tools\"\n", []string{"tools/util: a package's name"}},
		{"word in a comment", "runstore/a.go", "package runstore\n\n// The customer.\n", []string{`a.go:3: the engine must not know the word "customer"`}},
		{"word in a name", "approvalgate/a.go", "// Package approvalgate decides.\npackage approvalgate\n\nvar readSAPItem, openOrders int\n", []string{`word "Orders"`, `word "SAP"`}},
		{"word in a text", "tools/tools.json", `{"a": "credit"}`, []string{`tools.json:1: the engine must not know the word "credit"`}},
		{"long function", "tools/a.go", "package tools\n\nfunc a() {\n" + long + "}\n", []string{"a.go:3: a has 42 lines, want 40"}},
		{"long file", "tools/a.go", "package tools\n" + strings.Repeat("\n", 300), []string{"a.go: has 301 lines, want 300"}},
		{"init", "tools/a.go", "package tools\n\nfunc init() {}\n", []string{"a.go:3: no init"}},
		{"os", "tools/upstream/a.go", "package upstream\n\nimport _ \"os/exec\"\n", []string{"tools/upstream must not use os/exec"}},
		{"printing", "tools/a.go", "package tools\n\nimport \"fmt\"\n\nfunc a() { fmt.Println() }\n", []string{"a.go:5: only the command line prints"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := soundHouse()
			files[tt.file] = tt.content
			got := breaches(t, inMemory(files))
			if !slices.EqualFunc(got, tt.want, strings.Contains) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

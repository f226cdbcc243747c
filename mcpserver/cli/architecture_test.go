package cli_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestArchitecture holds the tree to the rules of the house, see [plan].
func TestArchitecture(t *testing.T) {
	h, err := loadHouse(os.DirFS("../.."), blueprint())
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range h.check() {
		t.Error(breach)
	}
}

// plan is what the rules are made of.
type plan struct {
	topLevel []string          // all that may lie in the top folder, beside dot-files
	folders  []string          // from left to right: each imports only those after it
	owners   map[string]string // third-party module: its folders; "tests": none but tests
	shown    map[string]string // module whose types may be in exported API: why
	domains  string            // the folder whose sub-folders are domains
	wiring   string            // the one file outside a domain that may import it
	leaves   []string          // sub-folders of domains that are none
	words    []string          // what the engine must not know
	files    []string          // folders that may use package os
	prints   []string          // folders that may print
	longOK   map[string]string // "folder.Function" or file that may be longer: why
	maxFunc  int               // lines of a function
	maxFile  int               // lines of a file
	badNames []string          // for packages
}

func blueprint() plan {
	return plan{
		topLevel: []string{"go.mod", "go.sum", "main.go", "mcpserver", "tools", "runstore", "approvalgate", "README.md",
			"orderdesk", "orderdesk.exe"}, // the last two: what go build leaves there; git ignores them
		folders: []string{".", "mcpserver", "tools", "approvalgate", "runstore"},
		owners: map[string]string{
			"github.com/dgraph-io/badger/v4":           "runstore",
			"github.com/klauspost/compress":            "runstore",
			"github.com/gofrs/flock":                   "runstore",
			"golang.org/x/sys":                         "runstore, mcpserver/cli",
			"github.com/gowebpki/jcs":                  "approvalgate",
			"golang.org/x/crypto":                      "approvalgate",
			"golang.org/x/time":                        "mcpserver",
			"github.com/santhosh-tekuri/jsonschema/v6": "tools",
			"github.com/sethvargo/go-retry":            "tools/upstream",
			"github.com/shopspring/decimal":            "tools/creditrelease",
			"github.com/spf13/cobra":                   "mcpserver/cli",
			"github.com/spf13/pflag":                   "mcpserver/cli",
			"golang.org/x/term":                        "mcpserver/cli",
			"github.com/mark3labs/mcp-go":              "mcpserver",
			"github.com/rogpeppe/go-internal":          "tests",
		},
		shown: map[string]string{
			"github.com/shopspring/decimal": "the domain and its backends reckon in it; nobody else sees it",
		},
		domains:  "tools",
		wiring:   "mcpserver/cli/wire.go",
		leaves:   []string{"tools/upstream"},
		words:    []string{"order", "orders", "ordered", "customer", "customers", "credit", "credits", "sap"},
		files:    []string{".", "mcpserver/cli", "runstore", "tools/creditrelease/sampledata"},
		prints:   []string{".", "mcpserver/cli"},
		longOK:   map[string]string{},
		maxFunc:  40,
		maxFile:  300,
		badNames: []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "shared", "base"},
	}
}

// house is a tree of packages with the plan it is held to.
type house struct {
	plan
	tree     fs.FS
	module   string
	fset     *token.FileSet
	packages map[string]*room // by folder, "." is the top
}

// room is one folder's Go files and other texts.
type room struct {
	dir   string
	files []*source
}

// source is one file. Only Go files have a tree.
type source struct {
	path string // from the top, with slashes
	test bool
	text []byte
	tree *ast.File
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// loadHouse reads every text file of a tree but dot-folders and testdata.
func loadHouse(tree fs.FS, p plan) (*house, error) {
	h := &house{plan: p, tree: tree, fset: token.NewFileSet(), packages: map[string]*room{}}
	mod, err := fs.ReadFile(tree, "go.mod")
	if err != nil {
		return nil, err
	}
	if m := moduleLine.FindSubmatch(mod); m != nil {
		h.module = string(m[1])
	}
	return h, fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		hidden := file != "." && strings.HasPrefix(d.Name(), ".")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (hidden || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || hidden || !d.Type().IsRegular():
			return nil
		}
		return h.add(file, d)
	})
}

func (h *house) add(file string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil || info.Size() > 1<<20 {
		return err
	}
	text, err := fs.ReadFile(h.tree, file)
	if err != nil || !utf8.Valid(text) {
		return err
	}
	s := &source{path: file, test: strings.HasSuffix(file, "_test.go"), text: text}
	if strings.HasSuffix(file, ".go") {
		if s.tree, err = parser.ParseFile(h.fset, file, text, parser.ParseComments); err != nil {
			return err
		}
	}
	dir := path.Dir(file)
	if h.packages[dir] == nil {
		h.packages[dir] = &room{dir: dir}
	}
	h.packages[dir].files = append(h.packages[dir].files, s)
	return nil
}

// goFiles are a folder's Go files, those of its tests only with tests set.
func (r *room) goFiles(tests bool) []*source {
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.files), func(s *source) bool {
		return s.tree == nil || s.test && !tests
	})
}

// imports are a file's import paths.
func (s *source) imports() []string {
	var out []string
	for _, i := range s.tree.Imports {
		out = append(out, strings.Trim(i.Path.Value, "\"`"))
	}
	return out
}

// ours is the folder of one of our own packages.
func (h *house) ours(imported string) (dir string, ok bool) {
	if imported == h.module {
		return ".", true
	}
	return strings.CutPrefix(imported, h.module+"/")
}

// owned finds a third-party import's module and owner; ours and the standard
// library have none.
func (h *house) owned(imported string) (module, owner string, thirdParty bool) {
	if _, own := h.ours(imported); own || !strings.Contains(strings.Split(imported, "/")[0], ".") {
		return "", "", false
	}
	for module, owner := range h.owners {
		if within(imported, module) {
			return module, owner, true
		}
	}
	return imported, "", true
}

// within reports whether dir is top or below it.
func within(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

func withinAny(dir string, tops []string) bool {
	return slices.ContainsFunc(tops, func(top string) bool { return within(dir, top) })
}

func topOf(dir string) string { return strings.Split(dir, "/")[0] }

// at is "path:line: ".
func (h *house) at(s *source, pos token.Pos) string {
	return fmt.Sprintf("%s:%d: ", s.path, h.fset.Position(pos).Line)
}

// check returns every breach of a rule, sorted.
func (h *house) check() []string {
	var out []string
	for _, rule := range []func() []string{
		h.checkTopLevel, h.checkDirection, h.checkSubfolders, h.checkDomains, h.checkOwners, h.checkExported,
		h.checkNames, h.checkWords, h.checkSizes, h.checkEdges,
	} {
		out = append(out, rule()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// eachFile calls fn with every Go file.
func (h *house) eachFile(tests bool, fn func(r *room, s *source)) {
	for _, r := range h.packages {
		for _, s := range r.goFiles(tests) {
			fn(r, s)
		}
	}
}

func (h *house) checkTopLevel() []string {
	entries, err := fs.ReadDir(h.tree, ".")
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(h.topLevel, e.Name()) {
			out = append(out, e.Name()+": does not belong in the top folder")
		}
	}
	return out
}

// checkDirection: a folder imports only the folders to its right; tests too.
func (h *house) checkDirection() []string {
	var out []string
	h.eachFile(true, func(r *room, s *source) {
		from := slices.Index(h.folders, topOf(r.dir))
		for _, imported := range s.imports() {
			dir, own := h.ours(imported)
			to := slices.Index(h.folders, topOf(dir))
			if own && topOf(dir) != topOf(r.dir) && to <= from {
				out = append(out, fmt.Sprintf("%s: %s must not import %s, which is to its left", s.path, r.dir, dir))
			}
		}
	})
	return out
}

// checkSubfolders: a sub-folder is one way to be its parent, and imports it,
// or a leaf that its parent's folder uses.
func (h *house) checkSubfolders() []string {
	var out []string
	for dir, r := range h.packages {
		parent := path.Dir(dir)
		if len(r.goFiles(false)) == 0 || len(h.packages[parent].goFiles(false)) == 0 || parent == "." {
			continue
		}
		up := h.uses(dir, parent)
		leaf := !slices.ContainsFunc(r.goFiles(false), func(s *source) bool {
			return slices.ContainsFunc(s.imports(), func(i string) bool {
				to, own := h.ours(i)
				return own && within(to, topOf(dir)) && !within(to, dir)
			})
		})
		used := false
		for other := range h.packages {
			used = used || other != dir && within(other, parent) && h.uses(other, dir)
		}
		if !up && !(leaf && used) {
			out = append(out, fmt.Sprintf("%s: neither imports %s nor is a leaf that it uses", dir, parent))
		}
	}
	return out
}

// uses reports whether a folder imports another, tests aside.
func (h *house) uses(from, to string) bool {
	return slices.ContainsFunc(h.packages[from].goFiles(false), func(s *source) bool {
		return slices.Contains(s.imports(), h.module+"/"+to)
	})
}

// domainOf is the domain a folder belongs to, "" for the engine's folders.
func (h *house) domainOf(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) < 2 || parts[0] != h.domains || withinAny(dir, h.leaves) {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// checkDomains: outside a domain only the wiring knows it, tests aside.
func (h *house) checkDomains() []string {
	var out []string
	h.eachFile(false, func(r *room, s *source) {
		for _, imported := range s.imports() {
			dir, _ := h.ours(imported)
			domain := h.domainOf(dir)
			if domain != "" && domain != h.domainOf(r.dir) && s.path != h.wiring {
				out = append(out, fmt.Sprintf("%s: only %s may import a domain, not %s", s.path, h.wiring, dir))
			}
		}
	})
	return out
}

// checkOwners: a third-party module is imported in its owners' folders only.
func (h *house) checkOwners() []string {
	var out []string
	h.eachFile(true, func(r *room, s *source) {
		for _, imported := range s.imports() {
			module, owner, third := h.owned(imported)
			switch {
			case !third || withinAny(r.dir, strings.Split(owner, ", ")) || owner == "tests" && s.test:
			case owner == "":
				out = append(out, fmt.Sprintf("%s: %s has no owner; name one in this test", s.path, module))
			default:
				out = append(out, fmt.Sprintf("%s: %s belongs to %s", s.path, module, owner))
			}
		}
	})
	return out
}

// checkNames: every package has one comment and a name that says something.
func (h *house) checkNames() []string {
	var out []string
	for dir, r := range h.packages {
		comments, name := 0, ""
		for _, s := range r.goFiles(false) {
			name = s.tree.Name.Name
			if s.tree.Doc != nil {
				comments++
			}
		}
		if name != "" && comments != 1 {
			out = append(out, fmt.Sprintf("%s: has %d package comments, want 1", dir, comments))
		}
		if slices.Contains(h.badNames, name) || slices.Contains(h.badNames, path.Base(dir)) {
			out = append(out, fmt.Sprintf("%s: a package's name says what it is for", dir))
		}
	}
	return out
}

// checkWords: the engine knows no domain, neither in code nor in comments.
func (h *house) checkWords() []string {
	var out []string
	for dir, r := range h.packages {
		if dir == "." || h.domainOf(dir) != "" {
			continue
		}
		for _, s := range r.files {
			if s.test || s.path == h.wiring {
				continue
			}
			for i, line := range bytes.Split(h.withoutImports(s), []byte("\n")) {
				for _, word := range splitWords(string(line)) {
					if slices.Contains(h.words, strings.ToLower(word)) {
						out = append(out, fmt.Sprintf("%s:%d: the engine must not know the word %q", s.path, i+1, word))
					}
				}
			}
		}
	}
	return out
}

// withoutImports blanks the import paths, which may name a domain, and the one
// name of the standard library that is such a word.
func (h *house) withoutImports(s *source) []byte {
	text := bytes.ReplaceAll(s.text, []byte("cmp.Ordered"), []byte("           "))
	if s.tree == nil {
		return text
	}
	for _, i := range s.tree.Imports {
		from, to := h.fset.Position(i.Path.Pos()).Offset, h.fset.Position(i.Path.End()).Offset
		copy(text[from:to], bytes.Repeat([]byte(" "), to-from))
	}
	return text
}

var letters = regexp.MustCompile(`\p{L}+`)

// splitWords splits text and identifiers: "readURLItem_v2" is read, URL, Item, v.
func splitWords(s string) []string {
	var out []string
	for _, run := range letters.FindAllString(s, -1) {
		out = append(out, splitCamel(run)...)
	}
	return out
}

func splitCamel(run string) []string {
	var out []string
	r := []rune(run)
	upper := func(i int) bool { return i < len(r) && strings.ToUpper(string(r[i])) == string(r[i]) }
	start := 0
	for i := 1; i < len(r); i++ {
		if upper(i) && (!upper(i-1) || i+1 < len(r) && !upper(i+1)) {
			out = append(out, string(r[start:i]))
			start = i
		}
	}
	return append(out, string(r[start:]))
}

// checkSizes: functions and files can be read at one go; tests may be longer.
func (h *house) checkSizes() []string {
	var out []string
	h.eachFile(false, func(r *room, s *source) {
		if n := bytes.Count(s.text, []byte("\n")); n > h.maxFile && h.longOK[s.path] == "" {
			out = append(out, fmt.Sprintf("%s: has %d lines, want %d at most", s.path, n, h.maxFile))
		}
		for _, d := range s.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := h.fset.Position(fn.End()).Line - h.fset.Position(fn.Pos()).Line + 1
			if n > h.maxFunc && h.longOK[r.dir+"."+fn.Name.Name] == "" {
				out = append(out, fmt.Sprintf("%s%s has %d lines, want %d at most", h.at(s, fn.Pos()), fn.Name.Name, n, h.maxFunc))
			}
		}
	})
	return out
}

// checkEdges: no init anywhere; below the command line no os and no printing.
func (h *house) checkEdges() []string {
	var out []string
	h.eachFile(false, func(r *room, s *source) {
		for _, imported := range s.imports() {
			if within(imported, "os") && !withinAny(r.dir, h.files) {
				out = append(out, fmt.Sprintf("%s: %s must not use %s; the command line hands it what it needs", s.path, r.dir, imported))
			}
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					out = append(out, h.at(s, n.Pos())+"no init functions")
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "fmt" && strings.HasPrefix(n.Sel.Name, "Print") && !withinAny(r.dir, h.prints) {
					out = append(out, h.at(s, n.Pos())+"only the command line prints")
				}
			}
			return true
		})
	})
	return out
}

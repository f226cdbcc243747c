package cli_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// checkExported: no third-party type in exported signatures, fields and
// variables, save where the plan says why.
func (h *house) checkExported() []string {
	var out []string
	h.eachFile(false, func(_ *room, s *source) {
		third := map[string]string{} // name in the file: module
		for _, i := range s.tree.Imports {
			imported := strings.Trim(i.Path.Value, `"`)
			module, _, ok := h.owned(imported)
			if !ok || h.shown[module] != "" {
				continue
			}
			name := packageName(imported)
			if i.Name != nil {
				name = i.Name.Name
			}
			third[name] = module
		}
		if len(third) == 0 {
			return
		}
		for _, decl := range s.tree.Decls {
			for _, part := range exportedParts(decl) {
				out = append(out, h.thirdParty(s, part, third)...)
			}
		}
	})
	return out
}

// thirdParty names each use of a third-party package that others can see.
func (h *house) thirdParty(s *source, part ast.Node, third map[string]string) []string {
	var out []string
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, f := range n.Fields.List { // others see embedded and exported fields
				if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
					out = append(out, h.thirdParty(s, f.Type, third)...)
				}
			}
			return false
		case *ast.BlockStmt: // what a function does is its own affair
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && third[x.Name] != "" {
				out = append(out, h.at(s, n.Pos())+third[x.Name]+" shows in exported API as "+x.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
	return out
}

// exportedParts are the parts of a declaration that other packages see.
func exportedParts(decl ast.Decl) []ast.Node {
	var out []ast.Node
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverExported(d.Recv)) {
			out = append(out, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					out = append(out, s)
				}
			case *ast.ValueSpec:
				if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

func receiverExported(recv *ast.FieldList) bool {
	exported := false
	ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !exported {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}

var versionPart = regexp.MustCompile(`^v[0-9]+$`)

// packageName guesses a package's name from its path: without a version, and
// without the go- that some modules put before it.
func packageName(imported string) string {
	name := path.Base(imported)
	if versionPart.MatchString(name) {
		name = path.Base(path.Dir(imported))
	}
	return strings.TrimPrefix(name, "go-")
}

package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schemaRules collects what a schema has that strict hosts do not take. See [CompileSchema].
type schemaRules struct {
	name     string
	nested   int // lists of objects so far
	problems []error
}

func (r *schemaRules) refuse(path, format string, args ...any) {
	where := strings.TrimSuffix(r.name+" "+path, " ")
	r.problems = append(r.problems, fmt.Errorf("schema %s: %s", where, fmt.Sprintf(format, args...)))
}

// root checks the whole schema.
func (r *schemaRules) root(doc any) {
	if !validName(r.name) {
		r.refuse("", "the name may have lower-case letters, digits and underscores only")
	}
	node, _ := doc.(map[string]any)
	if node["type"] != "object" {
		r.refuse("", "the root must have type object")
		return
	}
	r.object("", node)
}

// object checks a schema of type object and its properties.
func (r *schemaRules) object(path string, node map[string]any) {
	r.keywords(path, node, "properties", "required", "additionalProperties")
	properties, ok := node["properties"].(map[string]any)
	if !ok {
		r.refuse(path, "properties are missing")
	}
	if node["additionalProperties"] != false {
		r.refuse(path, "additionalProperties must be false")
	}
	required, ok := node["required"].([]any)
	if !ok {
		r.refuse(path, "required must be a list")
	}
	for _, name := range required {
		if text, _ := name.(string); properties[text] == nil {
			r.refuse(path, "required names %v, which is no property", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		child, _ := properties[name].(map[string]any)
		r.property(at, name, child, slices.Contains(required, any(name)), path == "")
	}
}

// property checks one property; outer is true for those of the root, which may be lists.
func (r *schemaRules) property(path, name string, node map[string]any, required, outer bool) {
	if !validName(name) {
		r.refuse(path, "the name may have lower-case letters, digits and underscores only")
	}
	description, _ := node["description"].(string)
	if description == "" || Visible(description) != description {
		r.refuse(path, "a description on one line is missing")
	}
	if !required && !strings.HasPrefix(description, "Optional") {
		r.refuse(path, "must be listed in required, or its description begin with Optional")
	}
	switch {
	case node["type"] != "array":
		r.plain(path, node)
	case !outer:
		r.refuse(path, "a list inside a list of objects is too deep")
	default:
		r.list(path, node)
	}
}

// list checks a list of plain values or of flat objects.
func (r *schemaRules) list(path string, node map[string]any) {
	r.keywords(path, node, "items", "minItems", "maxItems")
	items, _ := node["items"].(map[string]any)
	if items["type"] != "object" {
		r.plain(path+"[]", items)
		return
	}
	if r.nested++; r.nested > 1 {
		r.refuse(path, "only one list of objects is allowed")
	}
	r.object(path+"[]", items)
}

// plain checks a schema of text, a number or a truth value.
func (r *schemaRules) plain(path string, node map[string]any) {
	r.keywords(path, node, "enum", "pattern", "minLength", "maxLength", "minimum", "maximum")
	kind, _ := node["type"].(string)
	if !slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) {
		r.refuse(path, "type must be one of string, integer, number, boolean (or array, for a field of the root), not %v", node["type"])
	}
	allowed, ok := node["enum"].([]any)
	if !ok && node["enum"] != nil {
		r.refuse(path, "enum must be a list")
	}
	for _, v := range allowed {
		if _, text := v.(string); !text || kind != "string" {
			r.refuse(path, "enum is for text only")
		}
	}
}

// keywords refuses every keyword that is not known for the node's kind: hosts may not take it, or take it differently.
func (r *schemaRules) keywords(path string, node map[string]any, known ...string) {
	known = append(known, "type", "description", "examples")
	for _, keyword := range slices.Sorted(maps.Keys(node)) {
		if !slices.Contains(known, keyword) {
			r.refuse(path, "keyword %s is not allowed here", keyword)
		}
	}
}

// validName reports whether name is 1 to 64 lower-case letters, digits and underscores and begins with a letter.
func validName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

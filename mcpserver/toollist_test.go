package mcpserver

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderdesk/tools"
)

// listedTool is a tool as tools/list shows it.
type listedTool struct {
	Name        string
	Description string
	InputSchema struct {
		Type       string
		Properties map[string]json.RawMessage
		Required   []string
	}
	Annotations struct {
		Title                                                        string
		ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool
	}
	raw []byte
}

// toolList is what hosts get from tools/list.
func (d *desk) toolList() (list []listedTool, raw string) {
	d.t.Helper()
	raw = d.ask("tools/list", `{}`)
	var m struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		d.t.Fatal(err)
	}
	for _, one := range m.Result.Tools {
		tool := listedTool{raw: one}
		if err := json.Unmarshal(one, &tool); err != nil {
			d.t.Fatal(err)
		}
		list = append(list, tool)
	}
	return list, raw
}

// TestToolList: few tools, small, in one sequence. Tokens are counted as a
// quarter of the bytes of the list, which is more than the tokenizers in use
// make of English and JSON.
func TestToolList(t *testing.T) {
	d := newDesk(t)
	list, raw := d.toolList()
	if len(list) > 15 || len(raw)/4 >= 4000 {
		t.Errorf("%d tools, %d tokens", len(list), len(raw)/4)
	}
	t.Logf("%d tools, %d bytes, about %d tokens", len(list), len(raw), len(raw)/4)
	for range 5 {
		if _, again := newDesk(t).toolList(); again != raw {
			t.Error("the list differs from server to server")
		}
	}
	for _, tool := range list {
		if strings.Contains(tool.Name, "approv") { // an agent decides nothing
			t.Errorf("%s is listed", tool.Name)
		}
	}
}

func TestMCP_19_NoAlternativesAtTheTop(t *testing.T) {
	list, _ := newDesk(t).toolList()
	for _, tool := range list {
		for _, word := range []string{"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"} {
			if strings.Contains(string(tool.raw), `"`+word+`"`) {
				t.Errorf("%s has %s", tool.Name, word)
			}
		}
	}
}

// TestMCP_20_SchemasForStrictHosts walks every schema with the rules that tools
// are compiled with: inline, one type per field, enums of text, typed items.
func TestMCP_20_SchemasForStrictHosts(t *testing.T) {
	list, _ := newDesk(t).toolList()
	for _, tool := range list {
		var schema struct{ InputSchema json.RawMessage }
		if err := json.Unmarshal(tool.raw, &schema); err != nil {
			t.Fatal(err)
		}
		if _, err := tools.CompileSchema(tool.Name, schema.InputSchema); err != nil {
			t.Error(err)
		}
		walk(t, tool.Name, schema.InputSchema)
	}
	for name, bad := range map[string]string{ // the rules are rules
		"a reference": `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`,
		"two types":   `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":["string","null"],"description":"x"}}}`,
		"no items":    `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"array","description":"x"}}}`,
		"a constant":  `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","const":"x","description":"x"}}}`,
		"a number":    `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"integer","enum":[1],"description":"x"}}}`,
		"a format":    `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","format":"date","description":"x"}}}`,
	} {
		if _, err := tools.CompileSchema("tool", []byte(bad)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// walk looks at a schema by itself: what strict hosts refuse.
func walk(t *testing.T, path string, raw json.RawMessage) {
	t.Helper()
	var node struct {
		Type       any
		Enum       []any
		Properties map[string]json.RawMessage
		Items      json.RawMessage
		Format     string
	}
	if err := json.Unmarshal(raw, &node); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	kind, one := node.Type.(string)
	if !one || kind == "" || node.Format != "" || (kind == "array") != (node.Items != nil) || (kind == "object") != (node.Properties != nil) {
		t.Errorf("%s: %s", path, raw)
	}
	for _, v := range node.Enum {
		if _, text := v.(string); !text {
			t.Errorf("%s: enum of %v", path, v)
		}
	}
	for name, child := range node.Properties {
		walk(t, path+"."+name, child)
	}
	if node.Items != nil {
		walk(t, path+"[]", node.Items)
	}
}

func TestMCP_21_ToolNames(t *testing.T) {
	list, _ := newDesk(t).toolList()
	for _, tool := range list {
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`).MatchString(tool.Name) {
			t.Errorf("name %q", tool.Name)
		}
	}
	for _, name := range []string{"sales.order.get", "with space", "", strings.Repeat("x", 80)} {
		if _, err := tools.CompileSchema(name, []byte(`{"type":"object","additionalProperties":false,"required":[],"properties":{}}`)); err == nil {
			t.Errorf("a tool named %q is taken", name)
		}
	}
}

func TestMCP_22_Annotations(t *testing.T) {
	list, _ := newDesk(t).toolList()
	reads := []string{"sales_order_list_blocked", "sales_order_get_block_summary", "customer_get_credit_exposure", "customer_get_address_gaps", "run_status", "run_list"}
	for _, tool := range list {
		a := tool.Annotations
		if a.Title == "" || a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Fatalf("%s: %+v", tool.Name, a)
		}
		if *a.ReadOnlyHint != slices.Contains(reads, tool.Name) || *a.DestructiveHint || *a.OpenWorldHint {
			t.Errorf("%s: reads only %v, destroys %v, open world %v", tool.Name, *a.ReadOnlyHint, *a.DestructiveHint, *a.OpenWorldHint)
		}
	}
}

// TestMCP_25_OldToolList: a host keeps the list it has read. What was published
// in testdata/tools.txt stays: no tool and no argument goes, none becomes
// required.
func TestMCP_25_OldToolList(t *testing.T) {
	const published = "testdata/tools.txt" // lines of: tool argument [required]
	list, _ := newDesk(t).toolList()
	var now []string
	for _, tool := range list {
		now = append(now, tool.Name)
		for name := range tool.InputSchema.Properties {
			line := tool.Name + " " + name
			if slices.Contains(tool.InputSchema.Required, name) {
				line += " required"
			}
			now = append(now, line)
		}
	}
	slices.Sort(now)
	raw, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Split(strings.TrimSpace(string(raw)), "\n")
	for _, line := range was {
		if optional := strings.TrimSuffix(line, " required"); !slices.Contains(now, line) && !slices.Contains(now, optional) {
			t.Errorf("%q is gone", line)
		}
	}
	for _, line := range now {
		tool, _, _ := strings.Cut(line, " ")
		if strings.HasSuffix(line, " required") && !slices.Contains(was, line) && slices.Contains(was, tool) {
			t.Errorf("%q is new", line)
		}
		if !slices.Contains(was, line) {
			t.Logf("not in %s yet: %s", published, line)
		}
	}
	d := newDesk(t)
	if got := d.ask("tools/call", `{"name":"sales_order_list","arguments":{}}`); !strings.Contains(got, "tool 'sales_order_list' not found") {
		t.Errorf("a tool that is gone: %s", got)
	}
}

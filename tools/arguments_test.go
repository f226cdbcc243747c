package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// mustSchema compiles a schema of the tests.
func mustSchema(t testing.TB, name, raw string) *Schema {
	t.Helper()
	s, err := CompileSchema(name, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const summarySchema = `{"type":"object","additionalProperties":false,"required":["sales_order"],"properties":{
	"sales_order":{"type":"string","description":"The number.","pattern":"^[0-9]{1,10}$","examples":["4711"]},
	"run_id":{"type":"string","description":"Optional. The run meant.","minLength":1,"maxLength":40}}}`

const planSchema = `{"type":"object","additionalProperties":false,"required":["items"],"properties":{
	"items":{"type":"array","description":"The entries.","minItems":1,"maxItems":20,"items":{
		"type":"object","additionalProperties":false,"required":["sales_order","status","note"],"properties":{
			"sales_order":{"type":"string","description":"The number.","pattern":"^[0-9]{1,10}$","examples":["4711"]},
			"status":{"type":"string","description":"The status.","enum":["todo","done","waiting_for_approval","needs_attention"]},
			"note":{"type":"string","description":"A note.","maxLength":200,"examples":["Waits."]}}}}}}`

const pageSchema = `{"type":"object","additionalProperties":false,"required":["top"],"properties":{
	"top":{"type":"integer","description":"How many.","minimum":1,"maximum":50},
	"share":{"type":"number","description":"Optional. A share.","minimum":0},
	"all":{"type":"boolean","description":"Optional. Whether to show all."}}}`

const subjectSchema = `{"type":"object","additionalProperties":false,"required":["subject","justification"],"properties":{
	"subject":{"type":"string","description":"What it is about.","pattern":"^(item|group) [0-9]{1,10}$","examples":["group 10051"]},
	"justification":{"type":"string","description":"Why.","minLength":1,"maxLength":300}}}`

const emptySchema = `{"type":"object","additionalProperties":false,"required":[],"properties":{}}`

func testSchemas(t testing.TB) map[string]*Schema {
	schemas := map[string]*Schema{}
	for name, raw := range map[string]string{"summary": summarySchema, "plan": planSchema, "page": pageSchema,
		"subject": subjectSchema, "empty": emptySchema} {
		schemas[name] = mustSchema(t, name, raw)
	}
	return schemas
}

// argumentCase is one text a model sent. If refused is set, the refusal must be exactly that text; else the canonical
// form must be want.
type argumentCase struct {
	name, schema, raw string
	want              string
	refused           string
}

func checkArguments(t *testing.T, cases []argumentCase) {
	t.Helper()
	schemas := testSchemas(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			canonical, values, err := ParseArguments([]byte(c.raw), schemas[c.schema])
			if err == nil {
				if string(canonical) != c.want || c.refused != "" {
					t.Errorf("got  %s\nwant %s%s", canonical, c.want, c.refused)
				}
				return
			}
			r, ok := AsRefusal(err)
			if !ok || canonical != nil || values != nil {
				t.Fatalf("got error %T, canonical %s, values %v; want a Refusal and nothing else", err, canonical, values)
			}
			if r.Text != c.refused {
				t.Errorf("got  %s\nwant %s%s", r.Text, c.want, c.refused)
			}
		})
	}
}

const digitsWanted = `sales_order must be text of 1 to 10 digits, e.g. "4711". `

func TestARG01_NumberForStringID(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"number", "summary", `{"sales_order":4711}`, "", digitsWanted + `You sent the number 4711.`},
		{"null", "summary", `{"sales_order":null}`, "", digitsWanted + `You sent null.`},
		{"truth value", "summary", `{"sales_order":true}`, "", digitsWanted + `You sent true.`},
		{"list", "summary", `{"sales_order":["4711"]}`, "", digitsWanted + `You sent a list of 1.`},
		{"object", "summary", `{"sales_order":{"id":"4711"}}`, "", digitsWanted + `You sent an object.`},
		{"text", "summary", `{"sales_order":"4711"}`, `{"sales_order":"4711"}`, ""},
	})
}

func TestARG02_ArgumentsAsOneString(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"once", "summary", `"{\"sales_order\":\"4711\"}"`, `{"sales_order":"4711"}`, ""},
		{"once, blanks", "summary", ` " {\"sales_order\" : \"4711\"}\n" `, `{"sales_order":"4711"}`, ""},
		{"once, wrong inside", "summary", `"{\"sales_order\":4711}"`, "", digitsWanted + `You sent the number 4711.`},
		{"once, duplicate inside", "summary", `"{\"sales_order\":\"1\",\"sales_order\":\"2\"}"`, "",
			`The arguments cannot be read: duplicate key sales_order.`},
		{"once, cut inside", "summary", `"{\"sales_order\":\"4711\""`, "",
			`The arguments cannot be read: not valid JSON, it ends too early; send it again, complete.`},
		{"twice", "summary", `"\"{\\\"sales_order\\\":\\\"4711\\\"}\""`, "",
			`The arguments are quoted twice. Send the JSON object itself, e.g. {"sales_order":"4711"}.`},
		{"text", "summary", `"4711"`, "", `The arguments must be one JSON object, e.g. {"sales_order":"4711"}. You sent "4711".`},
		{"list inside", "empty", `"[]"`, "", `The arguments must be one JSON object, e.g. {}. You sent "[]".`},
	})
}

func TestARG04_NoArguments(t *testing.T) {
	required := `sales_order is required: text of 1 to 10 digits, e.g. "4711".`
	var cases []argumentCase
	for _, raw := range []string{"", "null", `""`, " \n\t", `" \n"`, "{}", `"{}"`, " null "} {
		cases = append(cases,
			argumentCase{"required field " + raw, "summary", raw, "", required},
			argumentCase{"no field " + raw, "empty", raw, "{}", ""})
	}
	checkArguments(t, cases)
}

func TestARG04_NoObject(t *testing.T) {
	wanted := `The arguments must be one JSON object, e.g. {"sales_order":"4711"}. You sent `
	checkArguments(t, []argumentCase{
		{"list", "summary", `["4711"]`, "", wanted + "a list of 1."},
		{"number", "summary", `4711`, "", wanted + "the number 4711."},
		{"truth value", "summary", `false`, "", wanted + "false."},
		{"no JSON", "summary", `{'sales_order':'4711'}`, "",
			`The arguments cannot be read: not valid JSON, the problem is at byte 2: "'sales_order':'4711'".`},
		{"cut", "summary", `{"sales_order":"47`, "",
			`The arguments cannot be read: not valid JSON, it ends too early; send it again, complete.`},
		{"more text", "summary", `{"sales_order":"4711"} thanks`, "",
			`The arguments cannot be read: not valid JSON, more text follows the first value (byte 23).`},
		{"raw line break", "summary", "{\"sales_order\":\"47\n11\"}", "",
			`The arguments cannot be read: not valid JSON, the problem is at byte 19: "\n11\"}".`},
	})
}

func TestARG05_ListItemsOfWrongShape(t *testing.T) {
	item := `items[0] must be an object with sales_order, status and note, ` +
		`e.g. {"sales_order":"4711","status":"todo","note":"Waits."}. `
	list := `items must be a list of 1 to 20 objects with sales_order, status and note, ` +
		`e.g. [{"sales_order":"4711","status":"todo","note":"Waits."}]. `
	good := `{"note":"","sales_order":"4711","status":"todo"}`
	checkArguments(t, []argumentCase{
		{"text", "plan", `{"items":["4711"]}`, "", item + `You sent "4711", which is text.`},
		{"null", "plan", `{"items":[null]}`, "", item + `You sent null.`},
		{"object for list", "plan", `{"items":` + good + `}`, "", list + `You sent an object.`},
		{"quoted list", "plan", `{"items":"[]"}`, "", list + `You sent "[]", which is text.`},
		{"none", "plan", `{"items":[]}`, "", list + `You sent a list of 0.`},
		{"too many", "plan", `{"items":[` + strings.Repeat(good+",", 20) + good + `]}`, "", list + `You sent a list of 21.`},
		{"second", "plan", `{"items":[` + good + `,7]}`, "", strings.Replace(item, "[0]", "[1]", 1) + `You sent the number 7.`},
		{"missing", "plan", `{"items":[{"sales_order":"4711","note":""}]}`, "",
			`items[0].status is required: one of "todo", "done", "waiting_for_approval" or "needs_attention".`},
		{"good", "plan", `{"items":[` + good + `]}`, `{"items":[` + good + `]}`, ""},
	})
}

func TestARG07_UnknownKey(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"one", "summary", `{"sales_order":"4711","why":"x"}`, "", `why is no field of these arguments; use only sales_order and run_id.`},
		{"inside", "plan", `{"items":[{"sales_order":"4711","status":"todo","note":"","why":1}]}`, "",
			`why is no field of items[0]; use only sales_order, status and note.`},
		{"no fields", "empty", `{"why":1}`, "", `why is no field of these arguments; there are none.`},
		{"empty key", "empty", `{"":1}`, "", `"" is no field of these arguments; there are none.`},
		{"odd key", "empty", `{"a\u202eb <x>":1}`, "", `"a\u202eb \u003cx\u003e" is no field of these arguments; there are none.`},
		{"long key", "empty", `{"` + strings.Repeat("k", 50) + `":1}`, "",
			`"` + strings.Repeat("k", 40) + `"... (10 more characters) is no field of these arguments; there are none.`},
	})
}

func TestARG08_CaseVariantKeys(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"beside", "summary", `{"sales_order":"4711","Sales_Order":"4740"}`, "",
			`The arguments cannot be read: key Sales_Order differs only in letter case from sales_order.`},
		{"alone", "summary", `{"SALES_ORDER":"4711"}`, "", digitsMissing + `SALES_ORDER is no field of these arguments: ` +
			`it differs from sales_order only in letter case; send exactly sales_order.`},
		{"inside", "plan", `{"items":[{"note":"a","Note":"b"}]}`, "",
			`The arguments cannot be read: key Note differs only in letter case from note in items[0].`},
	})
}

const digitsMissing = `sales_order is required: text of 1 to 10 digits, e.g. "4711". `

func TestARG10_DuplicateKeys(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"plain", "summary", `{"sales_order":"4711","sales_order":"4740"}`, "",
			`The arguments cannot be read: duplicate key sales_order.`},
		{"escaped", "summary", `{"sales_order":"4711","\u0073ales_order":"4740"}`, "",
			`The arguments cannot be read: duplicate key sales_order.`},
		{"inside", "plan", `{"items":[{"note":""},{"status":"todo","status":"done"}]}`, "",
			`The arguments cannot be read: duplicate key status in items[1].`},
		{"in an unknown key", "empty", `{"x":[{"y":{"z":1,"z":1}}]}`, "",
			`The arguments cannot be read: duplicate key z in x[0].y.`},
	})
}

func TestARG11_UnicodeFoldedKey(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"beside", "summary", `{"sales_order":"4711","\u017fales_order":"4740"}`, "",
			`The arguments cannot be read: key "\u017fales_order" differs only in letter case from sales_order.`},
		{"raw", "summary", `{"ſales_order":"4740","sales_order":"4711"}`, "",
			`The arguments cannot be read: key sales_order differs only in letter case from "\u017fales_order".`},
		{"alone", "summary", `{"\u017fales_order":"4740"}`, "", digitsMissing + `"\u017fales_order" is no field of these arguments: ` +
			`it differs from sales_order only in letter case; send exactly sales_order.`},
		{"kelvin sign", "empty", `{"k":1,"\u212a":2}`, "",
			`The arguments cannot be read: key "\u212a" differs only in letter case from k.`},
		{"look-alike letter", "summary", `{"sales_order":"4711","s\u0430les_order":"4740"}`, "",
			`"s\u0430les_order" is no field of these arguments; use only sales_order and run_id.`},
	})
}

func TestARG12_IntegersAbove2To53(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"id", "summary", `{"sales_order":9007199254740993}`, "", digitsWanted + `You sent the number 9007199254740993.`},
		{"number", "page", `{"top":1,"share":9007199254740993}`, `{"share":9007199254740993,"top":1}`, ""},
		{"gigabyte number", "page", `{"top":1e999999999}`, "", `The arguments cannot be read: a number has more than 60 digits in top.`},
		{"endless number", "page", `{"top":` + strings.Repeat("1", 61) + `}`, "",
			`The arguments cannot be read: a number has more than 60 digits in top.`},
	})
}

func TestARG15_UnicodeDigits(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"superscript", "summary", `{"sales_order":"47\u00b2"}`, "",
			digitsWanted + `You sent "47\u00b2", which contains the foreign digit U+00B2 at position 3.`},
		{"arabic", "summary", `{"sales_order":"\u0664\u0667\u0661\u0661"}`, "",
			digitsWanted + `You sent "\u0664\u0667\u0661\u0661", which contains the foreign digit U+0664 at position 1.`},
		{"full width", "summary", `{"sales_order":"４７１１"}`, "",
			digitsWanted + `You sent "\uff14\uff17\uff11\uff11", which contains the foreign digit U+FF14 at position 1.`},
		{"circled", "summary", `{"sales_order":"\u2463711"}`, "",
			digitsWanted + `You sent "\u2463711", which contains the foreign digit U+2463 at position 1.`},
		{"mathematical", "summary", `{"sales_order":"471𝟏"}`, "",
			digitsWanted + `You sent "471\ud835\udfcf", which contains the foreign digit U+1D7CF at position 4.`},
	})
}

func TestARG17_BlanksAndInvisibleCharacters(t *testing.T) {
	for _, c := range []struct{ name, id, shown, why string }{
		{"blank before", ` 4711`, ` 4711`, "a blank at position 1"},
		{"line break", `4711\n`, `4711\n`, "a line break at position 5"},
		{"zero width space", `4711\u200b`, `4711\u200b`, "the invisible character U+200B at position 5"},
		{"zero width space, raw", "4711\u200b", `4711\u200b`, "the invisible character U+200B at position 5"},
		{"NUL", `4711\u0000`, `4711\u0000`, "the control character U+0000 at position 5"},
		{"byte order mark", `\ufeff4711`, `\ufeff4711`, "the invisible character U+FEFF at position 1"},
		{"no-break space", `47\u00a011`, `47\u00a011`, "the blank U+00A0 at position 3"},
		{"hash", `#4711`, `#4711`, `the character "#" at position 1`},
	} {
		checkArguments(t, []argumentCase{{c.name, "summary", `{"sales_order":"` + c.id + `"}`, "",
			digitsWanted + `You sent "` + c.shown + `", which contains ` + c.why + `.`}})
	}
	checkArguments(t, []argumentCase{{"subject", "subject", `{"subject":"group 10051 ","justification":"x"}`, "",
		`subject must be text that matches ^(item|group) [0-9]{1,10}$, e.g. "group 10051". ` +
			`You sent "group 10051 ", which contains a blank at position 12.`}})
}

func TestARG18_LetterOForZero(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"letter O", "summary", `{"sales_order":"88O1"}`, "", digitsWanted + `You sent "88O1", which contains the letter O at position 3.`},
		{"small o", "summary", `{"sales_order":"88o1"}`, "", digitsWanted + `You sent "88o1", which contains the letter o at position 3.`},
		{"cyrillic", "summary", `{"sales_order":"88\u041e1"}`, "",
			digitsWanted + `You sent "88\u041e1", which contains the foreign letter U+041E at position 3.`},
		{"subject without a stray character", "subject", `{"subject":"item","justification":"x"}`, "",
			`subject must be text that matches ^(item|group) [0-9]{1,10}$, e.g. "group 10051". You sent "item".`},
		{"too long", "summary", `{"sales_order":"00000004711"}`, "", digitsWanted + `You sent "00000004711", which is 11 digits long.`},
		{"empty", "summary", `{"sales_order":""}`, "", digitsWanted + `You sent an empty text.`},
	})
}

func TestARG19_InvalidUTF8(t *testing.T) {
	lone := `The arguments cannot be read: text is not valid UTF-8 (a lone surrogate)`
	good := `{"subject":"item 1","justification":`
	checkArguments(t, []argumentCase{
		{"bytes", "subject", good + "\"x\xff\"}", "", `The arguments cannot be read: text is not valid UTF-8 (byte 39).`},
		{"surrogate in UTF-8", "subject", good + "\"\xed\xa0\x80\"}", "",
			`The arguments cannot be read: text is not valid UTF-8 (byte 38).`},
		{"lone high", "subject", good + `"\ud800"}`, "", lone + ` in justification.`},
		{"lone high, then letter", "subject", good + `"\ud800\u0041"}`, "", lone + ` in justification.`},
		{"lone low", "subject", good + `"\udc00"}`, "", lone + ` in justification.`},
		{"two high", "subject", good + `"\ud800\ud800"}`, "", lone + ` in justification.`},
		{"in a key", "empty", `{"\uD800":1}`, "", lone + `.`},
		{"wrapped", "empty", `"{\"\ud800\":1}"`, "", lone + `.`},
		{"wrapped, escaped", "empty", `"{\"\\ud800\":1}"`, "", lone + `.`},
		{"pair", "subject", good + `"\ud83d\ude00"}`, `{"justification":"😀","subject":"item 1"}`, ""},
		{"backslash before u", "subject", good + `"\\ud800"}`, `{"justification":"\\ud800","subject":"item 1"}`, ""},
	})
}

func TestARG20_IntegerWithFraction(t *testing.T) {
	wanted := "top must be a whole number from 1 to 50. "
	checkArguments(t, []argumentCase{
		{"3.0", "page", `{"top":3.0}`, `{"top":3}`, ""},
		{"3e0", "page", `{"top":3e0}`, `{"top":3}`, ""},
		{"0.3e+1", "page", `{"top":0.3e+1}`, `{"top":3}`, ""},
		{"3.5", "page", `{"top":3.5}`, "", wanted + "You sent the number 3.5."},
		{"zero", "page", `{"top":0}`, "", wanted + "You sent the number 0."},
		{"too many", "page", `{"top":51}`, "", wanted + "You sent the number 51."},
		{"text", "page", `{"top":"3"}`, "", wanted + `You sent "3", which is text.`},
		{"id", "summary", `{"sales_order":4711.0}`, "", digitsWanted + `You sent the number 4711.0.`},
		{"number", "page", `{"top":3,"share":1.50e-1}`, `{"share":0.15,"top":3}`, ""},
		{"minus zero", "page", `{"top":3,"share":-0.0}`, `{"share":0,"top":3}`, ""},
		{"truth value", "page", `{"top":3,"all":"yes"}`, "", `all must be true or false. You sent "yes", which is text.`},
	})
}

func TestARG22_DeepOrHuge(t *testing.T) {
	deep := `The arguments cannot be read: nested deeper than 32 levels.`
	checkArguments(t, []argumentCase{
		{"9,000 levels", "empty", `{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, "", deep},
		{"never closed", "empty", strings.Repeat("[", 200_000), "", deep},
		{"33 levels", "empty", strings.Repeat("[", 33) + strings.Repeat("]", 33), "", deep},
		{"32 levels", "empty", strings.Repeat("[", 32) + strings.Repeat("]", 32), "",
			`The arguments must be one JSON object, e.g. {}. You sent a list of 1.`},
		{"brackets in text", "subject", `{"subject":"item 1","justification":"` + strings.Repeat("[", 40) + `\"{"}`,
			`{"justification":"` + strings.Repeat("[", 40) + `\"{","subject":"item 1"}`, ""},
		{"256 KiB", "subject", `{"subject":"item 1","justification":"` + strings.Repeat("x", 262144-39) + `"}`, "",
			`justification must be text of 1 to 300 characters. You sent "` + strings.Repeat("x", 40) +
				`"... (262065 more characters), which is 262105 characters long.`},
	})
}

func TestARG22_64MiB(t *testing.T) {
	raw := bytes.Repeat([]byte("x"), 64<<20)
	copy(raw, `{"x":"`)
	copy(raw[len(raw)-2:], `"}`)
	_, _, err := ParseArguments(raw, mustSchema(t, "empty", emptySchema))
	if got, want := fmt.Sprint(err), `The arguments cannot be read: 67108864 bytes are too long; at most 262144 are allowed.`; got != want {
		t.Errorf("got %.200s, want %s", got, want)
	}
}

func TestARG24_NearMissEnum(t *testing.T) {
	for _, status := range []string{"Done", "completed", "waiting for approval", "blocked", " done", ""} {
		sent := Quote(status)
		if status == "" {
			sent = "an empty text"
		}
		checkArguments(t, []argumentCase{{status, "plan", `{"items":[{"sales_order":"4711","status":"` + status + `","note":""}]}`, "",
			`items[0].status must be one of "todo", "done", "waiting_for_approval" or "needs_attention". You sent ` + sent + `.`}})
	}
}

func TestSeveralProblems(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"three", "plan", `{"items":[{"status":"x","sales_order":"O"}]}`, "",
			`items[0].sales_order must be text of 1 to 10 digits, e.g. "4711". You sent "O", which contains the letter O at position 1. ` +
				`items[0].status must be one of "todo", "done", "waiting_for_approval" or "needs_attention". You sent "x". ` +
				`items[0].note is required: text of at most 200 characters, e.g. "Waits.".`},
		{"many", "plan", `{"items":[1,2,3,4],"b":1,"a":1}`, "", strings.Join([]string{
			wantItem(0, 1), wantItem(1, 2), wantItem(2, 3), "There is more of that: 6 problems in all."}, " ")},
	})
}

func wantItem(i, sent int) string {
	return fmt.Sprintf(`items[%d] must be an object with sales_order, status and note, `+
		`e.g. {"sales_order":"4711","status":"todo","note":"Waits."}. You sent the number %d.`, i, sent)
}

// What each kind of field is said to take.
func TestExpectedForms(t *testing.T) {
	for _, c := range []struct{ field, want string }{
		{`"type":"string"`, `text`},
		{`"type":"string","minLength":2`, `text of at least 2 characters`},
		{`"type":"string","maxLength":2`, `text of at most 2 characters`},
		{`"type":"string","pattern":"^[0-9]{4}$"`, `text of 4 digits`},
		{`"type":"string","pattern":"^[0-9]+$"`, `text of digits only`},
		{`"type":"string","pattern":"^x$"`, `text that matches ^x$`},
		{`"type":"integer"`, `a whole number`},
		{`"type":"number","minimum":0.5`, `a number of at least 0.5`},
		{`"type":"number","maximum":2`, `a number of at most 2`},
		{`"type":"boolean"`, `true or false`},
		{`"type":"array","items":{"type":"string"}`, `a list of texts`},
		{`"type":"array","minItems":1,"items":{"type":"integer"}`, `a list of at least 1 numbers`},
		{`"type":"array","maxItems":3,"items":{"type":"boolean"}`, `a list of at most 3 truth values`},
	} {
		s := mustSchema(t, "t", `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"description":"x",`+
			c.field+`}}}`)
		_, _, err := ParseArguments([]byte(`{"a":null}`), s)
		if got, want := fmt.Sprint(err), `a must be `+c.want+`. You sent null.`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A quoted object is described without an example if the schema has none.
func TestNoExample(t *testing.T) {
	checkArguments(t, []argumentCase{{"list", "subject", `[]`, "", `The arguments must be one JSON object. You sent a list of 0.`}})
}

func TestOptionalFields(t *testing.T) {
	checkArguments(t, []argumentCase{
		{"null is left out", "summary", `{"sales_order":"4711","run_id":null}`, `{"sales_order":"4711"}`, ""},
		{"given", "summary", `{"sales_order":"4711","run_id":"r1"}`, `{"run_id":"r1","sales_order":"4711"}`, ""},
		{"empty", "summary", `{"sales_order":"4711","run_id":""}`, "",
			`run_id must be text of 1 to 40 characters. You sent an empty text.`},
	})
}

// Canonical bytes do not depend on how a call was written; values keep every digit.
func TestParseArguments_Values(t *testing.T) {
	schema := mustSchema(t, "page", pageSchema)
	canonical, values, err := ParseArguments([]byte(" {\n\"top\" : 2e1, \"all\":true } "), schema)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(canonical), `{"all":true,"top":20}`; got != want {
		t.Errorf("canonical: got %s, want %s", got, want)
	}
	if got := values["top"]; got != json.Number("20") {
		t.Errorf("top: got %v (%T), want json.Number 20", got, got)
	}
}

// FuzzParseArguments: no input panics; what is refused is refused in one line; what is accepted reads the same again.
func FuzzParseArguments(f *testing.F) {
	for _, raw := range []string{``, `null`, `""`, `{"sales_order":"4711"}`, `"{\"sales_order\":\"4711\"}"`, `{"top":3.0,"share":1e-20}`,
		`{"items":[{"sales_order":"4711","status":"todo","note":"\u2028\ud83d\ude00"}]}`, `{"a":[{"b":{"B":1}}]}`, `{"items":[null,1,"x"]}`,
		`{"subject":"group 1","justification":"\u0000<>"}`, `{"\ud800":1}`, `[[[[`, "{\"x\":\"\xff\"}", `{"run_id":null}`} {
		f.Add([]byte(raw))
	}
	schemas := testSchemas(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, schema := range schemas {
			canonical, _, err := ParseArguments(raw, schema)
			if err != nil {
				if r, ok := AsRefusal(err); !ok || r.Text == "" || Visible(r.Text) != r.Text {
					t.Fatalf("%s: got %T %q, want a Refusal of one clean line", name, err, err)
				}
				continue
			}
			again, _, err := ParseArguments(canonical, schema)
			if err != nil || string(again) != string(canonical) {
				t.Fatalf("%s: canonical %s reads as %s, %v", name, canonical, again, err)
			}
		}
	})
}

func BenchmarkParseArguments(b *testing.B) {
	summary, plan := mustSchema(b, "summary", summarySchema), mustSchema(b, "plan", planSchema)
	item := `{"sales_order":"4711","status":"waiting_for_approval","note":"Waits for a decision."}`
	for _, c := range []struct {
		name   string
		schema *Schema
		raw    string
	}{
		{"small", summary, `{"sales_order":"4711"}`},
		{"refused", summary, `{"sales_order":4711}`},
		{"20 items", plan, `{"items":[` + strings.Repeat(item+",", 19) + item + `]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := ParseArguments([]byte(c.raw), c.schema); (err != nil) != (c.name == "refused") {
					b.Fatal(err)
				}
			}
		})
	}
}

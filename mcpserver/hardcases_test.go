package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// The hard cases about MCP hosts, each by its id.

const (
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":"ping","method":"ping"}`
)

func toolCall(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`
}

// modernCall is a call of the newest revision.
func modernCall(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`
}

func modernHeaders(name string) []string {
	return []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: " + name}
}

// answersTo finds the answers with an id, as written.
func answersTo(answers []string, id string) (found []string) {
	for _, a := range answers {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal([]byte(a), &m) == nil && string(m.ID) == id {
			found = append(found, a)
		}
	}
	return found
}

func one(t *testing.T, answers []string, id, want string) {
	t.Helper()
	got := answersTo(answers, id)
	if len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("answers to %s: %q, want one with %s", id, got, want)
	}
}

// talk is a host that writes lines and reads answers one by one.
type talk struct {
	t   testing.TB
	in  *io.PipeWriter
	out *bufio.Scanner
	end chan error
}

// newScanner reads lines of any message's length.
func newScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 4<<20)
	return s
}

func (d *desk) talk() *talk { return d.talkAs(anna) }

func (d *desk) talkAs(who tools.Principal) *talk {
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	k := &talk{t: d.t, in: in, out: newScanner(out), end: make(chan error, 1)}
	go func() {
		k.end <- d.hosts.ServeStdio(ctx, fromHost, toHost, who)
		toHost.Close()
	}()
	d.t.Cleanup(func() { cancel(); in.Close() })
	return k
}

func (k *talk) say(lines ...string) {
	k.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(k.in, l+"\n"); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *talk) hear() string {
	k.t.Helper()
	if !k.out.Scan() {
		k.t.Fatalf("no answer: %v", k.out.Err())
	}
	return k.out.Text()
}

// slow is a door whose first call waits until it is let go.
func (d *desk) slow() (let func(), reached <-chan struct{}) {
	gate, at := make(chan struct{}), make(chan struct{})
	var once, first sync.Once
	d.hosts = d.door(Options{Parts: func(runstore.Source) (Parts, error) {
		first.Do(func() { close(at) })
		<-gate
		return d.parts, nil
	}})
	let = func() { once.Do(func() { close(gate) }) }
	d.t.Cleanup(let)
	return let, at
}

func TestMCP_03_LastLineWithoutNewline(t *testing.T) {
	got := newDesk(t).lines(initialize)
	one(t, got, "1", `"protocolVersion":"2025-11-25"`)
}

func TestMCP_05_LineForms(t *testing.T) {
	d := newDesk(t)
	for name, in := range map[string]string{
		"CRLF":            initialize + "\r\n" + ping + "\r\n",
		"empty lines":     "\n\r\n" + initialize + "\n\n \t\n" + ping + "\n\n",
		"byte order mark": "\xef\xbb\xbf" + initialize + "\n" + ping,
	} {
		got := d.lines(in)
		if len(got) != 2 {
			t.Errorf("%s: %q", name, got)
		}
		one(t, got, "1", "protocolVersion")
		one(t, got, `"ping"`, `"result":{}`)
	}
	got := d.lines(`{"jsonrpc":"2.0","id":7,`, `"method":"ping"}`, ping)
	if parse := answersTo(got, "null"); len(got) != 3 || len(parse) != 2 || !strings.Contains(parse[0], "-32700") {
		t.Errorf("a request over two lines: %q, want an error for each and the ping's answer", got)
	}
	one(t, got, `"ping"`, `"result":{}`)
}

func TestMCP_06_NothingOvertakesInitialize(t *testing.T) {
	for range 20 {
		got := newDesk(t).lines(initialize, initialized, toolCall("2", "run_start", "{}"), toolCall("3", "run_list", "{}"))
		if len(got) != 3 || !strings.Contains(got[0], `"id":1,`) {
			t.Fatalf("%q, want the answer to initialize first", got)
		}
	}
}

func TestMCP_08_InventedSession(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"mcp-session-11111111-2222-4333-8444-555555555555", "x", "ABC.DEF"} {
		status, _, body := s.post("/mcp", toolCall("2", "run_start", "{}"), "Authorization: Bearer "+s.annas, "Mcp-Session-Id: "+id)
		if status != http.StatusNotFound {
			t.Errorf("%s: %d %s", id, status, body)
		}
	}
	if got := s.ok(tools.Principal{Name: "agent:anna"}, "run_list", "{}"); len(got.Runs) != 0 {
		t.Errorf("a run was started: %+v", got)
	}
}

func TestMCP_09_SessionGoneAfterRestart(t *testing.T) {
	s := newSite(t)
	auth := "Authorization: Bearer " + s.annas
	_, header, _ := s.post("/mcp", initialize, auth)
	old := "Mcp-Session-Id: " + header.Get("Mcp-Session-Id")
	_, _, body := s.post("/mcp", toolCall("2", "run_start", "{}"), auth, old)
	run := regexp.MustCompile(`[0-9]{8}-[0-9]{6}-[0-9a-f]{8}`).FindString(body)
	s.hosts = s.door(Options{})
	s.serve()
	if status, _, body := s.post("/mcp", toolCall("3", "run_status", "{}"), auth, old); status != http.StatusNotFound {
		t.Errorf("the old session: %d %s", status, body)
	}
	status, header, body := s.post("/mcp", initialize, auth, old)
	if fresh := header.Get("Mcp-Session-Id"); status != http.StatusOK || fresh == "" || "Mcp-Session-Id: "+fresh == old {
		t.Errorf("initialize with the old id: %d %q %s", status, fresh, body)
	}
	if _, _, body = s.post("/mcp", toolCall("3", "run_status", `{"run_id":"`+run+`"}`), auth, "Mcp-Session-Id: "+header.Get("Mcp-Session-Id")); run == "" || !strings.Contains(body, run) || strings.Contains(body, `"isError":true`) {
		t.Errorf("the run in the new session: %s", body)
	}
}

// stream opens /sse and returns the address to post to and the stream's lines.
func (s *site) stream(ctx context.Context, token string) (post string, lines *bufio.Scanner) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/sse", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	if allow := res.Header.Get("Access-Control-Allow-Origin"); res.StatusCode != http.StatusOK || allow == "*" {
		s.t.Fatalf("GET /sse: %d, allowed for %q", res.StatusCode, allow)
	}
	lines = bufio.NewScanner(res.Body)
	return strings.TrimPrefix(s.event(lines), "data: "), lines
}

// event is the next data line of a stream.
func (s *site) event(lines *bufio.Scanner) string {
	s.t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") {
			return lines.Text()
		}
	}
	s.t.Fatalf("the stream has ended: %v", lines.Err())
	return ""
}

func TestMCP_10_StreamDropped(t *testing.T) {
	s := newSite(t)
	let, reached := s.slow()
	s.serve()
	auth := "Authorization: Bearer " + s.annas
	ctx, drop := context.WithCancel(t.Context())
	post, lines := s.stream(ctx, s.annas)
	if status, _, body := s.post(post, initialize, auth); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	s.event(lines)
	s.post(post, toolCall("2", "run_start", "{}"), auth)
	<-reached
	drop()
	let()
	post, lines = s.stream(t.Context(), s.annas)
	s.post(post, initialize, auth)
	s.event(lines)
	for i := 3; ; i++ { // until the call that nobody waits for is recorded
		s.post(post, toolCall(fmt.Sprint(i), "run_list", "{}"), auth)
		if strings.Contains(s.event(lines), `1 to 1 of 1`) {
			break
		}
	}
	s.post(post, toolCall(`"again"`, "run_status", "{}"), auth)
	if got := s.event(lines); !strings.Contains(got, `\"status\":\"running\"`) {
		t.Errorf("after the new stream: %s", got)
	}
}

func TestMCP_12_Cancel(t *testing.T) {
	d := newDesk(t)
	let, reached := d.slow()
	k := d.talk()
	k.say(initialize)
	k.hear()
	k.say(initialized, toolCall("2", "run_start", "{}"), toolCall(`"2"`, "run_start", "{}"))
	<-reached
	k.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"2"}}`, ping)
	if got := k.hear(); !strings.Contains(got, `"id":"ping"`) {
		t.Fatalf("before the calls are let go: %s", got)
	}
	let()
	if got := k.hear(); !strings.Contains(got, `"id":2,`) || strings.Contains(got, `"error"`) {
		t.Errorf("the call that was not cancelled: %s", got)
	}
	k.in.Close()
	for k.out.Scan() {
		t.Errorf("after the cancellation: %s", k.out.Text())
	}
	if err := <-k.end; err != nil {
		t.Error(err)
	}
	if got := d.ok(anna, "run_list", "{}"); len(got.Runs) != 2 { // whole steps, cancelled or not
		t.Errorf("%d runs, want both", len(got.Runs))
	}
}

func TestMCP_13_UnknownVersion(t *testing.T) {
	d := newDesk(t)
	future := strings.Replace(initialize, "2025-11-25", "2099-01-01", 1)
	one(t, d.lines(future), "1", `"protocolVersion":"2025-11-25"`)
	number := strings.Replace(initialize, `"2025-11-25"`, `20250326`, 1)
	one(t, d.lines(number), "1", `"code":-32600`)
	s := newSite(t)
	status, _, body := s.post("/mcp", ping, "Authorization: Bearer "+s.annas, "Mcp-Protocol-Version: 2099-01-01")
	if status != http.StatusBadRequest || !strings.Contains(body, "2026-07-28") || !strings.Contains(body, "2025-11-25") {
		t.Errorf("a header of the future: %d %s", status, body)
	}
}

func TestMCP_14_WithoutSession(t *testing.T) {
	s := newSite(t)
	bens := s.ok(tools.Principal{Name: "agent:ben"}, "run_start", "{}").Run
	if status, header, _ := s.post("/mcp", modernCall("1", "run_start", "{}"), modernHeaders("run_start")...); status != http.StatusUnauthorized || header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: %d", status)
	}
	with := func(name, args string) string {
		_, _, body := s.post("/mcp", modernCall("1", name, args), append(modernHeaders(name), "Authorization: Bearer "+s.annas)...)
		return body
	}
	if body := with("run_status", `{"run_id":"`+bens+`"}`); !strings.Contains(body, "There is no run") || !strings.Contains(body, `"isError":true`) {
		t.Errorf("another's run: %s", body)
	}
	if body := with("run_start", `{}`); !strings.Contains(body, `"tool_calls_left"`) {
		t.Errorf("a run of one's own: %s", body)
	}
	if body := with("approval_decide", `{}`); !strings.Contains(body, "not found") {
		t.Errorf("a tool that agents do not have: %s", body)
	}
}

func TestMCP_15_Batch(t *testing.T) {
	d := newDesk(t)
	got := d.lines("["+initialize+"]", `[`+ping+`,{"jsonrpc":"2.0","id":8,"method":"ping"},`+initialized+`]`, `[]`, `{"jsonrpc":"2.0","id":"after","method":"ping"}`)
	for _, id := range []string{"1", `"ping"`, "8", "null"} {
		one(t, got, id, "Batches are not taken")
	}
	one(t, got, `"after"`, `"result":{}`)
	s := newSite(t)
	status, _, body := s.post("/mcp", `[`+ping+`,{"jsonrpc":"2.0","id":8,"method":"ping"}]`, "Authorization: Bearer "+s.annas)
	var list []struct{ ID any }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusBadRequest || fmt.Sprint(list) != "[{ping} {8}]" {
		t.Errorf("%d %v %s", status, err, body)
	}
}

// endless gives n bytes of one letter.
type endless struct{ n int64 }

func (e *endless) Read(b []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := int(min(e.n, int64(len(b))))
	e.n -= int64(n)
	copy(b, bytes.Repeat([]byte("x"), n))
	return n, nil
}

func TestMCP_16_Oversized(t *testing.T) {
	d := newDesk(t)
	var out strings.Builder
	if err := d.hosts.ServeStdio(t.Context(), io.MultiReader(&endless{200 << 20}, strings.NewReader("\n"+ping+"\n")), &out, anna); err != nil {
		t.Error(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	one(t, got, "null", "too long")
	one(t, got, `"ping"`, `"result":{}`)
	s := newSite(t)
	for _, path := range []string{"/mcp"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, &endless{64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.annas)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

func TestMCP_17_ForeignOrigin(t *testing.T) {
	s := newSite(t)
	auth := "Authorization: Bearer " + s.annas
	for _, foreign := range [][]string{{"Origin: https://evil.example"}, {"Host: evil.example"}, {"Origin: null"}, {"Origin: http://evil.example", "Host: evil.example"}} {
		if status, _, body := s.post("/mcp", initialize, append(foreign, auth)...); status != http.StatusForbidden {
			t.Errorf("%q: %d %s", foreign, status, body)
		}
	}
	if status, _, body := s.post("/mcp", initialize, auth); status != http.StatusOK {
		t.Errorf("no origin: %d %s", status, body)
	}
}

func TestMCP_18_SimplePost(t *testing.T) {
	s := newSite(t)
	auth := "Authorization: Bearer " + s.annas
	post, lines := s.stream(t.Context(), s.annas) // looks at the allowed origins too
	call := toolCall("1", "run_start", "{}")
	for _, p := range []string{post, "/mcp"} {
		if status, _, _ := s.post(p, call, auth, "Content-Type: text/plain", "Origin: https://evil.example"); status != http.StatusForbidden {
			t.Errorf("%s of another page: %d", p, status)
		}
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "", "application/json-patch+json"} {
			if status, _, _ := s.post(p, call, auth, "Content-Type: "+kind); status != http.StatusUnsupportedMediaType {
				t.Errorf("%s as %q: %d", p, kind, status)
			}
		}
	}
	s.post(post, initialize, auth)
	s.event(lines)
	s.post(post, toolCall("2", "run_list", "{}"), auth)
	if got := s.event(lines); !strings.Contains(got, "0 to 0 of 0") {
		t.Errorf("a run was started: %s", got)
	}
}

func TestMCP_23_TextBesideStructure(t *testing.T) {
	d := newDesk(t)
	h := d.connect()
	defer h.end()
	for _, c := range [][2]string{{"run_start", "{}"}, {"run_status", `{"run_id":"20200101-000000-00000000"}`}, {list, `{"sales_organization":"1010"}`}, {list, `{"x":1}`}} {
		if raw, _ := h.call(c[0], c[1]); len(raw) < 10 { // call compares the text with the structure
			t.Errorf("%s: %s", c[0], raw)
		}
	}
}

func TestMCP_26_ListBeforeLogin(t *testing.T) {
	s := newSite(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	var lists []string
	for _, token := range []string{s.annas, s.bens} {
		_, header, _ := s.post("/mcp", initialize, "Authorization: Bearer "+token)
		status, _, got := s.post("/mcp", body, "Authorization: Bearer "+token, "Mcp-Session-Id: "+header.Get("Mcp-Session-Id"))
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, got)
		}
		lists = append(lists, got)
	}
	if lists[0] != lists[1] {
		t.Error("the list differs from agent to agent")
	}
	for _, m := range []string{body, toolCall("2", list, `{"sales_organization":"1010"}`)} {
		status, header, got := s.post("/mcp", m)
		if status != http.StatusUnauthorized || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer ") || strings.Contains(got, "result") {
			t.Errorf("without a token: %d %s", status, got)
		}
	}
}

func TestMCP_27_ProgressTokens(t *testing.T) {
	d := newDesk(t)
	for _, token := range []string{"1", `"abc"`, "", `{"a":1}`} {
		meta := ""
		if token != "" {
			meta = `,"_meta":{"progressToken":` + token + `}`
		}
		got := d.lines(initialize, initialized, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_list","arguments":{}`+meta+`}}`)
		if len(got) != 2 { // no progress is sent that nobody asked for
			t.Errorf("token %s: %q", token, got)
		}
		one(t, got, "2", `"id":2`)
	}
}

func TestMCP_28_ForeignCursor(t *testing.T) {
	d := newDesk(t)
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		for _, cursor := range []string{`"not-base64!"`, "5", `"cnVuX2xpc3Q="`, `{"a":1}`} {
			got := d.lines(initialize, initialized, `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":{"cursor":`+cursor+`}}`)
			one(t, got, "2", `"code":-32602,"message":"The cursor is unknown`)
		}
		for _, none := range []string{`{}`, `{"cursor":""}`, `{"cursor":null}`} {
			got := d.lines(initialize, initialized, `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":`+none+`}`)
			one(t, got, "2", `"result":`)
		}
	}
}

func TestMCP_29_InternalErrorText(t *testing.T) {
	d := newDesk(t)
	var log bytes.Buffer
	d.hosts = d.door(Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Parts: func(runstore.Source) (Parts, error) {
		return Parts{}, errors.New("dial tcp 10.0.0.5:443: Authorization: Bearer abc.def-ghi, password=hunter2, od_0123456789012345678901234567890")
	}})
	got := d.refused(anna, "run_start", "{}", "The call failed on our side (reference ")
	if regexp.MustCompile(`10\.0|earer|dial|hunter2`).MatchString(got.Error) {
		t.Errorf("the host is told %q", got.Error)
	}
	ref := regexp.MustCompile(`reference ([0-9.]+)`).FindStringSubmatch(got.Error)
	if text := log.String(); len(ref) != 2 || !strings.Contains(text, ref[1]) || !strings.Contains(text, "10.0.0.5") || regexp.MustCompile(`abc\.def|hunter2|od_0123`).MatchString(text) {
		t.Errorf("the log says %s", text)
	}
}

func TestMCP_30_OddIDs(t *testing.T) {
	d := newDesk(t)
	for _, id := range []string{"9007199254740993", "-9007199254740993", "123456789012345678901234567890", `"2"`, `"9007199254740993"`, `"ü\"\\"`, "0", "-5", `"od:x:y"`} {
		got := d.lines(initialize, initialized, strings.Replace(ping, `"ping"`, id, 1), toolCall(id, "run_list", "{}"))
		if len(answersTo(got, id)) < 1 {
			t.Errorf("id %s: %q", id, got)
		}
	}
	for _, id := range []string{"1.5", `""`, `{"a":1}`, "[1]", "null", "true", "1e3", `"` + strings.Repeat("x", 257) + `"`} {
		got := d.lines(initialize, initialized, toolCall(id, "run_start", "{}"))
		one(t, got, "null", `"code":-32600`)
	}
	if got := d.ok(anna, "run_list", "{}"); len(got.Runs) != 0 {
		t.Errorf("a request with a bad id was executed: %+v", got)
	}
	s := newSite(t)
	status, _, body := s.post("/mcp", modernCall("9007199254740993", "run_list", "{}"), append(modernHeaders("run_list"), "Authorization: Bearer "+s.annas)...)
	if status != http.StatusOK || !strings.Contains(body, `"id":9007199254740993,`) {
		t.Errorf("over HTTP: %d %s", status, body)
	}
}

func TestMCP_30_SameIDTwice(t *testing.T) {
	d := newDesk(t)
	let, reached := d.slow()
	k := d.talk()
	k.say(initialize)
	k.hear()
	k.say(initialized, toolCall("2", "run_start", "{}"))
	<-reached
	k.say(toolCall("2", "run_start", "{}"))
	if got := k.hear(); !strings.Contains(got, `"id":null,"error":{"code":-32600`) || !strings.Contains(got, "under way") {
		t.Errorf("the second: %s", got)
	}
	let()
	if got := k.hear(); !strings.Contains(got, `"id":2,"result"`) {
		t.Errorf("the first: %s", got)
	}
	k.say(toolCall("2", "run_list", "{}")) // it is free again
	if got := k.hear(); !strings.Contains(got, "1 to 1 of 1") {
		t.Errorf("later: %s", got)
	}
}

// TestMCP_30_SameIDTwiceInSession: sessions of HTTP too, and two sessions may
// use the same ids.
func TestMCP_30_SameIDTwiceInSession(t *testing.T) {
	s := newSite(t)
	let, reached := s.slow()
	s.serve()
	auth := "Authorization: Bearer " + s.annas
	_, header, _ := s.post("/mcp", initialize, auth)
	session := "Mcp-Session-Id: " + header.Get("Mcp-Session-Id")
	_, header, _ = s.post("/mcp", initialize, auth)
	other := "Mcp-Session-Id: " + header.Get("Mcp-Session-Id")
	first := make(chan string, 1)
	go func() {
		_, _, body := s.post("/mcp", toolCall("2", "run_start", "{}"), auth, session)
		first <- body
	}()
	<-reached
	if status, _, body := s.post("/mcp", toolCall("2", "run_list", "{}"), auth, session); status != http.StatusBadRequest || !strings.Contains(body, "under way") {
		t.Errorf("the second: %d %s", status, body)
	}
	if status, _, body := s.post("/mcp", toolCall("2", "run_list", "{}"), auth, other); status != http.StatusOK || !strings.Contains(body, "0 to 0") {
		t.Errorf("another session: %d %s", status, body)
	}
	let()
	if body := <-first; !strings.Contains(body, `"result"`) {
		t.Errorf("the first: %s", body)
	}
	if status, _, body := s.post("/mcp", toolCall("2", "run_list", "{}"), auth, session); status != http.StatusOK || !strings.Contains(body, "1 to 1") {
		t.Errorf("later: %d %s", status, body)
	}
}

func TestMCP_32_PanicInHandler(t *testing.T) {
	d := newDesk(t)
	run := d.ok(anna, "run_start", "{}").Run
	before := d.outcome(run)
	broken := *d.parts.Set.Domain()
	broken.Tools = nil
	for _, tool := range d.parts.Set.Domain().Tools {
		if tool.Name == "plan_update" {
			c := *tool
			c.Write = func(w *tools.Writing) (any, error) {
				if _, _, err := w.Tx.AddItem(w.Run, "4711"); err != nil { // half a step
					return nil, err
				}
				panic("secret of the house")
			}
			tool = &c
		}
		broken.Tools = append(broken.Tools, tool)
	}
	set := tools.NewSet(tools.Options{Store: d.store, Gate: d.parts.Gate, Domain: &broken})
	d.hosts = d.door(Options{Parts: func(runstore.Source) (Parts, error) { return Parts{Set: set, Gate: d.parts.Gate}, nil }})
	got := d.lines(initialize, initialized, toolCall("2", "plan_update", `{"items":[{"sales_order":"4711","status":"todo","note":""}]}`), ping)
	one(t, got, "2", `"isError":true`)
	one(t, got, `"ping"`, `"result":{}`)
	if strings.Contains(strings.Join(got, ""), "secret of the house") || strings.Contains(strings.Join(got, ""), "goroutine") {
		t.Errorf("the host is told %q", got)
	}
	if after := d.outcome(run); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("half a step is saved: %+v, was %+v", after, before)
	}
}

// TestSTA_16_StoreIsOpening: what needs no store is answered at once; a call is
// told to come back.
func TestSTA_16_StoreIsOpening(t *testing.T) {
	d := newDesk(t)
	h, err := New(Options{Domain: d.parts.Set.Domain(), Parts: func(runstore.Source) (Parts, error) { return d.parts, nil }, Source: sample, Scope: "1010",
		Worker: "test host", Version: "test", Patience: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	d.hosts = h
	ask := []string{initialize, initialized, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, toolCall("3", "run_start", "{}"),
		`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"memory://notes"}}`, `{"jsonrpc":"2.0","id":5,"method":"resources/list"}`,
		`{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"continue_run","arguments":{"run_id":"x"}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"continue_run"},"argument":{"name":"run_id","value":""}}}`}
	got := d.lines(ask...)
	one(t, got, "1", "protocolVersion")
	one(t, got, "2", `"name":"run_start"`)
	one(t, got, "3", "The store is still being opened")
	one(t, got, "4", "The store is still being opened")
	one(t, got, "5", "memory://notes")
	one(t, got, "6", "The store is still being opened")
	one(t, got, "7", `"values":[]`)
	h.Opened(d.store)
	one(t, d.lines(ask[:4]...), "3", `\"status\":\"running\"`)
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// childMark is the variable that tells a doctor that it is the one to read.
const childMark = "_ORDERDESK_DOCTOR_READS"

// examineApart lets a process of its own read the store in dir. One that dies
// over it has found damage. started is false if there is none to start.
func (a *app) examineApart(ctx context.Context, dir string) (c *checkup, started bool, err error) {
	self, err := a.proc.Self()
	if err != nil {
		return nil, false, nil
	}
	var stdout bytes.Buffer
	stderr := firstBytes{room: 64 << 10}
	cmd := exec.CommandContext(ctx, self, "doctor", "--json", "--data-dir", dir)
	cmd.Env = append(a.proc.Environ(), childMark+"=1")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	end := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, true, context.Cause(ctx)
	case end != nil && !errors.As(end, &exit):
		return nil, false, nil
	}
	var told struct {
		checkup
		Error *Error `json:"error"`
		Exit  int    `json:"exit"`
	}
	if json.Unmarshal(stdout.Bytes(), &told) != nil {
		why := lastWords(stderr.text)
		if why == "" && end != nil {
			why = end.Error()
		}
		return &checkup{DataDir: dir, Problems: []doctorsFinding{{dir, "it cannot be read to its end (" + why + ")"}}}, true, nil
	}
	if told.Error != nil {
		told.Error.Exit = told.Exit
		return nil, true, told.Error
	}
	return &told.checkup, true, nil
}

// lastWords is the line in which a process that broke down says why.
func lastWords(stderr []byte) string {
	for line := range strings.Lines(string(stderr)) {
		for _, start := range []string{"panic: ", "fatal error: ", "unexpected fault address"} {
			if strings.HasPrefix(line, start) {
				return cut(strings.TrimSpace(line), 200)
			}
		}
	}
	return ""
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct {
	text []byte
	room int
}

// Write never fails.
func (f *firstBytes) Write(b []byte) (int, error) {
	f.text = append(f.text, b[:min(len(b), f.room-len(f.text))]...)
	return len(b), nil
}

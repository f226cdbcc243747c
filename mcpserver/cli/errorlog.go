package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// maxLog is the size, in bytes, above which the log of internal errors is
// begun anew.
const maxLog = 1 << 20

// logInternal appends the details of an internal error, never shown
// otherwise, to errors.log in the state directory and returns the file's path.
func (a *app) logInternal(err error) (path string, _ error) {
	dir, e := stateDir(runtime.GOOS, a.proc.Getenv)
	if e != nil {
		return "", e
	}
	if e := os.MkdirAll(dir, 0o700); e != nil {
		return "", e
	}
	path = filepath.Join(dir, "errors.log")
	mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, e := os.Stat(path); e == nil && info.Size() > maxLog {
		mode |= os.O_TRUNC
	}
	f, e := os.OpenFile(path, mode, 0o600)
	if e != nil {
		return "", e
	}
	text := strings.ReplaceAll(err.Error(), "\n", "\n\t")
	_, e = fmt.Fprintf(f, "%s %s %s\n", time.Now().UTC().Format(time.RFC3339), reference(err), text)
	if closed := f.Close(); e == nil {
		e = closed
	}
	return path, e
}

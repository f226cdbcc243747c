package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// maxLine is the longest line that is read from a person or a passphrase
// file, in bytes.
const maxLine = 4096

// passphrase reads a passphrase from the file of the settings, or asks the
// terminal for it: "Passphrase of Anna: ", with twice set once more.
func (a *app) passphrase(ctx context.Context, s *Settings, name string, twice bool) (string, error) {
	if s.PassphraseFile != "" {
		return a.passphraseFile(ctx, s.PassphraseFile)
	}
	t := a.proc.Terminal
	if !t.In || t.ReadSecret == nil {
		return "", usageError("there is no terminal to ask for a passphrase",
			"--passphrase-file FILE, or --passphrase-file - for standard input")
	}
	first, err := a.secret(ctx, "Passphrase of "+name+": ")
	if err != nil || !twice {
		return first, err
	}
	second, err := a.secret(ctx, "The same again: ")
	if err == nil && first != second {
		err = usageError("the two passphrases differ; nothing was recorded", "try again")
	}
	return first, err
}

func (a *app) secret(ctx context.Context, question string) (string, error) {
	text, err := a.proc.Terminal.ReadSecret(ctx, func() { _, _ = io.WriteString(a.out.stderr, visible(question)) })
	a.out.note("")
	if errors.Is(err, io.EOF) || err == nil && text == "" {
		return "", usageError("no passphrase was entered; nothing was recorded", "try again")
	}
	return text, err
}

func (a *app) passphraseFile(ctx context.Context, path string) (string, error) {
	in := a.proc.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", configError("the passphrase file cannot be read: "+err.Error(), "--passphrase-file FILE")
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && readableByOthers(info) {
			a.out.note("warning: others can read %s", path)
		}
		in = f
	}
	text, err := readLine(ctx, in)
	if errors.Is(err, errInterrupted) {
		return "", err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", configError("the passphrase file "+path+" cannot be used: "+err.Error(), "--passphrase-file FILE")
	}
	if text == "" {
		return "", configError("there is no passphrase in the first line of "+path, "--passphrase-file FILE")
	}
	return text, nil
}

// readableByOthers knows Unix rights; elsewhere it cannot tell.
func readableByOthers(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0
}

// confirm asks for a plain yes on a terminal. Where there is none, the command
// line was the confirmation.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	if !a.proc.Terminal.In {
		return true, nil
	}
	_, _ = io.WriteString(a.out.stderr, visible(question)+" Type yes: ")
	answer, err := readLine(ctx, a.proc.Stdin)
	if errors.Is(err, io.EOF) {
		a.out.note("")
		return false, nil
	}
	return strings.EqualFold(strings.TrimSpace(answer), "yes"), err
}

// readLine reads up to the end of a line and not one byte further. When ctx
// ends it gives up, and leaves the read behind.
func readLine(ctx context.Context, r io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := readBytes(r)
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func readBytes(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := r.Read(b)
		if n == 1 && b[0] == '\n' {
			break
		}
		if line = append(line, b[:n]...); len(line) > maxLine {
			return "", errors.New("the line is too long")
		}
		if err == io.EOF && len(line) > 0 {
			break
		}
		if err != nil {
			return "", err
		}
	}
	return strings.TrimSuffix(string(line), "\r"), nil
}

package runstore

import (
	"bufio"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"hash"
	"net"
	"time"
)

// protocol is the version of what the processes on one store say to each
// other. It is no stored format: all of them are of one build or part ways.
const protocol = 1

type op uint8

const (
	opHello  op = iota + 1
	opWatch     // no answer; the connection breaks when the owner ends
	opBegin     // opens a snapshot, or with Alone the owner's turn
	opGet       //
	opScan      //
	opEnd       // gives the snapshot or turn back; no answer
	opCommit    // also gives it back
)

type request struct {
	Op     op
	Hello  int // protocol version
	Alone  bool
	Key    string // of opGet; prefix of opScan
	After  string
	Limit  int
	Commit *commit
}

// commit is one step: what it read and what it writes. Lane and N name it, so
// that it is applied once however often it is asked about; Last is the commit
// of the lane before it.
type commit struct {
	Lane  string
	N     int
	Last  int
	Gets  []readGet
	Scans []readScan
	Puts  []record
}

type digest [16]byte

type readGet struct {
	Key string
	Sum digest // zero: no record
}

// readScan says that Sum is over the records from After up to Upto, or to the
// end of the prefix.
type readScan struct {
	Prefix, After, Upto string
	End                 bool
	Sum                 digest
}

type record struct {
	Key   string
	Frame []byte
	Gone  bool // deleted; there is no frame
}

type reply struct {
	Err     *wireError
	PID     int
	Command string
	Now     time.Time
	Found   bool
	Frame   []byte
	Records []record
	More    bool
	Answer  answer
}

// answer is what became of a commit.
type answer uint8

const (
	applied  answer = iota + 1
	conflict        // what it read has changed
	stale           // the lane has moved on: it was settled already
)

// wireError carries an error to another process.
type wireError struct {
	Kind       string
	Text, Path string
	Have, Know int
	Free       uint64
}

const wireGone = "gone" // the owner is closing

func toWire(err error) *wireError {
	var d *DamagedError
	var v *VersionError
	var f *DiskFullError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrClosed):
		return &wireError{Kind: wireGone}
	case errors.As(err, &d):
		return &wireError{Kind: "damaged", Path: d.Path, Text: d.What}
	case errors.As(err, &v):
		return &wireError{Kind: "version", Path: v.Path, Have: v.Have, Know: v.Know}
	case errors.As(err, &f):
		return &wireError{Kind: "full", Path: f.Dir, Free: f.Free}
	case errors.Is(err, ErrFailed):
		return &wireError{Kind: "failed", Text: err.Error()}
	}
	return &wireError{Text: err.Error()}
}

func (w *wireError) error() error {
	switch w.Kind {
	case wireGone:
		return errLost
	case "damaged":
		return &DamagedError{Path: w.Path, What: w.Text}
	case "version":
		return &VersionError{Path: w.Path, Have: w.Have, Know: w.Know}
	case "full":
		return &DiskFullError{Dir: w.Path, Free: w.Free}
	case "failed":
		return fmt.Errorf("%w (%s)", ErrFailed, w.Text)
	}
	return errors.New(w.Text)
}

// link is one connection between two processes, used by one request at a time.
type link struct {
	net.Conn
	out *bufio.Writer
	enc *gob.Encoder
	dec *gob.Decoder
}

func newLink(c net.Conn) *link {
	out := bufio.NewWriter(c)
	return &link{Conn: c, out: out, enc: gob.NewEncoder(out), dec: gob.NewDecoder(bufio.NewReader(c))}
}

func (l *link) send(v any) error {
	if err := l.enc.Encode(v); err != nil {
		return err
	}
	return l.out.Flush()
}

func sumFrame(frame []byte) digest {
	if frame == nil {
		return digest{}
	}
	s := sha256.Sum256(frame)
	return digest(s[:])
}

// scanSum digests the records a scan has met.
type scanSum struct{ h hash.Hash }

func newScanSum() scanSum { return scanSum{sha256.New()} }

func (s scanSum) add(key string, frame []byte) {
	fmt.Fprintf(s.h, "%d %d %s", len(key), len(frame), key)
	s.h.Write(frame)
}

func (s scanSum) sum() digest { return digest(s.h.Sum(nil)) }

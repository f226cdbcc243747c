package runstore

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
)

// What is read here of Badger's write-ahead log: a head of 20 bytes, then
// entries of meta (1 byte), user meta (1 byte), the lengths of key and value
// and an expiry time (uvarints), key, value, and their CRC-32C. An entry with
// the key logEnd ends a transaction.
const (
	logHead   = 20
	logEnd    = "!badger!txn"
	logEndBit = 0x80 // in meta
)

// verifyLogs looks at the logs of a database that was not closed. Badger takes
// the first unreadable place for the end, be it a torn write or damage in the
// middle, and cuts the log there. But only one transaction is ever not synced:
// where two whole ones follow such a place, acknowledged steps would be lost.
func verifyLogs(db string) error {
	logs, err := logFiles(db)
	if err != nil {
		return err
	}
	torn, lost := "", 0
	for _, id := range logs {
		path := walName(db, id)
		raw, err := os.ReadFile(path)
		if err != nil {
			return &DamagedError{Path: path, What: "it cannot be read: " + err.Error()}
		}
		if torn == "" {
			end := logValid(raw)
			raw = raw[end:]
			if len(bytes.TrimRight(raw, "\x00")) == 0 {
				continue
			}
			torn = path
		}
		if lost += countEnds(raw); lost > 1 {
			return &DamagedError{Path: torn, What: "an entry amid recorded steps fails its checksum"}
		}
	}
	return nil
}

// logValid is where the last whole transaction of a log ends.
func logValid(raw []byte) int {
	at := min(logHead, len(raw))
	valid := at
	for {
		n, end := logEntry(raw[at:])
		if n == 0 {
			return valid
		}
		if at += n; end {
			valid = at
		}
	}
}

// logEntry is the length of the entry b begins with, 0 if it is not whole, and
// whether it ends a transaction.
func logEntry(b []byte) (n int, end bool) {
	if len(b) < 2 {
		return 0, false
	}
	at := 2
	var sizes [3]uint64
	for i := range sizes {
		v, w := binary.Uvarint(b[at:])
		if w <= 0 {
			return 0, false
		}
		sizes[i], at = v, at+w
	}
	if sizes[0] == 0 || sizes[0] > maxPart || sizes[1] > maxPart || int(sizes[0]+sizes[1])+4 > len(b)-at {
		return 0, false
	}
	n = at + int(sizes[0]+sizes[1])
	if crc32.Checksum(b[:n], castagnoli()) != binary.BigEndian.Uint32(b[n:]) {
		return 0, false
	}
	return n + 4, b[0]&logEndBit != 0
}

// countEnds counts the whole entries in b that end a transaction.
func countEnds(b []byte) int {
	const head = 5 // meta, user meta, and three lengths under 128
	n := 0
	for {
		at := bytes.Index(b, []byte(logEnd))
		if at < 0 {
			return n
		}
		if at >= head {
			if size, end := logEntry(b[at-head:]); size > 0 && end {
				n++
			}
		}
		b = b[at+len(logEnd):]
	}
}

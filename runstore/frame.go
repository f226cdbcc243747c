package runstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// MaxRecord is the largest payload of one record in bytes.
const MaxRecord = 64 << 10

const (
	recordVersion = 1
	frameHead     = 5 // version, length
	frameOver     = frameHead + 4
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// sealJSON frames v as JSON for the record key: 1 byte record version, 4 bytes
// payload length (big endian), payload, 4 bytes CRC-32C over key, head and
// payload. The key is in the sum so that a value under a wrong key shows.
func sealJSON(key string, v any) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, frameHead, 512))
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	if n := b.Len() - frameHead; n > MaxRecord {
		return nil, fmt.Errorf("%d bytes: %w", n, ErrTooLarge)
	}
	return seal(key, b.Bytes()), nil
}

// seal completes a frame whose payload begins after frameHead free bytes.
func seal(key string, b []byte) []byte {
	b[0] = recordVersion
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-frameHead))
	return binary.BigEndian.AppendUint32(b, frameSum(key, b))
}

// decode checks the frame of record key and decodes its payload into v.
func decode(key string, raw []byte, v any) error {
	payload, err := unseal(key, raw)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(payload, v); err != nil {
		return &DamagedError{Path: key, What: notDecoded(err)}
	}
	return nil
}

// notDecoded says for people why a payload does not decode.
func notDecoded(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return "record does not decode: field " + wrong.Field + " has the wrong type"
	}
	return "record does not decode"
}

// unseal checks the frame of record key and returns its payload, which shares
// raw's memory. Errors: [*DamagedError], [*VersionError].
func unseal(key string, raw []byte) ([]byte, error) {
	if len(raw) < frameOver {
		return nil, &DamagedError{Path: key, What: "record is cut short"}
	}
	body, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	if frameSum(key, body) != sum {
		return nil, &DamagedError{Path: key, What: "record fails its checksum"}
	}
	if v := int(raw[0]); v != recordVersion {
		return nil, &VersionError{Path: key, Have: v, Know: recordVersion}
	}
	if n := binary.BigEndian.Uint32(raw[1:]); int64(n) != int64(len(body)-frameHead) {
		return nil, &DamagedError{Path: key, What: "record has a wrong length"}
	}
	return body[frameHead:], nil
}

func frameSum(key string, body []byte) uint32 {
	t := castagnoli()
	return crc32.Update(crc32.Update(0, t, []byte(key)), t, body)
}

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxConfig is the largest configuration file that is read, in bytes.
const maxConfig = 1 << 20

// fileValue is one member of the configuration file. An empty text is kept: it
// counts as no value later, as everywhere.
type fileValue struct {
	text string
	line int
}

// readConfig reads the configuration file. A file that is not there is empty
// unless it was asked for by name. Every mistake in its members is reported,
// joined, with its line; a file that is no JSON object has one.
func readConfig(path string, named bool, defs []definition) (map[string]fileValue, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("configuration file: %w", err)
	case len(b) > maxConfig:
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxConfig)
	case !utf8.Valid(b):
		return nil, fmt.Errorf("%s: is not UTF-8 text", path)
	}
	return parseConfig(path, bytes.TrimPrefix(b, []byte("\ufeff")), defs)
}

// configParser walks one flat JSON object.
type configParser struct {
	path   string
	src    []byte
	dec    *json.Decoder
	defs   []definition
	values map[string]fileValue
	errs   []error
}

func parseConfig(path string, src []byte, defs []definition) (map[string]fileValue, error) {
	p := &configParser{path: path, src: src, dec: json.NewDecoder(bytes.NewReader(src)), defs: defs,
		values: map[string]fileValue{}}
	p.dec.UseNumber()
	if err := p.object(); err != nil {
		return nil, err
	}
	return p.values, errors.Join(p.errs...)
}

func (p *configParser) object() error {
	if tok, err := p.dec.Token(); err != nil || tok != json.Delim('{') {
		return p.at("expects one JSON object, like {\"org\": \"1010\"}")
	}
	for p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			return p.at("is not JSON here")
		}
		line := p.line()
		var raw json.RawMessage
		if err := p.dec.Decode(&raw); err != nil {
			return p.at("is not JSON here")
		}
		p.member(key.(string), raw, line)
	}
	if _, err := p.dec.Token(); err != nil {
		return p.at("is not JSON here")
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return p.at("has something after the JSON object")
	}
	return nil
}

// member takes over one setting or reports what is wrong with it.
func (p *configParser) member(key string, raw json.RawMessage, line int) {
	wrong := func(f string, args ...any) {
		p.errs = append(p.errs, fmt.Errorf("%s:%d: %s", p.path, line, fmt.Sprintf(f, args...)))
	}
	i := slices.IndexFunc(p.defs, func(d definition) bool { return d.name == key && d.source != onlyFlag })
	_, seen := p.values[key]
	switch {
	case i < 0:
		wrong("unknown setting %s", strconv.Quote(key))
		return
	case seen:
		wrong("%s is there twice", key)
		return
	}
	value, ok := configText(raw, p.defs[i].kind)
	if !ok {
		wrong("%s expects %s", key, [...]string{text: `a text in quotes, or ""`,
			number: "a whole number without quotes", yesNo: "true or false"}[p.defs[i].kind])
		value = ""
	}
	p.values[key] = fileValue{value, line}
}

// configText is the text of a JSON value of the right type; null and "" are
// right everywhere and mean no value.
func configText(raw json.RawMessage, k kind) (string, bool) {
	s := string(raw)
	if s == "null" || s == `""` {
		return "", true
	}
	switch k {
	case number:
		_, err := parseNumber(s)
		return s, err == nil
	case yesNo:
		return s, s == "true" || s == "false"
	}
	var out string
	err := json.Unmarshal(raw, &out)
	return out, err == nil
}

// line is where the decoder stands, from 1.
func (p *configParser) line() int {
	return 1 + bytes.Count(p.src[:p.dec.InputOffset()], []byte("\n"))
}

func (p *configParser) at(what string) error {
	return fmt.Errorf("%s:%d: %s", p.path, p.line(), what)
}

package app

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/strictjson"
)

// A Backup is the [eventlog.View] of a backup.
type Backup struct {
	Program string    // that wrote it
	Time    time.Time // when it was written

	open      func() (io.ReadCloser, error)
	documents map[string][]byte // without those of events, unless they are converted
	converted bool              // documents are complete
}

// ReadBackup reads a backup that [Admin.WriteBackup] has written, and verifies its checksum. open
// opens the file; it is called again for each iteration of the events.
func ReadBackup(open func() (io.ReadCloser, error)) (*Backup, error) {
	b := &Backup{open: open, documents: map[string][]byte{}}
	err := b.each(func(line backupLine) bool {
		switch {
		case line.Backup != nil:
			b.Program, b.Time = line.Backup.Program, line.Backup.Time
		case line.Document != nil && !isRow(line.Document.Name):
			b.documents[line.Document.Name] = line.Document.value()
		}
		return true
	})
	if old := b.documents[amendments.OldDocument]; old != nil && err == nil {
		err = b.convertAmendments(old)
	}
	return b, err
}

// Records implements [eventlog.View].
func (b *Backup) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		err := b.each(func(line backupLine) bool {
			return line.Event == nil || line.Event.Seq <= after || yield(line.Event.record(), nil)
		})
		if err != nil {
			yield(eventlog.Record{}, err)
		}
	}
}

// Get implements [eventlog.View].
func (b *Backup) Get(name string) ([]byte, error) {
	if !isRow(name) || b.converted {
		return bytes.Clone(b.documents[name]), nil
	}
	for d, err := range b.Documents(name, "") {
		if err != nil || d.Name == name {
			return d.Value, err
		}
	}
	return nil, nil
}

// Names implements [eventlog.View].
func (b *Backup) Names(prefix string) (names []string, err error) {
	for d, err := range b.Documents(prefix, "") {
		if err != nil {
			return nil, err
		}
		names = append(names, d.Name)
	}
	return names, nil
}

// Documents implements [eventlog.View]. The file has the documents in the order of their names.
func (b *Backup) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return func(yield func(eventlog.Document, error) bool) {
		if b.converted {
			for _, name := range slices.Sorted(maps.Keys(b.documents)) {
				if strings.HasPrefix(name, prefix) && (name > after || after == "") && !yield(eventlog.Document{Name: name, Value: bytes.Clone(b.documents[name])}, nil) {
					return
				}
			}
			return
		}
		err := b.each(func(line backupLine) bool {
			d := line.Document
			switch {
			case line.Backup != nil, d != nil && (!strings.HasPrefix(d.Name, prefix) || d.Name <= after && after != ""):
				return true
			case d != nil:
				return yield(eventlog.Document{Name: d.Name, Value: d.value()}, nil)
			}
			return false
		})
		if err != nil {
			yield(eventlog.Document{}, err)
		}
	}
}

// each calls f with each line, until f returns false. At the end it verifies the checksum.
func (b *Backup) each(f func(backupLine) bool) error {
	file, err := b.open()
	if err != nil {
		return err
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("not a backup: %w", err)
	}
	in := bufio.NewReaderSize(zip, 1<<16)
	sum, count := sha256.New(), backupEnd{}
	for first := true; ; first = false {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the file was cut off; use another backup")
		}
		if err != nil {
			return err
		}
		line, err := decodeLine(text)
		switch {
		case err != nil:
			return err
		case first && line.Backup == nil:
			return errors.New("not a backup: the first line has no field backup")
		case first && line.Backup.Version != backupVersion:
			return fmt.Errorf("the backup has version %d, but this build knows version %d; use the newer build", line.Backup.Version, backupVersion)
		case line.End != nil:
			count.SHA256 = hex.EncodeToString(sum.Sum(nil))
			if *line.End != count {
				return errors.New("wrong checksum; the backup was damaged or changed; use another backup")
			}
			_, err := io.Copy(io.Discard, in) // verifies the checksum of gzip
			return err
		case line.Document != nil:
			count.Documents++
			sum.Write(text)
		case line.Event != nil:
			count.Events++
			sum.Write(text)
		}
		if !f(line) {
			return nil
		}
	}
}

// convertAmendments converts the amendments of a backup that an older build has written.
func (b *Backup) convertAmendments(old []byte) error {
	last, err := viewStore{b}.Last(context.Background())
	if err != nil {
		return err
	}
	rows, err := amendments.Convert(old, last)
	for _, d := range rows {
		b.documents[d.Name] = d.Value
	}
	delete(b.documents, amendments.OldDocument)
	b.converted = true
	return err
}

// isRow reports whether a document belongs to an event.
func isRow(name string) bool {
	return strings.HasPrefix(name, amendments.Prefix) || strings.HasPrefix(name, amendments.FallbackPrefix)
}

// backupVersion is the version of the format. A new field of an event does not change it: builds
// that do not know the field refuse the backup.
const backupVersion = 1

// A backupLine is a line of a backup: JSON lines, compressed with gzip. It has one field. The first
// line has backup, the last has end. Documents precede events.
//
//	{"backup":{"version":1,"program":"hello","time":"2026-11-17T10:00:00Z"}}
//	{"document":{"name":"worker/posts/digest","value":{"position":1}}}
//	{"event":{"seq":1,"id":"k2","time":"2026-11-16T09:00:00Z","type":"posts/create",…}}
//	{"end":{"documents":1,"events":1,"sha256":"9f86d0…"}}
type backupLine struct {
	Backup   *backupHead     `json:"backup,omitempty"`
	Document *backupDocument `json:"document,omitempty"`
	Event    *backupEvent    `json:"event,omitempty"`
	End      *backupEnd      `json:"end,omitempty"`
}

type backupHead struct {
	Version int       `json:"version"`
	Program string    `json:"program"`
	Time    time.Time `json:"time"`
}

// A backupDocument has its value as JSON, or as base64 if JSON would change it.
type backupDocument struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
}

// A backupEvent is a record. Bytes replace the fields that JSON would change.
type backupEvent struct {
	eventlog.Record
	Bytes *eventBytes `json:"bytes,omitempty"`
}

type eventBytes struct {
	Data   []byte `json:"data"`
	Key    []byte `json:"key"`
	Result []byte `json:"result"`
}

type backupEnd struct {
	Documents int    `json:"documents"`
	Events    int64  `json:"events"`
	SHA256    string `json:"sha256"` // of the lines of the documents and events
}

func (d backupDocument) value() []byte {
	if d.Value != nil {
		return d.Value
	}
	return append([]byte{}, d.Bytes...)
}

func (e backupEvent) record() eventlog.Record {
	r := e.Record
	if b := e.Bytes; b != nil {
		r.Data, r.Key, r.Result = b.Data, string(b.Key), b.Result
	}
	return r
}

// encodeDocument returns the line of a document.
func encodeDocument(name string, value []byte) ([]byte, error) {
	d := &backupDocument{Name: name, Value: value}
	if line, err := encodeLine(backupLine{Document: d}); err == nil && len(value) > 0 {
		if back, err := decodeLine(line); err == nil && bytes.Equal(back.Document.Value, value) {
			return line, nil
		}
	}
	d.Value, d.Bytes = nil, value
	return encodeLine(backupLine{Document: d})
}

// encodeEvent returns the line of a record. Decoding it leads to the same record.
func encodeEvent(r eventlog.Record) ([]byte, error) {
	e := &backupEvent{Record: r}
	if line, err := encodeLine(backupLine{Event: e}); err == nil && decodesTo(line, r) {
		return line, nil
	}
	e.Bytes = &eventBytes{r.Data, []byte(r.Key), r.Result}
	e.Data, e.Key, e.Result = nil, "", nil
	line, err := encodeLine(backupLine{Event: e})
	if err == nil && !decodesTo(line, r) {
		err = errors.New("id, type or cause is not valid UTF-8")
	}
	if err != nil {
		return nil, fmt.Errorf("encode event %d: %w", r.Seq, err)
	}
	return line, nil
}

func decodesTo(line []byte, r eventlog.Record) bool {
	back, err := decodeLine(line)
	if err != nil {
		return false
	}
	got := back.Event.record()
	same := bytes.Equal(got.Data, r.Data) && bytes.Equal(got.Result, r.Result) && bytes.Equal(got.Cause, r.Cause)
	got.Data, got.Result, got.Cause, r.Data, r.Result, r.Cause = nil, nil, nil, nil, nil, nil
	return same && reflect.DeepEqual(got, r)
}

func encodeLine(line backupLine) ([]byte, error) {
	text, err := strictjson.Marshal(line)
	return append(text, '\n'), err
}

// decodeLine decodes a line, and refuses unknown fields.
func decodeLine(text []byte) (line backupLine, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(&line); err != nil {
		err = fmt.Errorf("%w; if a newer build wrote the backup, use that build", err)
	}
	return line, err
}

// encodeView calls emit with the lines of the documents and events of a view. It leaves out
// snapshots, which can be taken again.
func encodeView(v eventlog.View, emit func(line []byte) error) (end backupEnd, err error) {
	sum := sha256.New()
	add := func(line []byte, err error) error {
		if err != nil {
			return err
		}
		sum.Write(line)
		return emit(line)
	}
	for d, err := range keptDocuments(v) {
		if err == nil {
			err = add(encodeDocument(d.Name, d.Value))
		}
		if err != nil {
			return end, err
		}
		end.Documents++
	}
	for r, err := range v.Records(0) {
		if err != nil {
			return end, err
		}
		if err := add(encodeEvent(r)); err != nil {
			return end, err
		}
		end.Events++
	}
	end.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return end, nil
}

// keptDocuments yields the documents of a view, except snapshots and probes.
func keptDocuments(v eventlog.View) iter.Seq2[eventlog.Document, error] {
	const afterSnapshots = "snapshot/\U0010ffff" // follows the names of all snapshots
	return func(yield func(eventlog.Document, error) bool) {
		for _, after := range []string{"", afterSnapshots} {
			for d, err := range v.Documents("", after) {
				if after == "" && d.Name >= snapshotsPrefix {
					break
				}
				if d.Name == probeDocument {
					continue
				}
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

var errReadOnly = errors.New("the store is read-only")

// A viewStore is a read-only [eventlog.Store] on a view.
type viewStore struct{ v eventlog.View }

func (s viewStore) Records(_ context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return s.v.Records(after)
}

func (s viewStore) Last(context.Context) (last int64, err error) {
	for r, err := range s.v.Records(0) {
		if err != nil {
			return 0, err
		}
		last = r.Seq
	}
	return last, nil
}

func (s viewStore) Stamp(context.Context) (int64, error) { return 0, nil }

func (s viewStore) Get(_ context.Context, name string) ([]byte, error) { return s.v.Get(name) }

func (s viewStore) Names(_ context.Context, p string) ([]string, error) { return s.v.Names(p) }

func (s viewStore) Documents(_ context.Context, prefix, after string) iter.Seq2[eventlog.Document, error] {
	return s.v.Documents(prefix, after)
}

func (s viewStore) Write(context.Context, func(eventlog.Tx) error) error { return errReadOnly }

func (s viewStore) View(_ context.Context, f func(eventlog.View) error) error { return f(s.v) }

func (s viewStore) Scrub(context.Context) error { return errReadOnly }

func (s viewStore) Close() error { return nil }

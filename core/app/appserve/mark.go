package appserve

import (
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/app"
)

// amendedType is the type of the entries that say how others are read.
const amendedType = "app/amended"

// shown is an entry with how it is read instead.
func shown(r app.Record, amendments map[int64]app.Amendment) shownEntry {
	e := shownEntry{Record: r}
	if am, ok := amendments[r.Seq]; ok {
		e.Amendment = &am
	}
	return e
}

// mark is what the table says at the end of an entry: how it is read, if that was said, and why.
func (e shownEntry) mark() string {
	if e.Amendment == nil {
		return ""
	}
	how := meaning(*e.Amendment)
	if restores(*e.Amendment, e.Record) {
		how = "restored"
	}
	return fmt.Sprintf("  (%s: %s)", how, short(e.Amendment.Reason, 300))
}

// text is what the table says of the data of an entry: the JSON, but of one that amends what it says.
func (e shownEntry) text() string {
	var am app.Amendment
	if e.Type != amendedType || json.Unmarshal(e.Data, &am) != nil {
		return string(e.Data)
	}
	return fmt.Sprintf("entry %d is %s: %s", am.Seq, meaning(am), short(am.Reason, 300))
}

// meaning is how an amended entry is read, in a few words.
func meaning(am app.Amendment) string {
	if am.Skip {
		return "skipped"
	}
	return "read as " + short(am.Type, 60)
}

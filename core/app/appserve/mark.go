package appserve

import (
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/app"
)

// amendedType is the type of entries that amend others.
const amendedType = "app/amended"

// shown returns an entry with its amendment.
func shown(r app.Record, amendments map[int64]app.Amendment) shownEntry {
	e := shownEntry{Record: r}
	if am, ok := amendments[r.Seq]; ok {
		e.Amendment = &am
	}
	return e
}

// mark describes the amendment of an entry, for the end of its line.
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

// text returns the data of an entry for the table, or a description of an amendment.
func (e shownEntry) text() string {
	var am app.Amendment
	if e.Type != amendedType || json.Unmarshal(e.Data, &am) != nil {
		return string(e.Data)
	}
	return fmt.Sprintf("entry %d is %s: %s", am.Seq, meaning(am), short(am.Reason, 300))
}

// meaning describes in a few words how an amended entry is read.
func meaning(am app.Amendment) string {
	if am.Skip {
		return "skipped"
	}
	return "read as " + short(am.Type, 60)
}

// Package campaign holds tests alone: of the generators as users and agents meet them, on whole
// projects. Random generations and their undoing, projects that do not compile, hostile names and
// files, processes that are killed or that work at the same time, and what undo promises; and of the workshop over
// MCP: components with bodies, good and bad ones, plans, cancelled calls, and all that its documentation shows.
//
// The flags of go test make a campaign longer:
//
//	go test ./cmd/petrock/internal/campaign -run Generations -generations 200 -seed 7 -v
//	go test ./cmd/petrock/internal/campaign -run Killed -kills 100 -seed 7 -v
//	go test ./cmd/petrock/internal/campaign -run '^$' -fuzz Generate -fuzztime 5000x
package campaign

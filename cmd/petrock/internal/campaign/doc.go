// Package campaign contains only tests of the generators on whole projects: random generations and
// undos, projects that do not compile, hostile names and files, processes that are killed or run in
// parallel, and the dev server over MCP.
//
// By default each test runs a short round, chosen by -seed. With -long it runs every case, 200
// generations and 100 kills:
//
//	go test ./cmd/petrock/internal/campaign -long -run Generations -seed 7 -v
//	go test ./cmd/petrock/internal/campaign -run '^$' -fuzz Generate -fuzztime 5000x
package campaign
